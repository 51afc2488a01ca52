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
# # Can the labels be trusted?
# Before a gate is trained: how far do raters agree, on what do they differ, and which labels look wrong?
#
# The shipped corpus has no teachers' votes, so three raters stand in that need no model service: its authors, a
# classifier that learned from the authors' labels of other sessions, and a rule over words. To look at a real labelling
# run, put its folder into `RUN`. The corpus is small and written by the project: no figure here says anything about
# teachers or gates.

# %%
# ruff: noqa: T201
from pathlib import Path

import matplotlib.pyplot as plt

from engrain.data_builders.config import ShippedSplit
from engrain.data_builders.gate_corpus import shipped_gate_corpus
from engrain.data_builders.quality.label_noise import label_noise
from engrain.data_builders.quality.page import interval
from engrain.data_builders.quality.rated_files import read_rated
from engrain.data_builders.quality.rows import row_of
from engrain.data_builders.quality.stand_ins import stand_in_results
from engrain.data_builders.quality.votes import RatedTurn, agreement
from engrain.data_builders.shipped import load_shipped

RUN: Path | None = None

examples = shipped_gate_corpus(load_shipped(), ShippedSplit()).examples
if RUN is not None:
    rated = read_rated([RUN])
else:
    rated = [
        RatedTurn(example.id, example.corpus, example.target.text, tuple(one.vote for one in results if one.vote))
        for example, results in zip(examples, stand_in_results(examples), strict=True)
    ]
len(rated)

# %% [markdown]
# ## Agreement
# Fleiss' kappa over the turns that everybody rated, Krippendorff's alpha over all, each with a 95% bootstrap interval
# over the turns. A slice in which everybody says the same has no kappa: chance alone explains it.

# %%
report = agreement(rated)
assert report is not None, "no turn has two votes"
for part in report.slices:
    for field in part.fields:
        print(
            f"{part.slice:32} {part.turns:5} {field.field:20} unanimous {field.unanimous:.0%}",
            f"kappa {interval(field.fleiss):26} alpha {interval(field.alpha)}",
        )

# %%
figure, axes = plt.subplots(figsize=(7, 2.5), layout="constrained")
pairs = report.field().pairs
for row, pair in enumerate(pairs):
    axes.plot([pair.kappa.low, pair.kappa.high], [row, row], color="tab:blue")
    axes.plot([pair.kappa.value], [row], marker="o", color="tab:blue")
axes.set_yticks(range(len(pairs)), [f"{pair.first} / {pair.second}" for pair in pairs])
axes.set(xlabel="Cohen's kappa of admission, with 95% interval", xlim=(0, 1))
plt.show()

# %% [markdown]
# Agreement by auxiliary type. Types on which raters differ most are where a rubric is unclear.

# %%
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
kinds = [part for part in report.slices if part.slice.startswith("type: ")]
axes.barh([part.slice.removeprefix("type: ") for part in kinds], [part.fields[0].unanimous or 0 for part in kinds])
axes.invert_yaxis()
axes.set(xlabel="share of turns with one mind about admission", xlim=(0, 1))
plt.show()

# %% [markdown]
# ## Who is strict, who is lenient

# %%
for rater in report.raters:
    print(f"{rater.name:12} admits {rater.admitted:.0%} of {rater.votes}, mean confidence {rater.confidence:.2f}")

# %% [markdown]
# ## Where they differ

# %%
print(f"{report.disagreeing} of {report.turns} turns; the first of them:")
for turn in report.disagreements[:12]:
    print(f"  yes: {', '.join(turn.admitting):22} no: {', '.join(turn.rejecting):22} {turn.text[:90]}")

# %% [markdown]
# ## Labels that look wrong
# Confident learning (Northcutt et al. 2021) over the target turns alone: a label is suspected when a classifier that
# never saw the turn's session is surer of the other label than it is on average. Turns that need their context ("Both,
# please.") are suspected too readily, so read them before changing anything.

# %%
noise = label_noise([row_of(example) for example in examples], listed=10)
assert noise is not None
print(
    f"estimated noise {noise.noise:.1%}, {noise.suspected} suspects;",
    f"the classifier's average precision is {noise.average_precision:.2f}",
)
for suspect in noise.suspects:
    print(f"  labelled {'keep' if suspect.label else 'drop'}, p(keep) {suspect.probability:.2f}  {suspect.text[:90]}")
