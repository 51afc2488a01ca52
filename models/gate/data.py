"""Gate examples to batches: checks before the first step, packing, dynamic padding, a position that can be resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from engrain.models.gate.config import GateConfig
from engrain.models.training.batches import (
    MicroBatch,
    evaluation_share,
    padding_share,
    plan_pass,
    rank_share,
    sorted_batches,
    steps_per_pass,
)
from engrain.models.training.strategies import World
from engrain.runtime.errors import InputError
from engrain.runtime.gate_input import pack_batch
from engrain.runtime.schema import GateExample

Batch = dict[str, Tensor]


@dataclass(frozen=True)
class PackedExamples:
    """Tokenised examples, and what did not fit: nothing is cut without being counted."""

    ids: list[list[int]]
    labels: list[bool]
    names: list[str]
    context_tokens_cut: int
    targets_cut: int
    # What is learned: the label as 0 or 1, or the teachers' mean probability; and each example's weight in the loss.
    goals: list[float]
    weights: list[float]

    @property
    def lengths(self) -> list[int]:
        """Tokens of each example."""
        return [len(row) for row in self.ids]


def pack_examples(tokenizer: Tokenizer, examples: Sequence[GateExample], config: GateConfig) -> PackedExamples:
    """Render and tokenise every example with the one render function of `engrain.runtime.gate_input`."""
    model = config.model
    pairs = [(example.context, example.target) for example in examples]
    packed = pack_batch(tokenizer, pairs, k=model.k, max_length=model.max_length)
    return PackedExamples(
        ids=[row.ids for row in packed],
        labels=[example.label for example in examples],
        names=[example.id for example in examples],
        context_tokens_cut=sum(row.context_tokens_cut for row in packed),
        targets_cut=sum(1 for row in packed if row.target_tokens_cut),
        goals=[soft_label(row) if config.training.soft_labels else float(row.label) for row in examples],
        weights=[config.training.corpus_weights.get(row.corpus, 1.0) for row in examples],
    )


def soft_label(example: GateExample) -> float:
    """The teachers' mean probability that the turn is worth keeping; without votes the label itself."""
    votes = [vote.confidence if vote.admit else 1.0 - vote.confidence for vote in example.votes]
    return sum(votes) / len(votes) if votes else float(example.label)


def read_examples(path: Path) -> list[GateExample]:
    """Read a gate corpus from a Parquet file whose columns are the fields of `GateExample`."""
    from datasets import Dataset as Table

    if not path.is_file():
        raise InputError(f"{path} does not exist; build a gate corpus first")
    rows = Table.from_parquet(str(path), keep_in_memory=True)
    return [GateExample.model_validate(row) for row in rows]


def check_splits(train: Sequence[GateExample], validation: Sequence[GateExample]) -> None:
    """Refuse data that cannot train a gate or that would report a false score.

    Raises `InputError` for an empty or single-class split, an id that occurs twice, or a group in both splits.
    """
    for name, examples in (("training", train), ("validation", validation)):
        positives = sum(example.label for example in examples)
        if not examples:
            raise InputError(f"the {name} set is empty; give it labelled examples of both classes")
        if positives in (0, len(examples)):
            only = "positive" if positives else "negative"
            raise InputError(f"all {len(examples)} {name} examples are {only}; a gate needs both classes")
    counts = Counter(example.id for example in [*train, *validation])
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if repeated:
        some = ", ".join(repeated[:3])
        raise InputError(f"{len(repeated)} example ids occur more than once ({some}); make them unique")
    shared = {example.group for example in train} & {example.group for example in validation}
    if shared:
        some = ", ".join(sorted(shared)[:3])
        raise InputError(f"{len(shared)} groups are in both training and validation ({some}); keep each group in one")


def check_weights(train: Sequence[GateExample], weights: Mapping[str, float]) -> None:
    """Raise `InputError` for a weight of a corpus that no example is from, or weights that leave nothing to learn."""
    corpora = {example.corpus for example in train}
    unknown = sorted(set(weights) - corpora)
    if unknown:
        raise InputError(
            f"training.corpus_weights names {', '.join(unknown)}, but the training rows are from "
            f"{', '.join(sorted(corpora))}; correct the name"
        )
    if not any(weights.get(name, 1.0) for name in corpora):
        raise InputError("training.corpus_weights makes every training row weigh 0; leave one corpus a weight")


