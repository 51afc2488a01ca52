"""Shares of ranks are equal and complete, and a strategy fits the way the process was started."""

from __future__ import annotations

import pytest

from engrain.models.training.batches import evaluation_share, plan_pass, rank_share
from engrain.models.training.strategies import World, world
from engrain.runtime.errors import InputError


def test_strategy_and_launch_must_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert world("single") == World(rank=0, size=1, local_size=1)
    with pytest.raises(InputError, match="strategy=ddp wants to be started by torchrun"):
        world("ddp")
    for name, value in (("RANK", "5"), ("WORLD_SIZE", "8"), ("LOCAL_WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    placed = world("zero3")
    assert (placed.rank, placed.size, placed.nodes, placed.first) == (5, 8, 2, False)
    with pytest.raises(InputError, match=r"8 processes were started, but training\.strategy is single"):
        world("single")


@pytest.mark.parametrize(("rows", "size"), [(48, 2), (53, 3), (40, 4)])
def test_ranks_share_every_step_equally(rows: int, size: int) -> None:
    lengths = [1 + row * 7 % 30 for row in range(rows)]
    plan = plan_pass(lengths, batch_size=3, accumulate=2 * size, bucket_steps=2, seed=1, epoch=0)
    shares = [rank_share(plan, rank, size) for rank in range(size)]
    assert len({len(share) for share in shares}) == 1
    assert sorted(row for share in shares for batch in share for row in batch.rows) == list(range(rows))
    for step in range(0, len(shares[0]), 2):
        together = [batch for share in shares for batch in share[step : step + 2]]
        assert {batch.step_examples for batch in together} == {sum(len(batch.rows) for batch in together)}


@pytest.mark.parametrize(("rows", "size"), [(18, 1), (18, 4), (3, 4), (7, 2)])
def test_evaluation_gives_every_rank_as_many_rows_and_no_row_is_missing(rows: int, size: int) -> None:
    lengths = [1 + row * 5 % 11 for row in range(rows)]
    shares = [evaluation_share(lengths, rank, size) for rank in range(size)]
    assert len({len(share) for share in shares}) == 1
    assert {row for share in shares for row in share} == set(range(rows))
