"""The eight kinds of calibration example of SLICE-Mem A.5, each with an English and a Chinese dialogue of our own.

Every kind settles a case that the rules alone leave open; a rubric shows all eight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from engrain.runtime.schema import AuxiliaryType, ContextDependence

NO_CONTEXT = "(none)"
"""What stands for a context without messages, here and in requests (A.5)."""


class Language(StrEnum):
    """Language of a rubric. The paper's teachers read Chinese (A.1)."""

    CHINESE = "zh"
    ENGLISH = "en"


class Kind(StrEnum):
    """What a calibration example settles, in the order of A.5."""

    STABLE_PREFERENCE = "stable_preference"
    PLAN_CORRECTED = "plan_corrected"
    TRIVIAL_EVENT = "trivial_event"
    STANDING_CHOICE = "standing_choice"
    ANECDOTE = "anecdote"
    HEARSAY = "hearsay"
    ERRAND_OF_THE_MOMENT = "errand_of_the_moment"
    VALUE_BEHIND_A_REPLY = "value_behind_a_reply"


@dataclass(frozen=True)
class Dialogue:
    """One message of context (or none) and the target."""

    context: str
    target: str


@dataclass(frozen=True)
class Calibration:
    """A worked case: its dialogue in each language, and the three judgements."""

    kind: Kind
    dialogues: Mapping[Language, Dialogue]
    memory_type: AuxiliaryType
    dependence: ContextDependence
    candidate: bool

    def line(self, language: Language) -> str:
        """The case as one line of a rubric."""
        said = self.dialogues[language]
        judged = f"{self.memory_type.value}, {self.dependence.value}, {str(self.candidate).lower()}"
        return f"- {said.context} / {said.target} -> {judged}"


def _case(
    kind: Kind,
    english: tuple[str, str],
    chinese: tuple[str, str],
    memory_type: AuxiliaryType,
    dependence: ContextDependence,
    candidate: bool,
) -> Calibration:
    dialogues = {Language.ENGLISH: Dialogue(*english), Language.CHINESE: Dialogue(*chinese)}
    return Calibration(kind, dialogues, memory_type, dependence, candidate)


_PERSONAL, _EPISODIC = AuxiliaryType.PERSONAL_SEMANTIC, AuxiliaryType.AUTOBIOGRAPHICAL_EPISODIC
_PROSPECTIVE, _NONE = AuxiliaryType.PROSPECTIVE, AuxiliaryType.NON_MEMORY
_ALONE, _NEEDS_CONTEXT = ContextDependence.SELF_CONTAINED, ContextDependence.CONTEXT_DEPENDENT

CALIBRATION: tuple[Calibration, ...] = (
    _case(
        Kind.STABLE_PREFERENCE,
        (NO_CONTEXT, "I nearly always take the window seat on trains."),
        (NO_CONTEXT, "我坐火车基本上都选靠窗的位置。"),
        *(_PERSONAL, _ALONE, True),
    ),
    _case(
        Kind.PLAN_CORRECTED,
        ("Is your driving test still on Tuesday?", "It isn't, they put it on the Thursday after."),
        ("你的驾照考试还是星期二吗？", "不是了，改到后面那个星期四了。"),
        *(_PROSPECTIVE, _NEEDS_CONTEXT, True),
    ),
    _case(
        Kind.TRIVIAL_EVENT,
        (NO_CONTEXT, "I missed the first bus today."),
        (NO_CONTEXT, "我今天没赶上第一班公交车。"),
        *(_EPISODIC, _ALONE, False),
    ),
    _case(
        Kind.STANDING_CHOICE,
        ("Should I send you the training plans as a table from now on?", "Yes please, a table each time."),
        ("以后的训练计划我都用表格发给你，好吗？", "好的，以后都用表格。"),
        *(_PROSPECTIVE, _NEEDS_CONTEXT, True),
    ),
    _case(
        Kind.ANECDOTE,
        (
            "Have you ever tried climbing?",
            "Never on rock; I was in a climbing hall in Leeds once and it was fun. Do you climb a lot?",
        ),
        ("你玩过攀岩吗？", "没爬过真的岩壁；有一次在利兹去了攀岩馆，挺好玩的。你经常爬吗？"),
        *(_EPISODIC, _ALONE, False),
    ),
    _case(
        Kind.HEARSAY,
        (
            "Are you looking for something to watch?",
            "People say that new detective series is brilliant. Did you see it?",
        ),
        ("你在找剧看吗？", "听人说那部新的侦探剧特别好看，你看过没有？"),
        *(_NONE, _ALONE, False),
    ),
    _case(
        Kind.ERRAND_OF_THE_MOMENT,
        ("Your table is ready in five minutes.", "Perfect, I'm walking over right now."),
        ("您的座位五分钟后就好。", "太好了，我这就走过来。"),
        *(_PROSPECTIVE, _NEEDS_CONTEXT, False),
    ),
    _case(
        Kind.VALUE_BEHIND_A_REPLY,
        (
            "Does your grandmother expect you to take over the bakery?",
            "She never says so, but I couldn't bear letting her down. She gave up so much for it.",
        ),
        ("你奶奶希望你接手面包店吗？", "她从来没说过，可我真的不愿意让她失望，她为这家店付出太多了。"),
        *(_PERSONAL, _NEEDS_CONTEXT, True),
    ),
)
