"""notebooks/quickstart.ipynb runs as it is committed, and what it shows is real."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from tests.notebook.committed import VIEW, check_no_outputs, displayed, executed, text_of

NOTEBOOK = "quickstart"
N_STEPS = 40
MOST_BYTES = 1_520_000
"""Of which the scripts are 0.3 MB in the state of the widgets, and as much in the page of the output."""
STATE = "application/vnd.jupyter.widget-state+json"
FACTS = """
import json as _json
print(_json.dumps({
    "n_steps": len(prof.steps),
    "sources": sorted(set(prof.steps["source"])),
    "step_names": prof.steps["name"].tolist(),
    "step_time_ms": prof.overview.step_time_avg_ms,
    "op_types": sorted(set(prof.ops["type"])),
    "op_self_ratio_sum": float(prof.ops.loc[prof.ops["device"] == "Host", "self_time_ratio"].sum()),
    "allocators": prof.memory.summary["allocator"].tolist(),
    "peak_bytes": int(prof.memory.summary["peak_bytes"].max()),
    "iterators": prof.input_pipeline.iterators["long_name"].tolist(),
    "bottleneck": str(prof.input_pipeline.bottleneck),
    "notices": list(prof.notices),
}))
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    return executed(NOTEBOOK, FACTS, tmp_path_factory.mktemp(NOTEBOOK))


@pytest.fixture(scope="module")
def facts(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    return json.loads(text_of(notebook.cells[-1], "stdout"))


def cell_with(notebook: nbformat.NotebookNode, text: str) -> nbformat.NotebookNode:
    return next(cell for cell in notebook.cells if cell.cell_type == "code" and text in cell.source)


def bundle(cell: nbformat.NotebookNode) -> dict[str, Any]:
    """What the cell shows."""
    (data,) = displayed(cell)
    return data


def test_committed_notebook_has_no_outputs() -> None:
    check_no_outputs(NOTEBOOK)


@pytest.mark.tensorflow
def test_profiled_cell_shows_a_widget_and_a_text_summary(notebook: nbformat.NotebookNode) -> None:
    data = bundle(cell_with(notebook, "%%tfprofile"))
    models = notebook.metadata.widgets[STATE]["state"]
    root = models[data[VIEW]["model_id"]]
    assert root["model_module"] == "anywidget"
    assert "ms" in data["text/plain"]
    assert len(data["text/plain"].splitlines()) > 5


@pytest.mark.tensorflow
def test_it_is_small_saved_with_the_state_of_its_widgets_and_without(notebook: nbformat.NotebookNode) -> None:
    assert len(nbformat.writes(notebook)) <= MOST_BYTES
    html = next(
        output["data"]["text/html"]
        for output in cell_with(notebook, "%%tfprofile").outputs
        if 'data-page="' in output.get("data", {}).get("text/html", "")
    )
    # The page alone holds the profile and the scripts: without state nothing is lost, with it nothing is there twice.
    assert len(json.dumps(notebook.metadata.widgets[STATE])) < len(html) / 10 < MOST_BYTES / 10


@pytest.mark.tensorflow
def test_every_batch_is_a_marked_step(facts: dict[str, Any]) -> None:
    assert facts["n_steps"] == N_STEPS
    assert facts["sources"] == ["marker"]
    assert len(set(facts["step_names"])) == N_STEPS
    assert 1 < facts["step_time_ms"] < 1000
    assert facts["notices"] == []


@pytest.mark.tensorflow
def test_ops_are_those_of_the_network_and_of_the_input_pipeline(facts: dict[str, Any]) -> None:
    assert {"AdjustHue", "ResizeBicubic", "Dataset"} <= set(facts["op_types"])
    assert any("Conv2D" in name for name in facts["op_types"])
    assert facts["op_self_ratio_sum"] == pytest.approx(1)


@pytest.mark.tensorflow
def test_memory_of_the_cpu_is_recorded(facts: dict[str, Any]) -> None:
    # At least one float32 batch of augmented images was held.
    assert facts["allocators"]
    assert facts["peak_bytes"] > 32 * 64 * 64 * 3 * 4


@pytest.mark.tensorflow
def test_the_sequential_map_is_the_bottleneck(notebook: nbformat.NotebookNode, facts: dict[str, Any]) -> None:
    assert any(name.endswith("::Map") for name in facts["iterators"])
    assert "Map" in facts["bottleneck"]
    advice = text_of(cell_with(notebook, "input_pipeline.suggestion"), "stdout")
    assert "num_parallel_calls" in advice


@pytest.mark.tensorflow
def test_tables_are_shown(notebook: nbformat.NotebookNode) -> None:
    assert "step_time_ms" in bundle(cell_with(notebook, "prof.steps.head()"))["text/html"]
    assert "total_self_time_us" in bundle(cell_with(notebook, "prof.ops.head()"))["text/html"]
    assert "peak_bytes" in bundle(cell_with(notebook, "prof.memory.summary"))["text/html"]
