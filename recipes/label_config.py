"""The recipe of labelling: which corpora, which teachers, how votes become labels, what gate corpus comes of them."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from engrain.data_builders.config import MemoraGateData
from engrain.data_builders.gate_corpus_settings import ExpectedWeight, PartSettings
from engrain.data_builders.quality.settings import QualitySettings
from engrain.data_builders.teachers.settings import (
    AnnotationSettings,
    AuditSettings,
    CandidateSettings,
    ConsensusSettings,
)
from engrain.runtime.llm.batch import BatchSettings
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.schema import Contract


class CorpusChoice(Contract):
    """A corpus, by the name that `engrain inspect corpus` knows it by, and what of it is read."""

    name: str = Field(min_length=1, description="Name of the reader.")
    root: Path | None = Field(default=None, description="Folder or file; empty reads it from its hub.")
    splits: tuple[str, ...] | None = Field(default=None, description="Splits to read; empty takes the reader's choice.")
    allow_missing: tuple[str, ...] = Field(default=(), description="Splits that may be absent.")
    zone: str | None = Field(default=None, description="IANA zone of times without an offset.")


class LabelRecipe(Contract):
    """Draw candidates, ask the teachers, find consensus, build a gate corpus, audit it."""

    recipe: Literal["label"]
    name: str = Field(min_length=1, pattern=r"^\w[\w.-]*$", description="Name of the run.")
    output: Path = Field(default=Path("runs"), description="Folder under which `<name>/` is written.")
    run: str = Field(default="", description="Name that calls are booked under in the ledger; empty: `name`.")
    corpora: tuple[CorpusChoice, ...] = Field(default=(), description="Corpora whose turns the teachers label.")
    candidates: CandidateSettings = CandidateSettings()
    teachers: tuple[EndpointSettings, ...] = Field(default=(), description="One endpoint a teacher.")
    annotation: AnnotationSettings = AnnotationSettings()
    consensus: ConsensusSettings = ConsensusSettings()
    mode: Literal["online", "batch", "replay"] = "online"
    batch: BatchSettings = BatchSettings()
    recordings: Path | None = Field(default=None, description="Recorded answers, for replay.")
    ledger: Path | None = Field(default=None, description="Ledger of paid calls; empty: `<output>/ledger.db`.")
    budget_usd: Decimal | None = Field(default=None, ge=0, description="USD for all teachers together; then it stops.")
    rows: PartSettings = PartSettings()
    memora: MemoraGateData | None = Field(default=None, description="The part with released labels; empty: none.")
    expected_weight: ExpectedWeight | None = Field(default=ExpectedWeight(), description="Check of w+; empty: none.")
    quality: QualitySettings = QualitySettings()
    benchmarks: tuple[CorpusChoice, ...] = Field(default=(), description="What the corpus may not overlap with.")
    audit: AuditSettings = AuditSettings()

    @property
    def folder(self) -> Path:
        """Where this run writes."""
        return self.output / self.name

    @property
    def ledger_path(self) -> Path:
        """Where paid answers are kept; runs below one output folder share it."""
        return self.ledger or self.output / "ledger.db"

    @model_validator(mode="after")
    def _corpora_have_teachers(self) -> LabelRecipe:
        if self.corpora and not self.teachers:
            raise ValueError("corpora are named but no teachers; add teachers, or leave corpora out")
        if not self.corpora and self.memora is None:
            raise ValueError("there is nothing to label or build from; add corpora, or memora")
        return self

    @model_validator(mode="after")
    def _names_differ(self) -> LabelRecipe:
        for what, names in (("teachers", [one.name for one in self.teachers]), ("corpora", self._places())):
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise ValueError(f"{what}: {', '.join(twice)} stands there twice")
        return self

    @model_validator(mode="after")
    def _candidates_can_fill_the_rows(self) -> LabelRecipe:
        if self.corpora and self.candidates.count < self.rows.count:
            raise ValueError(
                f"candidates.count {self.candidates.count} cannot fill rows.count {self.rows.count}; raise it, with "
                "room for turns without consensus"
            )
        return self

    def _places(self) -> list[str]:
        return [f"{one.name} {one.root or ''} {','.join(one.splits or ())}".strip() for one in self.corpora]


def limited(recipe: LabelRecipe, limit: int) -> LabelRecipe:
    """The recipe cut down to a trial of `limit` candidates a corpus, in a folder of its own, booked under the same run.

    Its candidates are a part of the whole run's, so that nothing that a trial buys is bought again.
    """
    share = min(1.0, limit / recipe.candidates.count)
    rows, memora = recipe.rows, recipe.memora
    count = max(2, round(rows.count * share))
    small = rows.model_copy(update={"count": count, "validation": _part(rows.validation, share, count)})
    if memora is not None and memora.rows_per_persona is not None:
        taken = max(5, round(memora.rows_per_persona * share))
        kept = _part(memora.validation_per_persona, share, taken)
        memora = memora.model_copy(update={"rows_per_persona": taken, "validation_per_persona": kept})
    return recipe.model_copy(
        update={
            "name": f"{recipe.name}-limit-{limit}",
            "run": recipe.run or recipe.name,
            "rows": small,
            "memora": memora,
            "expected_weight": None,
        }
    )


def _part(validation: int, share: float, count: int) -> int:
    return min(max(1, round(validation * share)), count - 1)


def planned(recipe: LabelRecipe) -> dict[str, object]:
    """The recipe's entry of `engrain plan`. Prices need the candidates: `engrain label --dry-run` projects them."""
    first = recipe.candidates.count * len(recipe.corpora) * len(recipe.teachers)
    personas = recipe.memora.personas if recipe.memora else 0
    released = (recipe.memora.rows_per_persona or 0) * (personas or 0) if recipe.memora else 0
    return {
        "recipe": recipe.recipe,
        "name": recipe.name,
        "resolved": recipe.model_dump(mode="json"),
        "steps": {
            "requests": first,
            "corrections at most": first * recipe.annotation.retries,
            "teacher-labelled rows": recipe.rows.count * len(recipe.corpora),
            "rows with released labels": released or "known once the corpus is read",
        },
        "parameters": {},
        "memory_gib": {},
        "writes": [f"{recipe.folder}/{name}" for name in ("labels/", "gate.parquet", "build.json", "quality.html")],
    }
