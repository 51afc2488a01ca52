"""One quality report a build: `quality.json` for machines, `quality.html` for people, `README.md` as dataset card."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from engrain.data_builders.quality.balance import BalanceReport, balance
from engrain.data_builders.quality.card import dataset_card
from engrain.data_builders.quality.duplicates import DuplicateReport, find_duplicates
from engrain.data_builders.quality.label_noise import Embed, NoiseReport, label_noise
from engrain.data_builders.quality.leaks import index_benchmarks
from engrain.data_builders.quality.page import quality_page
from engrain.data_builders.quality.row_leaks import LeakReport, row_leaks
from engrain.data_builders.quality.rows import Row, row_of
from engrain.data_builders.quality.settings import QualitySettings
from engrain.data_builders.quality.votes import AgreementReport, RatedTurn, agreement
from engrain.data_builders.sources.dialogue import LabelledSession, SourceInfo
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract, GateExample

QUALITY_FILES = JSON_FILE, PAGE_FILE, CARD_FILE = "quality.json", "quality.html", "README.md"
StageProgress = Callable[[str, int, int], None]
"""Called with the stage's name, what is done and what there is in all (0 when unknown)."""


class QualityReport(Contract):
    """Everything that was measured of one corpus."""

    balance: BalanceReport
    agreement: AgreementReport | None
    duplicates: DuplicateReport
    leaks: LeakReport
    noise: NoiseReport | None


def quality_report(
    examples: Iterable[GateExample],
    folder: Path,
    *,
    benchmarks: Mapping[str, Iterable[LabelledSession]] | None = None,
    rated: Iterable[RatedTurn] | None = None,
    sources: Sequence[SourceInfo] = (),
    embed: Embed | None = None,
    settings: QualitySettings | None = None,
    progress: StageProgress | None = None,
) -> QualityReport:
    """Measure a corpus and write `quality.json`, `quality.html` and the dataset card `README.md` into `folder`.

    `examples` are read once and let go, so a generator will do. `benchmarks` maps a name to the sessions that may not
    occur in the corpus. `rated` are all turns that were rated, also those that the consensus refused: agreement is over
    them, and over the examples' own votes when it is None. `sources` stand in the card with licence and citation.
    Raises `InputError` when there are no examples.
    """
    report = measure(examples, benchmarks=benchmarks, rated=rated, embed=embed, settings=settings, progress=progress)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / JSON_FILE, report.model_dump_json(indent=1) + "\n")
    _write(folder / CARD_FILE, dataset_card(folder.name, report, sources))
    quality_page(folder.name, report).write(folder / PAGE_FILE)
    return report


def measure(
    examples: Iterable[GateExample],
    *,
    benchmarks: Mapping[str, Iterable[LabelledSession]] | None = None,
    rated: Iterable[RatedTurn] | None = None,
    embed: Embed | None = None,
    settings: QualitySettings | None = None,
    progress: StageProgress | None = None,
) -> QualityReport:
    """Measure a corpus and write nothing; see `quality_report`."""
    settings = settings or QualitySettings()

    def stage(name: str) -> Callable[[int, int], None] | None:
        return None if progress is None else lambda done, total: progress(name, done, total)

    rows: list[Row] = []
    voted: list[RatedTurn] = []
    for example in examples:
        rows.append(row_of(example))
        if example.votes and rated is None:
            voted.append(RatedTurn.of(example))
    if not rows:
        raise InputError("there are no examples to report on; look at the report of the build")
    indexes = index_benchmarks(benchmarks or {})
    return QualityReport(
        balance=balance(rows, progress=stage("balance")),
        agreement=agreement(voted if rated is None else rated, resamples=settings.resamples, seed=settings.seed),
        duplicates=find_duplicates(
            rows,
            near_overlap=settings.near_overlap,
            listed=settings.listed,
            seed=settings.seed,
            progress=stage("duplicates"),
        ),
        leaks=row_leaks(rows, indexes, progress=stage("leaks")),
        noise=_noise(rows, embed, settings, stage("label noise")),
    )


def _noise(
    rows: Sequence[Row], embed: Embed | None, settings: QualitySettings, progress: Callable[[int, int], None] | None
) -> NoiseReport | None:
    if not settings.label_noise:
        return None
    return label_noise(
        rows, embed=embed, folds=settings.folds, listed=settings.listed, seed=settings.seed, progress=progress
    )


def _write(path: Path, text: str) -> None:
    """The file appears whole or not at all."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
