"""Settings of synthetic supervision, composed by recipes. DimMem's numbers are the defaults (section 3.5)."""

from __future__ import annotations

from pydantic import Field

from engrain.runtime.extraction.windows import PAPER_WINDOWS
from engrain.runtime.schema import Contract, WindowStyle

PAPER_EXAMPLES = 5000
"""DimMem 3.5: examples of each style."""
_STORY_SIZE, _STORY_OVERLAP = PAPER_WINDOWS[WindowStyle.LOCOMO]
_CHAT_SIZE, _CHAT_OVERLAP = PAPER_WINDOWS[WindowStyle.LONGMEMEVAL]


class TeacherAsking(Contract):
    """How a teacher is asked."""

    max_tokens: int = Field(default=16_384, ge=64, description="Tokens of one answer at most (the paper's).")
    annotate_temperature: float = Field(
        default=0.0, ge=0.0, le=2.0, description="When it writes records (the paper's)."
    )
    write_temperature: float = Field(default=0.9, ge=0.0, le=2.0, description="When it invents people and dialogues.")


class StorySettings(Contract):
    """LoCoMo-style: two invented people, a dated graph of events, dialogues over months, windows of every message."""

    examples: int = Field(default=PAPER_EXAMPLES, ge=0, description="Windows wanted.")
    sessions: int = Field(default=6, ge=1, le=40, description="Dialogues of one story.")
    turns: int = Field(default=40, ge=4, le=200, description="Messages of one dialogue, about.")
    size: int = Field(default=_STORY_SIZE, ge=2, description="Messages of a window.")
    overlap: int = Field(default=_STORY_OVERLAP, ge=0, description="First messages that are context only.")

    @property
    def stories(self) -> int:
        """Stories that give the wanted windows, with a tenth more for what the filters refuse."""
        windows = max(1, -(-(self.turns - self.overlap) // (self.size - self.overlap)))
        return -(-self.examples * 11 // (10 * windows * self.sessions)) if self.examples else 0


class ChatSettings(Contract):
    """LongMemEval-style: user messages of real chats with assistants, joined to windows."""

    examples: int = Field(default=PAPER_EXAMPLES, ge=0, description="Windows wanted.")
    size: int = Field(default=_CHAT_SIZE, ge=1, description="User messages of a window.")
    overlap: int = Field(default=_CHAT_OVERLAP, ge=0, description="First messages that are context only.")
    longest_message: int = Field(
        default=1500, ge=1, description="Characters; a chat with a longer message is left out."
    )


class FilterSettings(Contract):
    """What a teacher's answer has to be to become an example."""

    support: float = Field(
        default=0.5, ge=0.0, le=1.0, description="Share of a dimension's content words that its window must hold."
    )
    most_dropped: float = Field(
        default=0.34, ge=0.0, le=1.0, description="A window is refused when a larger share of its records was."
    )
    content_words: int = Field(
        default=12, ge=1, description="An empty answer is refused when a message speaks of its author in so many words."
    )


class SynthesisSettings(Contract):
    """Both styles, and the split."""

    stories: StorySettings = StorySettings()
    chats: ChatSettings = ChatSettings()
    asking: TeacherAsking = TeacherAsking()
    filters: FilterSettings = FilterSettings()
    validation_share: float = Field(default=0.05, ge=0.0, lt=1.0, description="Share of stories and chats to validate.")
    seed: int = Field(default=42, ge=0, description="Seed of themes and of the split.")
