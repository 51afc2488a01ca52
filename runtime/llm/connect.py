"""One place that opens a client in any mode, so that a recipe switches modes by one word."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Literal

from engrain.runtime.errors import InputError
from engrain.runtime.llm.batch import BatchClient, BatchSettings
from engrain.runtime.llm.chat import ModelClient
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.llm.online import OnlineClient
from engrain.runtime.llm.replay import ReplayClient, read_recordings

Mode = Literal["online", "batch", "replay"]


def open_client(
    settings: EndpointSettings,
    *,
    ledger: Ledger,
    run: str,
    mode: Mode = "online",
    budget_usd: Decimal | None = None,
    batch: BatchSettings | None = None,
    batch_folder: Path | None = None,
    recordings: Path | None = None,
) -> ModelClient:
    """A client for one endpoint.

    Batch files go to `batch_folder`, by default beside the ledger. Replay needs `recordings`. Every mode but replay
    needs the endpoint's key in the environment, now.
    """
    if mode == "replay":
        if recordings is None:
            raise InputError(f"endpoint {settings.name!r}: replay needs the file of recordings")
        return ReplayClient(settings, read_recordings(recordings), run=run)
    if mode == "online":
        return OnlineClient(settings, ledger, run=run, budget_usd=budget_usd)
    if batch_folder is None and ledger.path is None:
        raise InputError(f"endpoint {settings.name!r}: batch mode needs a ledger file or a batch_folder")
    folder = batch_folder or Path(f"{ledger.path}.batches")
    return BatchClient(settings, ledger, run=run, folder=folder, budget_usd=budget_usd, batch=batch)
