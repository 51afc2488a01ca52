"""Records, a store in a file, and a real server for the model's side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.llm.online import OnlineClient
from engrain.runtime.memory import Memory
from engrain.runtime.schema import MemoryRecord

# importlib mode puts no test folder on the path.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "llm")]

from local_server import LocalServer  # noqa: E402
from word_records import START, WordEmbedder, make_record  # noqa: E402

Make = Callable[..., MemoryRecord]


@pytest.fixture
def make() -> Make:
    return make_record


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db", embedder=WordEmbedder()) as opened:
        yield opened


@pytest.fixture
def say(memory: Memory) -> Callable[..., str]:
    """Have the user say something on a day; returns the record's id."""

    def add(text: str, day: float = 0, user: str = "ana") -> str:
        moment = START + timedelta(days=day)
        return memory.add({"role": "user", "content": text}, user_id=user, timestamp=moment).record_ids[0]

    return add


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        yield running


@pytest.fixture
def client(server: LocalServer, tmp_path: Path) -> Iterator[OnlineClient]:
    settings = EndpointSettings(
        name="judge", base_url=server.url, model="m", backoff_s=0.01, timeout_s=10.0, max_attempts=2
    )
    with Ledger(tmp_path / "ledger.db") as ledger:
        yield OnlineClient(settings, ledger, run="test")
