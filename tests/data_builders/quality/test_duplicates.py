"""Exact and near duplicates: what is planted is found, also against every pair compared one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations

import pytest

from engrain.data_builders.quality.duplicates import find_duplicates, near_groups
from engrain.data_builders.quality.rows import Row, row_of
from engrain.data_builders.quality.text import same_text, words
from engrain.runtime.schema import GateExample, Split

WORDS = [
    "river",
    "stone",
    "lantern",
    "copper",
    "meadow",
    "ticket",
    "violin",
    "harbour",
    "pepper",
    "window",
    "garden",
    "saddle",
    "thunder",
    "ribbon",
]


def test_words_ignore_case_form_and_punctuation_and_split_unseparated_scripts() -> None:
    assert words("It's  FINE — “really”!") == ["it's", "fine", "really"]
    assert words("ｆｕｌｌ width") == ["full", "width"]
    assert words("我不吃肉 ok") == ["我", "不", "吃", "肉", "ok"]
    assert same_text("Yes, please!") == same_text("yes please")
    assert same_text("🙂 ") == "🙂" != same_text("🙃")


@pytest.mark.parametrize("text", ["a'b a''b 'a' O'Neil's", "_x_ y-z", "1,000.50 $5 don't", "A\tB\nC  D", "", "..."])
def test_plain_text_is_cut_like_any_other(text: str) -> None:
    """An accent at the end takes the long way and must not change the words before it."""
    assert words(text + " é") == [*words(text), "é"]


def test_exact_groups_with_their_labels_and_splits(example: Callable[..., GateExample]) -> None:
    rows = [
        row_of(example(1, "I moved to Rotterdam in March.")),
        row_of(example(2, "i moved to rotterdam in march", label=False)),
        row_of(example(3, "Thanks, that is all for now.", label=False)),
        row_of(example(4, "Thanks! That is all for now.", label=False, split=Split.VALIDATION)),
        row_of(example(5, "My sister keeps bees.")),
    ]
    found = find_duplicates(rows)
    assert (found.rows, found.distinct) == (5, 3)
    assert (found.exact.groups, found.exact.rows, found.exact.extra) == (2, 4, 2)
    assert (found.exact.contradicting, found.exact.across_splits) == (1, 1)
    assert [group.ids for group in found.exact.contradictions] == [("t1", "t2")]
    assert found.near.groups == 0


def test_near_groups_hold_different_words_and_the_largest_come_first(example: Callable[..., GateExample]) -> None:
    long = "I would like to update the budget of the autumn campaign from {} to the new sum that we agreed on today"
    rows = [row_of(example(number, long.format(sum_))) for number, sum_ in enumerate(("5000", "6000", "7000", "7000"))]
    rows.append(row_of(example(9, "Nothing of that kind was ever said by anybody here.")))
    found = find_duplicates(rows, listed=1)
    assert found.near.groups == 1
    assert found.near.largest[0].rows == 4
    assert found.near.largest[0].ids == ("t0", "t1", "t2", "t3")
    assert found.exact.groups == 1


def test_near_groups_equal_a_comparison_of_every_pair() -> None:
    """MinHash proposes, exact overlap decides: groups are those of the slow way, but for a missed pair in eighty."""
    rng = random.Random(7)
    texts = []
    for _ in range(150):
        text = rng.choices(WORDS, k=rng.randint(6, 18))
        texts.append(" ".join(text))
        for _ in range(rng.randint(0, 2)):
            changed = list(text)
            changed[rng.randrange(len(changed))] = rng.choice(WORDS)
            texts.append(" ".join(changed))
    texts = list(dict.fromkeys(texts))
    slow = list(range(len(texts)))
    for a, b in combinations(range(len(texts)), 2):
        if overlap(texts[a], texts[b]) >= 0.7:
            old, new = max(slow[a], slow[b]), min(slow[a], slow[b])
            slow = [new if group == old else group for group in slow]
    fast = near_groups(texts, 0.7)
    assert sum(one != other for one, other in zip(slow, fast.tolist(), strict=True)) <= 0.02 * len(texts)
    assert len(set(slow)) < 0.8 * len(texts)


def overlap(first: str, second: str) -> float:
    """Jaccard overlap of word pairs."""
    pairs = [set(zip(["", *words(text)], words(text), strict=False)) for text in (first, second)]
    return len(pairs[0] & pairs[1]) / len(pairs[0] | pairs[1])


def test_grouping_repeats_and_survives_texts_without_words(example: Callable[..., GateExample]) -> None:
    texts = ["🙂", "!!!", "one", "one two", *(f"the number {n} of the row of many rows" for n in range(40))]
    assert near_groups(texts, 0.6).tolist() == near_groups(texts, 0.6).tolist()
    assert near_groups([], 0.7).tolist() == []
    assert near_groups(["🙂"], 0.7).tolist() == [0]
    rows: list[Row] = [row_of(example(number, text)) for number, text in enumerate(texts)]
    calls: list[tuple[int, int]] = []
    find_duplicates(rows, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (64, 64)


@pytest.mark.parametrize("size", [17, 400])
def test_large_buckets_stay_one_group(size: int) -> None:
    text = "please remind me to water the {} ferns in the hall before we leave for the coast on friday"
    texts = [text.format(number) for number in range(size)]
    assert set(near_groups(texts, 0.7).tolist()) == {0}
