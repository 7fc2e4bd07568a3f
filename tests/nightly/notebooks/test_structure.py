"""notebooks/structure.ipynb runs as it is committed: trees of Keras, of a session of TensorFlow 1, and of old files agree.

No duration is asserted.
"""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from tests.notebook.committed import VIEW, check_no_complaint, executed, text_of

pytestmark = pytest.mark.tensorflow

NOTEBOOK = "structure"
N_PARAMS = 784 * 64 + 64 + 64 * 32 + 32 + 32 * 10 + 784 * 10
FACTS = """
import gzip as _gzip, json as _json
from tensorflow.core.profiler import profile_pb2 as _pb

def _pprof(name):
    read = _pb.Profile()
    read.ParseFromString(_gzip.decompress((folder / name).read_bytes()))
    return sum(sample.value[0] for sample in read.sample)

_views = ("scope", "graph", "op", "code")
print(_json.dumps({
    "n_steps": [len(prof.steps), len(session.steps), len(timelines.steps), len(context.steps)],
    "step_names": timelines.steps["name"].tolist(),
    "files": sorted(int(path.stem.partition("-")[2]) for path in folder.glob("timeline-*.json")),
    "keras_us": [prof.ops["total_self_time_us"].sum(), *(prof.tree(v)["total_micros"].iloc[0] for v in _views)],
    "pprof_us": [_pprof("keras.pb.gz"), _pprof("session.pb.gz")],
    "session_us": int(session.tree("code")["total_micros"].iloc[0]),
    "n_params": int(session.variables.query("trainable")["n_params"].sum()),
    "keras_params": [int(prof.variables["n_params"].sum()), model.count_params()],
    "trees": {name: one.tree("scope")["total_micros"].iloc[0] > 0 for name, one in (("session", session), ("context", context))},
}, default=float))
"""


def cell_with(notebook: nbformat.NotebookNode, text: str) -> nbformat.NotebookNode:
    (found,) = [cell for cell in notebook.cells[:-1] if cell.cell_type == "code" and text in cell.source]
    return found


def test_all_views_of_the_keras_capture_have_the_total_of_its_ops(facts: dict[str, Any]) -> None:
    whole, *views = facts["keras_us"]
    assert views == pytest.approx([whole] * 4)
    assert facts["keras_params"][0] == facts["keras_params"][1] > 0


def test_pprof_files_read_by_tensorflow_have_the_totals_of_the_trees(facts: dict[str, Any]) -> None:
    assert facts["pprof_us"] == [round(facts["keras_us"][0]), facts["session_us"]]


def test_the_chosen_steps_are_there(facts: dict[str, Any]) -> None:
    # TensorFlow's hook reads the global step beside the op that adds to it: it may save the step before the fifth.
    assert [facts["n_steps"][i] for i in (0, 1, 3)] == [20, 10, 4]
    assert facts["n_steps"][2] in (3, 4)
    assert facts["step_names"] == [f"step {number}" for number in facts["files"]]


def test_trainable_parameters_of_the_session_are_counted(
    facts: dict[str, Any], notebook: nbformat.NotebookNode
) -> None:
    assert facts["n_params"] == N_PARAMS
    text = text_of(cell_with(notebook, "_trainable_variables"), "stdout")
    assert "dnn/hiddenlayer_0/kernel (784x64, 50.18k/50.18k params" in text
    assert "linear/weights (784x10, 7.84k/7.84k params" in text


def test_lines_of_the_notebook_are_in_the_code_view_of_the_session(notebook: nbformat.NotebookNode) -> None:
    text = text_of(cell_with(notebook, '".*:build.*"'), "stdout")
    assert ":build" in text
    assert ":train" in text
    assert "(gradient)" in text


def test_the_views_are_widgets(notebook: nbformat.NotebookNode) -> None:
    for source in ("prof.tree_view()", "timelines.timeline()"):
        assert any(VIEW in output.get("data", {}) for output in cell_with(notebook, source).outputs), source


def test_no_cell_complains(notebook: nbformat.NotebookNode) -> None:
    check_no_complaint(notebook)
