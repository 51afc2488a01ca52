"""Drawing, spreading and carving."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from engrain.data_builders.sampling import carve, draw, spread


def test_refused_rows_are_replaced_from_the_pool() -> None:
    result = draw(range(100), 50, lambda row: row % 4 == 0, random.Random(1))
    assert len(set(result.rows)) == 50 and all(row % 4 for row in result.rows)
    assert 0 < result.replaced <= result.discarded <= 25


def test_a_pool_that_runs_out_gives_fewer_rows() -> None:
    result = draw(range(10), 8, lambda row: row < 5, random.Random(1))
    assert sorted(result.rows) == [5, 6, 7, 8, 9] and result.discarded == 5


def test_the_same_seed_draws_the_same_rows() -> None:
    first, again, other = (draw(range(1000), 9, lambda _: False, random.Random(seed)).rows for seed in (1, 1, 2))
    assert first == again != other


@given(total=st.integers(0, 5000), parts=st.integers(1, 40))
def test_spread_adds_up_and_is_even(total: int, parts: int) -> None:
    numbers = spread(total, parts)
    assert sum(numbers) == total and len(numbers) == parts
    assert max(numbers) - min(numbers) <= 1


def test_carve_fills_quotas_with_whole_groups() -> None:
    groups = {f"g{number}": ["yes"] * (number % 3) + ["no"] * (1 + number % 2) for number in range(60)}
    chosen, unfilled = carve(groups, {"yes": 7, "no": 11}, random.Random(3))
    assert not unfilled
    assert Counter(stratum for group in chosen for stratum in groups[group]) == {"yes": 7, "no": 11}


def test_carve_says_what_it_could_not_fill() -> None:
    chosen, unfilled = carve({"a": ["yes", "yes"], "b": ["no"]}, {"yes": 1, "no": 1}, random.Random(0))
    assert chosen == {"b"} and unfilled == {"yes": 1}


def test_slack_takes_an_order_that_leaves_few_rows_unfilled() -> None:
    groups = {f"g{number}": ["yes", "no", "no"] for number in range(100)}
    chosen, unfilled = carve(groups, {"yes": 10, "no": 21}, random.Random(1))
    assert unfilled == {"no": 1} and len(chosen) == 10
    assert carve(groups, {"yes": 10, "no": 21}, random.Random(1), slack=1)[1] == {"no": 1}
