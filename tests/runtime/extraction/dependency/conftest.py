"""One spaCy extractor for all tests of the folder: loading the pipeline takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.dependency.analysis import Analysis
from engrain.runtime.extraction.dependency.extractor import DependencyExtractor
from engrain.runtime.schema import Role, Turn

MOMENT = datetime(2025, 6, 4, 12, tzinfo=UTC)  # A Wednesday.


@pytest.fixture(scope="session")
def extractor() -> DependencyExtractor:
    try:
        return DependencyExtractor.load("spacy")
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture
def entry_of(extractor: DependencyExtractor) -> Callable[[str], str]:
    return lambda text: extractor.analyse([text])[0].entry


@pytest.fixture
def analysis_of(extractor: DependencyExtractor) -> Callable[[str], Analysis]:
    return lambda text: extractor.analyse([text])[0]


@pytest.fixture
def turns_of() -> Callable[[Sequence[str]], list[Turn]]:
    # Unchecked: some tests give texts that a validated turn would refuse.
    return lambda texts: [
        Turn.model_construct(id=str(n), session_id="s", role=Role.USER, speaker="Ada", text=text, timestamp=MOMENT)
        for n, text in enumerate(texts)
    ]
