"""Gate commands end to end on a tiny encoder: calibrated training, export, evaluation with a page, window selection."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml

from engrain.data_builders.parquet import read_gate_examples, write_gate_examples
from engrain.models.gate.windows import MEASURES
from engrain.recipes.cli import run
from engrain.recipes.gate_evidence import Stream, evidence_measures, first_person_scores
from engrain.recipes.gate_transfer import first_person_words
from engrain.runtime.bundle import read_manifest
from engrain.runtime.schema import GateExample, Split, Utterance


@pytest.fixture(scope="module")
def tiny() -> ModuleType:
    """The tiny encoder's builder and its examples, from the tests of models."""
    path = Path(__file__).parents[1] / "models" / "gate" / "conftest.py"
    spec = importlib.util.spec_from_file_location("tiny_gate", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recipe(tiny: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe file over a Parquet corpus with all three splits."""
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("gate-recipe")
    base = folder / "base"
    base.mkdir()
    torch.manual_seed(0)
    settings = BertConfig(
        vocab_size=tiny.save_tokenizer(base),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=0,
        initializer_range=0.3,
    )
    BertModel(settings).save_pretrained(base)
    test = [row.model_copy(update={"split": Split.TEST}) for row in tiny.example_rows(40, "test")]
    rows: list[GateExample] = [*tiny.example_rows(48), *tiny.example_rows(36, "validation"), *test]
    write_gate_examples(folder / "rows.parquet", rows)
    document = {
        "recipe": "gate",
        "name": "tiny",
        "output": str(folder / "runs"),
        "seeds": [1, 2],
        "threads": 1,
        "data": {"source": "parquet", "path": str(folder / "rows.parquet")},
        "model": {"base": str(base), "max_length": 48, "pooling": "mean"},
        "training": {"learning_rate": 0.02, "epochs": 3, "evaluate_every": 4, "accelerator": "cpu"},
        "calibration": "temperature",
        "threshold_rule": {"method": "recall", "recall": 0.9},
        "first_stage_recall": 0.99,
        "first_stage_share": 0.5,
    }
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code = run([*arguments, "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def test_a_threshold_is_chosen_on_validation_and_goes_into_the_bundle(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = answer(capsys, "train", "gate", str(recipe), "seeds=[1]", f"output={tmp_path}")
    trained = document["runs"][0]
    assert "of positives, on 36 validation rows of tiny" in trained["threshold"]["chosen_by"]
    assert trained["calibration"]["method"] == "temperature"
    assert trained["strategy"] == "single on 1 process"
    assert trained["evaluation"]["threshold"] == trained["threshold"]["value"]
    assert trained["evaluation_unseen"]["turns"] <= 40
    bundle = tmp_path / "bundle"
    answer(capsys, "export", "gate", str(tmp_path / "tiny" / "seed-1"), str(bundle))
    manifest = read_manifest(bundle)
    assert manifest.threshold is not None and manifest.calibration is not None
    assert manifest.threshold.model_dump(mode="json") == trained["threshold"]
    assert manifest.calibration.model_dump(mode="json") == trained["calibration"]
    assert {"model.int8.onnx", "first_stage.npy"} <= set(manifest.files)

    page = tmp_path / "report.html"
    found = answer(capsys, "eval", "gate", str(bundle), str(recipe), "--html", str(page))
    assert found["measures"]["auprc"] == pytest.approx(trained["evaluation"]["auprc"], abs=1e-6)
    assert found["measures"]["recall"] == pytest.approx(trained["evaluation"]["recall"])
    assert 0 <= found["reliability"]["ece"] <= 1
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert "Errors worth reading" in text and "http-equiv" not in text
    quantised = answer(capsys, "eval", "gate", str(bundle), str(recipe), "--int8")
    assert quantised["precision"] == "int8"
    assert quantised["measures"]["auprc"] == pytest.approx(found["measures"]["auprc"], abs=0.1)


@pytest.mark.parametrize(
    ("spoil", "words", "message"),
    [
        (lambda row: None if row.split is Split.TEST else row, (), "0 evaluation rows, 0 of them positive"),
        (lambda row: None if row.split is Split.TEST and row.label else row, (), "0 of them positive"),
        (
            lambda row: None if row.split is Split.VALIDATION and row.label and not row.id.endswith("0") else row,
            ("calibration=isotonic",),
            "wants 10 examples of each class",
        ),
        (lambda row: row.model_copy(update={"group": "one"}), (), "1 groups are in the test split and in another"),
    ],
)
def test_what_would_end_a_run_without_a_result_is_refused_before_training(
    recipe: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[GateExample], GateExample | None],
    words: tuple[str, ...],
    message: str,
) -> None:
    rows = [row for row in map(spoil, read_gate_examples(recipe.parent / "rows.parquet")) if row is not None]
    write_gate_examples(tmp_path / "spoilt.parquet", rows)
    data = f"data.path={tmp_path / 'spoilt.parquet'}"
    assert run(["train", "gate", str(recipe), data, f"output={tmp_path}", "threshold_rule=null", *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.rglob("*.ckpt"))


def test_windows_are_compared_and_a_second_call_trains_nothing(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["train", "gate-windows", str(recipe), f"output={tmp_path}", "training.epochs=1"]
    document = answer(capsys, *words)
    losses = {int(k): one["mean"] for k, one in document["validation_loss"].items()}
    assert set(losses) == {1, 3, 5}
    assert document["chosen"] == min(losses, key=lambda k: (losses[k], k))
    for name in ("validation", "evaluation"):
        assert {tuple(row) for row in document["tables"][name].values()} == {MEASURES}
        assert len(document["differences"][name]) == 2 * len(MEASURES)
    folders = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("tiny/k-*/seed-*"))
    assert folders == [f"tiny/k-{k}/seed-{seed}" for k in (1, 3, 5) for seed in (1, 2)]

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a finished run was trained again")

    monkeypatch.setattr("engrain.models.gate.training.fit", fail)
    assert answer(capsys, *words, "--resume") == document


def test_evidence_is_counted_among_the_highest_scores() -> None:
    pairs = tuple(((), Utterance(speaker="user", text=text)) for text in ("I love my dog", "ok", "We moved", "a" * 50))
    stream = Stream(pairs, np.array([True, False, False, False]))
    found = evidence_measures(stream, first_person_scores(stream))
    assert found["auprc"] == 1.0
    assert found["recall at 30%"] == 1.0
    assert evidence_measures(stream, np.array([0.0, 1.0, 2.0, 3.0]))["recall at 50%"] == 0.0
    assert [first_person_words(turn.text) for _, turn in pairs] == [2, 0, 1, 0]
    assert first_person_words("I’m sure it’s mine") == 2
