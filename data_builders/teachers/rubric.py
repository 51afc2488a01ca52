"""The rubric that teachers follow: versioned, hashed, in two languages (SLICE-Mem A.5)."""

from __future__ import annotations

from dataclasses import dataclass

from engrain.data_builders.teachers import rubric_en, rubric_zh
from engrain.data_builders.teachers.calibration import CALIBRATION, NO_CONTEXT, Language
from engrain.runtime.bundle import text_hash

VERSION = "1"
"""Raised with every change of wording: answers to another version are other answers."""

_TEXTS = {
    Language.CHINESE: (rubric_zh.GUIDE, rubric_zh.CORRECTION),
    Language.ENGLISH: (rubric_en.GUIDE, rubric_en.CORRECTION),
}


@dataclass(frozen=True)
class Rubric:
    """A system prompt, and the frame of a correction request."""

    language: Language
    version: str
    system: str
    correction: str

    @property
    def hash(self) -> str:
        """SHA-256 over everything of the rubric that a teacher reads."""
        return text_hash("rubric", self.language, self.version, self.system, self.correction)


def load_rubric(language: Language) -> Rubric:
    """The rubric in one language, with all eight calibration examples."""
    guide, correction = _TEXTS[language]
    calibration = "\n".join(case.line(language) for case in CALIBRATION)
    return Rubric(language, VERSION, guide.format(none=NO_CONTEXT, calibration=calibration), correction)
