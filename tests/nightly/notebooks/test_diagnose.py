"""notebooks/diagnose.ipynb runs as it is committed: each planted cause is the first advice, and its fix makes samples cheaper.

No duration is asserted: ratios of medians of one run go one way or the other.
"""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from tests.notebook.committed import VIEW, check_no_complaint, displayed, executed, text_of

pytestmark = pytest.mark.tensorflow

NOTEBOOK = "diagnose"
MOST_BYTES = 8_000_000
PLANTED = {
    # case: advice, words of the fix
    "small batch": ("small_batch", "8 times as many samples"),
    "slow read": ("input_bound generator", "num_parallel_calls"),
    "overloaded preprocessing": ("input_bound slow_map", "Make blur (Cell "),
    "inefficient graph": ("inefficient_op", "convolutions of 3 x 3"),
    "heavy callback": ("host_callback", "every hundredth batch"),
    "retracing": ("retracing", "tf.constant(i)"),
    "eager loop": ("eager_hot_loop", "@tf.function"),
}
# A busy machine that stalls twice within some steps is told, rightly, but not what is looked for here.
FACTS = """
import json as _json
_advice = {name: before.advice for name, before, *_ in cases}
_first = {name: (f"{found[0].rule} {found[0].stage}".strip(), str(found[0].fix)) for name, found in _advice.items() if found}
print(_json.dumps({"table": _json.loads(table.to_json(orient="index")), "first": _first}))
"""


def shown(cell: nbformat.NotebookNode) -> str:
    """What a reader without widgets sees."""
    parts = [output.data.get("text/plain", "") for output in cell.outputs if "data" in output]
    return text_of(cell, "stdout") + "".join(parts)


def cells_with(notebook: nbformat.NotebookNode, text: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and text in cell.source]


def test_its_eight_profiles_are_small_when_saved(notebook: nbformat.NotebookNode) -> None:
    assert len(nbformat.writes(notebook)) <= MOST_BYTES


def test_there_is_a_case_for_each_cause(facts: dict[str, Any]) -> None:
    assert list(facts["table"]) == list(PLANTED)


@pytest.mark.parametrize("case", PLANTED)
def test_the_planted_cause_is_the_first_advice(case: str, facts: dict[str, Any]) -> None:
    rule, words = PLANTED[case]
    first, fix = facts["first"][case]
    assert first == rule
    assert words in fix


@pytest.mark.parametrize("case", PLANTED)
def test_a_sample_takes_less_time_after_the_fix(case: str, facts: dict[str, Any]) -> None:
    assert facts["table"][case]["measured_gain"] > 0


def test_the_experiments_tell_what_they_found(notebook: nbformat.NotebookNode) -> None:
    cells = cells_with(notebook, "tfprof.experiments.")
    assert len(cells) == 4
    for cell in cells:
        assert "samples/s" in shown(cell)


def test_dashboards_and_comparisons_are_widgets_with_a_text_beside(notebook: nbformat.NotebookNode) -> None:
    last_lines = (
        *("small_batch", "slow_map", "slow_callback"),
        *("tfprof.diff(slow_input, fast_input)", "tfprof.diff(large_filter, stacked_filters)"),
    )
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    views = [cell for cell in code if cell.source.splitlines()[-1] in last_lines or "--compare" in cell.source]
    assert len(views) == len(last_lines) + 1
    for cell in views:
        data = next(data for data in displayed(cell) if VIEW in data)
        assert " ms" in data["text/plain"]


def test_no_cell_complains(notebook: nbformat.NotebookNode) -> None:
    check_no_complaint(notebook)
