"""One key chooses how a run is spread over processes: DDP, FSDP or DeepSpeed ZeRO, and what really runs is checked.

The processes are started by torchrun, on one node or many; the recipe's `training.strategy` says what they do together.
Every rank plans the same global batches and takes its own micro-batches of each step, so all have equally many. A
launcher that quietly runs something else is the usual fault (`accelerate launch` does so on a CPU): `ActiveStrategy`
looks at the wrapped model itself before the first step.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.strategies import DDPStrategy, DeepSpeedStrategy, ModelParallelStrategy
from torch import Tensor, nn
from torch.distributed import is_initialized
from torch.nn.parallel import DistributedDataParallel

from engrain.models.training.settings import Strategy
from engrain.runtime.errors import InputError, TrainingError

_LAUNCH = "torchrun --nproc-per-node=2 -m engrain.recipes train ..."


@dataclass(frozen=True)
class World:
    """The processes of one run, as torchrun started them."""

    rank: int = 0
    size: int = 1
    local_size: int = 1

    @property
    def nodes(self) -> int:
        """Machines that take part."""
        return self.size // self.local_size

    @property
    def first(self) -> bool:
        """Whether this process writes what a run writes once."""
        return self.rank == 0


def world(strategy: Strategy) -> World:
    """This process's place among the others.

    Raises `InputError` when the strategy and the way the process was started do not fit each other.
    """
    launched = {
        name: int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE") if name in os.environ
    }
    size = launched.get("WORLD_SIZE", 1)
    if strategy == "single":
        if size > 1:
            raise InputError(f"{size} processes were started, but training.strategy is single; set ddp, fsdp or zero2")
        return World()
    if len(launched) < 3:
        raise InputError(f"training.strategy={strategy} wants to be started by torchrun: {_LAUNCH}")
    return World(launched["RANK"], size, launched["LOCAL_WORLD_SIZE"])


def lightning_strategy(strategy: Strategy, size: int) -> Any:
    """Lightning's object for a strategy, or "auto" for a single process."""
    if strategy == "single":
        return "auto"
    if strategy == "ddp":
        return DDPStrategy()
    if strategy == "fsdp":
        return ModelParallelStrategy(data_parallel_size=size, tensor_parallel_size=1, save_distributed_checkpoint=False)
    if importlib.util.find_spec("deepspeed") is None:
        raise InputError(
            f"training.strategy={strategy} needs DeepSpeed; pip install --no-build-isolation 'engrain[scale]'"
        )
    return DeepSpeedStrategy(stage=int(strategy[-1]), logging_batch_size_per_gpu=1)


def shard(module: pl.LightningModule, network: nn.Module) -> None:
    """Shard `network` with torch's `fully_shard`, each repeated block by itself, when the strategy gives a mesh.

    Call it in the module's `configure_model`. A block is an element of a `ModuleList` that no other one contains.
    """
    mesh = module.device_mesh
    if mesh is None:
        return
    from torch.distributed.fsdp import fully_shard

    for block in _blocks(network):
        fully_shard(block, mesh=mesh["data_parallel"])
    fully_shard(network, mesh=mesh["data_parallel"])


def full_state(trainer: pl.Trainer, module: pl.LightningModule) -> dict[str, Tensor]:
    """Every weight, whole, on the first rank; collective, so all ranks call it. Others may get an empty dict."""
    strategy = trainer.strategy
    if isinstance(strategy, DeepSpeedStrategy) and strategy.zero_stage_3:
        import deepspeed

        with deepspeed.zero.GatheredParameters(list(module.parameters())):
            return {name: value.detach().cpu().clone() for name, value in module.state_dict().items()}
    if isinstance(strategy, ModelParallelStrategy):
        return strategy.lightning_module_state_dict()
    return module.state_dict()


def active_strategy(trainer: pl.Trainer) -> Strategy:
    """What really runs, read from the wrapped model and its weights, not from the settings."""
    strategy, model = trainer.strategy, trainer.strategy.model
    if isinstance(strategy, DeepSpeedStrategy):
        stage = strategy.deepspeed_engine.zero_optimization_stage()
        return "zero3" if stage == 3 else "zero2" if stage == 2 else "ddp"
    if isinstance(model, DistributedDataParallel):
        return "ddp"
    from torch.distributed.tensor import DTensor

    assert model is not None
    weights = list(model.parameters())
    return "fsdp" if weights and all(isinstance(weight, DTensor) for weight in weights) else "single"


def step_scale(trainer: pl.Trainer, accumulate: int) -> int:
    """What a micro-batch's share of its step's mean loss is multiplied by, so that gradients come out undivided.

    Lightning divides by `accumulate`, gradients are averaged over processes, and DeepSpeed's engine divides by its
    accumulation once more.
    """
    twice = accumulate if trainer.strategy.handles_gradient_accumulation else 1
    return accumulate * trainer.world_size * twice


class ActiveStrategy(pl.Callback):
    """Before the first step: the strategy asked for is the one that runs, on all ranks, on the same data.

    `run` identifies settings, data and seed; ranks that differ in it would train on different things.
    """

    def __init__(self, wanted: Strategy, size: int, run: str) -> None:
        self.wanted, self.size, self.run = wanted, size, run
        self.found: Strategy | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Raises `TrainingError` when anything differs from what was asked for."""
        self.found = active_strategy(trainer)
        if self.found != self.wanted or trainer.world_size != self.size:
            raise TrainingError(
                f"training.strategy is {self.wanted} on {self.size} processes, but {self.found} on "
                f"{trainer.world_size} is active; start it with {_LAUNCH}"
            )
        runs = gathered(self.run)
        if len(set(runs)) > 1:
            different = [rank for rank, run in enumerate(runs) if run != runs[0]]
            raise TrainingError(f"ranks {different} have other data, settings or seed than rank 0; give all the same")
        if self.size > 1:
            # The same dropout masks on every rank would make a step's examples less different than they are.
            torch.manual_seed(torch.initial_seed() + trainer.global_rank)


def gathered(value: Any) -> list[Any]:
    """A plain value of every rank, in the order of ranks; collective."""
    if not is_initialized():
        return [value]
    values: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


def _blocks(network: nn.Module) -> list[nn.Module]:
    lists = [(name, part) for name, part in network.named_modules() if isinstance(part, nn.ModuleList)]
    outer = [part for name, part in lists if not any(name.startswith(f"{other}.") for other, _ in lists)]
    return [block for part in outer for block in part if any(True for _ in block.parameters())]
