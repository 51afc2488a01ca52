"""Bundles to memory: add, search and consolidate, with no torch, transformers or Lightning loaded."""

if __name__ == "runtime":
    raise ImportError("this folder is installed as engrain.runtime: write `import engrain.runtime`")
