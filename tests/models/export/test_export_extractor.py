"""Extractor bundles: the merged model answers as the adapter does, loads strictly, and nothing doubtful is exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from engrain.models.export import extractor as export_module
from engrain.models.export.extractor import export_extractor, export_merged
from engrain.models.extractor.config import ExtractorConfig
from engrain.models.extractor.generation import load_adapter, tuned_extractor
from engrain.models.extractor.training import ExtractorRun, train_extractor
from engrain.runtime.bundle import load_bundle
from engrain.runtime.errors import BundleError, InputError
from engrain.runtime.extraction.local import LocalGenerator, load_extractor
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractionExample

Build = Callable[..., ExtractionExample]
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture
def run(config: ExtractorConfig, example: Build, tmp_path: Path) -> ExtractorRun:
    return train_extractor(config, [example(i) for i in range(4)], [example(5)], tmp_path / "run", seed=1)


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = model(input_ids=torch.tensor([[5, 9, 250, 44, 12, 7]])).logits
    return result


def test_the_bundle_is_the_tuned_model(run: ExtractorRun, example: Build, tmp_path: Path) -> None:
    folder = export_extractor(run, tmp_path / "bundle", metrics={"f1": 0.25}, recipe={"name": "tiny"}, licence="MIT")
    _, manifest = load_bundle(folder, "extractor")
    assert manifest.base_model == run.config.model.base
    assert (manifest.base_hash, manifest.template_hash) == (run.base_hash, run.template_hash)
    assert manifest.metrics["f1"] == 0.25 and "validation_loss" in manifest.metrics
    assert manifest.recipe["prompt"] == "compact" and manifest.recipe["name"] == "tiny"
    assert (manifest.recipe["window_size"], manifest.recipe["window_overlap"]) == (2, 0)
    assert manifest.recipe["training"]["lora"]["rank"] == 4
    tuned, _ = load_adapter(run.config, run.adapter)
    merged, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values())
    assert torch.allclose(logits(merged), logits(tuned), atol=1e-5)
    windows = [Window(example(index).window) for index in range(3)]
    expected = tuned_extractor(run.config, run.adapter).extract(windows)
    assert load_extractor(folder, device="cpu").extract(windows) == expected
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert manifest.name in card and "license: mit" in card and "| f1 | 0.25 |" in card


def test_a_server_finds_tokens_and_template_right(run: ExtractorRun, tmp_path: Path) -> None:
    folder = export_extractor(run, tmp_path / "bundle")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert tokenizer.chat_template == AutoTokenizer.from_pretrained(run.config.model.base).chat_template
    for settings in (model.generation_config, model.config):
        assert settings.eos_token_id == tokenizer.eos_token_id
        assert settings.pad_token_id == tokenizer.pad_token_id != tokenizer.eos_token_id
    # Tied weights are stored once.
    assert "lm_head.weight" not in load_file(folder / "model.safetensors")
    suffixes = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert not suffixes & {".bin", ".pt", ".ckpt", ".pkl"}


def test_an_adapter_alone_is_a_small_bundle(run: ExtractorRun, example: Build, tmp_path: Path) -> None:
    export_extractor(run, tmp_path / "bundle")
    folder = export_extractor(run, tmp_path / "bundle", merged=False)  # In place of the one before.
    assert not (folder / "model.safetensors").exists()
    assert (folder / "adapter" / "adapter_model.safetensors").is_file()
    windows = [Window(example(0).window)]
    expected = tuned_extractor(run.config, run.adapter).extract(windows)
    assert load_extractor(folder, device="cpu").extract(windows) == expected


def test_compression_travels_with_the_bundle(run: ExtractorRun, tmp_path: Path) -> None:
    model = run.config.model.model_copy(update={"keep_words": 0.8})
    tuned = run.model_copy(update={"config": run.config.model_copy(update={"model": model})})
    assert load_extractor(export_extractor(tuned, tmp_path / "short"), device="cpu").keep == 0.8
    assert load_extractor(export_extractor(run, tmp_path / "whole"), device="cpu").keep == 1.0


def test_weights_are_cast_last(run: ExtractorRun, tmp_path: Path) -> None:
    folder = export_extractor(run, tmp_path / "bundle", dtype="bfloat16")
    exact, _ = load_adapter(run.config, run.adapter)
    stored = load_file(folder / "model.safetensors")
    for name, weight in exact.merge_and_unload().named_parameters():
        assert torch.equal(stored[name], weight.to(torch.bfloat16)), name
    assert LocalGenerator.load(folder, device="cpu").model.dtype == torch.bfloat16


def test_a_merge_that_differs_is_refused_and_leaves_nothing(
    run: ExtractorRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = iter((0.0, 1e-3))
    exact = export_module.probe_logits

    def shifted(model: Any, tokenizer: Any) -> list[torch.Tensor]:
        shift = next(seen)
        return [part + shift for part in exact(model, tokenizer)]

    monkeypatch.setattr(export_module, "probe_logits", shifted)
    with pytest.raises(BundleError, match=r"the merged model differs from the adapter model by 0\.001"):
        export_extractor(run, tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_weights_that_read_back_differently_are_refused(
    run: ExtractorRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = AutoModelForCausalLM.from_pretrained

    def altered(source: Any, **options: Any) -> Any:
        loaded = load(source, **options)
        if options.get("output_loading_info"):
            with torch.no_grad():
                loaded[0].model.norm.weight.mul_(2.0)
        return loaded

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", altered)
    with pytest.raises(BundleError, match=r"exported weights read back differently, first model\.norm\.weight"):
        export_extractor(run, tmp_path / "bundle")


def test_another_base_or_an_occupied_place_is_refused(run: ExtractorRun, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a bundle"):
        export_extractor(run, run.folder)
    with pytest.raises(InputError, match="has other weights than when"):
        export_extractor(run.model_copy(update={"base_hash": "0" * 64}), tmp_path / "other")


def test_a_merged_folder_is_a_plain_model(run: ExtractorRun, tmp_path: Path) -> None:
    folder = export_merged(run, tmp_path / "merged", dtype="bfloat16")
    assert not (folder / "bundle.json").exists() and not (folder / "adapter").exists()
    model, report = AutoModelForCausalLM.from_pretrained(folder, dtype="auto", output_loading_info=True)
    assert not any(report.values()) and model.dtype == torch.bfloat16


def test_a_quantised_base_is_not_merged_into(run: ExtractorRun, tmp_path: Path) -> None:
    settings = Path(run.config.model.base) / "config.json"
    before = settings.read_text("utf-8")
    try:
        settings.write_text(before.replace("{", '{"quantization_config": {"quant_method": "gptq", "bits": 4},', 1))
        with pytest.raises(InputError, match=r"quantised \(gptq\).*full precision"):
            export_extractor(run, tmp_path / "bundle")
    finally:
        settings.write_text(before)
