"""Which checkpoint a run continues from, and whether it belongs to this very run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel

from engrain.models.training.checkpoints import LAST, RunCheckpoints
from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import InputError

Resume = Path | Literal["auto"] | None


def data_fingerprint(*splits: Sequence[BaseModel]) -> str:
    """SHA-256 over every example of every split, in order: tells whether two runs saw the same data."""
    return text_hash(*(text_hash(*(example.model_dump_json() for example in split)) for split in splits))


def checkpoint_to_resume(out_dir: Path, resume: Resume) -> Path | None:
    """The checkpoint that `resume` names, or None for a new run.

    "auto" is the run folder's last checkpoint, when there is one. Raises `InputError` for a checkpoint that does not
    exist, or a new run in a folder that holds one.
    """
    last = out_dir / LAST
    if resume is None:
        if last.exists():
            raise InputError(f"{out_dir} already holds a run; --resume continues it; or name another folder")
        return None
    if resume == "auto":
        return last if last.exists() else None
    if not resume.exists():
        raise InputError(f"the checkpoint {resume} does not exist; resume auto takes the last one of the run folder")
    return resume


def take_up(
    checkpoint: Path, callback: RunCheckpoints[Any], *, kind: str, key: str, run: str, steps: int, identity: str
) -> bool:
    """Check that a checkpoint belongs to this very run; true when that run is finished already, its history loaded.

    `key` is where the module's facts stand in the checkpoint, `run` their hash for this run, `identity` the words for
    what that hash covers. Raises `InputError` for a file of another kind, or of another run.
    """
    try:
        content = torch.load(_states(checkpoint), map_location="cpu", weights_only=True, mmap=True)
        saved = content[key]["facts"]["run"]
        state = content["callbacks"][callback.state_key]
    except Exception as error:
        raise InputError(f"{checkpoint} is not a resumable {kind} checkpoint ({error}); use {LAST}") from error
    if saved != run:
        raise InputError(f"{checkpoint} belongs to other {identity}; resume needs all unchanged")
    callback.load_state_dict(state)
    return callback.finished(steps)


def _states(checkpoint: Path) -> Path:
    """The file with the states: the checkpoint itself, or the first rank's in the folder that DeepSpeed writes."""
    return min(checkpoint.glob("*/*model_states.pt")) if checkpoint.is_dir() else checkpoint
