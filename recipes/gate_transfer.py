"""A gate corpus for dialogues that nobody labelled: Memora's labels, weak labels of other corpora, made-up requests.

`python -m engrain.recipes.gate_transfer OUT.parquet FOLDER` writes it; `engrain train gate gate/transfer` reads
it. A gate trained on Memora alone learns how its personas phrase things; on LongMemEval it keeps no more evidence than
a count of first-person words. What is added here, and why:

- `msc`, `led`: people talking about themselves, positive where annotators noted a persona or a life event (weak).
- `shipped`: people talking to an assistant, labelled by its authors.
- `ultrachat`: requests to an assistant. Nobody labelled them, so each counts as a doubtful negative: the more
  first-person words, the less sure (a vote with low confidence, learned with `training.soft_labels`).
- `composed`: a request and a personal statement in one turn, which is how facts reach an assistant; and requests
  joined to turns without one, so that length alone decides nothing.

Contexts of weak rows are their own, none, or an assistant's message from elsewhere, whatever the label: a context must
not tell which corpus a row is from. Sessions that occur in LongMemEval or LoCoMo are dropped and counted.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import typer

from engrain.data_builders.config import MemoraGateData, ShippedSplit
from engrain.data_builders.gate_corpus import shipped_gate_corpus
from engrain.data_builders.memora_gate import memora_gate_corpus
from engrain.data_builders.parquet import write_gate_examples
from engrain.data_builders.shipped import load_shipped
from engrain.data_builders.sources.longmemeval import LongMemEvalSource
from engrain.data_builders.sources.ultrachat import UltraChatSource
from engrain.data_builders.weak_labels import weak_gate_examples
from engrain.recipes import console
from engrain.runtime.schema import (
    AuxiliaryType,
    ContextDependence,
    GateExample,
    LabelSource,
    Role,
    Split,
    Utterance,
    Vote,
)

FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|our|us)\b", re.IGNORECASE)
SIZES = {"memora": 1000, "msc": 1500, "led": 250, "ultrachat": 450, "composed": 600}
"""Training rows of each part; the shipped corpus is taken whole."""
VALIDATION_SHARE = 0.07
_CONNECTORS = ("", "", "", "By the way, ", "Also, ", "For context, ")
# Doubt that one first-person word adds to "not worth keeping", and the most of it.
_DOUBT, _MOST_DOUBT = 0.08, 0.4


def first_person_words(text: str) -> int:
    """How many first-person words a text has; the baseline that LongMemEval figures stand beside."""
    return len(FIRST_PERSON.findall(text.replace("’", "'")))


def build(data: Path, seed: int = 42) -> tuple[list[GateExample], dict[str, int]]:
    """All parts, and what was counted; `data` holds one folder a corpus, as its authors publish it."""
    rng = random.Random(f"{seed}/transfer")
    counts: Counter[str] = Counter()
    memora = _memora(data, seed)
    chats = list(_ultrachat(data / "ultrachat", benchmark_texts(data), counts))
    assistant = [row.context[-1].text for row in [*memora, *chats] if row.context]
    weak = [row for name in ("msc", "led") for row in _weak(name, data / name, rng, assistant)]
    held = int(len(chats) * 0.3)  # rows of one session stand together; the session at the edge is held out whole
    held += sum(row.group == chats[held].group for row in chats[held:])
    requests = [row.target.text for row in chats[held:]]
    requests += [row.target.text for row in memora if not row.label and row.split is Split.TRAIN]
    rows = [
        *memora,
        *weak,
        *shipped_gate_corpus(load_shipped(), ShippedSplit(), max_context=1).examples,
        *_split(chats[held:][: SIZES["ultrachat"]], rng),
        *(row.model_copy(update={"split": Split.TEST}) for row in chats[:held]),
        *_composed([row for row in weak if row.corpus.startswith("msc")], requests, assistant, rng),
    ]
    counts.update(f"{row.corpus}: {row.split.value}" for row in rows)
    return rows, dict(counts)


def benchmark_texts(data: Path) -> frozenset[str]:
    """Every user text of the LongMemEval items at hand: what no training row may hold."""
    files = sorted((data / "longmemeval").glob("*.json"))
    sessions = (labelled for path in files for labelled in LongMemEvalSource(path).sessions())
    return frozenset(turn.text for one in sessions for turn in one.session.turns if turn.role is Role.USER)


def _memora(data: Path, seed: int) -> list[GateExample]:
    each = SIZES["memora"] // 10
    settings = MemoraGateData(
        root=data,
        rows_per_persona=each + 10,
        validation_per_persona=10,
        allow_missing=("monthly",),
        max_context=1,
        seed=seed,
    )
    return list(memora_gate_corpus(settings).examples)


def _weak(name: str, folder: Path, rng: random.Random, assistant: Sequence[str]) -> list[GateExample]:
    rows = list(weak_gate_examples(name, folder, max_context=1))  # type: ignore[arg-type]
    rng.shuffle(rows)
    rows = sorted(_balanced(rows, SIZES[name]), key=lambda row: row.id)
    return list(_split([_borrow(row, rng, assistant) for row in rows], rng))


def _balanced(rows: Sequence[GateExample], size: int) -> list[GateExample]:
    """Half positives, half negatives, as far as there are enough."""
    halves = ([row for row in rows if row.label], [row for row in rows if not row.label])
    return [row for half in halves for row in half[: size // 2]]


def _borrow(row: GateExample, rng: random.Random, assistant: Sequence[str]) -> GateExample:
    """The row with its own context, none, or an assistant's message from elsewhere, each as likely."""
    choice = rng.randrange(3)
    if choice == 0:
        return row
    context = () if choice == 1 else (Utterance(speaker="assistant", text=rng.choice(assistant)[-400:]),)
    return row.model_copy(update={"context": context})


