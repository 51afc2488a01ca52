"""A running teacher server, and clients that point at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engrain.runtime.llm.chat import ModelClient
from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger

sys.path.insert(0, str(Path(__file__).parent))

from label_server import TeacherServer


@pytest.fixture
def server() -> Iterator[TeacherServer]:
    with TeacherServer() as running:
        yield running


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db") as opened:
        yield opened


@pytest.fixture
def teachers(server: TeacherServer, ledger: Ledger) -> Callable[..., list[ModelClient]]:
    """Online clients of the running server, one a model name."""

    def make(*models: str, **changes: Any) -> list[ModelClient]:
        quick = {"base_url": server.url, "backoff_s": 0.01, "timeout_s": 10.0} | changes
        settings = [EndpointSettings(name=model, model=model, **quick) for model in models]
        return [open_client(one, ledger=ledger, run="r") for one in settings]

    return make