def collate(packed: PackedExamples, rows: Sequence[int], pad_id: int, step_examples: int) -> Batch:
    """Pad the rows to their longest: `input_ids` and `attention_mask` B x T; `labels`, `goals`, `weights`, `rows` B."""
    width = max(len(packed.ids[row]) for row in rows)
    ids = torch.full((len(rows), width), pad_id, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for place, row in enumerate(rows):
        tokens = packed.ids[row]
        ids[place, : len(tokens)] = torch.tensor(tokens, dtype=torch.long)
        mask[place, : len(tokens)] = 1
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "labels": torch.tensor([float(packed.labels[row]) for row in rows]),
        "goals": torch.tensor([packed.goals[row] for row in rows]),
        "weights": torch.tensor([packed.weights[row] for row in rows]),
        "rows": torch.tensor(list(rows), dtype=torch.long),
        "step_examples": torch.tensor(step_examples),
    }


class _Batches(Dataset[Batch]):
    """A planned list of micro-batches; item i is the i-th batch, already padded."""

    def __init__(self, packed: PackedExamples, plan: Sequence[MicroBatch], pad_id: int) -> None:
        self.packed, self.plan, self.pad_id = packed, plan, pad_id

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, index: int) -> Batch:
        batch = self.plan[index]
        return collate(self.packed, batch.rows, self.pad_id, batch.step_examples)


class ResumableLoader(DataLoader[Batch]):
    """Batches in planned order. Lightning saves and restores `position` with the checkpoint."""

    def __init__(self, batches: _Batches) -> None:
        # A generator of its own: making an iterator must not draw from the generator that dropout uses.
        super().__init__(batches, batch_size=None, shuffle=False, generator=torch.Generator().manual_seed(0))
        self.position = 0

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        start = self.position
        for index in range(start, len(self.dataset)):  # type: ignore[arg-type]
            self.position = index + 1
            yield self.dataset[index]

    def state_dict(self) -> dict[str, Any]:
        """Batches handed out so far."""
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue after the batches that were handed out when the state was saved."""
        self.position = int(state["position"])


class GateData(pl.LightningDataModule):
    """Training and validation batches. All passes form one planned sequence, so a run is one Lightning epoch.

    Every rank of `world` plans the same global batches and hands out its own micro-batches of each step.
    """

    def __init__(
        self,
        train: PackedExamples,
        validation: PackedExamples,
        config: GateConfig,
        *,
        pad_id: int,
        seed: int,
        world: World | None = None,
    ) -> None:
        super().__init__()
        self.train, self.validation = train, validation
        self.config, self.pad_id, self.seed, self.world = config, pad_id, seed, world or World()
        self.step_batches = config.training.accumulate * self.world.size
        self.steps_per_pass = steps_per_pass(len(train.ids), config.training.batch_size, self.step_batches)

    @property
    def steps(self) -> int:
        """Optimiser steps of the whole run."""
        return self.steps_per_pass * self.config.training.epochs

    def plan(self, epoch: int) -> list[MicroBatch]:
        """The micro-batches of one pass, those of all ranks."""
        training = self.config.training
        return plan_pass(
            self.train.lengths,
            batch_size=training.batch_size,
            accumulate=self.step_batches,
            bucket_steps=training.bucket_steps,
            seed=self.seed,
            epoch=epoch,
        )

    def padding_share(self) -> float:
        """Share of the first pass's positions that are padding."""
        return padding_share(self.train.lengths, [batch.rows for batch in self.plan(0)])

    def train_dataloader(self) -> ResumableLoader:
        """Every pass, one after the other: this rank's micro-batches."""
        plan = [batch for epoch in range(self.config.training.epochs) for batch in self.plan(epoch)]
        own = rank_share(plan, self.world.rank, self.world.size)
        return ResumableLoader(_Batches(self.train, own, self.pad_id))

    def val_dataloader(self) -> DataLoader[Batch]:
        """Every validation row once over all ranks (but for repeats that fill up the last), sorted by length."""
        own = evaluation_share(self.validation.lengths, self.world.rank, self.world.size)
        return evaluation_loader(self.validation, self.pad_id, self.config.training.eval_batch_size, own)


def evaluation_loader(
    packed: PackedExamples, pad_id: int, batch_size: int, rows: Sequence[int] | None = None
) -> DataLoader[Batch]:
    """Batches of similar length over `rows` (all by default); `rows` in each batch says whose scores they are."""
    chosen = range(len(packed.ids)) if rows is None else rows
    lengths = packed.lengths
    batches = sorted_batches([lengths[row] for row in chosen], batch_size)
    plan = [MicroBatch(tuple(chosen[place] for place in batch), len(batch)) for batch in batches]
    generator = torch.Generator().manual_seed(0)
    return DataLoader(_Batches(packed, plan, pad_id), batch_size=None, shuffle=False, generator=generator)
