"""The plan of batches: equal steps, the target tokens of each step, a position to resume from."""

from __future__ import annotations

from collections import Counter

import pytest

from engrain.models.extractor.batches import ExtractorData
from engrain.models.extractor.config import ExtractorTrainingConfig, TrainingPhase
from engrain.models.extractor.data import EncodedExample, EncodedSet
from engrain.runtime.errors import InputError


def encoded_set(count: int) -> EncodedSet:
    """Examples of different lengths: number i has 3 prompt tokens and i + 2 target tokens."""
    return EncodedSet(tuple(EncodedExample(str(i), tuple(range(i + 5)), 3) for i in range(count)), ())


def data(count: int = 10, **settings: int) -> ExtractorData:
    training = ExtractorTrainingConfig.model_validate({"batch_size": 2, "accumulate": 2, "epochs": 2, **settings})
    return ExtractorData(encoded_set(count), encoded_set(3), training, pad_id=0, seed=7)


def test_every_example_once_a_pass_in_steps_of_accumulate_batches() -> None:
    module = data()
    plan = module.planned.plan
    assert (module.steps, len(plan)) == (6, 12)
    for first in (plan[:6], plan[6:]):
        assert Counter(row for planned in first for (row,) in planned.packs) == Counter(range(10))
    assert plan[:6] != plan[6:], "the second pass has the order of the first"


def test_each_batch_knows_the_target_tokens_of_its_step() -> None:
    module = data()
    for first in range(0, 12, 2):
        pair = module.planned.plan[first : first + 2]
        total = sum(row + 2 for planned in pair for (row,) in planned.packs)
        assert [planned.step_targets for planned in pair] == [total, total]
        labels = [module.planned[first + place]["labels"] for place in (0, 1)]
        assert sum(int((part != -100).sum()) for part in labels) == total


@pytest.mark.parametrize(("most", "steps"), [(None, 6), (4, 4), (100, 6)])
def test_max_steps_cuts_the_plan_at_a_whole_step(most: int | None, steps: int) -> None:
    module = ExtractorData(
        encoded_set(10),
        encoded_set(3),
        ExtractorTrainingConfig(batch_size=2, accumulate=2, epochs=2, max_steps=most),
        pad_id=0,
        seed=7,
    )
    assert (module.steps, len(module.planned)) == (steps, 2 * steps)
    assert module.planned.plan == data().planned.plan[: 2 * steps]


def test_the_loader_goes_on_where_it_was_saved() -> None:
    whole = [batch["input_ids"].tolist() for batch in data().train_dataloader()]
    first = data().train_dataloader()
    iterator = iter(first)
    for _ in range(5):
        next(iterator)
    second = data().train_dataloader()
    second.load_state_dict(first.state_dict())
    assert [batch["input_ids"].tolist() for batch in second] == whole[5:]


def test_validation_has_every_row_once() -> None:
    batches = list(data().val_dataloader())
    assert sum(len(batch["input_ids"]) for batch in batches) == 3
    assert sum(int(batch["step_targets"]) for batch in batches) == 2 + 3 + 4


def test_phases_go_over_their_teachers_examples_in_order() -> None:
    examples = tuple(
        EncodedExample(str(i), tuple(range(i + 5)), 3, "rules" if i < 6 else "authored") for i in range(10)
    )
    phases = (TrainingPhase(teachers=("rules",)), TrainingPhase(teachers=("authored",), epochs=2), TrainingPhase())
    for pack in (False, True):
        training = ExtractorTrainingConfig(batch_size=1, accumulate=1, phases=phases, pack=pack)
        module = ExtractorData(EncodedSet(examples, ()), encoded_set(3), training, pad_id=0, seed=7)
        rows = [row for planned in module.planned.plan for taken in planned.packs for row in taken]
        assert set(rows[:6]) == set(range(6))
        assert Counter(rows[6:14]) == Counter([6, 7, 8, 9] * 2)
        assert set(rows[14:]) == set(range(10))
    unknown = ExtractorTrainingConfig(phases=(TrainingPhase(teachers=("nobody",)),))
    with pytest.raises(InputError, match="no example is by nobody; there are those by authored, rules"):
        ExtractorData(EncodedSet(examples, ()), encoded_set(3), unknown, pad_id=0, seed=7)


def test_names_of_a_batch_are_its_examples() -> None:
    module = data()
    assert module.planned.names(0) == [str(row) for (row,) in module.planned.plan[0].packs]
    assert 0.0 <= module.padding_share() < 0.5
