"""How an entry came about, for people: clauses, scored candidates, filters, spans and units, as text and as HTML."""

from __future__ import annotations

from html import escape

from engrain.runtime.extraction.dependency.analysis import Analysis
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.predicates import Candidate
from engrain.runtime.extraction.dependency.selection import ClauseTrace

_WIDTH, _ROW, _LEVEL = 9, 26, 22
"""Pixels a character of a token, between rows of text, and between levels of arcs."""
_MOST_DRAWN = 60
"""Tokens a sentence up to which its graph is drawn."""
_COLOURS = {
    Role.PATIENT: "#1b6ca8",
    Role.ACTOR: "#b3261e",
    Role.TIME: "#7a5c00",
    Role.PURPOSE: "#6a1b9a",
    Role.LOCATION: "#1b7f3b",
    Role.MODIFIER: "#555555",
    Role.NOMINAL: "#8a8a8a",
    Role.COORDINATION: "#c2571a",
}


def explain_text(analysis: Analysis) -> str:
    """The analysis as indented lines."""
    lines = [f"turn      {analysis.text}"]
    for number, trace in enumerate(analysis.traces, start=1):
        lines += _clause_lines(number, trace, analysis.parse)
    lines.append(f"route     {analysis.route}" + (f" ({analysis.reason})" if analysis.reason else ""))
    lines.append(f"coverage  {analysis.coverage:.2f}")
    lines += [f"unit      [{unit.kind}] {unit.text}" for unit in analysis.units]
    lines.append(f"entry     {analysis.entry or '(none)'}")
    return "\n".join(lines)


def _clause_lines(number: int, trace: ClauseTrace, parse: Parse | None) -> list[str]:
    if parse is None:
        return []
    clause = trace.clause
    prefix = parse.slice(clause.outer, clause.start)
    lines = [f"clause {number}  {parse.slice(clause.start, clause.end)}"]
    if prefix:
        lines.append(f"  left out as prefix: {prefix}")
    for candidate in trace.candidates:
        lines.append("  " + _candidate_line(candidate, parse))
    lines += [f"  unit: {unit.text}" + (" (comment)" if unit.comment else "") for unit in trace.units]
    return lines + [f"  note: {note}" for note in trace.notes]


def _candidate_line(candidate: Candidate, parse: Parse) -> str:
    terms = " ".join(f"{name}{value:+g}" for name, value in candidate.terms.items()) or "no term"
    line = f"{candidate.lemma:12} S={candidate.score:g}  {terms}"
    if candidate.head != candidate.token:
        line += f"  under '{parse.tokens[candidate.head].text}'"
    if candidate.filtered:
        return f"{line}  filtered: {candidate.filtered}"
    return f"{line}  span: {parse.slice(*candidate.span)}"


def explain_html(analysis: Analysis) -> str:
    """The analysis as one self-contained page with the graph of every sentence drawn."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Extraction</title><style>"
        "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}"
        "table{border-collapse:collapse}td,th{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #ddd}"
        ".out{color:#999}.graph{overflow-x:auto}svg text{font:13px system-ui,sans-serif}"
        "</style></head><body>",
        f"<h1>{escape(analysis.entry or 'No entry')}</h1><p>{escape(analysis.text)}</p>",
        f"<p>route {analysis.route} {escape(analysis.reason)}, coverage {analysis.coverage:.2f}</p>",
    ]
    parse = analysis.parse
    if parse is not None:
        parts += [_clause_html(number, trace, parse) for number, trace in enumerate(analysis.traces, start=1)]
        parts += [f"<div class='graph'>{_graph(parse, *span)}</div>" for span in parse.sentences]
    return "".join([*parts, "</body></html>"])


def _clause_html(number: int, trace: ClauseTrace, parse: Parse) -> str:
    clause = trace.clause
    prefix = escape(parse.slice(clause.outer, clause.start))
    rows = "".join(
        f"<tr class='{'out' if one.filtered else ''}'><td>{escape(one.lemma)}</td><td>{one.score:g}</td>"
        f"<td>{escape(' '.join(f'{name}{value:+g}' for name, value in one.terms.items()))}</td>"
        f"<td>{escape(one.filtered or parse.slice(*one.span))}</td></tr>"
        for one in trace.candidates
    )
    table = f"<table><tr><th>predicate</th><th>S(p)</th><th>terms</th><th>span or filter</th></tr>{rows}</table>"
    units = "".join(f"<li>{escape(unit.text)}{' (comment)' if unit.comment else ''}</li>" for unit in trace.units)
    notes = "".join(f"<li class='out'>{escape(note)}</li>" for note in trace.notes)
    text = escape(parse.slice(clause.start, clause.end))
    head = f"<h2>Clause {number}</h2><p><span class='out'>{prefix}</span> {text}</p>"
    return f"{head}{table if rows else ''}<ul>{units}{notes}</ul>"


def _graph(parse: Parse, start: int, end: int) -> str:
    """An SVG of one sentence's role edges as arcs above its tokens."""
    if end - start > _MOST_DRAWN:
        return f"<p class='out'>{end - start} tokens: the graph is not drawn.</p>"
    centres, x = {}, 10.0
    for index in range(start, end):
        width = max(3, len(parse.tokens[index].text)) * _WIDTH
        centres[index] = x + width / 2
        x += width + 8
    arcs = [
        edge for edge in parse.edges if edge.head in centres and edge.dependent in centres and edge.role in _COLOURS
    ]
    top = 10 + _LEVEL * min(8, max((abs(edge.head - edge.dependent) for edge in arcs), default=1))
    drawn = []
    for edge in arcs:
        left, right = centres[edge.head], centres[edge.dependent]
        height = _LEVEL * min(8, abs(edge.head - edge.dependent))
        colour = _COLOURS[edge.role]
        drawn.append(
            f"<path d='M{left:.0f},{top} C{left:.0f},{top - height} {right:.0f},{top - height} {right:.0f},{top}' "
            f"fill='none' stroke='{colour}'/><text x='{(left + right) / 2:.0f}' y='{top - height * 0.75 - 3:.0f}' "
            f"fill='{colour}' text-anchor='middle'>{escape(edge.label)}</text>"
        )
    words = [
        f"<text x='{centres[i]:.0f}' y='{top + 18}' text-anchor='middle'>{escape(parse.tokens[i].text)}</text>"
        for i in centres
    ]
    return f"<svg width='{x:.0f}' height='{top + _ROW}' role='img'>{''.join(drawn + words)}</svg>"
