"""The extractor in this process: a bundle's causal LM through transformers, batched and greedy.

The bundle holds a merged model, or an adapter whose base is found elsewhere. An adapter is merged in float32 before
anything is cast, and only into the very base that it was tuned on (its hash is in the bundle).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from engrain.runtime.bundle import BundleManifest, file_hash, load_bundle, text_hash
from engrain.runtime.errors import BundleError, InputError
from engrain.runtime.extraction.constrained import SHORTEST_ANSWER, AnswerMasks, answer_processor
from engrain.runtime.extraction.extractor import Completion, DimensionalExtractor, FinishReason
from engrain.runtime.extraction.prompts import PROMPT_HASH
from engrain.runtime.extraction.render import chat_template_hash, render_prompt
from engrain.runtime.schema import WindowStyle

DType = Literal["float32", "bfloat16"]
ADAPTER_FOLDER = "adapter"


class LocalGenerator:
    """Answers conversations with a transformers model.

    Windows of similar length are generated together, padded on the left; each answer ends at eos or after
    `max_new_tokens`. `thinking` must be as in training. With `constrain` every answer is complete JSON of the schema;
    one that had to be closed because its tokens ran out is still reported as cut. The model is used where it is: move
    it to a device before.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        max_new_tokens: int,
        batch_size: int = 8,
        thinking: bool = False,
        constrain: bool = False,
    ) -> None:
        if tokenizer.pad_token_id is None or tokenizer.pad_token_id == tokenizer.eos_token_id:
            raise InputError("the tokenizer needs a padding token other than eos; export the bundle with Engrain")
        self.model, self.tokenizer = model, tokenizer
        if constrain and thinking:
            raise InputError("a model that thinks cannot be constrained to JSON; set constrain or thinking to false")
        if constrain and max_new_tokens < SHORTEST_ANSWER:
            raise InputError(f"a constrained answer needs max_new_tokens of at least {SHORTEST_ANSWER}")
        self.max_new_tokens, self.batch_size, self.thinking = max_new_tokens, batch_size, thinking
        self._masks = AnswerMasks(tokenizer) if constrain else None

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        base: str | Path | None = None,
        device: str | None = None,
        dtype: DType | None = None,
        batch_size: int | None = None,
        max_new_tokens: int | None = None,
        constrain: bool | None = None,
    ) -> LocalGenerator:
        """Load a bundle of kind `extractor`, verified. Settings that are not given are the bundle's own.

        `base` is the folder or hub name of an adapter's base model, where the one in the manifest is not to be found
        on this machine. `device` is torch's, the GPU when there is one by default. Raises `BundleError` for a bundle
        that was altered or does not fit its base, `InputError` when torch or transformers is missing.
        """
        folder, manifest = load_bundle(folder, "extractor")
        return cls._from(folder, manifest, base, device, dtype, batch_size, max_new_tokens, constrain)

    @classmethod
    def _from(
        cls,
        folder: Path,
        manifest: BundleManifest,
        base: str | Path | None,
        device: str | None,
        dtype: DType | None,
        batch_size: int | None,
        max_new_tokens: int | None,
        constrain: bool | None,
    ) -> LocalGenerator:
        torch, transformers = _import_local()
        recipe = manifest.recipe
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        thinking = bool(recipe.get("thinking", False))
        if chat_template_hash(tokenizer, thinking=thinking) != manifest.template_hash:
            raise BundleError(f"{folder}: its chat template is not the one it was tuned with; export the bundle again")
        wanted = getattr(torch, dtype or recipe.get("dtype", "float32"))
        with quiet_loading():
            if (folder / "model.safetensors").exists() or (folder / "model.safetensors.index.json").exists():
                load = transformers.AutoModelForCausalLM.from_pretrained
                model = load(folder, dtype=wanted, use_safetensors=True)
            else:
                model = _merged(folder, manifest, base, len(tokenizer)).to(wanted)
        model = model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
        return cls(
            model,
            tokenizer,
            max_new_tokens=max_new_tokens or int(recipe.get("max_new_tokens", manifest.max_length)),
            batch_size=batch_size or int(recipe.get("batch_size", 8)),
            thinking=thinking,
            constrain=bool(recipe.get("constrain", False)) if constrain is None else constrain,
        )

    def generate(self, conversations: Sequence[list[dict[str, str]]]) -> list[Completion]:
        """One completion a conversation, in order. A prompt that leaves no room for an answer is an `error`."""
        prompts = [self._encode(messages) for messages in conversations]
        answers: dict[int, Completion] = {}
        room = int(getattr(self.model.config, "max_position_embeddings", 0) or 1 << 30)
        least = SHORTEST_ANSWER if self._masks else 1
        for index, ids in enumerate(prompts):
            if len(ids) + least > room:
                answers[index] = Completion("", "error", f"the prompt has {len(ids)} tokens, the model reads {room}")
        order = sorted((index for index in range(len(prompts)) if index not in answers), key=lambda i: len(prompts[i]))
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            limit = min(self.max_new_tokens, room - len(prompts[rows[-1]]))
            answers.update(zip(rows, self._answer([prompts[row] for row in rows], limit), strict=True))
        return [answers[index] for index in range(len(prompts))]

    def _encode(self, messages: list[dict[str, str]]) -> list[int]:
        text = render_prompt(self.tokenizer, messages, thinking=self.thinking)
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _answer(self, prompts: list[list[int]], limit: int) -> list[Completion]:
        import torch
        from transformers import LogitsProcessorList

        pad, eos = self.tokenizer.pad_token_id, self.tokenizer.eos_token_id
        width, shared = max(map(len, prompts)), shared_beginning(prompts)
        # Padding stands behind the beginning that all prompts share: that is read once, not once a window.
        gaps = [width - len(row) for row in prompts]
        rows = [row[:shared] + [pad] * gap + row[shared:] for row, gap in zip(prompts, gaps, strict=True)]
        masks = [[1] * shared + [0] * gap + [1] * (width - shared - gap) for gap in gaps]
        processor = answer_processor(self._masks, width, limit) if self._masks else None
        # Handed over only when there is one, so that a caller may wrap `generate` with a processor of its own.
        options: dict[str, Any] = {"logits_processor": LogitsProcessorList([processor])} if processor else {}
        with _evaluating(self.model), torch.inference_mode():
            if shared:
                options |= self._read(prompts[0][:shared], len(prompts))
            output = self.model.generate(
                input_ids=torch.tensor(rows, device=self.model.device),
                attention_mask=torch.tensor(masks, device=self.model.device),
                do_sample=False,
                num_beams=1,
                max_new_tokens=limit,
                pad_token_id=pad,
                eos_token_id=eos,
                # A model's own sampling settings mean nothing here, and would only be warned about.
                temperature=None,
                top_p=None,
                top_k=None,
                **options,
            )
        cut = processor.cut if processor else [False] * len(prompts)
        return [self._completion(row[width:].tolist(), closed) for row, closed in zip(output, cut, strict=True)]

    def _read(self, beginning: list[int], rows: int) -> dict[str, Any]:
        """The argument that hands over keys and values of a beginning, for `rows` prompts that all start with it."""
        import torch
        from transformers import DynamicCache

        # Without the head: nothing asks for the next token yet, and a vocabulary of logits a token is large.
        reader, cache = self.model.base_model, DynamicCache(config=self.model.config)
        # transformers renamed the argument within its fifth version.
        name = "cache" if "cache" in inspect.signature(reader.forward).parameters else "past_key_values"
        reader(input_ids=torch.tensor([beginning], device=self.model.device), use_cache=True, **{name: cache})
        cache.batch_repeat_interleave(rows)
        return {name: cache}

    def _completion(self, ids: list[int], closed_early: bool) -> Completion:
        eos = self.tokenizer.eos_token_id
        ended = eos in ids
        reason: FinishReason = "stop" if ended and not closed_early else "length"
        text = self.tokenizer.decode(
            ids[: ids.index(eos)] if ended else ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return Completion(text, reason)


def shared_beginning(prompts: Sequence[list[int]]) -> int:
    """How many first tokens all of several prompts share, short of every last token; 0 for one prompt alone."""
    if len(prompts) < 2:
        return 0
    first, last = min(prompts), max(prompts)  # What the first and the last in order share, all share.
    pairs = enumerate(zip(first, last, strict=False))
    same = next((place for place, (left, right) in pairs if left != right), len(first))
    return min(same, min(map(len, prompts)) - 1)


def load_extractor(
    folder: str | Path,
    *,
    base: str | Path | None = None,
    device: str | None = None,
    dtype: DType | None = None,
    batch_size: int | None = None,
    max_new_tokens: int | None = None,
    constrain: bool | None = None,
) -> DimensionalExtractor:
    """The extractor of a bundle, with the prompt, style and window that it was tuned on.

    Arguments and errors as `LocalGenerator.load`; also a `BundleError` when this Engrain words the prompt otherwise
    than the one that tuned the model.
    """
    folder, manifest = load_bundle(folder, "extractor")
    recipe = manifest.recipe
    prompt = str(recipe["prompt"])
    if PROMPT_HASH.get(prompt) != recipe["prompt_hash"]:
        raise BundleError(f"{folder} was tuned under another wording of the prompt '{prompt}'; tune it again")
    generator = LocalGenerator._from(folder, manifest, base, device, dtype, batch_size, max_new_tokens, constrain)
    return DimensionalExtractor(
        generator,
        WindowStyle(recipe["style"]),
        prompt,
        manifest.name,
        size=int(recipe["window_size"]),
        overlap=int(recipe["window_overlap"]),
        keep=float(recipe.get("keep_words", 1.0)),
    )


def _merged(folder: Path, manifest: BundleManifest, base: str | Path | None, vocabulary: int) -> Any:
    """An adapter merged into its base, in float32."""
    torch, transformers = _import_local()
    name = str(base or manifest.base_model)
    if name.startswith("package:"):
        raise InputError(
            f"{folder} holds an adapter for {name}; give base=<folder of that model>, or export a merged bundle"
        )
    source = _base_folder(name)
    found = folder_weights_hash(source)
    if found != manifest.base_hash:
        raise BundleError(f"{folder} was tuned on other weights than {name}; give base=<the model it was tuned on>")
    try:
        from peft import PeftModel
    except ImportError:
        raise InputError("an adapter bundle needs peft; run `pip install engrain[local]`") from None
    model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, use_safetensors=True)
    if vocabulary > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(vocabulary, mean_resizing=False)
    merged: Any = PeftModel.from_pretrained(model, folder / ADAPTER_FOLDER)
    return merged.merge_and_unload(safe_merge=True)


