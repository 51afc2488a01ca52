"""The model card of a bundle: what it is, how it was made, what it scored, how to load it."""

from __future__ import annotations

from collections.abc import Mapping

from engrain.runtime.bundle import BundleManifest

_LOADERS = {
    "gate": "from engrain.runtime.gate import Gate\n\ngate = Gate.load(FOLDER)",
    "embedder": "from engrain.runtime.embedding import OnnxEmbedder\n\nembedder = OnnxEmbedder.load(FOLDER)",
}
_PURPOSES = {
    "gate": "Decides for each user turn of a dialogue whether it is worth keeping in an agent's memory.",
    "embedder": "Turns sentences into unit vectors for dense retrieval.",
}


def model_card(manifest: BundleManifest, notes: str = "") -> str:
    """The card of a gate or embedder as Markdown. `notes` is a free paragraph on data and limits."""
    sections = [
        f"# {manifest.name}",
        _PURPOSES[manifest.kind],
        "## Facts",
        _table(_facts(manifest)),
        "## Measured",
        _table({name: f"{value:.6g}" for name, value in sorted(manifest.metrics.items())}) or "Nothing was measured.",
        "## Use",
        f"```python\n{_LOADERS[manifest.kind].replace('FOLDER', repr('path/to/this/folder'))}\n```",
    ]
    if notes:
        sections += ["## Notes", notes]
    return "\n\n".join(sections) + "\n"


def _facts(manifest: BundleManifest) -> dict[str, str]:
    threshold = manifest.threshold
    facts = {
        "Base model": manifest.base_model,
        "Base weights, SHA-256": manifest.base_hash,
        "Longest input, tokens": str(manifest.max_length),
        "Pooling": manifest.pooling or "",
        "Preceding messages (k)": "" if manifest.k is None else str(manifest.k),
        "Markers": " ".join(manifest.markers),
        "Vector length": "" if manifest.dimension is None else str(manifest.dimension),
        "Threshold": f"{threshold.value:g} ({threshold.chosen_by})" if threshold else "",
        "Training data, SHA-256": manifest.data_fingerprint,
        "Licence": manifest.licence,
    }
    return {name: value for name, value in facts.items() if value}


def _table(rows: Mapping[str, str]) -> str:
    if not rows:
        return ""
    lines = [f"| {name} | {value.replace('|', '/')} |" for name, value in rows.items()]
    return "\n".join(["| | |", "|---|---|", *lines])
