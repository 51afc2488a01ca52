"""UltraChat: instructions and questions to an assistant, both sides written by a model; turns alternate, user first.

Three forms are read: the authors' `train_N.jsonl` (`id`, and `data`, a list of texts), the filtered 200k selection
(`prompt_id` and `messages`), and sessions with `session_id` and `turns`.
"""

from __future__ import annotations

from collections.abc import Iterator

from engrain.data_builders.sources.hub import Hub
from engrain.data_builders.sources.reader import Corpus, Dialogue, DialogueSource, Line
from engrain.data_builders.sources.rows import Row
from engrain.data_builders.sources.splits import below
from engrain.runtime.schema import Role

_ROLES = ("user", "assistant")
_FORMS = {"messages": "prompt_id", "turns": "session_id"}


class UltraChatSource(DialogueSource):
    """UltraChat's dialogues."""

    corpus = Corpus(
        name="ultrachat",
        licence="MIT",
        citation="Ding et al. 2023, Enhancing Chat Language Models by Scaling High-quality Instructional Conversations",
        home="https://huggingface.co/datasets/stingning/ultrachat",
        roles={"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM},
        files={"train": ("train_*.jsonl", *below("ultrachat*.jsonl"))},
        hub=Hub("stingning/ultrachat", {"train": "train"}),
    )

    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The row's dialogue."""
        for key, name in _FORMS.items():
            if isinstance(row.value, dict) and key in row.value:
                turns = row.entries("UltraChat", key, "role", "content")
                lines = [Line(str(turn["role"]), turn["content"]) for turn in turns]
                yield Dialogue(str(row.value.get(name) or row.index + 1), lines)
                return
        fields = row.fields("UltraChat", "id", "data")
        if not isinstance(fields["data"], list):
            raise row.fault("not UltraChat's layout; expected `data` to be a list of texts")
        yield Dialogue(str(fields["id"]), [Line(_ROLES[n % 2], text) for n, text in enumerate(fields["data"])])
