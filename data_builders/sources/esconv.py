"""ESConv: emotional support between a help seeker, who is the user, and a supporter.

Published as `ESConv.json` (a list; `dialog` with `speaker` and `content`), the same in `train.txt`, `valid.txt` and
`test.txt` (one object a line; speakers `usr` and `sys`, words under `text`), and `FailedESConv.json` (speakers
`speaker` and `listener`), which is read only when asked for. A list of bare dialogues is read as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from engrain.data_builders.sources.hub import Hub
from engrain.data_builders.sources.reader import Corpus, Dialogue, DialogueSource, Line
from engrain.data_builders.sources.rows import Row
from engrain.data_builders.sources.splits import below
from engrain.runtime.schema import Role

_ABOUT = ("emotion_type", "problem_type", "experience_type", "situation")


class EsconvSource(DialogueSource):
    """ESConv's dialogues; `metadata` has the seeker's emotion, problem and situation where the file gives them."""

    corpus = Corpus(
        name="esconv",
        licence="CC BY-NC 4.0",
        citation="Liu et al. 2021, Towards Emotional Support Dialog Systems",
        home="https://github.com/thu-coai/Emotional-Support-Conversation",
        roles={
            **dict.fromkeys(("seeker", "usr", "speaker"), Role.USER),
            **dict.fromkeys(("supporter", "sys", "listener"), Role.ASSISTANT),
        },
        files={
            "all": below("ESConv.json"),
            **{split: (f"{split}.txt", f"esconv/{split}.txt") for split in ("train", "valid", "test")},
            "failed": below("FailedESConv.json"),
            "rebuilt": below("*dialogues_reconstructed.json"),
        },
        defaults=(("all",), ("train", "valid", "test"), ("rebuilt",)),
        hub=Hub("thu-coai/esconv", {"train": "train", "valid": "validation", "test": "test"}, text_column="text"),
    )

    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The row's dialogue, numbered, for ESConv gives no ids."""
        whole = row.value if isinstance(row.value, dict) else {"dialog": row.value}
        turns = Row(whole, row.place, row.index).entries("ESConv", "dialog", "speaker")
        lines = [Line(str(turn["speaker"]), turn.get("content", turn.get("text"))) for turn in turns]
        yield Dialogue(f"{row.index + 1:05d}", lines, metadata={key: whole[key] for key in _ABOUT if key in whole})
