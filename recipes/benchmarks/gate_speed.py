"""How fast a gate scores and trains, against what one would write without Engrain, in the same run on the same threads.

    python -m engrain.recipes.benchmarks.gate_speed RUN_FOLDER RECIPE [key.path=value ...]

RUN_FOLDER holds a trained gate's `best.ckpt`; RECIPE's evaluation rows are scored, its training rows trained on.

- Scoring: turns a second of the exported bundle (float32, int8, each also behind the first stage if the run has one)
  against `transformers.pipeline` on the same network (a sequence classifier of its size) and the same texts, at the
  best of several batch sizes; AUPRC of all. The turns are a random part of the evaluation rows, so positives and what
  the first stage rejects have their natural share.
- Training: real (non-pad) tokens a second of a training run against a plain PyTorch loop that shuffles and pads each
  batch to its longest row, with the same network, optimiser and batch size; and the share of padding.

With one thread, processor time is measured, so that other work on the machine does not count; with more, wall time.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import typer

from engrain.models.gate.evaluation import measure_gate
from engrain.recipes import console
from engrain.recipes.config import GateRecipe
from engrain.recipes.gate_data import GateRows, gate_rows
from engrain.recipes.loading import load_recipe
from engrain.runtime.bundle import ThresholdChoice
from engrain.runtime.errors import RecipeError
from engrain.runtime.gate import Gate
from engrain.runtime.gate_cascade import FIRST_STAGE_FILE
from engrain.runtime.schema import GateExample

PIPELINE_BATCHES = (1, 8, 32, 64)
_REPEATS = 2
_THRESHOLD = ThresholdChoice(value=0.5, chosen_by="no choice: a benchmark")


def main(
    run: Path,
    source: str,
    overrides: list[str] | None = typer.Argument(None),  # noqa: B008 - typer reads it
    turns: int = 400,
    labelled: int = 1500,
    train: int = 640,
) -> None:
    """Measure both and print ratios. `turns` are timed, `labelled` give the AUPRC, `train` rows are trained on; 0
    leaves that part out."""
    recipe = load_recipe(source, overrides or ())
    if not isinstance(recipe, GateRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; this benchmark wants kind 'gate'")
    import torch

    threads = recipe.threads or 1
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    rows = gate_rows(recipe.data)
    rng = random.Random(42)
    test = rng.sample(list(rows.test), min(labelled, len(rows.test)))
    document: dict[str, Any] = {"threads": threads, "clock": clock.__name__}
    with tempfile.TemporaryDirectory() as place:
        if turns:
            document |= scoring(run, test, turns, threads, clock, Path(place))
        if train:
            document |= training(recipe, rows, train, clock, Path(place))
    console.show_json(document)


def scoring(
    run: Path, test: Sequence[GateExample], turns: int, threads: int, clock: Callable[[], float], place: Path
) -> dict[str, Any]:
    """Turns a second of pipeline, float32 and int8; AUPRC of both precisions."""
    from engrain.models.export.gate import export_gate

    bundle = export_gate(run, place / "bundle", threshold=_THRESHOLD, metrics={})
    pairs = [(one.context, one.target) for one in test]
    labels = [one.label for one in test]
    timed = pairs[:turns]
    early = 0
    speed = {f"pipeline, batches of {size}": rate for size, rate in _pipeline(bundle, timed, clock).items()}
    measures: dict[str, float] = {}
    cascades = (False, True) if (bundle / FIRST_STAGE_FILE).is_file() else (False,)
    for precision, cascade in product(("fp32", "int8"), cascades):
        name = f"{precision}, cascade" if cascade else precision
        gate = Gate.load(bundle, threads=threads, precision=precision, cascade=cascade)  # type: ignore[arg-type]
        speed[name] = len(timed) / _best(partial(gate.score, timed), clock)
        gate.rejected_early = 0
        measures[name] = measure_gate(labels, gate.score(pairs), 0.5).auprc
        early = max(early, gate.rejected_early)
    pipeline = max(rate for name, rate in speed.items() if name.startswith("pipeline"))
    return {
        "timed turns": len(timed),
        "labelled turns": len(pairs),
        "positives among them": sum(labels),
        "of them rejected by the first stage": early,
        "turns a second": speed,
        "over the pipeline's best": {name: speed[name] / pipeline for name in measures},
        "auprc": measures,
        "auprc lost": {name: measures["fp32"] - measures[name] for name in measures if name != "fp32"},
    }


def _pipeline(bundle: Path, timed: Sequence[Any], clock: Callable[[], float]) -> dict[int, float]:
    """Turns a second of a classification pipeline with the same encoder and tokens, by batch size."""
    import json

    from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedTokenizerFast, pipeline

    settings = json.loads((bundle / "config.json").read_text(encoding="utf-8"))
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    build: Any = AutoModelForSequenceClassification.from_config
    fast: Any = PreTrainedTokenizerFast
    model = build(config).eval()
    tokenizer = fast(tokenizer_file=str(bundle / "tokenizer.json"), pad_token="[PAD]", model_max_length=128)
    texts = [_plain(context, target) for context, target in timed]
    classify: Any = pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu")
    rates = {}
    for size in PIPELINE_BATCHES:
        seconds = _best(lambda size=size: classify(texts, batch_size=size, truncation=True), clock, repeats=1)  # type: ignore[misc]
        rates[size] = len(texts) / seconds
    return rates


def _plain(context: Sequence[Any], target: Any) -> str:
    before = context[-1].text if context else ""
    return f"[CONTEXT] S2: {before} [TARGET] S1: {target.text}"


def training(recipe: GateRecipe, rows: GateRows, count: int, clock: Callable[[], float], place: Path) -> dict[str, Any]:
    """Real tokens a second of Engrain's training and of the plain loop, first and last step of each left out."""
    from engrain.models.gate.data import pack_examples
    from engrain.models.gate.encoder import load_tokenizer
    from engrain.models.gate.training import train_gate

    chosen = random.Random(1).sample(list(rows.train), min(count, len(rows.train)))
    settings = recipe.training.model_copy(update={"epochs": 1, "evaluate_every": 10**6, "strategy": "single"})
    small = recipe.model_copy(update={"training": settings})
    packed = pack_examples(load_tokenizer(recipe.model.base), chosen, small)
    tokens = sum(packed.lengths)
    marks: list[float] = []
    run = train_gate(
        small, chosen, rows.validation[:40], place / "run", seed=1, progress=lambda *_: marks.append(clock())
    )
    steps = len(marks)
    ours = tokens * (steps - 2) / steps / (marks[-2] - marks[0])
    plain = _plain_loop(small, packed.ids, packed.labels, clock)
    return {
        "training, real tokens a second": {"engrain": ours, "plain loop": plain["tokens a second"]},
        "training over the plain loop": ours / plain["tokens a second"],
        "padding": {"engrain": run.padding_share, "plain loop": plain["padding"]},
    }


