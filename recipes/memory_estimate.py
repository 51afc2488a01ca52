"""Training memory of a transformer, from its architecture: weights, gradients, optimiser, activations.

Activations follow the count of Korthikanti et al. 2022 ("Reducing activation recomputation"), equation 2, without
the attention-score term, since sdpa attention never stores the score matrix. It is an estimate: allocator overhead
and temporary buffers come on top.
"""

from __future__ import annotations

from dataclasses import dataclass

from engrain.recipes.architecture import Architecture

BYTES = {"float32": 4, "bfloat16": 2}
# AdamW keeps two float32 moments for every trained parameter.
ADAMW_BYTES = 8
# Korthikanti et al. 2022, equation 2: 34 s b h bytes a layer in 16 bit, dropout masks included.
LAYER_ACTIVATION_BYTES_16BIT = 34
# With gradient checkpointing only the input of each block is kept.
CHECKPOINT_BYTES_16BIT = 2


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes by part."""

    weights: int
    gradients: int
    optimiser: int
    activations: int

    @property
    def total(self) -> int:
        """All parts together, in bytes."""
        return self.weights + self.gradients + self.optimiser + self.activations


def estimate(
    architecture: Architecture,
    *,
    trained: int,
    batch: int,
    length: int,
    dtype: str,
    checkpointing: bool,
    logits: bool,
) -> MemoryEstimate:
    """Estimate one device's training memory.

    `trained` parameters carry gradients and moments and are kept in float32 when they are an adapter; `batch` is the
    micro-batch B, `length` the tokens T; `logits` adds a language model's output (B x T x vocabulary) and its
    gradient, in float32.
    """
    width = BYTES[dtype]
    full = trained >= architecture.parameters
    weights = architecture.parameters * width + (0 if full else trained * BYTES["float32"])
    trained_width = width if full else BYTES["float32"]
    return MemoryEstimate(
        weights=weights,
        gradients=trained * trained_width,
        optimiser=trained * ADAMW_BYTES,
        activations=_activations(architecture, batch * length, width, checkpointing, logits),
    )


def _activations(architecture: Architecture, tokens: int, width: int, checkpointing: bool, logits: bool) -> int:
    # The paper's counts are for 2 bytes an element; other widths scale.
    unit = tokens * architecture.hidden * width // 2
    layer = LAYER_ACTIVATION_BYTES_16BIT * unit
    blocks = (
        CHECKPOINT_BYTES_16BIT * unit * architecture.layers + layer if checkpointing else layer * architecture.layers
    )
    output = 2 * tokens * architecture.vocabulary * BYTES["float32"] if logits else 0
    return blocks + output
