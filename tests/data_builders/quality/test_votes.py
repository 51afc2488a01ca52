"""Agreement of a corpus: slices, pairs, raters, turns on which they differ; and the files that votes come from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engrain.data_builders.parquet import write_gate_examples
from engrain.data_builders.quality.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from engrain.data_builders.quality.rated_files import read_rated
from engrain.data_builders.quality.votes import RatedTurn, agreement, majority_type
from engrain.data_builders.teachers.records import Annotation, Candidate, TeacherResult, Verdict, write_rows
from engrain.runtime.errors import InputError
from engrain.runtime.schema import AuxiliaryType, GateExample, Utterance, Vote

Examples = Callable[..., GateExample]
PATTERNS = ("yyy", "yyn", "nnn", "nyn", "yyy", "nnn", "yny", "yyy")


@pytest.fixture
def rated(example: Examples) -> list[RatedTurn]:
    """Eight turns of two corpora, three teachers."""
    return [
        RatedTurn.of(example(number, f"text {number}", votes=votes, corpus="ab"[number % 2]))
        for number, votes in enumerate(PATTERNS)
    ]


def test_a_report_holds_the_statistics_of_its_votes(rated: list[RatedTurn]) -> None:
    report = agreement(rated, resamples=500)
    assert report is not None
    codes = [[int(letter == "y") for letter in votes] for votes in PATTERNS]
    admission = report.field()
    assert admission.fleiss.value == pytest.approx(fleiss_kappa(codes))
    assert admission.alpha.value == pytest.approx(krippendorff_alpha(codes))
    assert admission.unanimous == 5 / 8
    pair = admission.pairs[1]
    assert (pair.first, pair.second, pair.agreeing) == ("teacher0", "teacher2", 7 / 8)
    assert pair.kappa.value == pytest.approx(cohen_kappa([[row[0], row[2]] for row in codes]))
    assert pair.kappa.low is not None and pair.kappa.high is not None
    assert pair.kappa.low < pair.kappa.value < pair.kappa.high
    assert report.field("context dependence").alpha.value is None


def test_slices_are_corpora_and_the_types_that_most_votes_name(rated: list[RatedTurn]) -> None:
    report = agreement(rated, resamples=100)
    assert report is not None
    sizes = {part.slice: part.turns for part in report.slices}
    assert sizes == {"all": 8, "corpus: a": 4, "corpus: b": 4, "type: personal_semantic": 5, "type: non_memory": 3}
    assert report.field(part="corpus: a").alpha.items == 4
    assert (report.turns, report.single, report.disagreeing) == (8, 0, 3)
    first = report.disagreements[0]
    assert (first.id, first.admitting, first.rejecting) == ("t1", ("teacher0", "teacher1"), ("teacher2",))
    assert [one.admitted for one in report.raters] == [5 / 8, 5 / 8, 4 / 8]


def test_a_teacher_without_a_valid_answer_leaves_fleiss_but_not_alpha(rated: list[RatedTurn]) -> None:
    short = RatedTurn("short", "a", "text", rated[0].votes[:2])
    alone = RatedTurn("alone", "a", "text", rated[0].votes[:1])
    report = agreement([*rated, short, alone], resamples=100)
    assert report is not None
    assert (report.turns, report.single) == (9, 1)
    assert (report.field().fleiss.items, report.field().alpha.items) == (8, 9)
    assert agreement([alone]) is None and agreement([]) is None


def test_a_majority_is_more_than_half(vote: Callable[[str, bool], Vote]) -> None:
    yes, no = vote("a", True), vote("b", False)
    assert majority_type([yes, yes, no]) is AuxiliaryType.PERSONAL_SEMANTIC
    assert majority_type([yes, no]) is None


def annotation(number: int, votes: tuple[Vote, ...]) -> Annotation:
    """An annotated turn as a labelling run keeps it; nobody's verdict matters here."""
    target = Utterance(speaker="u", text=f"text {number}")
    return Annotation(
        candidate=Candidate(id=f"t{number}", corpus="msc", group="g", context=(), target=target),
        results=tuple(TeacherResult(teacher=vote.teacher, vote=vote, attempts=1) for vote in votes),
        verdict=Verdict(),
    )


def test_votes_are_read_from_run_folders_corpora_and_jsonl(
    tmp_path: Path, example: Examples, vote: Callable[[str, bool], Vote]
) -> None:
    run = tmp_path / "run"
    write_rows(run / "labels" / "msc.jsonl", [annotation(1, (vote("a", True), vote("b", False)))])
    corpus, lines = tmp_path / "gate.parquet", tmp_path / "people.jsonl"
    write_gate_examples(corpus, [example(2, "I keep bees.", votes="yy")])
    lines.write_text(json.dumps({"id": "t1", "votes": [vote("mara", True).model_dump(mode="json")]}) + "\n")
    found = {turn.id: turn for turn in read_rated([run, corpus, lines])}
    assert [one.teacher for one in found["t1"].votes] == ["a", "b", "mara"]
    assert (found["t1"].corpus, found["t1"].text) == ("msc", "text 1")
    assert found["t2"].text == "I keep bees."


def test_files_of_another_form_and_double_votes_are_refused(tmp_path: Path, vote: Callable[[str, bool], Vote]) -> None:
    path = tmp_path / "votes.jsonl"
    line = json.dumps({"id": "t1", "votes": [vote("a", True).model_dump(mode="json")]})
    path.write_text(f"{line}\n{line}\n")
    with pytest.raises(InputError, match="'a' votes twice on 't1'"):
        read_rated([path])
    path.write_text(f'{line}\n{{"id": "t2"}}\n')
    with pytest.raises(InputError, match=r"votes\.jsonl, line 2: votes"):
        read_rated([path])
    with pytest.raises(InputError, match="holds no labels"):
        read_rated([tmp_path])
    with pytest.raises(InputError, match="missing"):
        read_rated([tmp_path / "none.jsonl"])
