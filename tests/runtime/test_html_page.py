"""One self-contained page: everything is escaped, plots are inline, a missing plotting library is named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from engrain.runtime.errors import InputError
from engrain.runtime.html_page import Page


def test_texts_are_escaped_and_numbers_aligned(tmp_path: Path) -> None:
    page = Page("a < b")
    page.heading("<h>")
    page.paragraph("1 & 2")
    page.block("<pre>")
    page.hit("<b>text</b>", 'from "there"')
    page.table(("<col>", "n"), [("<cell>", 0.5), (None, True)])
    text = page.write(tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert "<title>a &lt; b</title>" in text and "<h2>&lt;h&gt;</h2>" in text
    assert "<b>" not in text and "<cell>" not in text and "<col>" not in text
    assert '<td class="number">0.500</td>' in text and "<td>-</td>" in text and "<td>yes</td>" in text


def test_half_a_character_does_not_stop_the_page(tmp_path: Path) -> None:
    page = Page("odd")
    page.paragraph("\ud800 half")
    assert "\\ud800 half" in page.write(tmp_path / "page.html").read_text(encoding="utf-8")


def test_plots_are_inline(tmp_path: Path) -> None:
    page = Page("plots")

    def draw(axes: Any) -> None:
        axes.plot([0, 1], [1, 0])
        axes.set(xlabel="x <em>")

    page.plot("a caption <i>", draw)
    text = page.write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count("<svg") == 1 and "a caption &lt;i&gt;" in text and "<?xml" not in text


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"engrain\[data\]"):
        Page("plots").plot("caption", lambda axes: None)
