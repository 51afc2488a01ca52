"""Taskmaster-2: spoken tasks, `data/<domain>.json`, a list of dialogues with `utterances`.

A crowd worker is the user; a call-centre operator, whom the worker takes for a machine, is the assistant. The corpus
has no published splits: its seven domains stand for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from engrain.data_builders.sources.reader import Corpus, Dialogue, DialogueSource, Line
from engrain.data_builders.sources.rows import Row
from engrain.data_builders.sources.splits import below
from engrain.runtime.schema import Role

DOMAINS = ("flights", "food-ordering", "hotels", "movies", "music", "restaurant-search", "sports")


class Taskmaster2Source(DialogueSource):
    """Taskmaster-2's dialogues by domain; `metadata` has the instruction that the worker was given."""

    corpus = Corpus(
        name="taskmaster-2",
        licence="CC BY 4.0",
        citation="Byrne et al. 2020, Taskmaster-2, Google Research",
        home="https://github.com/google-research-datasets/Taskmaster/tree/master/TM-2-2020",
        roles={"USER": Role.USER, "ASSISTANT": Role.ASSISTANT},
        files={
            **{domain: (*below(f"data/{domain}.json"), f"{domain}.json") for domain in DOMAINS},
            "examples": below("*tm2_original_examples.json"),
        },
        defaults=(DOMAINS, ("examples",)),
    )

    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The row's dialogue."""
        fields = row.fields("Taskmaster-2", "conversation_id", "utterances")
        turns = row.entries("Taskmaster-2", "utterances", "speaker", "text")
        lines = [Line(str(turn["speaker"]), turn["text"]) for turn in turns]
        yield Dialogue(str(fields["conversation_id"]), lines, metadata={"instruction": fields.get("instruction_id")})
