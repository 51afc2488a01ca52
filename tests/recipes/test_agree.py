"""`engrain agree`: tables for people, one JSON document for machines, a page with plots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engrain.data_builders.quality.agreement import fleiss_kappa
from engrain.recipes.cli import run

PATTERNS = ("yyy", "yyn", "nnn", "nyn", "yyy", "nnn")


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Votes of three people on six turns, as JSONL."""
    path = tmp_path / "votes.jsonl"
    lines = []
    for number, pattern in enumerate(PATTERNS):
        given = [
            {
                "teacher": name,
                "admit": letter == "y",
                "auxiliary_type": "personal_semantic" if letter == "y" else "non_memory",
                "context_dependence": "self_contained",
                "confidence": 0.8,
            }
            for name, letter in zip(("ana", "bo", "cy"), pattern, strict=True)
        ]
        lines.append(json.dumps({"id": f"t{number}", "corpus": "chat", "text": f"[red]turn {number}", "votes": given}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_json_holds_the_whole_report(votes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["agree", str(votes), "--json", "--resamples", "200"]) == 0
    report = json.loads(capsys.readouterr().out)
    codes = [[int(letter == "y") for letter in pattern] for pattern in PATTERNS]
    assert report["slices"][0]["fields"][0]["fleiss"]["value"] == pytest.approx(fleiss_kappa(codes))
    assert [one["name"] for one in report["raters"]] == ["ana", "bo", "cy"]
    assert [one["id"] for one in report["disagreements"]] == ["t1", "t3"]


def test_tables_and_page(votes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "agreement.html"
    assert run(["agree", str(votes), "--html", str(page), "--resamples", "200"]) == 0
    shown = capsys.readouterr().out
    for expected in ("corpus: chat", "Krippendorff's alpha", "differ about admission on 2 turns", "[red]turn 1"):
        assert expected in shown
    assert page.read_text().count("<svg") == 2


def test_votes_of_one_person_are_no_agreement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text('{"id": "t1", "votes": []}\n')
    assert run(["agree", str(path)]) == 2
    assert "votes of two raters" in capsys.readouterr().err
