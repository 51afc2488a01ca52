"""The recipe of synthesis: which teacher writes and annotates, which chats it reads, what the corpus may not repeat."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from engrain.data_builders.config import ExtractionWindows, ShippedSplit
from engrain.data_builders.synthesis.settings import SynthesisSettings
from engrain.recipes.label_config import CorpusChoice
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.schema import Contract


class WeakChoice(Contract):
    """A corpus that rules write records for, without a teacher."""

    corpus: CorpusChoice
    messages: int = Field(default=1500, ge=1, description="Messages read at most, evenly spread over the corpus.")
    records: int = Field(default=1, ge=1, description="Least records of a message that is kept.")


class SynthesisRecipe(SynthesisSettings):
    """Examples by a teacher (`engrain synthesize`); with records by rules and people, a corpus (`build extractor`)."""

    recipe: Literal["synthesize"]
    name: str = Field(min_length=1, pattern=r"^\w[\w.-]*$", description="Name of the run.")
    output: Path = Field(default=Path("runs"), description="Folder under which `<name>/` is written.")
    teacher: EndpointSettings | None = Field(default=None, description="The model that writes and annotates.")
    corpora: tuple[CorpusChoice, ...] = Field(default=(), description="Chats with an assistant, such as UltraChat.")
    benchmarks: tuple[CorpusChoice, ...] = Field(default=(), description="What the corpus may not overlap with.")
    mode: Literal["online", "batch", "replay"] = "online"
    recordings: Path | None = Field(default=None, description="Recorded answers, for replay.")
    ledger: Path | None = Field(default=None, description="Ledger of paid calls; empty: `<output>/ledger.db`.")
    budget_usd: Decimal | None = Field(default=None, ge=0, description="USD for the whole run; then it stops.")
    weak: tuple[WeakChoice, ...] = Field(default=(), description="Corpora with records by rules.")
    shipped: ShippedSplit | None = Field(default=None, description="Add the shipped corpus, divided so; empty: no.")
    windows: ExtractionWindows = Field(
        default=ExtractionWindows(), description="Windows of the shipped corpus; the prompt of rules' records too."
    )

    @property
    def folder(self) -> Path:
        """Where this run writes."""
        return self.output / self.name

    @property
    def ledger_path(self) -> Path:
        """Where paid answers are kept; runs below one output folder share it."""
        return self.ledger or self.output / "ledger.db"

    @model_validator(mode="after")
    def _has_something_to_do(self) -> SynthesisRecipe:
        if self.teacher is None and not self.weak and self.shipped is None:
            raise ValueError("there is nothing to write or build from; name a teacher, weak corpora or shipped")
        if self.teacher is not None and self.chats.examples and not self.corpora:
            raise ValueError("chats.examples wants corpora with chats; name one, or set chats.examples=0")
        return self


def planned_synthesis(recipe: SynthesisRecipe) -> dict[str, object]:
    """The recipe's entry of `engrain plan`. Prices need the plans: `engrain synthesize --dry-run` projects them."""
    stories = recipe.stories.stories if recipe.teacher else 0
    chats = recipe.chats.examples * 11 // 10 if recipe.teacher else 0
    files = ("synthetic.parquet", "rejects.jsonl", "synthesis.json") if recipe.teacher else ()
    return {
        "recipe": recipe.recipe,
        "name": recipe.name,
        "resolved": recipe.model_dump(mode="json"),
        "steps": {
            "requests for stories": stories,
            "requests for dialogues at most": stories * recipe.stories.sessions,
            "requests for records, about": chats + recipe.stories.examples * 11 // 10 * bool(stories),
            "messages for rules at most": sum(choice.messages for choice in recipe.weak),
        },
        "parameters": {},
        "memory_gib": {},
        "writes": [f"{recipe.folder}/{name}" for name in (*files, "extraction.parquet", "build.json")],
    }
