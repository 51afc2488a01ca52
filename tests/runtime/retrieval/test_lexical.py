from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest

from engrain.runtime.retrieval.lexical import LexicalIndex, Vocabulary


class Documents:
    """An index over texts, and BM25 worked out plainly beside it."""

    def __init__(self, *texts: str) -> None:
        self.index, self.vocabulary = LexicalIndex(), Vocabulary()
        self.bags: dict[int, Counter[str]] = {}
        self.put(range(len(texts)), *texts)

    def put(self, slots: range | list[int], *texts: str) -> None:
        bags = [Counter(text.split()) for text in texts]
        numbered = [self.vocabulary.bag(bag) for bag in bags]
        self.bags.update(zip(slots, bags, strict=True))
        self.index.put(
            np.array(slots, np.int32),
            np.array([len(terms) for terms, _ in numbered], np.int32),
            np.array([term for terms, _ in numbered for term in terms], np.int32),
            np.array([count for _, counts in numbered for count in counts], np.float32),
        )

    def remove(self, slot: int) -> None:
        self.index.remove(slot)
        self.bags.pop(slot, None)

    def scores(self, *terms: str) -> dict[int, float]:
        average = max(sum(bag.total() for bag in self.bags.values()) / len(self.bags), 1.0)
        df = {term: sum(term in bag for bag in self.bags.values()) for term in set(terms)}
        found = {slot: self._plain(bag, df, average) for slot, bag in self.bags.items()}
        return {slot: score for slot, score in found.items() if score > 0}

    def best(self, *terms: str, depth: int = 10_000, allowed: set[int] | None = None) -> list[tuple[int, float]]:
        size = max(self.bags, default=-1) + 1
        mask = np.array([allowed is None or slot in allowed for slot in range(size)], np.bool_)
        found = self.index.best(self.vocabulary.known(terms), mask, depth)
        return list(zip(found.slots.tolist(), found.scores.tolist(), strict=True))

    def _plain(self, bag: Counter[str], df: dict[str, int], average: float) -> float:
        total = 0.0
        for term, documents in df.items():
            idf = math.log(1 + (len(self.bags) - documents + 0.5) / (documents + 0.5))
            tf = bag[term]
            total += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * bag.total() / average)) if tf else 0.0
        return total


def test_scores_are_the_formula() -> None:
    documents = Documents("cat dog", "cat cat cat bird", "fish")
    average, idf = 7 / 3, math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))

    def weight(tf: int, length: int) -> float:
        return idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))

    assert dict(documents.best("cat", "cat", "unknown")) == pytest.approx({0: weight(1, 2), 1: weight(3, 4)}, rel=1e-5)


def test_a_removed_document_is_as_if_never_there() -> None:
    documents = Documents("cat dog", "cat", "bird fish")
    documents.remove(1)
    documents.remove(1)

    assert dict(documents.best("cat", "bird")) == pytest.approx(documents.scores("cat", "bird"), rel=1e-5)
    assert len(documents.index) == 2


def test_an_empty_index_and_a_document_without_terms() -> None:
    assert Documents().best("cat") == []
    assert Documents("", "").best("cat") == []


def test_ties_are_by_slot_and_the_forbidden_are_left_out() -> None:
    documents = Documents(*["cat dog"] * 9)

    assert [slot for slot, _ in documents.best("cat", depth=3)] == [0, 1, 2]
    assert [slot for slot, _ in documents.best("cat", depth=3, allowed={8, 5})] == [5, 8]


@pytest.mark.parametrize("first", [0, 50, 5_000], ids=["fresh only", "small", "merged base"])
def test_additions_replacements_and_removals_in_any_order_equal_the_plain_formula(first: int) -> None:
    """Words of very unequal frequency, so that both the whole and the shortened way of scoring are taken."""
    chance = random.Random(5)
    words = [f"w{number}" for number in range(60)]

    def text() -> str:
        return " ".join(words[min(59, int(chance.expovariate(0.15)))] for _ in range(chance.randint(0, 12)))

    documents = Documents(*(text() for _ in range(first)))
    for step in range(400):
        known = sorted(documents.bags)
        if known and step % 3 == 0:
            documents.remove(chance.choice(known))
        elif known and step % 3 == 1:
            documents.put([chance.choice(known)], text())
        else:
            documents.put([max(known, default=-1) + 1], text())
    for query in (["w0"], ["w30", "w0", "w1"], ["w2", "w25", "w18", "w3"], ["w59"]):
        expected = documents.scores(*query)
        assert dict(documents.best(*query)) == pytest.approx(expected, rel=1e-4)
        ranked = sorted(expected.values(), reverse=True)[:7]
        assert [score for _, score in documents.best(*query, depth=7)] == pytest.approx(ranked, rel=1e-4)
        slots = np.array(sorted(expected)[:50], np.int32)
        known = documents.vocabulary.known(query)
        assert documents.index.scores_of(known, slots) == pytest.approx([expected[s] for s in slots.tolist()], rel=1e-4)
