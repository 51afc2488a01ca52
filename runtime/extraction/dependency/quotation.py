"""Which tokens stand inside quotation marks: they are never cut, changed or judged."""

from __future__ import annotations

from engrain.runtime.extraction.dependency.parse import Parse


def quoted_tokens(parse: Parse) -> frozenset[int]:
    """Tokens strictly inside a pair of double quotes, or of single quotes at word boundaries: never cut or changed."""
    text = parse.text
    if not any(mark in text for mark in "\"“”‘'*`"):
        return frozenset()
    spans, open_at = [], {}
    for position, mark in enumerate(text):
        if mark not in "\"“”‘’'*`":
            continue
        if mark in "“‘":
            open_at[mark] = position
        elif mark == "”" and "“" in open_at:
            spans.append((open_at.pop("“"), position))
        elif mark == "’" and "‘" in open_at and not text[position + 1 : position + 2].isalnum():
            spans.append((open_at.pop("‘"), position))
        elif mark in '"`' or (mark in "'*" and _is_single_quote(text, position, mark in open_at)):
            if mark in open_at:
                spans.append((open_at.pop(mark), position))
            else:
                open_at[mark] = position
    if not spans:
        return frozenset()
    return frozenset(
        index
        for index, token in enumerate(parse.tokens)
        for start, end in spans
        if start < token.start and token.end <= end
    )


def _is_single_quote(text: str, position: int, is_open: bool) -> bool:
    """Whether an apostrophe is a quotation mark: it opens after a blank, and closes where no letter follows."""
    before, after = text[position - 1 : position], text[position + 1 : position + 2]
    if is_open:
        return not after.isalnum() and not before.isspace()
    return (not before or before in " \n([:") and after.isalnum() and text[position] in text[position + 1 :]
