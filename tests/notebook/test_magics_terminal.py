"""%%tfprofile in a plain IPython shell: the profile is shown as text, and a failing cell fails."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.notebook.committed import displayed, text_of, usage_error
from tests.notebook.kernels import executed_cells
from tests.notebook.test_magics import SET_UP
from tests.warm_process import run_python

pytestmark = pytest.mark.tensorflow

SESSION = """
import json
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
out = {}

def run(name, cell):
    result = shell.run_cell(cell, store_history=True)
    out[name] = {"success": result.success, "error": repr(result.error_in_exec), "result": repr(result.result)}
    print(f"@@{name}")

run("set_up", '''
import numpy as np
import keras
x, y = np.ones((320, 4), "f4"), np.ones((320, 1), "f4")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
%load_ext tfprof_widgets
''')
run("fit", "%%tfprofile -o prof\\nhistory = model.fit(x, y, batch_size=8, verbose=0)\\n'the value'")
run("steps", "(len(prof.steps), set(prof.steps['source']))")
run("one_view", "%%tfprofile --view ops\\nmodel.fit(x, y, batch_size=8, verbose=0);")
run("nothing", "%%tfprofile --steps 100:110\\nmodel.fit(x, y, batch_size=8, verbose=0);")
run("failing", "%%tfprofile -o failed\\nmodel.fit(x, y, batch_size=8, verbose=0)\\n1 / 0")
run("failed_steps", "len(failed.steps)")
run("loaded_twice", "%reload_ext tfprof_widgets\\n%tfprofile --view none 1 + 1")
print("@@" + json.dumps(out))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("terminal")
    done = run_python(SESSION, cwd=folder, IPYTHONDIR=str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    *shown, facts = done.stdout.split("@@")
    result: dict[str, Any] = json.loads(facts)
    for before, after in pairwise(shown):
        result[after.partition("\n")[0]]["printed"] = before.partition("\n")[2]
    return result


def test_the_value_of_the_cell_and_a_summary_worth_reading_are_printed(run: dict[str, Any]) -> None:
    printed = run["fit"]["printed"]
    assert run["fit"]["result"] == "'the value'"
    assert printed.index("'the value'") < printed.index("ms a step")
    assert run["steps"]["result"] == "(40, {'marker'})"
    assert "ms a step" in run["one_view"]["printed"]
    assert run["nothing"]["success"]
    assert "range(100, 110)" in run["nothing"]["printed"], "no step was met"
    assert run["loaded_twice"]["result"] == "2"


def test_a_failing_cell_shows_what_was_captured_and_fails(run: dict[str, Any]) -> None:
    failing = run["failing"]
    assert not failing["success"]
    assert "ZeroDivisionError" in failing["error"]
    assert failing["printed"].index("ms a step") < failing["printed"].index("Traceback")
    assert run["failed_steps"]["result"] == "40"


FIT = "model.fit(x, y, verbose=0);"
MANY = "model.fit(x, y, batch_size=8, verbose=0);"
CELLS = {
    "set_up": SET_UP,
    "unknown": f"%%tfprofile -o before --compare before\nran = True\n{FIT}",
    "first": f"%%tfprofile -o before --view none\n{FIT}",
    "again": f"%%tfprofile -o before --compare before\n{FIT}",
    "other_name": f"%%tfprofile -o other --compare before --no-system\n{FIT}",
    "line": "%tfprofile --compare other history = model.fit(x, y, verbose=0)",
    "failing": f"%%tfprofile --compare before\n{FIT}\nraise ValueError('mine')",
    "no_profile": f"%%tfprofile --compare SET\nran = True\n{FIT}",
    "with_view": f"%%tfprofile --compare before --view ops\nran = True\n{FIT}",
    "broken": "import tfprof_widgets.notebook.magics as magics\ndef fail(a, b):\n    raise RuntimeError('no <b>comparison</b>')\n"
    "kept, magics.diff = magics.diff, fail",
    "survives": f"%%tfprofile --compare before --no-system\n{FIT}\nsurvived = True",
    "read": "magics.diff = kept\nprint('ran' in globals(), survived, history is not None)",
    "once": f"%%tfprofile --no-system\n{MANY}",
    "once_more": f"%%tfprofile --no-system\n{MANY}",
    "nothing": "%%tfprofile --compare before --no-system\nsurvived = 1 + 1",
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return executed_cells({**CELLS, "set_up": f"{SET_UP}\nSET = {{}}"}, tmp_path_factory.mktemp("compare"))


@pytest.mark.parametrize("name", ["again", "other_name", "line"])
def test_the_comparison_is_displayed_in_place_of_the_profile(cells: dict[str, Any], name: str) -> None:
    assert [output for output in cells[name].outputs if output.output_type == "error"] == []
    (data,) = displayed(cells[name])
    assert "(a) -> " in data["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in data
    assert 'data-page="' in data["text/html"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("unknown", "there is no such variable"),
        ("unknown", "Run the cell once without --compare"),
        ("no_profile", "that is a dict, not a profile"),
        ("with_view", "leave out --view ops"),
    ],
)
def test_a_name_that_cannot_be_compared_is_refused_before_the_code_runs(
    cells: dict[str, Any], name: str, words: str
) -> None:
    assert words in usage_error(cells[name])
    assert text_of(cells["read"], "stdout").split()[0] == "False"


def test_a_cell_that_is_run_again_says_how_it_compares_with_its_last_run(cells: dict[str, Any]) -> None:
    (first,), (again,) = displayed(cells["once"]), displayed(cells["once_more"])
    assert "the last run" not in first["text/html"]
    assert "the last run" in again["text/html"]


def test_what_was_captured_before_a_failure_or_by_no_training_is_compared(cells: dict[str, Any]) -> None:
    (error,) = [output for output in cells["failing"].outputs if output.output_type == "error"]
    assert (error.ename, error.evalue) == ("ValueError", "mine")
    for name in ("failing", "nothing"):
        (data,) = displayed(cells[name])
        assert "(a) -> " in data["text/plain"]


def test_a_comparison_that_fails_is_told_and_leaves_the_cell_and_its_profile(cells: dict[str, Any]) -> None:
    assert [output for output in cells["survives"].outputs if output.output_type == "error"] == []
    told, profile = displayed(cells["survives"])
    assert "cannot be compared: no <b>comparison</b>" in told["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in profile
    assert text_of(cells["read"], "stdout").split() == ["False", "True", "True"]