def folder_weights_hash(folder: Path) -> str:
    """SHA-256 of the one safetensors file of a folder, or of all of them by name when they are sharded."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise InputError(f"{folder} holds no safetensors weights")
    if len(files) == 1:
        return file_hash(files[0])
    return text_hash(*(part for path in files for part in (path.name, file_hash(path))))


def _base_folder(name: str) -> Path:
    if Path(name).is_dir():
        return Path(name)
    from transformers.utils.hub import cached_file

    for known in ("model.safetensors", "model.safetensors.index.json"):
        try:
            found = cached_file(name, known, _raise_exceptions_for_missing_entries=False)
        except OSError:  # Not the name of a repository, or no way to the hub.
            found = None
        if found is not None:
            return Path(found).parent
    raise InputError(f"{name} is neither a folder nor a model with safetensors weights; give base=<folder>")


@contextmanager
def quiet_loading() -> Iterator[None]:
    """No bar of transformers' own while weights load or are written, unless a person is watching a terminal."""
    from transformers.utils import logging

    hide = not sys.stderr.isatty() and logging.is_progress_bar_enabled()
    if hide:
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if hide:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode for as long as it lasts: dropout would make the answers random."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _import_local() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError:
        raise InputError(
            "a local extractor needs torch and transformers; run `pip install engrain[local]`, or use an endpoint"
        ) from None
    return torch, transformers
