"""A trained gate as a bundle: its files, its manifest, and the same scores in the runtime as in torch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from engrain.models.export import onnx as onnx_export
from engrain.models.export.gate import export_gate
from engrain.models.gate.training import GateRun, load_module, score_examples
from engrain.models.weights import weights_hash
from engrain.runtime.bundle import ThresholdChoice, load_bundle
from engrain.runtime.errors import BundleError, InputError, TrainingError
from engrain.runtime.gate import Gate
from engrain.runtime.gate_calibration import Calibration
from engrain.runtime.gate_cascade import BUCKETS, FIRST_STAGE_FILE, FirstStage, features
from engrain.runtime.gate_input import MARKERS, TEMPLATE_HASH
from engrain.runtime.schema import GateExample, LabelSource, Split, Utterance

THRESHOLD = ThresholdChoice(value=0.2, chosen_by="SLICE-Mem C.3")
WEIGHTS = ["model.int8.onnx", "model.onnx", "model.safetensors"]
FILES = ["README.md", "bundle.json", "config.json", *WEIGHTS, "tokenizer.json"]


@pytest.fixture
def bundle(tiny_run: GateRun, tmp_path: Path) -> Path:
    return export_gate(
        tiny_run.best.parent,
        tmp_path / "gate",
        threshold=THRESHOLD,
        metrics={"auprc": 0.5},
        recipe={"name": "tiny"},
        licence="MIT",
    )


def example(number: int, words: str, context: str) -> GateExample:
    return GateExample(
        id=str(number),
        split=Split.TEST,
        context=(Utterance(speaker="bot", text=context),),
        target=Utterance(speaker="user", text=words),
        label=False,
        label_source=LabelSource.AUTHORED,
        corpus="tiny",
        group=str(number),
    )


def test_the_bundle_is_complete_and_says_what_it_is(bundle: Path, tiny_run: GateRun, tiny_encoder_folder: Path) -> None:
    assert sorted(path.name for path in bundle.iterdir()) == FILES
    _, manifest = load_bundle(bundle, "gate")
    assert manifest.name.startswith("gate-tiny-bert") and len(manifest.name.split("@")[1]) == 12
    assert (manifest.k, manifest.max_length, manifest.pooling) == (1, 40, "target")
    assert (manifest.markers, manifest.template_hash) == (MARKERS, TEMPLATE_HASH)
    assert (manifest.threshold, manifest.licence, manifest.recipe) == (THRESHOLD, "MIT", {"name": "tiny"})
    assert manifest.base_hash == weights_hash(str(tiny_encoder_folder))
    assert manifest.data_fingerprint == tiny_run.data_fingerprint
    assert manifest.metrics["auprc"] == 0.5
    assert 0 <= manifest.metrics["onnx_max_logit_difference"] <= 1e-3
    tokenizer = Tokenizer.from_file(str(bundle / "tokenizer.json"))
    assert all(tokenizer.token_to_id(marker) is not None for marker in MARKERS)
    assert tokenizer.padding is None and tokenizer.truncation is None
    assert manifest.name in (bundle / "README.md").read_text()


def test_the_runtime_scores_as_torch_does(bundle: Path, tiny_run: GateRun) -> None:
    rng = np.random.default_rng(0)
    words = ["keep", "drop", "tea", "bus", "cat", "sun", "unknown"]
    examples = [
        example(number, " ".join(rng.choice(words, size=rng.integers(1, 60))), " ".join(rng.choice(words, size=5)))
        for number in range(30)
    ]
    gate = Gate.load(bundle, threads=1)
    found = gate.score([(row.context, row.target) for row in examples])
    np.testing.assert_allclose(found, score_examples(tiny_run.best, examples), atol=1e-5)
    assert gate.targets_cut > 0


def test_safetensors_hold_the_best_weights_float32(bundle: Path, tiny_run: GateRun) -> None:
    tensors = load_file(bundle / "model.safetensors")
    state = load_module(tiny_run.best).network.state_dict()
    assert tensors.keys() == state.keys()
    assert all(torch.equal(tensors[name], state[name]) for name in state)
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    assert json.loads((bundle / "config.json").read_text())["vocab_size"] == len(
        tensors["encoder.embeddings.word_embeddings.weight"]
    )


def test_an_export_that_differs_from_torch_is_refused_and_leaves_nothing(
    tiny_run: GateRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_export, "largest_difference", lambda *_: 2e-3)
    with pytest.raises(TrainingError, match=r"differs from torch by 2\.00e-03"):
        export_gate(tiny_run.best, tmp_path / "gate", threshold=THRESHOLD, metrics={})
    monkeypatch.setattr(onnx_export, "largest_difference", lambda *_: float("nan"))
    with pytest.raises(TrainingError, match="differs from torch by nan"):
        export_gate(tiny_run.best, tmp_path / "gate", threshold=THRESHOLD, metrics={})
    assert list(tmp_path.iterdir()) == []


def test_the_largest_difference_is_found(tiny_run: GateRun, bundle: Path) -> None:
    network = load_module(tiny_run.best).network
    samples = tiny_run_samples(tiny_run)
    assert onnx_export.largest_difference(network, bundle / "model.onnx", samples, 0) < 1e-5
    with torch.no_grad():
        network.head.bias += 0.25
    assert onnx_export.largest_difference(network, bundle / "model.onnx", samples, 0) == pytest.approx(0.25, abs=1e-4)


def tiny_run_samples(run: GateRun) -> list[list[int]]:
    samples: list[list[int]] = load_module(run.best).facts["samples"]
    assert len(samples) == 12
    return samples


def pairs(count: int) -> list[tuple[tuple[Utterance, ...], Utterance]]:
    rng = np.random.default_rng(1)
    words = ["keep", "drop", "tea", "bus", "cat", "sun"]
    rows = [example(number, " ".join(rng.choice(words, size=1 + number % 9)), "tea bus") for number in range(count)]
    return [(row.context, row.target) for row in rows]


def test_int8_weights_rank_alike_and_their_difference_is_recorded(bundle: Path) -> None:
    exact, quantised = Gate.load(bundle, threads=1), Gate.load(bundle, threads=1, precision="int8")
    first, second = exact.score(pairs(60)), quantised.score(pairs(60))
    assert not np.array_equal(first, second)
    assert np.corrcoef(np.argsort(np.argsort(first)), np.argsort(np.argsort(second)))[0, 1] > 0.97
    assert 0 < exact.manifest.metrics["int8_max_logit_difference"] < 0.5


def test_a_bundle_without_int8_weights_says_so(tiny_run: GateRun, tmp_path: Path) -> None:
    bundle = export_gate(tiny_run.best, tmp_path / "gate", threshold=THRESHOLD, metrics={}, int8=False)
    with pytest.raises(BundleError, match="no int8 weights"):
        Gate.load(bundle, precision="int8")
    with pytest.raises(BundleError, match="no first stage"):
        Gate.load(bundle, cascade=True)


def test_the_runtime_applies_the_calibration_of_the_bundle(tiny_run: GateRun, tmp_path: Path, bundle: Path) -> None:
    calibration = Calibration(method="temperature", temperature=2.0, bias=-0.7, fitted_on="nothing real")
    other = export_gate(
        tiny_run.best, tmp_path / "other", threshold=THRESHOLD, metrics={}, calibration=calibration, int8=False
    )
    raw = Gate.load(bundle, threads=1).score(pairs(10))
    gate = Gate.load(other, threads=1)
    assert gate.manifest.calibration == calibration
    np.testing.assert_allclose(gate.score(pairs(10)), calibration.apply(raw), atol=1e-6)


def test_a_cascade_rejects_early_and_leaves_the_rest_alone(tiny_run: GateRun, tmp_path: Path) -> None:
    weights = np.zeros(BUCKETS, dtype=np.float32)
    weights[features("drop")] = -5.0
    weights[features("keep")] = 5.0
    run = tiny_run.best.parent
    FirstStage(weights, 0.0, -1.0).save(run / FIRST_STAGE_FILE)
    try:
        bundle = export_gate(run, tmp_path / "gate", threshold=THRESHOLD, metrics={}, int8=False)
    finally:
        (run / FIRST_STAGE_FILE).unlink()
    whole, cascade = Gate.load(bundle, threads=1), Gate.load(bundle, threads=1, cascade=True)
    asked = pairs(40)
    first, second = whole.score(asked), cascade.score(asked)
    stage = FirstStage.load(bundle / FIRST_STAGE_FILE)
    passed = np.array([stage.passes(target.text) for _, target in asked])
    assert 0 < passed.sum() < 40
    np.testing.assert_allclose(second[passed], first[passed], atol=1e-6)
    assert (second[~passed] == 0).all()
    assert (cascade.rejected_early, whole.rejected_early) == (int((~passed).sum()), 0)
    with pytest.raises(InputError, match="target turn is empty"):
        cascade.score([((), Utterance(speaker="user", text=" "))])


def test_a_first_stages_share_is_added_to_every_logit(tiny_run: GateRun, tmp_path: Path, bundle: Path) -> None:
    weights = np.zeros(BUCKETS, dtype=np.float32)
    weights[features("drop")] = -3.0
    run = tiny_run.best.parent
    FirstStage(weights, 1.0, -1e9, 0.5).save(run / FIRST_STAGE_FILE)
    try:
        shared = export_gate(run, tmp_path / "shared", threshold=THRESHOLD, metrics={}, int8=False)
    finally:
        (run / FIRST_STAGE_FILE).unlink()
    asked = pairs(20)
    plain, stage = Gate.load(bundle, threads=1).score(asked), FirstStage.load(shared / FIRST_STAGE_FILE)
    wanted = np.log(plain / (1 - plain)) + 0.5 * np.array([stage.logit(target.text) for _, target in asked])
    for cascade in (False, True):
        scores = Gate.load(shared, threads=1, cascade=cascade).score(asked)
        np.testing.assert_allclose(np.log(scores / (1 - scores)), wanted, atol=1e-4)


def test_a_broken_first_stage_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "short.npy", np.zeros(5, dtype=np.float32))
    with pytest.raises(BundleError, match="not 16387 float32"):
        FirstStage.load(tmp_path / "short.npy")
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(BundleError, match="cannot be read"):
        FirstStage.load(tmp_path / "text.npy")
