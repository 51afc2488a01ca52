"""How a search works: which routes, how deep, how they are joined, what is attached."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field

from engrain.runtime.retrieval.assistant_recall import AssistantRecall
from engrain.runtime.retrieval.dimension import Variant
from engrain.runtime.retrieval.fusion import Fusion
from engrain.runtime.schema import Contract

LEXICAL = "lexical"
DENSE = "dense"
DIMENSION = "dimension"
NAMED = "named_speaker"
LENGTH = "length"

Route = Literal["lexical", "dense", "dimension"]


class SearchSettings(Contract):
    """How routes are searched and joined.

    Defaults tuned on LoCoMo's conv-26, conv-30 and conv-41, the neighbours' weight also on half of LongMemEval's items.
    """

    lexical_weight: float = Field(default=1.0, ge=0.0, description="Of the BM25 route in fusion; 0: off.")
    dense_weight: float = Field(default=0.7, ge=0.0, description="Of the cosine route in fusion; 0: off.")
    dimension_weight: float = Field(
        default=0.3, ge=0.0, description="Of the dimension route in fusion; 0: off. Not tuned: raw turns have none."
    )
    speaker_weight: float = Field(
        default=0.15, ge=0.0, description="Added when the question names the record's speaker; weighted fusion only."
    )
    length_weight: float = Field(
        default=0.2, ge=0.0, description="Of a record's length in weighted fusion: short remarks seldom answer; 0: off."
    )
    full_length: int = Field(default=16, ge=1, description="Terms from which a record counts as long.")
    neighbour_weight: float = Field(
        default=0.35,
        ge=0.0,
        le=1.0,
        description="Weight of the previous and next turn in BM25 and cosine, halved with every turn on; 0: none.",
    )
    neighbour_reach: int = Field(default=2, ge=1, le=8, description="Turns on each side that count.")
    fusion: Fusion = Field(default=Fusion.WEIGHTED, description="weighted, reciprocal, or ordered as in DimMem.")
    order: tuple[Route, ...] = Field(
        default=("lexical", "dimension", "dense"),
        description="Of ordered fusion; DimMem's LoCoMo path has dimension, dense, lexical.",
    )
    rrf_k: float = Field(default=5.0, gt=0.0, description="Rank offset of reciprocal fusion: the larger, the flatter.")
    dimension_variant: Variant = Field(default="longmemeval", description="Whose weights the dimension route uses.")
    depth: int = Field(default=15, ge=1, description="Candidates a route brings at least (DimMem: 15).")
    from_anchor: bool = Field(
        default=False, description="Search by the parsed anchor and keywords (DimMem) instead of the question as asked."
    )
    history: bool = Field(default=True, description="Questions about time or change also see outdated records.")
    assistant_recall: AssistantRecall = Field(
        default=AssistantRecall.SELECTIVE, description="When the assistant's replies are attached to hits."
    )
    longest_query: int = Field(default=10_000, ge=1, description="Characters that are read of a query.")
    longest_parsed: int = Field(default=1_000, ge=1, description="Characters that the parser reads of a query.")
    kept_documents: int = Field(
        default=1_000_000, ge=1, description="Records and turns, over all users, whose indexes stay in memory."
    )

    @classmethod
    def bm25_alone(cls) -> Self:
        """BM25 of each record's own words and nothing else: the baseline of the benchmarks."""
        return cls(dense_weight=0.0, dimension_weight=0.0, speaker_weight=0.0, length_weight=0.0, neighbour_weight=0.0)

    def route_depth(self, budget: int) -> int:
        """max(15, 3R, R + 16) candidates a route for a budget R."""
        return max(self.depth, 3 * budget, budget + 16)
