"""notebooks/gpu.ipynb runs as it is committed, on a machine with a GPU and on one without.

Without one its tables about a GPU are empty. No duration is asserted.
"""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from tests.notebook.committed import check_no_complaint, executed, text_of

pytestmark = pytest.mark.tensorflow

NOTEBOOK = "gpu"
N_STEPS = 10
FACTS = """
import json as _json
print(_json.dumps({
    "has_gpu": HAS_GPU,
    "n_steps": [len(before.steps), len(after.steps)],
    "n_rows": {name: len(getattr(before, name)) for name in ("idle", "copies", "kernels", "roofline")},
    "n_hlo": [len(before.hlo_ops), len(after.hlo_ops)],
}))
"""


def test_no_cell_complains(notebook: nbformat.NotebookNode) -> None:
    check_no_complaint(notebook)


def test_both_runs_have_their_steps_and_only_the_second_is_compiled(facts: dict[str, Any]) -> None:
    assert facts["n_steps"] == [N_STEPS, N_STEPS]
    assert facts["n_hlo"][0] == 0 < facts["n_hlo"][1]


def test_tables_about_a_gpu_have_rows_where_one_is(facts: dict[str, Any]) -> None:
    assert [n > 0 for n in facts["n_rows"].values()] == [facts["has_gpu"]] * 4
