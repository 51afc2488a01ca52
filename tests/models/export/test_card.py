"""The model card says what the manifest says."""

from __future__ import annotations

from engrain.models.export.card import model_card
from engrain.runtime.bundle import BundleManifest, ThresholdChoice

COMMON = {"base_model": "tiny", "base_hash": "abc", "files": {}, "tokenizer_hash": "t", "template_hash": "t"}


def test_a_gates_card_shows_facts_measures_and_how_to_load_it() -> None:
    manifest = BundleManifest.model_validate(
        COMMON
        | {
            "kind": "gate",
            "name": "gate-tiny@0",
            "k": 1,
            "markers": ("[CONTEXT]", "[TARGET]"),
            "max_length": 128,
            "pooling": "mean",
            "threshold": ThresholdChoice(value=0.2, chosen_by="SLICE-Mem C.3 | nine points"),
            "metrics": {"auprc": 0.97123},
            "licence": "Apache-2.0",
        }
    )
    card = model_card(manifest, "Trained on made-up turns.")
    assert card.startswith("# gate-tiny@0\n")
    for line in (
        "| Threshold | 0.2 (SLICE-Mem C.3 / nine points) |",
        "| Preceding messages (k) | 1 |",
        "| auprc | 0.97123 |",
        "| Licence | Apache-2.0 |",
        "gate = Gate.load('path/to/this/folder')",
        "Trained on made-up turns.",
    ):
        assert line in card


def test_an_embedders_card_leaves_out_what_it_has_not() -> None:
    values = {"kind": "embedder", "name": "tiny@0", "max_length": 256, "dimension": 384}
    card = model_card(BundleManifest.model_validate(COMMON | values))
    assert "| Vector length | 384 |" in card
    assert "Nothing was measured." in card
    assert "Threshold" not in card
    assert "Notes" not in card
