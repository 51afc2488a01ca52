"""How fast the paper's gate trains on a GPU: a ModernBERT-base-sized network with random weights, bf16.

    python -m engrain.recipes.benchmarks.gate_gpu [--batch 64] [--length 512] [--steps 30]

Prints tokens a second, and model FLOP utilisation: the floating-point operations that the network itself needs (six a
weight and token, and twelve a layer, hidden unit and attended position), over what the card does at most in bf16
without sparsity. The peak is known for the cards listed here; for another one give `--peak-tflops`. Without a GPU it
says so and measures nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import typer

from engrain.recipes import console
from engrain.runtime.errors import InputError

PEAK_TFLOPS = {
    "H200": 989.0,
    "H100": 989.0,
    "A100": 312.0,
    "L40S": 362.0,
    "L4": 121.0,
    "A10": 125.0,
    "RTX 4090": 165.2,
    "RTX 3090": 71.0,
}
"""Dense bf16 peak by card, from its maker's data sheet; the first name that stands in the card's own counts."""


@dataclass(frozen=True)
class Shape:
    """ModernBERT-base: 22 layers, every third one attends to everything, the others to 128 positions."""

    layers: int = 22
    hidden: int = 768
    intermediate: int = 1152
    vocabulary: int = 50_370
    every: int = 3
    local: int = 128

    @property
    def weights(self) -> int:
        """Weights that a token is multiplied with; the embeddings are looked up, so they do not count."""
        attention, feed_forward = 4 * self.hidden**2, 3 * self.hidden * self.intermediate
        return self.layers * (attention + feed_forward)

    def flops_a_token(self, length: int) -> float:
        """Of a training step: forward and backward."""
        whole = -(-self.layers // self.every)
        attended = whole * length + (self.layers - whole) * min(self.local, length)
        return 6 * self.weights + 12 * self.hidden * attended


def peak_tflops(card: str, given: float | None) -> float:
    """The card's dense bf16 peak. Raises `InputError` for one that is not listed, when none is given."""
    if given is not None:
        return given
    for name, value in PEAK_TFLOPS.items():
        if name in card:
            return value
    raise InputError(f"the peak of {card} is not listed; give it with --peak-tflops")


def measure(batch: int, length: int, steps: int, given_peak: float | None) -> dict[str, Any]:
    """Train on random tokens; the first five steps warm up and do not count."""
    import torch
    from torch import nn
    from transformers import ModernBertConfig, ModernBertModel

    from engrain.models.gate.encoder import GateNetwork

    shape, card = Shape(), torch.cuda.get_device_name(0)
    peak = peak_tflops(card, given_peak)
    torch.manual_seed(0)
    # transformers takes sdpa for ModernBERT by itself.
    encoder = ModernBertModel(ModernBertConfig(vocab_size=shape.vocabulary))
    network = GateNetwork(encoder, shape.hidden, "cls", 0).cuda().train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-5, fused=True)
    ids = torch.randint(10, 50_000, (batch, length), device="cuda")
    mask, goals = torch.ones_like(ids), torch.rand(batch, device="cuda").round()
    begin = 0.0
    for step in range(steps + 5):
        if step == 5:
            torch.cuda.synchronize()
            begin = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = network(ids, mask)
        loss = nn.functional.binary_cross_entropy_with_logits(logits.float(), goals)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    torch.cuda.synchronize()
    rate = batch * length * steps / (time.perf_counter() - begin)
    return {
        "card": card,
        "batch": batch,
        "length": length,
        "loss is finite": bool(torch.isfinite(loss)),
        "tokens a second": rate,
        "model FLOP utilisation": rate * shape.flops_a_token(length) / (peak * 1e12),
        "memory, GiB": torch.cuda.max_memory_allocated() / 2**30,
    }


def main(batch: int = 64, length: int = 512, steps: int = 30, peak_tflops: float | None = None) -> None:
    """Measure on the first GPU, or say that there is none."""
    import torch

    if not torch.cuda.is_available():
        console.say("skipped: torch sees no GPU on this machine, so nothing was measured")
        return
    console.show_json(measure(batch, length, steps, peak_tflops))


if __name__ == "__main__":
    typer.run(main)