def _plain_loop(
    recipe: GateRecipe, ids: Sequence[Sequence[int]], labels: Sequence[bool], clock: Callable[[], float]
) -> dict[str, float]:
    """What one writes first: shuffle, pad to the longest, AdamW."""
    import torch

    from engrain.models.gate.encoder import load_tokenizer, pad_id, pretrained_network

    torch.manual_seed(1)
    network = pretrained_network(recipe.model, load_tokenizer(recipe.model.base))
    optimizer = torch.optim.AdamW(network.parameters(), lr=recipe.training.learning_rate)
    order = list(range(len(ids)))
    random.Random(1).shuffle(order)
    size = recipe.training.batch_size * recipe.training.accumulate
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    marks, padded = [], 0
    for batch in batches:
        width = max(len(ids[row]) for row in batch)
        padded += width * len(batch)
        inputs = torch.tensor([[*ids[row], *[pad_id(network)] * (width - len(ids[row]))] for row in batch])
        mask = torch.tensor([[1] * len(ids[row]) + [0] * (width - len(ids[row])) for row in batch])
        goals = torch.tensor([float(labels[row]) for row in batch])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(network(inputs, mask), goals)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), recipe.training.gradient_clip or float("inf"))
        optimizer.step()
        marks.append(clock())
    tokens = sum(len(row) for row in ids)
    steps = len(batches)
    return {
        "tokens a second": tokens * (steps - 2) / steps / (marks[-2] - marks[0]),
        "padding": 1 - tokens / padded,
    }


def _best(work: Callable[[], object], clock: Callable[[], float], repeats: int = _REPEATS) -> float:
    """Least seconds of several runs, after a short one to warm up."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        work()
        seconds.append(clock() - start)
    return float(np.min(seconds))


if __name__ == "__main__":
    typer.run(main)