def _ultrachat(folder: Path, forbidden: frozenset[str], counts: Counter[str]) -> Iterator[GateExample]:
    """User turns as doubtful negatives; a session with a text of a benchmark is dropped whole."""
    for labelled in UltraChatSource(folder).sessions():
        turns = labelled.session.turns
        if any(turn.text in forbidden for turn in turns if turn.role is Role.USER):
            counts["ultrachat: sessions dropped, in a benchmark"] += 1
            continue
        for place, turn in enumerate(turns):
            if turn.role is Role.USER and len(turn.text) < 600:
                before = [_said(one.speaker, one.text[-400:]) for one in turns[max(0, place - 1) : place]]
                yield _doubtful(turn.id, turn.session_id, before, _said(turn.speaker, turn.text))


def _doubtful(name: str, group: str, context: Iterable[Utterance], target: Utterance) -> GateExample:
    doubt = min(_MOST_DOUBT, _DOUBT * first_person_words(target.text))
    vote = Vote(
        teacher="first-person words",
        admit=False,
        auxiliary_type=AuxiliaryType.NON_MEMORY,
        context_dependence=ContextDependence.SELF_CONTAINED,
        confidence=1.0 - doubt,
    )
    return GateExample(
        id=f"ultrachat/{name}",
        split=Split.TRAIN,
        context=tuple(context),
        target=target,
        label=False,
        label_source=LabelSource.WEAK,
        votes=(vote,),
        corpus="ultrachat",
        group=f"ultrachat/{group}",
    )


def _composed(
    weak: Sequence[GateExample], requests: Sequence[str], assistant: Sequence[str], rng: random.Random
) -> Iterator[GateExample]:
    """Requests joined to a personal statement (positive, two of three), or to a turn without a note."""
    training = [row for row in weak if row.split is Split.TRAIN]
    facts = [row for row in training if row.label and first_person_words(row.target.text) and _short(row)]
    rest = [row for row in training if not row.label and _short(row)]
    for number in range(SIZES["composed"]):
        positive = number % 3 != 2
        other = rng.choice(facts if positive else rest)
        request = _first_sentences(rng.choice(requests))
        parts = [request, rng.choice(_CONNECTORS) + other.target.text]
        if rng.random() < 0.4:
            parts = [other.target.text, request]
        yield _borrow(
            other.model_copy(
                update={
                    "id": f"composed/{number}",
                    "target": Utterance(speaker="user", text=" ".join(parts)),
                    "context": (),
                    "corpus": "composed",
                }
            ),
            rng,
            assistant,
        )


def _said(speaker: str, text: str) -> Utterance:
    return Utterance(speaker=speaker, text=text)


def _short(row: GateExample) -> bool:
    return len(row.target.text) <= 200


def _first_sentences(text: str) -> str:
    return " ".join(re.split(r"(?<=[.?!])\s+", text.strip())[:2])[:240]


def _split(rows: Sequence[GateExample], rng: random.Random) -> Iterator[GateExample]:
    """Whole groups validate, a share of them."""
    groups = sorted({row.group for row in rows})
    validating = set(rng.sample(groups, max(1, round(VALIDATION_SHARE * len(groups)))))
    place: Callable[[GateExample], Split] = lambda row: Split.VALIDATION if row.group in validating else Split.TRAIN  # noqa: E731
    return (row.model_copy(update={"split": place(row)}) for row in rows)


def main(out: Path, data: Path, seed: int = 42) -> None:
    """Write the corpus from DATA, the folder that holds memora, msc, led, ultrachat and longmemeval, to OUT."""
    rows, counts = build(data, seed)
    fingerprint = write_gate_examples(out, rows)
    console.show_fields(f"{out}, {fingerprint[:16]}", dict(sorted(counts.items())))


if __name__ == "__main__":
    typer.run(main)
