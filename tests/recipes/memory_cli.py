"""`engrain memory …` as tests run it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engrain.recipes.cli import run


class Cli:
    """Runs one command line in a folder with an embedder bundle and reads its JSON."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        assert run(["memory", *arguments, "--json"]) == code
        shown = self.capsys.readouterr()
        return json.loads(shown.out) if code == 0 else shown.err
