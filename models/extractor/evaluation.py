"""Scores of an extractor over labelled windows, whole and in parts: by style and by the length of the window."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from engrain.models.extractor.metrics import Embed, ExtractionScores, copied_records, score_extraction
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.extractor import Extractor
from engrain.runtime.extraction.parsing import ParseResult
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Contract, ExtractionExample

_BOUNDS = (20, 60, 200, 800)
"""Words of a window's new messages between one length and the next."""


class Evaluated(Contract):
    """All windows, and the same scores of their parts."""

    whole: ExtractionScores
    by_style: dict[str, ExtractionScores] = Field(description="One entry a style that occurs.")
    by_length: dict[str, ExtractionScores] = Field(description="By words of the new messages, such as `20-60 words`.")


def evaluate_extractor(extractor: Extractor, examples: Sequence[ExtractionExample], embed: Embed) -> Evaluated:
    """Extract every example's window and score the records against its gold ones.

    Raises `InputError` for an example of another style than the extractor's: it would be asked for something else.
    """
    other = [example.id for example in examples if example.style is not extractor.style]
    if other:
        raise InputError(f"{len(other)} examples ({other[0]}) are not of the extractor's style {extractor.style}")
    return evaluate_results(extractor.extract([_window(example) for example in examples]), examples, embed)


def evaluate_copying(examples: Sequence[ExtractionExample], embed: Embed) -> Evaluated:
    """The copy baseline on the same windows: every new message as a record."""
    return evaluate_results([copied_records(_window(example)) for example in examples], examples, embed)


def evaluate_results(results: Sequence[ParseResult], examples: Sequence[ExtractionExample], embed: Embed) -> Evaluated:
    """Score results that are there already, one an example."""

    def scores(rows: Sequence[int]) -> ExtractionScores:
        some = [examples[row] for row in rows]
        return score_extraction(
            [results[row] for row in rows],
            [example.records for example in some],
            embed,
            windows=[_window(example) for example in some],
        )

    return Evaluated(
        whole=scores(range(len(examples))),
        by_style={name: scores(rows) for name, rows in _groups([one.style.value for one in examples]).items()},
        by_length={name: scores(rows) for name, rows in _groups([_length(one) for one in examples]).items()},
    )


def _groups(names: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        found.setdefault(name, []).append(row)
    return dict(sorted(found.items(), key=lambda item: int(item[0].split("-")[0]) if item[0][0].isdigit() else 0))


def _length(example: ExtractionExample) -> str:
    words = sum(len(turn.text.split()) for turn in example.window[example.overlap :])
    above = next((bound for bound in _BOUNDS if words < bound), None)
    below = max((bound for bound in _BOUNDS if bound <= words), default=0)
    return f"{below}-{above} words" if above else f"{below}- words"


def _window(example: ExtractionExample) -> Window:
    return Window(example.window, example.overlap)
