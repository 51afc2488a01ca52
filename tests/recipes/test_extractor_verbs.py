"""The extractor's verbs through the command line: masks, a corpus built without a teacher, forms of export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engrain.data_builders.parquet import read_extraction_examples
from engrain.recipes.cli import app
from engrain.recipes.cli import run as run_command
from engrain.runtime.schema import Split

RUNNER = CliRunner()


def recipe(folder: Path, **fields: object) -> str:
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(fields), encoding="utf-8")  # JSON is YAML.
    return str(path)


def test_a_corpus_is_built_from_the_shipped_one(tmp_path: Path) -> None:
    windows = {"style": "longmemeval", "size": 1, "overlap": 0, "prompt": "compact"}
    path = recipe(tmp_path, recipe="synthesize", name="own", output=str(tmp_path), shipped={}, windows=windows)
    done = RUNNER.invoke(app, ["build", "extractor", path, "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    examples = read_extraction_examples(tmp_path / "own" / "extraction.parquet")
    assert {example.split for example in examples} == set(Split)
    assert sum(sum(part.values()) for part in document["splits"].values()) == len(examples)
    assert document["diversity"]["records"] == 356
    assert run_command(["synthesize", path]) == 2, "without a teacher nobody can write"


def test_masks_are_shown_token_by_token(tmp_path: Path, tiny_qwen3: Path) -> None:
    model = {"base": str(tiny_qwen3), "prompt": "compact"}
    path = recipe(tmp_path, recipe="extractor", name="m", data={"source": "shipped"}, model=model)
    done = RUNNER.invoke(app, ["inspect", "masks", path, "--examples", "2", "--json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert len(shown) == 2
    for one in shown:
        learned = "".join(token["text"] for token in one["tokens"] if token["learned"])
        assert learned.startswith('{"memories":[') and learned.endswith("]}</s>")
        assert one["given"] + one["learned"] == len(one["tokens"])
    table = RUNNER.invoke(app, ["inspect", "masks", path, "--examples", "1"])
    assert table.exit_code == 0 and '{"memories":[' in table.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "gate", "nowhere", "out", "--to", "gguf"], "--to gguf is unknown for gate"),
        (["export", "extractor", "nowhere", "out", "--to", "onnx"], "allowed: bundle, adapter, merged, gguf"),
        (["export", "extractor", "nowhere", "out.gguf", "--to", "gguf"], "run.json is missing"),
    ],
)
def test_a_form_that_cannot_be_written_says_why(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_run_file_that_was_cut_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text('{"config": {"mod', encoding="utf-8")
    assert run_command(["export", "extractor", str(tmp_path), str(tmp_path / "out")]) == 2
    assert "run.json cannot be read" in " ".join(capsys.readouterr().err.split())
    (tmp_path / "run.json").unlink()


@pytest.fixture(scope="module")
def tiny_qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte tokenizer with a chat template, and a Qwen3 too small to learn: what masks need of a base."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("tiny-qwen3")
    alphabet = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    inner = Tokenizer(models.BPE({symbol: place for place, symbol in enumerate(alphabet)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>")
    tokenizer.chat_template = (
        "{% for message in messages %}<s>{{ message.role }}: {{ message.content }}</s>{% endfor %}<s>assistant: "
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    shape = transformers.Qwen3Config(
        vocab_size=len(alphabet),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=16,
    )
    transformers.Qwen3ForCausalLM(shape).save_pretrained(folder)
    return folder
