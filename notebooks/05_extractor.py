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
# # The dependency extractor
# SLICE-Mem 3.2, A.3 and B.1: admitted turns become user-attributed statements by rules over a dependency graph, with
# no generative model. This notebook shows what the rules see, how predicates are scored, and what is stored.

# %%
# ruff: noqa: T201
from datetime import UTC, datetime

import matplotlib.pyplot as plt
from IPython.display import HTML, display

from engrain.runtime.extraction.dependency.explain import explain_html, explain_text
from engrain.runtime.extraction.dependency.extractor import DependencyExtractor
from engrain.runtime.schema import Role, Turn

extractor = DependencyExtractor.load("spacy")
print(extractor.identity)

# %% [markdown]
# ## One turn, step by step
# Clauses, candidates with every term of S(p), what was filtered and why, spans, units.

# %%
text = "Speaking of plans, I want to learn Icelandic before my trip in May, but I might not find a teacher in Bath."
analysis = extractor.analyse([text])[0]
print(explain_text(analysis))

# %% [markdown]
# The same with the graph drawn.

# %%
display(HTML(explain_html(analysis)))

# %% [markdown]
# S(p) of every predicate candidate, and which of them a hard filter removed.

# %%
candidates = [candidate for trace in analysis.traces for candidate in trace.candidates]
figure, axes = plt.subplots(figsize=(7, 3))
axes.barh(
    [candidate.lemma for candidate in candidates],
    [candidate.score for candidate in candidates],
    color=["lightgrey" if candidate.filtered else "steelblue" for candidate in candidates],
)
axes.invert_yaxis()
axes.set_xlabel("S(p); grey: filtered")
plt.show()

# %% [markdown]
# ## Entries with their dimensions

# %%
samples = [
    "I moved to Berlin last March because my job changed.",
    "Could you remind me to water the ferns on Friday?",
    "My sister's flat costs €940 a month from January.",
    "I don't eat meat, and I never drink coffee after noon.",
    "Honestly, that's a great point. I joined a gym to strengthen my back.",
    "Ich esse kein Fleisch.",
    "ok thanks!",
]
moment = datetime(2025, 6, 4, 12, tzinfo=UTC)
turns = [
    Turn(id=str(number), session_id="s", role=Role.USER, speaker="user", text=sample, timestamp=moment)
    for number, sample in enumerate(samples)
]
for result in extractor.extract_turns(turns):
    print(result.turn.text)
    print("   ", result.analysis.route, "|", result.entry or result.analysis.reason)
    if result.located is not None:
        print("   ", result.located.dimensions.model_dump(mode="json", exclude_defaults=True))

# %% [markdown]
# ## What became of the turns

# %%
print(dict(extractor.counts))
