from __future__ import annotations

import math

import numpy as np
import pytest

from engrain.runtime.retrieval.lexical import Context, LexicalIndex


def index_of(*documents: str) -> LexicalIndex:
    index = LexicalIndex()
    for document in documents:
        index.add(document.split())
    return index


def context_of(turns: LexicalIndex, previous: list[int], following: list[int], weight: float) -> Context:
    return Context(turns, (np.array(previous, np.int32), np.array(following, np.int32)), weight)


def test_scores_are_the_formula() -> None:
    index = index_of("cat dog", "cat cat cat bird", "fish")

    scores = index.scores(["cat", "cat", "unknown"])

    average, idf = 7 / 3, math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))

    def weight(tf: int, length: int) -> float:
        return idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))

    assert scores == pytest.approx([weight(1, 2), weight(3, 4), 0.0], rel=1e-5)


def test_a_removed_document_is_as_if_never_there() -> None:
    index = index_of("cat dog", "cat", "bird fish")
    index.remove(1)
    index.remove(1)
    fresh = index_of("cat dog", "bird fish")

    scores = index.scores(["cat", "bird"])

    assert scores[[0, 2]] == pytest.approx(fresh.scores(["cat", "bird"]))
    assert scores[1] == 0 and len(index) == 2 and index.slots == 3


def test_an_index_grows_after_it_was_searched() -> None:
    index = index_of("cat")
    index.scores(["cat"])
    index.add(["cat", "dog"])

    assert np.count_nonzero(index.scores(["cat"])) == 2


def test_an_empty_index_and_a_document_without_terms() -> None:
    assert LexicalIndex().scores(["cat"]).shape == (0,)
    assert index_of("", "").scores(["cat"]).tolist() == [0, 0]


def test_context_at_full_weight_is_bm25_over_the_joined_text() -> None:
    turns = index_of("a b", "b c", "c d d", "e")
    records = index_of("a b", "b c", "c d d", "e")
    joined = index_of("a b b c", "a b b c c d d", "b c c d d e", "c d d e")
    context = context_of(turns, [-1, 0, 1, 2], [1, 2, 3, -1], 1.0)

    for query in (["a"], ["b", "d"], ["e", "c"]):
        assert records.scores(query, context) == pytest.approx(joined.scores(query), rel=1e-5)


def test_context_of_weight_zero_is_none() -> None:
    records = index_of("a b", "b c")
    context = context_of(records, [-1, 0], [1, -1], 0.0)

    assert records.scores(["a", "c"], context) == pytest.approx(records.scores(["a", "c"]))


def test_a_record_is_found_by_its_neighbours_words_but_below_its_own() -> None:
    turns = index_of("where did you adopt the puppy", "in lisbon last week", "nice weather")
    records = index_of("where did you adopt the puppy", "in lisbon last week", "nice weather")
    context = context_of(turns, [-1, 0, 1], [1, 2, -1], 0.5)

    scores = records.scores(["puppy"], context)

    assert scores[0] > scores[1] > 0 == scores[2]


def test_a_record_in_other_words_is_found_by_the_words_of_its_own_source() -> None:
    turns = LexicalIndex()
    for text in (["i", "bought", "a", "vermilion", "kayak"], ["anything", "else"]):
        turns.add(text)
    records = LexicalIndex()
    records.add(["user", "bought", "boat"])
    nothing = np.array([-1], np.int32)
    own = Context(turns, (nothing, nothing, np.array([0], np.int32)), 0.5)
    assert records.scores(["vermilion"], own)[0] > 0
    assert records.scores(["vermilion"])[0] == 0
