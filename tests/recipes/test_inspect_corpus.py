"""`engrain inspect corpus`, run as a person runs it, on files in published layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from engrain.data_builders.sources.chat import ChatSource
from engrain.data_builders.sources.profile import profile_corpus
from engrain.recipes.cli import run
from engrain.runtime.gate_input import pack, prepare_tokenizer
from engrain.runtime.schema import Utterance

ENGLISH = "I have lived in the same house with my two cats for ten years"
GERMAN = "Ich habe das Haus nicht gekauft und wir sind auch noch nicht eingezogen"


def messages(*said: tuple[str, str]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text} for role, text in said]}


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    rows = [
        messages(("system", "Be kind."), ("user", ENGLISH), ("assistant", "Nice!"), ("user", "")),
        messages(("user", GERMAN), ("assistant", "Schade."), ("user", "word " * 600)),
        messages(("user", "[b]ok[/b]")),
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """A tokenizer whose tokens are words."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    folder = tmp_path / "words"
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_the_json_holds_every_count(chats: Path, words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["inspect", "corpus", "chat", "--root", str(chats), "--tokenizer", str(words), "--json"]
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["sessions"], found["people"], found["turns"], found["complete"]) == (3, 3, 7, True)
    assert found["roles"] == {"system": 1, "user": 4, "assistant": 2}
    assert found["languages"]["en"] >= 1 and found["languages"]["de"] == 1
    assert found["left_out"] == {"empty_turns": 1}
    assert found["splits"] == {"file": 3}
    assert (found["first"], found["last"]) == ("2020-01-01T09:00:00Z", "2020-01-01T09:00:01Z")
    assert found["info"]["licence"] == "as its owner states" and found["info"]["dates"] == "either"
    assert found["examples"][0][1] == f"user (user): {ENGLISH}"
    one, three, _ = found["lengths"]
    # `S1:`, two markers, 600 words; the message before has one word and its speaker.
    assert (one["k"], one["longest"], one["over_limit"], one["target_over_limit"]) == (1, 603 + 2, 1, 1)
    assert three["longest"] == 605 + len(GERMAN.split()) + 1


def test_lengths_are_those_of_the_inputs_that_are_packed(chats: Path, words: Path) -> None:
    tokenizer = Tokenizer.from_file(str(words / "tokenizer.json"))
    (lengths, *_) = profile_corpus(ChatSource(chats), tokenizer=tokenizer).lengths
    prepared, expected = prepare_tokenizer(tokenizer), []
    for labelled in ChatSource(chats).sessions():
        said = [Utterance(speaker=turn.speaker, text=turn.text) for turn in labelled.session.turns]
        for position, turn in enumerate(labelled.session.turns):
            if turn.role == "user":
                packed = pack(prepared, said[:position], said[position], k=1, max_length=4096)
                expected.append(len(packed.ids))
    assert (lengths.longest, lengths.mean) == (max(expected), sum(expected) / len(expected))


def test_a_limit_reads_the_first_sessions_only(chats: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chats.open("a") as stream:
        stream.write("\n{cut")
    command = ["inspect", "corpus", "chat", "--root", str(chats), "--json"]
    assert run([*command, "--limit", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["sessions"], found["complete"]) == (2, False)
    assert run(command) == 2
    assert "chats.jsonl, line 4: not valid JSON" in capsys.readouterr().err


def test_the_tables_show_texts_as_they_are(chats: Path, words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["inspect", "corpus", "chat", "--root", str(chats), "--examples", "3", "--tokenizer", str(words)]
    assert run(command) == 0
    shown = capsys.readouterr().out
    for text in ("licence", "user 4", "over 512", "[b]ok[/b]", "empty_turns 1"):
        assert text in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("chats",), "no corpus is called 'chats'; did you mean chat?"),
        (("chat", "--root", "nowhere"), "nowhere is no folder and no file"),
        (("msc",), "msc is on no hub"),
        (("chat", "--root", "empty"), "chat needs all: *.json*; found an empty folder"),
        (("chat", "--root", "chats.jsonl", "--tokenizer", "./none"), "./none is not a folder"),
        (("chat", "--root", "chats.jsonl", "--tokenizer", "empty"), "no tokenizer in empty"),
        (("chat", "--root", "chats.jsonl", "--split", "dev"), "chat has no split dev; it has all"),
        (("jsonl", "--root", "chats.jsonl"), "a chat in the OpenAI or ShareGPT form; read it as `chat`"),
    ],
)
def test_bad_input_is_one_message(
    chats: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    (chats.parent / "empty").mkdir()
    monkeypatch.chdir(chats.parent)
    assert run(["inspect", "corpus", *arguments]) == 2
    assert message in capsys.readouterr().err
