"""A running teacher that gets things wrong on request, and the endpoint that points at it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")
sys.path.insert(0, str(Path(__file__).parent))

from teacher_server import teacher_server

from engrain.runtime.llm.endpoint import EndpointSettings


@pytest.fixture
def teacher() -> Iterator[Any]:
    """The teacher's service, with its address as `url`."""
    server, service = teacher_server()
    with server:
        service.url = server.url
        yield service


@pytest.fixture
def endpoint(teacher: Any) -> EndpointSettings:
    """An endpoint with quick retries."""
    quick = {"name": "teacher", "model": "m", "backoff_s": 0.01, "timeout_s": 20.0, "concurrency": 32}
    return EndpointSettings.model_validate({"base_url": teacher.url, **quick})
