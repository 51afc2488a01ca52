"""Systems from their settings in a recipe."""

from __future__ import annotations

from engrain.recipes.benchmarks.config import BaselineSystem, EngrainSystem, PeerSystem, SuiteData, SystemConfig
from engrain.recipes.benchmarks.suites.memora import released_labels
from engrain.recipes.benchmarks.systems.baseline import Baseline
from engrain.recipes.benchmarks.systems.engrain_memory import EngrainMemory
from engrain.recipes.benchmarks.systems.peer import Peer
from engrain.recipes.benchmarks.systems.system import System
from engrain.recipes.benchmarks.systems.without_dimensions import WithoutDimensions
from engrain.runtime.embedding import Embedder
from engrain.runtime.errors import InputError
from engrain.runtime.opening import open_extractor, open_gate
from engrain.runtime.settings import MemorySettings

RELEASED = "released"


def open_system(config: SystemConfig, data: SuiteData, embedder: Embedder) -> System:
    """The system that a recipe describes. Raises `InputError` where its bundle, package or data is missing."""
    if isinstance(config, BaselineSystem):
        return Baseline(config.name, config.method, embedder)
    if isinstance(config, PeerSystem):
        return Peer(config.name, config.peer, embedder, python=config.python, timeout_s=config.timeout_s)
    return _engrain(config, data, embedder)


def _engrain(config: EngrainSystem, data: SuiteData, embedder: Embedder) -> EngrainMemory:
    marked = None
    if config.gate == RELEASED:
        if data.benchmark != "memora":
            raise InputError(f"systems.{config.name}: only Memora has released labels; name a gate bundle")
        labels = released_labels(data.root, data.split)
        marked = lambda turn_id: labels.get(turn_id, False)  # noqa: E731
    gate = open_gate(config.gate) if config.gate not in (None, RELEASED) else None
    if gate is not None and config.threshold is not None:
        gate.threshold = config.threshold
    extractor = open_extractor(config.extractor)
    if extractor is not None and config.without:
        extractor = WithoutDimensions(extractor, config.without)
    return EngrainMemory(
        config.name,
        embedder,
        gate=gate,
        extractor=extractor,
        marked=marked,
        consolidates=config.consolidate,
        settings=MemorySettings(search=config.search),
    )
