"""Every notebook with a pair: both hold the same cells, and they run from top to bottom on what ships."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
PAIRED = sorted(path.with_suffix(".py") for path in FOLDER.glob("*.ipynb"))

jupytext = pytest.importorskip("jupytext")


def test_the_notebooks_are_there() -> None:
    assert {"01_label_quality", "02_gate_corpus"} <= {path.stem for path in PAIRED}


@pytest.mark.parametrize("script", PAIRED, ids=lambda path: path.stem)
def test_script_and_notebook_hold_the_same_cells(script: Path) -> None:
    """After an edit of the script: `jupytext --to ipynb notebooks/NAME.py`."""
    pair = [
        [(cell.cell_type, cell.source) for cell in jupytext.read(path).cells]
        for path in (script, script.with_suffix(".ipynb"))
    ]
    assert pair[0] == pair[1]
    assert not any(cell.get("outputs") for cell in jupytext.read(script.with_suffix(".ipynb")).cells)


@pytest.mark.full
@pytest.mark.parametrize("script", PAIRED, ids=lambda path: path.stem)
def test_a_notebook_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
    notebook = jupytext.read(script.with_suffix(".ipynb"))
    client.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    shown = [output for cell in code for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in shown), "a notebook to look at data has plots"
    assert not [output for output in shown if output.get("name") == "stderr"]
