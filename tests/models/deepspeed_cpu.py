"""DeepSpeed without a GPU, for tests only: Lightning refuses other accelerators, DeepSpeed itself does not."""

from __future__ import annotations

import torch
from pytorch_lightning.strategies import DeepSpeedStrategy, ParallelStrategy

from engrain.models.training import strategies


class CpuDeepSpeedStrategy(DeepSpeedStrategy):
    """Gloo, and the CPU as every rank's device."""

    def setup_environment(self) -> None:
        # Past the check of the accelerator, whose class is all that it looks at.
        ParallelStrategy.setup_environment(self)
        self.set_world_ranks()
        self._init_deepspeed_distributed()

    @property
    def root_device(self) -> torch.device:
        return torch.device("cpu", 0)  # DeepSpeed wants an index.


def on_cpu() -> None:
    """Put it in the place of Lightning's."""
    strategies.DeepSpeedStrategy = CpuDeepSpeedStrategy  # type: ignore[misc]
