"""Packing: every row once, hardly any padding, and nothing that one example could see of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import torch

from engrain.data_builders.config import ExtractionWindows, ShippedSplit
from engrain.data_builders.extraction_corpus import extraction_corpus
from engrain.data_builders.shipped import load_shipped
from engrain.models.extractor.base import load_tokenizer, locate_base
from engrain.models.extractor.batches import ExtractorData
from engrain.models.extractor.config import ExtractorConfig
from engrain.models.extractor.data import (
    IGNORED,
    EncodedExample,
    collate,
    encode_example,
    encode_examples,
)
from engrain.models.extractor.module import ExtractorModule
from engrain.models.extractor.packing import block_mask, collate_packed, common_beginning, pack_rows
from engrain.runtime.schema import ExtractionExample, Split

Build = Callable[..., ExtractionExample]
BuildModule = Callable[..., ExtractorModule]


@pytest.fixture
def encoded(config: ExtractorConfig, example: Build) -> list[EncodedExample]:
    tokenizer = load_tokenizer(locate_base(config.model.base))
    return [encode_example(tokenizer, example(index, messages=1 + index % 3), config.model) for index in range(6)]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("share", [True, False])
def test_packed_loss_and_gradient_equal_the_unpacked_ones(
    config: ExtractorConfig, encoded: list[EncodedExample], build_module: BuildModule, attention: str, share: bool
) -> None:
    model = config.model.model_copy(update={"attention": attention})
    module = build_module(config.model_copy(update={"model": model}))
    shared = common_beginning(encoded) if share else 0
    assert shared > 50 or not share, "the system message is shared"
    total = sum(example.target_tokens for example in encoded)
    packs = [encoded[:4], encoded[4:]]
    plain, packed = (
        collate(encoded, 0, total),
        collate_packed(packs, 0, total, shared=shared, additive=attention == "eager"),
    )
    found = []
    for batch in (plain, packed):
        module.zero_grad()
        loss = module.loss_sum(batch) / total
        loss.backward()
        gradient = {name: weight.grad.clone() for name, weight in module.named_parameters() if weight.grad is not None}
        found.append((float(loss.detach()), gradient))
    assert abs(found[0][0] - found[1][0]) < 1e-5
    assert all(torch.allclose(found[0][1][name], value, atol=1e-5) for name, value in found[1][1].items())
    assert packed["input_ids"].numel() < plain["input_ids"].numel() or not share


@pytest.mark.parametrize("share", [True, False])
def test_no_example_sees_another(
    config: ExtractorConfig, encoded: list[EncodedExample], build_module: BuildModule, share: bool
) -> None:
    """Whatever stands in the first example, the logits of the second stay the same, bit for bit."""
    module = build_module(config)
    shared = common_beginning(encoded) if share else 0

    def logits(first: EncodedExample) -> torch.Tensor:
        batch = collate_packed([[first, encoded[1]]], 0, 1, shared=shared)
        with torch.no_grad():
            read = {name: batch[name] for name in ("input_ids", "attention_mask", "position_ids")}
            found: torch.Tensor = module.model(**read).logits[0, -(len(encoded[1].ids) - shared) :]
        return found

    other = EncodedExample("other", (*encoded[0].ids[:shared], *([7] * (len(encoded[0].ids) - shared))), shared + 1)
    assert torch.equal(logits(encoded[0]), logits(other))
    seen = block_mask(torch.tensor([[0, 0, 1, 1, 2, 2, -1]]))[0, 0]
    assert seen.int().tolist() == [
        [1, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0, 0],
        [1, 1, 1, 1, 0, 0, 0],
        [1, 1, 0, 0, 1, 0, 0],
        [1, 1, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 0, 1],
    ]


def test_labels_of_a_packed_row_are_the_answers(encoded: list[EncodedExample]) -> None:
    shared = common_beginning(encoded)
    batch = collate_packed([encoded], 0, 1, shared=shared)
    learned = [int(label) for label in batch["labels"][0] if label != IGNORED]
    assert learned == [token for one in encoded for token in one.ids[one.prompt_length :]]
    # What predicts the first label of an answer is the last token of its own prompt.
    starts = (batch["position_ids"][0, 1:] < batch["position_ids"][0, :-1]).nonzero().squeeze(1) + 1
    assert (batch["labels"][0, starts] == IGNORED).all()


@pytest.mark.parametrize(("shared", "capacity"), [(0, 64), (5, 64), (5, 20)])
def test_every_row_is_packed_once_and_within_capacity(shared: int, capacity: int) -> None:
    lengths = [6 + (7 * row) % 29 for row in range(200)]
    packs = pack_rows(lengths, capacity, shared=shared, seed="a")
    assert Counter(row for pack in packs for row in pack) == Counter(range(200))
    for pack in packs:
        used = shared + sum(lengths[row] - shared for row in pack)
        assert used <= capacity or len(pack) == 1
    assert pack_rows(lengths, capacity, shared=shared, seed="a") == packs
    assert pack_rows(lengths, capacity, shared=shared, seed="b") != packs


@pytest.mark.parametrize(("size", "overlap", "batch_size"), [(15, 3, 1), (1, 0, 2)])
def test_the_shipped_corpus_fills_95_percent(config: ExtractorConfig, size: int, overlap: int, batch_size: int) -> None:
    corpus = load_shipped()
    windows = ExtractionWindows(size=size, overlap=overlap, prompt="compact")
    built = extraction_corpus(corpus.sessions, corpus.records, windows, splits=corpus.splits(ShippedSplit()))
    tokenizer = load_tokenizer(locate_base(config.model.base))
    settings = config.model.model_copy(update={"max_length": 16_384})
    parts = [
        encode_examples(tokenizer, [one for one in built.examples if one.split is split], settings, split.value)
        for split in (Split.TRAIN, Split.VALIDATION)
    ]
    training = config.training.model_copy(
        update={"pack": True, "pack_length": 4096, "batch_size": batch_size, "accumulate": 1, "epochs": 1}
    )
    data = ExtractorData(*parts, training, pad_id=tokenizer.pad_token_id, seed=3)
    real = filled = learned = 0
    for batch in data.train_dataloader():
        learned += int((batch["labels"] != IGNORED).sum())
        real += int((batch["input_ids"] != tokenizer.pad_token_id).sum())
        filled += batch["input_ids"].numel()
    assert data.padding_share() <= 0.05
    assert real / filled >= 0.95
    assert learned == parts[0].target_tokens
