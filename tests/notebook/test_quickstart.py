"""notebooks/quickstart.ipynb runs as it is committed: steps, ops, memory and the bottleneck, and what its cells show."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from tests.notebook.committed import VIEW, check_no_complaint, displayed, executed, text_of

pytestmark = pytest.mark.tensorflow

N_STEPS = 40
FACTS = """
import json as _json
print(_json.dumps({
    "names": prof.steps["name"].tolist(), "sources": sorted(set(prof.steps["source"])), "notices": list(prof.notices),
    "step_ms": prof.overview.step_time_avg_ms, "types": sorted(set(prof.ops["type"])),
    "host_ratio": prof.ops.loc[prof.ops["device"] == "Host", "self_time_ratio"].sum(),
    "peak_bytes": int(prof.memory.summary["peak_bytes"].max()), "bottleneck": str(prof.input_pipeline.bottleneck),
    "verdict": prof.overview.verdict,
}, default=float))
"""
STATE = "application/vnd.jupyter.widget-state+json"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    return executed("quickstart", FACTS, tmp_path_factory.mktemp("quickstart"))


@pytest.fixture(scope="module")
def facts(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(notebook.cells[-1], "stdout"))
    return found


def cell_with(notebook: nbformat.NotebookNode, text: str) -> nbformat.NotebookNode:
    return next(cell for cell in notebook.cells[:-1] if cell.cell_type == "code" and text in cell.source)


def shown_by(notebook: nbformat.NotebookNode, text: str) -> dict[str, Any]:
    """What the cell with this text shows."""
    (data,) = displayed(cell_with(notebook, text))
    return data


def test_no_cell_complains(notebook: nbformat.NotebookNode) -> None:
    check_no_complaint(notebook)


def test_every_batch_is_a_marked_step(facts: dict[str, Any]) -> None:
    assert len(set(facts["names"])) == len(facts["names"]) == N_STEPS
    assert facts["sources"] == ["marker"]
    assert 1 < facts["step_ms"] < 1000
    assert facts["notices"] == []


def test_the_sequential_map_is_the_bottleneck(facts: dict[str, Any], notebook: nbformat.NotebookNode) -> None:
    assert "Map" in facts["bottleneck"]
    assert "num_parallel_calls" in text_of(cell_with(notebook, "input_pipeline.suggestion"), "stdout")


def test_a_summary_as_text_and_tables_are_saved_beside_the_widget(
    facts: dict[str, Any], notebook: nbformat.NotebookNode
) -> None:
    data = shown_by(notebook, "%%tfprofile")
    assert notebook.metadata.widgets[STATE]["state"][data[VIEW]["model_id"]]["model_module"] == "anywidget"
    assert facts["verdict"] in data["text/plain"]
    assert len(data["text/plain"].splitlines()) > 5
    for text, column in (("steps", "step_time_ms"), ("ops", "total_self_time_us")):
        assert column in shown_by(notebook, f"prof.{text}.head()")["text/html"]
    assert "peak_bytes" in shown_by(notebook, "prof.memory.summary")["text/html"]
