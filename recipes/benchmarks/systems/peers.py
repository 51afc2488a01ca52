"""Other memory libraries that a table can hold: what installs them, and what of them is exercised without an LLM."""

from __future__ import annotations

from dataclasses import dataclass

# Installed before the peers that import it, so that the CPU build is kept.
TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class PeerInfo:
    """`requirements` go, in order, into an environment of the peer's own; `exercised` stands beside its row."""

    requirements: tuple[str, ...]
    exercised: str


PEERS: dict[str, PeerInfo] = {
    "mem0": PeerInfo(("mem0ai==2.2.1",), "its store and search; infer=False, no LLM, vectors given"),
    "langmem": PeerInfo(("langmem==0.0.30", "numpy"), "its memory tools and LangGraph's store; no LLM, vectors given"),
    "a-mem": PeerInfo((TORCH, "a-mem==0.2.6"), "its retriever; notes as given, no LLM, vectors given"),
    "simplemem": PeerInfo((TORCH, "simplemem==0.1.0"), "its vector store; entries as given, no LLM, vectors given"),
}
"""No row for LightMem and MemOS: the packages of these names are other projects. No row for MemoryOS: the package of
this name holds MemOS, whose memories an LLM writes."""
