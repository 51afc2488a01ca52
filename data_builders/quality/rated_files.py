"""Rated turns from files: what `engrain label` wrote, a gate corpus with votes, or votes from elsewhere as JSONL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from engrain.data_builders.parquet import read_gate_examples
from engrain.data_builders.quality.votes import RatedTurn
from engrain.data_builders.sources.json_files import read_rows
from engrain.data_builders.teachers.records import Annotation
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract, Identifier, Vote

LABELS = "labels/*.jsonl"
"""Where a labelling run keeps every annotated turn, refused ones too; below the run's folder."""


class VotedTurn(Contract):
    """A line of votes from elsewhere."""

    id: Identifier
    votes: tuple[Vote, ...]
    corpus: str = ""
    text: str = Field(default="", description="The turn, to be shown where raters differ.")


def read_rated(paths: Iterable[Path]) -> list[RatedTurn]:
    """Every rated turn of some files or run folders; votes on one turn in several files are put together.

    A folder stands for its `labels/*.jsonl`. Raises `InputError` for a file of another form, and when a rater votes
    twice on a turn.
    """
    turns: dict[str, RatedTurn] = {}
    for path in paths:
        for turn in _read(path):
            known = turns.get(turn.id)
            turns[turn.id] = turn if known is None else replace(known, votes=known.votes + turn.votes)
            _require_one_vote_each(turns[turn.id], path)
    return list(turns.values())


def _read(path: Path) -> Iterator[RatedTurn]:
    if path.is_dir():
        files = sorted(path.glob(LABELS))
        if not files:
            raise InputError(f"{path} holds no {LABELS}; give the folder of a labelling run, or files with votes")
        for file in files:
            yield from _read(file)
    elif path.suffix == ".parquet":
        yield from map(RatedTurn.of, read_gate_examples(path))
    else:
        yield from read_rows(path, _rated)


def _rated(value: Any) -> RatedTurn:
    """A line of either form; one that holds `candidate` is an annotation, and is faulted as one."""
    if isinstance(value, dict) and "candidate" in value:
        found = Annotation.model_validate(value)
        candidate = found.candidate
        return RatedTurn(candidate.id, candidate.corpus, candidate.target.text, found.votes)
    line = VotedTurn.model_validate(value)
    return RatedTurn(line.id, line.corpus, line.text, line.votes)


def _require_one_vote_each(turn: RatedTurn, path: Path) -> None:
    raters = [vote.teacher for vote in turn.votes]
    if len(set(raters)) < len(raters):
        twice = next(name for name in raters if raters.count(name) > 1)
        raise InputError(f"{path}: '{twice}' votes twice on '{turn.id}'; give each vote in one file")
