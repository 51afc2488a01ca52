"""The 4B-sized extractor on a GPU: peak memory and tokens a second beside what `engrain plan` says.

`python -m engrain.recipes.benchmarks.extractor_gpu [--steps N]`

Qwen3-4B's shape with random weights in bfloat16, LoRA, gradient checkpointing: nothing is downloaded. Without a GPU
the script says so and ends well.
"""

from __future__ import annotations

import argparse
import time

import torch

from engrain.models.extractor.config import ExtractorConfig
from engrain.models.extractor.module import ExtractorModule, add_lora
from engrain.recipes import console
from engrain.recipes.architecture import find_architecture
from engrain.recipes.config import ExtractorRecipe
from engrain.recipes.loading import load_recipe
from engrain.recipes.plan import plan

RECIPE, TOLERANCE = "extractor/qwen3-4b", 0.2


def main() -> None:
    """Measure where a GPU is; say that there is none otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=8, help="Optimiser steps that are timed, after two others.")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        console.say("skipped: no GPU is at hand; nothing was measured")
        return
    measure(arguments.steps)


def measure(steps: int) -> None:
    """Train random token ids at the recipe's length; print memory and speed beside the plan's."""
    recipe = load_recipe(RECIPE)
    assert isinstance(recipe, ExtractorRecipe)
    length = recipe.model.max_length
    module = build(recipe)
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=1e-4)
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(steps + 2):
        torch.cuda.synchronize()
        started = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = module.loss_sum(batch(module, length)) / (length // 4)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    peak = torch.cuda.max_memory_allocated() / 2**30
    planned = float(plan(recipe)["runs"][0]["memory_gib"]["total"])
    console.show_fields(
        f"{torch.cuda.get_device_name()}, {length} tokens a step",
        {
            "peak memory, GiB": peak,
            "engrain plan, GiB": planned,
            "within 20%": abs(peak - planned) <= TOLERANCE * planned,
            "tokens/s": length * steps / sum(times[2:]),
        },
    )


def build(recipe: ExtractorRecipe) -> ExtractorModule:
    """The module on the GPU, its base random."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    found = find_architecture(recipe.model.base)
    assert found is not None
    shape = Qwen3Config(**{name: value for name, value in found.config.items() if name != "model_type"})
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = Qwen3ForCausalLM(shape)
        torch.set_default_dtype(torch.float32)
    config = ExtractorConfig(model=recipe.model, lora=recipe.lora)
    return ExtractorModule(add_lora(model, recipe.lora).cuda(), config).cuda()


def batch(module: ExtractorModule, length: int) -> dict[str, torch.Tensor]:
    """Random ids; the last quarter is learned."""
    ids = torch.randint(0, module.model.config.vocab_size, (1, length), device="cuda")
    labels = ids.clone()
    labels[:, : length - length // 4] = -100
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


if __name__ == "__main__":
    main()
