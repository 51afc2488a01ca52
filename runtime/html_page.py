"""One self-contained HTML page: headings, text, tables and plots, with no file or script beside it.

Reports of every room are such pages. Plots want matplotlib, which is imported when the first one is drawn.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engrain.runtime.errors import InputError
from engrain.runtime.plain import plain

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; overflow-x: auto; background: #fff; width: fit-content; border-radius: 6px; padding: .5rem; }
figcaption { color: #444; font-size: .9rem; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; white-space: pre-wrap; }
.hit { background: var(--soft); padding: .5rem .8rem; margin: .4rem 0; border-radius: 6px; }
.source { opacity: .75; font-size: .9rem; }
"""


@dataclass
class Page:
    """A page built from top to bottom; every text is escaped."""

    title: str
    _parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """A section heading."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def paragraph(self, text: str) -> None:
        """A paragraph of text."""
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def block(self, text: str) -> None:
        """Preformatted text."""
        self._parts.append(f"<pre>{html.escape(text)}</pre>")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """A table; numbers are right-aligned, floats have three decimals."""
        head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
        body = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in rows)
        self._parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")

    def hit(self, text: str, source: str) -> None:
        """A search hit and where it came from."""
        self._parts.append(f'<div class="hit">{html.escape(text)}<div class="source">{html.escape(source)}</div></div>')

    def plot(self, caption: str, draw: Callable[[Any], None], width: float = 6.4, height: float = 3.6) -> None:
        """A matplotlib plot as inline SVG; `draw` gets the axes. `width` and `height` are in inches."""
        self._parts.append(
            f"<figure>{_svg(draw, width, height)}<figcaption>{html.escape(caption)}</figcaption></figure>"
        )

    def write(self, path: Path) -> Path:
        """Write the page as UTF-8 and return its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        title = html.escape(self.title)
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
        body = "\n".join(self._parts)
        top = f"<head>{head}<style>{_STYLE}</style></head>"
        page = f"<!doctype html>\n<html lang=en>{top}<body><h1>{title}</h1>\n{body}\n</body></html>\n"
        path.write_text(page, encoding="utf-8", errors="backslashreplace")
        return path


def _cell(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f'<td class="number">{plain(value)}</td>' if number else f"<td>{html.escape(plain(value))}</td>"


def _svg(draw: Callable[[Any], None], width: float, height: float) -> str:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("plots need matplotlib; install it with: pip install 'engrain[data]'") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    draw(axes)
    stream = io.StringIO()
    figure.savefig(stream, format="svg")
    text = stream.getvalue()
    return text[text.index("<svg") :]
