"""A tiny BERT with random weights, and examples that it can learn: a turn is worth keeping when it says `keep`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from engrain.models.gate.config import GateConfig, GateModelConfig, GateTrainingConfig
from engrain.runtime.schema import GateExample, LabelSource, Split, Utterance

WORDS = ["keep", *(f"w{number}" for number in range(12))]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def save_tokenizer(folder: Path) -> int:
    vocabulary = {word: place for place, word in enumerate([*SPECIALS, "S1", "S2", ":", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIALS)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return len(vocabulary)


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds a two-layer BERT and its tokenizer."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    torch.manual_seed(0)
    settings = BertConfig(
        vocab_size=save_tokenizer(folder),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=0,
        initializer_range=0.3,
        hidden_dropout_prob=0.05,
    )
    BertModel(settings).save_pretrained(folder)
    return folder


@pytest.fixture
def tiny_config(tiny_base: Path) -> Callable[..., GateConfig]:
    """A config for the tiny base; keywords replace training settings."""

    def make(**training: object) -> GateConfig:
        values = {"learning_rate": 5e-3, "epochs": 3, "evaluate_every": 4, "accelerator": "cpu", **training}
        model = GateModelConfig(base=str(tiny_base), max_length=48, pooling="mean")
        return GateConfig(model=model, training=GateTrainingConfig.model_validate(values))

    return make


@pytest.fixture
def make_rows() -> Callable[..., list[GateExample]]:
    """`count` examples, a third of them positive, ids and groups starting with `name`."""
    return example_rows


def example_rows(count: int, name: str = "train", positive_every: int = 3) -> list[GateExample]:
    rng = random.Random(name)
    rows = []
    for number in range(count):
        words = rng.choices(WORDS[1:], k=rng.randint(1, 12))
        label = number % positive_every == 0
        if label:
            words.insert(rng.randrange(len(words) + 1), "keep")
        rows.append(
            GateExample(
                id=f"{name}-{number}",
                split=Split.TRAIN if name == "train" else Split.VALIDATION,
                context=(Utterance(speaker="bot", text=" ".join(rng.choices(WORDS[1:], k=rng.randint(1, 9)))),),
                target=Utterance(speaker="user", text=" ".join(words)),
                label=label,
                label_source=LabelSource.AUTHORED,
                corpus="tiny",
                group=f"{name}-group-{number // 4}",
            )
        )
    return rows
