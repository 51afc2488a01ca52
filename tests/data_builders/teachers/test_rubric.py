"""The rubric: both languages, every rule and all eight calibration kinds, versioned and hashed."""

from __future__ import annotations

import json
import re

import pytest

from engrain.data_builders.teachers import calibration
from engrain.data_builders.teachers.calibration import CALIBRATION, Kind, Language
from engrain.data_builders.teachers.rubric import load_rubric
from engrain.data_builders.teachers.validation import FIELDS, ValidAnswer, validate
from engrain.runtime.schema import AuxiliaryType, ContextDependence


def test_calibration_has_the_papers_eight_kinds_with_its_judgements() -> None:
    judged = [(case.kind, case.memory_type.value, case.dependence.value, case.candidate) for case in CALIBRATION]
    assert [kind for kind, *_ in judged] == list(Kind)
    # SLICE-Mem A.5, step 5, in its order.
    assert [tuple(rest) for _, *rest in judged] == [
        ("personal_semantic", "self_contained", True),
        ("prospective", "context_dependent", True),
        ("autobiographical_episodic", "self_contained", False),
        ("prospective", "context_dependent", True),
        ("autobiographical_episodic", "self_contained", False),
        ("non_memory", "self_contained", False),
        ("prospective", "context_dependent", False),
        ("personal_semantic", "context_dependent", True),
    ]


@pytest.mark.parametrize("language", list(Language))
def test_every_language_shows_everything_that_an_answer_needs(language: Language) -> None:
    text = load_rubric(language).system
    assert all(case.line(language) in text for case in CALIBRATION)
    names = [*FIELDS, *AuxiliaryType, *ContextDependence, "[CONTEXT]", "[TARGET]", calibration.NO_CONTEXT, "JSON"]
    assert [name for name in names if name not in text] == []
    assert "{calibration}" not in text and "{{" not in text


@pytest.mark.parametrize("language", list(Language))
def test_the_answer_that_the_rubric_shows_is_valid(language: Language) -> None:
    shown = re.search(r"^\{.*\}$", load_rubric(language).system, re.MULTILINE)
    assert shown
    assert isinstance(validate(shown[0], " ".join(json.loads(shown[0])["evidence"])), ValidAnswer)


def test_both_languages_have_the_same_steps_and_false_cases() -> None:
    chinese, english = (load_rubric(language).system for language in (Language.CHINESE, Language.ENGLISH))
    assert len(re.findall(r"^第.步", chinese, re.MULTILINE)) == len(re.findall(r"^STEP \d", english, re.MULTILINE)) == 6
    assert chinese.count("\n- ") == english.count("\n- ")


def test_the_hash_covers_what_a_teacher_reads() -> None:
    hashes = {load_rubric(language).hash for language in Language}
    assert len(hashes) == 2
    assert load_rubric(Language.CHINESE).hash in hashes
