"""A running local server, an endpoint that points at it, and a ledger."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engrain.runtime.llm.chat import Call, ChatRequest, Stage
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger

# importlib mode puts no test folder on the path; the server is shared by several files here.
sys.path.insert(0, str(Path(__file__).parent))

from local_server import LocalServer

Settings = Callable[..., EndpointSettings]


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        yield running


@pytest.fixture
def settings(server: LocalServer) -> Settings:
    """Settings of the running server with quick retries; keyword arguments override."""

    def make(**changes: Any) -> EndpointSettings:
        quick = {"name": "teacher", "base_url": server.url, "model": "m", "backoff_s": 0.02, "timeout_s": 10.0}
        return EndpointSettings(**quick | changes)

    return make


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db") as opened:
        yield opened


def call(marker: str, *, stage: Stage = Stage.LABEL, teacher: str = "", tag: Any = None, **fields: Any) -> Call:
    """A call whose user message is the marker."""
    fields.setdefault("max_tokens", 20)
    messages = ({"role": "system", "content": "be brief"}, {"role": "user", "content": marker})
    return Call(ChatRequest(messages=messages, **fields), stage, teacher, tag)


@pytest.fixture
def make_call() -> Callable[..., Call]:
    return call
