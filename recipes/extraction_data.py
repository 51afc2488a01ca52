"""An extractor recipe's data: training, validation and evaluation windows, and the counts of the build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engrain.data_builders.config import ExtractionWindows
from engrain.data_builders.extraction_corpus import extraction_corpus
from engrain.data_builders.parquet import read_extraction_examples
from engrain.data_builders.shipped import load_shipped
from engrain.recipes.config import ExtractorRecipe, ShippedData
from engrain.runtime.schema import ExtractionExample, Split


@dataclass(frozen=True)
class ExtractionWindowsBySplit:
    """Windows by use; `report` holds the counts of the build."""

    train: tuple[ExtractionExample, ...]
    validation: tuple[ExtractionExample, ...]
    test: tuple[ExtractionExample, ...]
    report: dict[str, Any]


def extraction_windows(recipe: ExtractorRecipe) -> ExtractionWindowsBySplit:
    """Build or read the windows of a recipe, cut and asked as its extractor will be."""
    if isinstance(recipe.data, ShippedData):
        corpus = load_shipped()
        built = extraction_corpus(
            corpus.sessions, corpus.records, window_settings(recipe), splits=corpus.splits(recipe.data)
        )
        return _split(built.examples, built.report.model_dump(mode="json"))
    examples = read_extraction_examples(recipe.data.path)
    return _split(examples, {"windows": len(examples)})


def window_settings(recipe: ExtractorRecipe) -> ExtractionWindows:
    """The data builder's settings that follow from the extractor's."""
    window = recipe.window
    return ExtractionWindows(
        style=window.style, size=window.size, overlap=window.overlap, prompt=recipe.model.prompt, keep_empty=True
    )


def _split(examples: Sequence[ExtractionExample], report: dict[str, Any]) -> ExtractionWindowsBySplit:
    def of(split: Split) -> tuple[ExtractionExample, ...]:
        return tuple(example for example in examples if example.split is split)

    return ExtractionWindowsBySplit(of(Split.TRAIN), of(Split.VALIDATION), of(Split.TEST), report)
