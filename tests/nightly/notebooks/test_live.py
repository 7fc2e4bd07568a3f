"""notebooks/live.ipynb runs as it is committed: what begins to be slow is named, its window shows why, and the fix takes it away.

No duration is asserted: steps of one run are compared with each other.
"""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from tests.notebook.committed import VIEW, check_no_complaint, displayed, executed, text_of

pytestmark = pytest.mark.tensorflow

NOTEBOOK = "live"
N_STEPS, SLOW_FROM = 1700, 1200
MOST_BYTES = 6_000_000
FACTS = """
import json as _json
print(_json.dumps({
    "n_steps": [len(run.steps), len(loaded.steps)],
    "anomalies": [[one.title, one.first_step] for one in run.anomalies],
    "windows": [[int(name.removeprefix("train ")) for name in one.steps["name"]] for one in run.windows],
    "advice": [one.title for one in run.windows[-1].advice],
    "waits": slow_ms,
    "report": run.report(),
}, default=float))
"""


def test_each_step_of_both_runs_is_there(facts: dict[str, Any]) -> None:
    assert facts["n_steps"] == [N_STEPS, N_STEPS]
    assert f"{N_STEPS:,}" in facts["report"]


def test_the_slow_steps_are_named_with_what_they_wait_for(facts: dict[str, Any]) -> None:
    # On a machine that others use, steps may be slow some time before.
    titles = [title for title, first in facts["anomalies"] if SLOW_FROM - 100 < first <= SLOW_FROM + 20]
    assert any("wait for data" in title for title in titles), facts["anomalies"]


def test_a_window_of_them_shows_the_cause(facts: dict[str, Any]) -> None:
    assert min(facts["windows"][-1]) >= SLOW_FROM - 10
    assert "Python makes one element after another" in facts["advice"][0]


def test_the_fix_takes_the_wait_away(facts: dict[str, Any]) -> None:
    before, after = facts["waits"].values()
    assert after < before / 5


def test_what_is_watched_is_a_widget_with_a_text_beside(notebook: nbformat.NotebookNode) -> None:
    cells = [cell for cell in notebook.cells if "--live" in cell.source or "tfprof.watch(" in cell.source]
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert len(code) == 2
    for cell in code:
        data = next(data for data in displayed(cell) if VIEW in data)
        assert f"{N_STEPS:,} steps" in data["text/plain"]
        assert "data-page=" in data["text/html"]


def test_it_is_small_when_saved(notebook: nbformat.NotebookNode) -> None:
    assert len(nbformat.writes(notebook)) <= MOST_BYTES


def test_no_cell_complains(notebook: nbformat.NotebookNode) -> None:
    check_no_complaint(notebook)
