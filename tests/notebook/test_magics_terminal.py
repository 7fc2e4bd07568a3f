"""%%tfprofile in a plain IPython shell: the profile is shown as text, and a failing cell fails."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

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


def test_a_single_view_is_text_too_where_there_are_no_widgets(run: dict[str, Any]) -> None:
    assert "ms a step" in run["one_view"]["printed"]


def test_a_selection_that_met_no_step_is_told(run: dict[str, Any]) -> None:
    assert run["nothing"]["success"]
    assert "range(100, 110)" in run["nothing"]["printed"]


def test_a_failing_cell_shows_what_was_captured_and_fails(run: dict[str, Any]) -> None:
    failing = run["failing"]
    assert not failing["success"]
    assert "ZeroDivisionError" in failing["error"]
    assert failing["printed"].index("ms a step") < failing["printed"].index("Traceback")
    assert run["failed_steps"]["result"] == "40"


def test_loading_the_extension_again_does_no_harm(run: dict[str, Any]) -> None:
    assert run["loaded_twice"]["result"] == "2"
