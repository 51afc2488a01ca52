"""A paid run in a process of its own, to be killed: `python paid_run.py URL LEDGER REQUESTS CONCURRENCY [batch]`."""

from __future__ import annotations

import sys
from pathlib import Path

from engrain.runtime.llm.batch import BatchSettings
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call, ChatRequest, Stage
from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger


def main(url: str, path: str, requests: int, concurrency: int, mode: str) -> None:
    settings = EndpointSettings(
        name="teacher", base_url=url, model="m", concurrency=concurrency, backoff_s=0.05, usd_per_million_input=1,
        usd_per_million_output=1
    )  # fmt: skip
    calls = [
        Call(ChatRequest(messages=({"role": "user", "content": f"q{i}"},), max_tokens=9), Stage.LABEL)
        for i in range(requests)
    ]
    with Ledger(Path(path)) as ledger:
        client = open_client(
            settings, ledger=ledger, run="r", mode="batch" if mode == "batch" else "online",
            batch=BatchSettings(poll_s=0.1, max_requests=20),
        )  # fmt: skip
        outcomes = answer_all(client, calls)
    assert all(one.answer is not None for one in outcomes), [one.failure for one in outcomes if one.failure]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] if len(sys.argv) > 5 else "online")
