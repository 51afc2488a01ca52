"""Bundles to memory: add, search and consolidate, with no torch, transformers or Lightning loaded.

`Memory` and `AsyncMemory` are imported when first asked for, so that a module of the schema alone costs little.
"""

if __name__ == "runtime":
    raise ImportError("this folder is installed as engrain.runtime: write `import engrain.runtime`")

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engrain.runtime.async_memory import AsyncMemory
    from engrain.runtime.memory import Memory

__all__ = ["AsyncMemory", "Memory"]


def __getattr__(name: str) -> object:
    if name == "Memory":
        from engrain.runtime.memory import Memory

        return Memory
    if name == "AsyncMemory":
        from engrain.runtime.async_memory import AsyncMemory

        return AsyncMemory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
