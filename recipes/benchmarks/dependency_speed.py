"""Speed of the dependency extractor: what its rules add to the parser's own time, and batches against single turns.

    python -m engrain.recipes.benchmarks.dependency_speed --source DATA/memora [--turns 600] [--rounds 3]

The parser is timed as the extractor calls it, conversion to role graphs included, without the cache; `pipeline` is the
bare spaCy pipeline. Rounds alternate, and the fastest of each is taken, since other work on the machine only slows.
The bar: rules at most 15% of the parser's time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engrain.recipes import console
from engrain.recipes.eval_dependency import read_turns, stand_in
from engrain.runtime.extraction.dependency.analysis import analyse
from engrain.runtime.extraction.dependency.dimensions import find_dimensions
from engrain.runtime.extraction.dependency.settings import DependencySettings
from engrain.runtime.extraction.dependency.spacy_parser import BATCH, SpacyParser, convert

BAR = 0.15
MOMENT = datetime(2025, 6, 1, tzinfo=UTC)


def run(texts: list[str], rounds: int) -> dict[str, Any]:
    """Seconds of each part over `texts`, the fastest of `rounds`, and the ratios that the bar is about."""
    parser, settings = SpacyParser.load(), DependencySettings()
    pipeline = parser._pipeline
    documents = list(pipeline.pipe(texts, batch_size=BATCH))
    parses = [convert(document) for document in documents]
    analyses = [analyse(parse, settings) for parse in parses]
    parts: dict[str, Callable[[], object]] = {
        "pipeline": lambda: list(pipeline.pipe(texts, batch_size=BATCH)),
        "parser": lambda: parser.parse(texts),
        "conversion": lambda: [convert(document) for document in documents],
        "rules": lambda: [analyse(parse, settings) for parse in parses],
        "dimensions": lambda: [find_dimensions(analysis, MOMENT, settings.keywords) for analysis in analyses],
        "parser_one_by_one": lambda: [parser.parse([text]) for text in texts],
    }
    seconds = dict.fromkeys(parts, float("inf"))
    for _ in range(rounds):
        for name, part in parts.items():
            begin = time.perf_counter()
            part()
            seconds[name] = min(seconds[name], time.perf_counter() - begin)
    return {
        "turns": len(texts),
        **{f"{name}_turns_per_s": round(len(texts) / value, 1) for name, value in seconds.items()},
        "rules_by_parser": round(seconds["rules"] / seconds["parser"], 4),
        "rules_and_conversion_by_pipeline": round((seconds["rules"] + seconds["conversion"]) / seconds["pipeline"], 4),
        "dimensions_by_parser": round(seconds["dimensions"] / seconds["parser"], 4),
        "batch_speedup": round(seconds["parser_one_by_one"] / seconds["parser"], 2),
        "bar": BAR,
    }


def main() -> int:
    """Print the figures; exit 1 when the rules miss the bar."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--source", type=Path, required=True, help="Memora's folder.")
    options.add_argument("--turns", type=int, default=600)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    turns = stand_in(*read_turns(chosen.source, "weekly"))
    step = max(1, len(turns) // chosen.turns)
    figures = run([turn.text for turn in turns[::step]], chosen.rounds)
    console.show_fields("dependency extractor, spaCy", figures)
    return int(figures["rules_by_parser"] > BAR)


if __name__ == "__main__":
    sys.exit(main())
