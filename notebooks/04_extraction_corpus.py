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
# # What is in an extraction corpus?
# Before an extractor is tuned: how varied are the records, what did the filters refuse, what does the loss see?
#
# The shipped corpus stands in for a teacher's, so that nothing has to be bought: it is small, and written by the
# project. To look at your own, put the folder of `engrain synthesize` or `engrain build extractor` into `RUN`.

# %%
# ruff: noqa: T201
import json
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt

from engrain.data_builders.config import ExtractionWindows, ShippedSplit
from engrain.data_builders.extraction_corpus import extraction_corpus
from engrain.data_builders.parquet import read_extraction_examples
from engrain.data_builders.shipped import load_shipped
from engrain.data_builders.synthesis.diversity import diversity
from engrain.data_builders.synthesis.filters import filter_window
from engrain.data_builders.synthesis.settings import FilterSettings
from engrain.runtime.extraction.parsing import parse_records
from engrain.runtime.extraction.prompts import extraction_messages, render_records
from engrain.runtime.extraction.windows import Window

RUN: Path | None = None

# %%
if RUN is not None:
    files = [RUN / name for name in ("extraction.parquet", "synthetic.parquet") if (RUN / name).is_file()]
    examples = list(read_extraction_examples(files[0]))
else:
    shipped = load_shipped()
    windows = ExtractionWindows(size=15, overlap=3)
    built = extraction_corpus(shipped.sessions, shipped.records, windows, splits=shipped.splits(ShippedSplit()))
    examples = list(built.examples)
report = diversity(examples)
print(f"{report.examples} windows, {report.empty} of them empty, {report.records} records")

# %% [markdown]
# ## Types and dimensions
# A dimension that nearly every record fills was probably guessed; one that none fills cannot be learned.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.bar(list(report.types), list(report.types.values()))
left.set_title("records by type")
right.bar(list(report.fill_rates), list(report.fill_rates.values()))
right.set_title("share of records that fill a dimension")
right.set_ylim(0, 1)
plt.show()

# %% [markdown]
# ## Lengths and variety
# Quartiles in words. `distinct` near 0 means that a teacher repeats itself.

# %%
print("words of a window   ", report.window_words)
print("words of a content  ", report.content_words)
print("distinct keywords   ", round(report.distinct_keywords, 3))
print("distinct openings   ", round(report.distinct_openings, 3))
print("distinct word pairs ", round(report.distinct_pairs, 3))
print("records per window  ", report.records_per_window)
print("frequent keywords   ", list(report.topics)[:12])

# %% [markdown]
# ## What the filters would refuse
# The filters of synthesis, run over these very records. A person's records are no teacher's, so a reject here is a
# question to the filter as much as to the record.

# %%
settings, refused, shown = FilterSettings(), Counter[str](), list[str]()
for example in examples:
    window = Window(example.window, example.overlap)
    result = parse_records(render_records(example.records), window)
    for reject in filter_window(example.id, window, example.style, result, settings)[1]:
        refused[reject.reason.value] += 1
        if reject.raw and len(shown) < 5:
            shown.append(f"{reject.reason.value} ({reject.detail}): {json.loads(reject.raw)['content']}")
print(dict(refused))
print("\n".join(shown))

# %%
if RUN is not None and (RUN / "rejects.jsonl").is_file():
    rows = [json.loads(line) for line in (RUN / "rejects.jsonl").read_text("utf-8").splitlines()]
    print(Counter(row["reason"] for row in rows).most_common())
    for row in rows[:10]:
        print(row["reason"], "|", row["detail"], "|", row["raw"][:160])

# %% [markdown]
# ## One example as a model sees it
# The system message, the window, and the answer that is learned. `engrain inspect masks RECIPE` shows tokens.

# %%
example = next(one for one in examples if one.records)
for message in extraction_messages(Window(example.window, example.overlap), example.style, "compact"):
    print(f"--- {message['role']}\n{message['content'][:1200]}")
print("--- learned\n" + render_records(example.records, "compact")[:800])
