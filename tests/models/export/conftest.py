"""A gate trained for three steps on a tiny BERT, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from engrain.models.gate.config import GateConfig, GateModelConfig, GateTrainingConfig
from engrain.models.gate.training import GateRun, train_gate
from engrain.runtime.schema import GateExample, LabelSource, Split, Utterance

WORDS = ["keep", "drop", "tea", "bus", "cat", "sun"]


def rows(count: int, name: str) -> list[GateExample]:
    return [
        GateExample(
            id=f"{name}-{number}",
            split=Split.TRAIN,
            context=(Utterance(speaker="bot", text=" ".join(WORDS[2 : 3 + number % 4])),),
            target=Utterance(speaker="user", text=" ".join([WORDS[number % 2], *WORDS[2 : 2 + number % 5]])),
            label=number % 2 == 0,
            label_source=LabelSource.AUTHORED,
            corpus="tiny",
            group=f"{name}-{number}",
        )
        for number in range(count)
    ]


@pytest.fixture(scope="session")
def tiny_encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds a two-layer BERT and its tokenizer."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    vocabulary = {
        word: place for place, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "S1", "S2", ":", *WORDS])
    }
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    # A tokenizer as some packages ship it: padded and cut to a length of its own.
    tokenizer.enable_padding(length=16)
    tokenizer.enable_truncation(16)
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    settings = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=0,
        initializer_range=0.3,
    )
    BertModel(settings).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_run(tiny_encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> GateRun:
    """A finished run in a folder of its own."""
    torch.set_num_threads(1)
    config = GateConfig(
        model=GateModelConfig(base=str(tiny_encoder_folder), max_length=40, pooling="target"),
        training=GateTrainingConfig(learning_rate=1e-2, epochs=1, accelerator="cpu"),
    )
    return train_gate(config, rows(48, "train"), rows(12, "validation"), tmp_path_factory.mktemp("run"), seed=1)
