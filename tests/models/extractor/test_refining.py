"""The second stage on trl, three real steps each on the tiny Qwen3: the adapter changes, its base does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engrain.models.extractor.config import ExtractorConfig, RefineSettings
from engrain.models.extractor.generation import tuned_extractor
from engrain.models.extractor.refining import RefinedRun, prompt_text, refine, trainable_adapter
from engrain.models.extractor.training import ExtractorRun, train_extractor
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.extractor import DimensionalExtractor
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractionExample

pytest.importorskip("trl")
Build = Callable[..., ExtractionExample]
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.full]


@pytest.fixture
def run(config: ExtractorConfig, example: Build, tmp_path: Path) -> ExtractorRun:
    return train_extractor(config, [example(i) for i in range(4)], [example(5)], tmp_path / "run", seed=1)


@pytest.mark.parametrize("method", ["grpo", "dpo"])
def test_three_steps_change_the_adapter_only(run: ExtractorRun, example: Build, method: str) -> None:
    settings = RefineSettings.model_validate(
        {"method": method, "steps": 3, "generations": 2, "max_new_tokens": 12, "learning_rate": 1e-2}
    )
    before = load_file(run.adapter / "adapter_model.safetensors")
    refined = refine(run, [example(i) for i in range(4)], settings, seed=1)
    assert (refined.method, refined.steps, refined.examples) == (method, 3, 4)
    assert len(refined.log) == 3
    after = load_file(refined.folder / "adapter" / "adapter_model.safetensors")
    assert after.keys() == before.keys()
    if method == "dpo":  # A random model's answers earn alike, so that GRPO may have nothing to learn from.
        assert any(not torch.equal(after[name], before[name]) for name in after)
        assert refined.log[-1]["rewards/margins"] > refined.log[0]["rewards/margins"]
    else:
        assert {"rewards/valid_json/mean", "rewards/coverage/mean"} <= refined.log[0].keys()
    assert torch.equal(
        before["base_model.model.model.layers.0.mlp.up_proj.lora_A.weight"],
        load_file(run.adapter / "adapter_model.safetensors")[
            "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight"
        ],
    )
    assert RefinedRun.model_validate_json((refined.folder / "refined.json").read_text("utf-8")) == refined
    assert not list(refined.folder.glob("trl"))
    answers = tuned_extractor(run.config, refined.folder / "adapter").extract([Window(example(0).window)])
    assert len(answers) == 1


def test_the_prompt_is_the_runtimes(run: ExtractorRun, example: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    extractor = tuned_extractor(run.config, run.adapter)
    assert isinstance(extractor, DimensionalExtractor)
    generator = extractor.generator
    encode = generator._encode  # type: ignore[attr-defined]
    tokenizer = trainable_adapter(run.config, run.adapter)[1]
    monkeypatch.setattr(
        generator, "_encode", lambda messages: seen.append(tokenizer.decode(encode(messages))) or encode(messages)
    )
    extractor.extract([Window(example(0).window)])
    assert seen == [prompt_text(tokenizer, example(0), run.config)]


def test_nothing_to_learn_from_is_an_error(run: ExtractorRun, example: Build) -> None:
    with pytest.raises(InputError, match="no window to refine on"):
        refine(run, [], RefineSettings(), seed=1)
    settings = RefineSettings(method="dpo", steps=1, margin=1.0)
    with pytest.raises(InputError, match="none of 1 windows has two answers"):
        refine(run, [example(0)], settings, seed=1, answers=[['{"memories":[]}']])
