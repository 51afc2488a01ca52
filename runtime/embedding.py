"""Sentence vectors at run time: the protocol a store relies on, and the embedder that reads an exported bundle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from engrain.runtime.bundle import BundleManifest, load_bundle
from engrain.runtime.encoder import TOKENIZER_FILE, EncoderSession
from engrain.runtime.errors import BundleError


class Embedder(Protocol):
    """What a store needs: who made a vector, its length, and the vectors themselves."""

    @property
    def identity(self) -> str:
        """Name and weight hash; a store refuses vectors of another identity."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors, N x D, each of length 1, in the order of the texts."""
        ...


class OnnxEmbedder:
    """An embedder bundle on ONNX Runtime; pooling and normalisation are part of the exported graph."""

    def __init__(self, manifest: BundleManifest, tokenizer: Tokenizer, session: EncoderSession) -> None:
        if manifest.dimension is None:
            raise BundleError(f"the embedder bundle '{manifest.name}' lacks its dimension; export it again")
        tokenizer.no_padding()
        tokenizer.enable_truncation(manifest.max_length)
        # A text that holds "[SEP]" is text, not structure.
        tokenizer.encode_special_tokens = True
        self.manifest = manifest
        self.identity: str = manifest.name
        self.dimension: int = manifest.dimension
        self.texts_cut = 0
        self._tokenizer, self._session = tokenizer, session

    @classmethod
    def load(cls, folder: str | Path, threads: int | None = None) -> OnnxEmbedder:
        """Open an embedder bundle after verifying every hash in it. `threads` limits ONNX Runtime."""
        folder, manifest = load_bundle(folder, "embedder")
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        return cls(manifest, tokenizer, EncoderSession.open(folder, threads))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors, N x D float32, L2-normalised. Texts beyond the model's length lose their end; `texts_cut` counts."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        encodings = self._tokenizer.encode_batch(list(texts))
        self.texts_cut += sum(1 for encoding in encodings if encoding.overflowing)
        return self._session.run([encoding.ids for encoding in encodings])
