"""The runtime gate on hand-made bundles: hashes, order, batching, counts, no torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engrain.runtime.bundle import hash_files, read_manifest, write_manifest
from engrain.runtime.embedding import OnnxEmbedder
from engrain.runtime.encoder import length_batches, pad
from engrain.runtime.errors import BundleError, InputError
from engrain.runtime.gate import Gate
from engrain.runtime.schema import Utterance

LETTERS = "abcdefghij"


def turn(text: str, speaker: str = "user") -> Utterance:
    return Utterance(speaker=speaker, text=text)


@pytest.fixture
def gate(make_bundle: Callable[..., Path]) -> Gate:
    return Gate.load(make_bundle("gate", "gate"), threads=1)


PAIRS = [((turn(LETTERS[n % 10], "bot"),), turn(" ".join(LETTERS[: n % 9 + 1]))) for n in range(40)]


def test_scores_are_probabilities_that_no_order_or_company_changes(gate: Gate) -> None:
    scores = gate.score(PAIRS)
    assert scores.shape == (40,)
    assert scores.dtype == np.float64
    assert ((scores > 0) & (scores < 1)).all()
    assert np.ptp(scores) > 0.1
    order = np.random.default_rng(1).permutation(len(PAIRS))
    np.testing.assert_allclose(gate.score([PAIRS[place] for place in order]), scores[order], atol=1e-6)
    np.testing.assert_allclose(np.concatenate([gate.score([pair]) for pair in PAIRS]), scores, atol=1e-6)


def test_only_the_last_k_messages_count(gate: Gate) -> None:
    near, far = turn("a b", "bot"), turn("c d e", "bot")
    alone = gate.score([((near,), turn("f g"))])
    assert gate.score([((far, near), turn("f g"))]) == alone
    assert gate.score([((far,), turn("f g"))]) != alone


def test_the_manifest_is_at_hand_and_cuts_are_counted(gate: Gate) -> None:
    assert (gate.k, gate.threshold, gate.manifest.name) == (1, 0.2, "tiny-gate@0")
    gate.score([((), turn("a b"))])
    assert (gate.context_tokens_cut, gate.targets_cut) == (0, 0)
    gate.score([((turn("a b c", "bot"),), turn("a " * 30)), ((), turn("b"))])
    assert (gate.context_tokens_cut, gate.targets_cut) == (5, 1)


def test_nothing_to_score_and_an_empty_target(gate: Gate) -> None:
    assert gate.score([]).shape == (0,)
    with pytest.raises(InputError, match="empty"):
        gate.score([((), turn(" "))])


def test_another_template_an_altered_file_and_another_kind_are_refused(make_bundle: Callable[..., Path]) -> None:
    with pytest.raises(BundleError, match="another input template"):
        Gate.load(make_bundle("old", "gate", template_hash="0"))
    with pytest.raises(BundleError, match="lacks k"):
        Gate.load(make_bundle("no-k", "gate", k=None))
    folder = make_bundle("gate", "gate")
    with pytest.raises(BundleError, match="not 'embedder'"):
        OnnxEmbedder.load(folder)
    content = bytearray((folder / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.onnx").write_bytes(content)
    with pytest.raises(BundleError, match=r"model\.onnx was changed"):
        Gate.load(folder)


def test_a_model_that_onnx_runtime_cannot_read_is_named(make_bundle: Callable[..., Path]) -> None:
    folder = make_bundle("gate", "gate")
    (folder / "model.onnx").write_bytes(b"no graph")
    manifest = read_manifest(folder)
    write_manifest(folder, manifest.model_copy(update={"files": hash_files(folder)}))
    with pytest.raises(BundleError, match=r"model\.onnx cannot be loaded"):
        Gate.load(folder)


def test_length_batches_hold_every_row_once_within_the_budget() -> None:
    lengths = [int(length) for length in np.random.default_rng(2).integers(1, 90, size=200)]
    batches = list(length_batches([*lengths, 5000], budget=256))
    assert sorted(row for batch in batches for row in batch) == list(range(201))
    assert batches[0] == [200]
    assert all(max(lengths[row] for row in batch) * len(batch) <= 256 for batch in batches[1:])


def test_pad_masks_exactly_the_padding() -> None:
    ids, mask = pad([[5, 6, 7], [8]], 9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_loading_and_scoring_loads_no_torch(make_bundle: Callable[..., Path]) -> None:
    folder = make_bundle("gate", "gate")
    code = (
        "import sys; from engrain.runtime.gate import Gate; from engrain.runtime.schema import Utterance\n"
        f"scores = Gate.load({str(folder)!r}).score([((), Utterance(speaker='u', text='a b'))])\n"
        "heavy = {'torch', 'transformers', 'pytorch_lightning', 'datasets', 'openai'} & set(sys.modules)\n"
        "assert len(scores) == 1 and not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
