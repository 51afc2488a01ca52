"""`python -m engrain.recipes.gate_blend START RUN OUT SHARE`: a run's gate, blended with the one that it started from.

START is a checkpoint, RUN the folder of one seed that was trained from it (`model.start`), OUT a new folder that
`engrain export gate` takes. SHARE of the start's weights is kept.
"""

from __future__ import annotations

import json
from pathlib import Path

import typer

from engrain.models.training.checkpoints import BEST
from engrain.recipes import console
from engrain.recipes.train_gate import RUN_FILE, write_json


def main(start: Path, run: Path, out: Path, share: float) -> None:
    """Write OUT with the blended checkpoint; the run's own measures are left out, as they are another gate's."""
    from engrain.models.gate.blending import blend_checkpoints

    document = json.loads((run / RUN_FILE).read_text(encoding="utf-8"))
    blend_checkpoints(start, run / BEST, out / BEST, share)
    write_json(out / RUN_FILE, {**document, "blended_with_start": share, "evaluation": {}})
    console.say(f"{share:g} of {start} and {1 - share:g} of {run} are in {out}; evaluate it anew")


if __name__ == "__main__":
    typer.run(main)
