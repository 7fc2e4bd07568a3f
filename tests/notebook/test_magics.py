"""%%tfprofile and %tfprofile in a real kernel: the cell keeps its meaning, and the profile is shown below it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from nbclient.exceptions import CellExecutionError

from tests.notebook.committed import text_of, usage_error
from tests.notebook.kernels import executed_cells, messages, printed, started_kernel

pytestmark = pytest.mark.tensorflow

SET_UP = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
x, y = np.ones((160, 4), "f4"), np.ones((160, 1), "f4")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
%load_ext tfprof_widgets
def numbers(profile):
    return [int(n) for window in profile.capture.windows for n in range(window.first_step, window.last_step + 1)]
"""

CELLS = {
    "set_up": SET_UP,
    "variables": """%%tfprofile --view none -o p
text = '''first
  second
%%third'''
history = model.fit(x, y, verbose=0)
text""",
    "read": "print(text.split('\\n'), len(history.history['loss']), numbers(p), _ == text)",
    "quiet": "%%tfprofile --view none\ntext;",
    "statements": "%%tfprofile --view none\nfor i in range(3):\n    print(i)",
    "nested_magic": "%%tfprofile --view none\n%time z = 7\nfiles = !echo hello\nfiles",
    "error": """%%tfprofile --view none -o failed

def inner():
    # a comment
    raise ValueError('from line five')
model.fit(x, y, verbose=0)
inner()""",
    "after_error": "print(failed.capture.outcome, numbers(failed), failed.title, failed.report().split('\\n')[0])",
    "syntax": "%%tfprofile --view none\na = 1\na = = 2",
    "await": "%%tfprofile --view none\nimport asyncio\nawait asyncio.sleep(0)",
    "choose_view": "%tfprofile --view compact",
    "chosen_view": "%%tfprofile --no-system\nmodel.fit(x, y, verbose=0);",
    "choose_all": "%tfprofile --view dashboard",
    "selected": "%%tfprofile -o s --steps 2:4 --view=none --no-system\nmodel.fit(x, y, verbose=0);",
    "read_selected": "print(numbers(s), len(s.system))",
    "every": "%%tfprofile -o s --every 2 --view none\nmodel.fit(x, y, verbose=0);",
    "read_every": "print([w.first_step for w in s.capture.windows])",
    "line": "%tfprofile -o line_profile --view none model.fit( x,  y, verbose=0).history['loss']  [0] > -1",
    "read_line": "print(numbers(line_profile), line_profile.title, _)",
    "assigned": "def f(n):\n    got = %tfprofile --view none n + 1\n    return got\nf(41)",
    "source": """%%tfprofile --view none
def visible():
    return 'its source'
import inspect
print(inspect.getsource(visible))""",
    "logdir": "import tempfile\nholder = tempfile.TemporaryDirectory()\nplace = holder.name",
    "logdir_cell": "%%tfprofile --view none --logdir '{place}/my logs'\nmodel.fit(x, y, verbose=0);",
    "read_logdir": "import glob\nprint(len(glob.glob(place + '/my logs/plugins/profile/*/*.xplane.pb')))",
    "bounded": "%%tfprofile --view none -o b --max-seconds 0.2\nimport time\nmodel.fit(x, y, verbose=0)\ntime.sleep(0.5)",
    "read_bounded": "print(b.capture.outcome, b.notices)",
    "help": "%%tfprofile --help",
    "help_above_code": "%%tfprofile --help\nran = True",
    "help_ran_nothing": "print('ran' in globals())",
    "question": "%%tfprofile?",
    "unknown_option": "%%tfprofile --nonsense 3\n1",
    "empty_steps": "%%tfprofile --steps 5:5\n1",
    "bad_name": "%%tfprofile -o 9lives\n1",
    "statement_above": "%%tfprofile model.fit()\n1",
    "no_statement": "%tfprofile --no-system",
    "wrapped": "print('tfprof' in keras.Model.fit.__code__.co_filename, os.getcwd(), os.listdir())",
    "unload": "%unload_ext tfprof_widgets",
    "unloaded": "%%tfprofile\n1",
}


class Cells:
    """The executed cells by their names above."""

    def __init__(self, cells: dict[str, Any]) -> None:
        self._cells = cells

    def number(self, name: str) -> int:
        return int(self._cells[name].execution_count)

    def outputs(self, name: str, kind: str) -> list[Any]:
        return [output for output in self._cells[name].outputs if output.output_type == kind]

    def stdout(self, name: str) -> str:
        assert not self.outputs(name, "error"), self.error(name)
        return text_of(self._cells[name], "stdout").strip()

    def usage_error(self, name: str) -> str:
        return usage_error(self._cells[name])

    def error(self, name: str) -> str:
        (error,) = self.outputs(name, "error")
        return "\n".join(error.traceback)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Cells:
    return Cells(executed_cells(CELLS, tmp_path_factory.mktemp("magics")))


def test_a_view_that_is_chosen_once_is_that_of_the_cells_below(cells: Cells) -> None:
    (told,) = cells.outputs("choose_view", "display_data")
    assert told.data["text/plain"] == "Cells that name no view display compact from now on."
    shown = [output.data["text/plain"] for output in cells.outputs("chosen_view", "display_data")]
    assert [".Compact object" in text for text in shown if text] == [True]


def test_variables_strings_and_the_last_value_are_as_without_the_magic(cells: Cells) -> None:
    (result,) = cells.outputs("variables", "execute_result")
    assert "second" in result.data["text/plain"]
    assert result.execution_count == cells.number("variables")
    assert cells.stdout("read") == "['first', '  second', '%%third'] 1 [0, 1, 2, 3, 4] True"


def test_a_value_is_shown_where_the_cell_has_one_and_no_semicolon(cells: Cells) -> None:
    for name in ("quiet", "statements"):
        assert cells.outputs(name, "execute_result") == []
    assert cells.outputs("quiet", "error") == []
    assert cells.stdout("statements") == "0\n1\n2"
    (result,) = cells.outputs("nested_magic", "execute_result")
    assert result.data["text/plain"] == "['hello']", "magics and shell lines work inside"


def test_a_failing_cell_fails_once_with_the_line_numbers_of_the_cell(cells: Cells) -> None:
    (error,) = cells.outputs("error", "error")
    assert (error.ename, error.evalue) == ("ValueError", "from line five")
    text = plain(cells.error("error"))
    number = cells.number("error")
    assert text.count("Traceback (most recent call last)") == 1
    assert f"Cell In[{number}], line 7" in text
    assert f"Cell In[{number}], line 5, in inner()" in text
    assert "----> 5     raise ValueError('from line five')" in text
    assert "tfprof_widgets/" not in text, "our own frames are hidden"
    assert cells.stdout("after_error") == "exception [0, 1, 2, 3, 4] failed # Profile", "what ran before it is kept"
    syntax = plain(cells.error("syntax"))
    assert "SyntaxError" in syntax
    assert f"Cell In[{cells.number('syntax')}], line 3" in syntax


def test_a_top_level_await_gets_a_remedy(cells: Cells) -> None:
    text = cells.usage_error("await")
    assert "Line 3 awaits" in text
    assert "with tfprof_widgets.profile()" in text


def test_options_select_steps_name_a_folder_and_bound_the_capture(cells: Cells) -> None:
    assert cells.stdout("read_selected") == "[2, 3] 0"
    assert cells.stdout("read_every") == "[0, 2, 4]"
    assert cells.stdout("read_logdir") == "1", "blanks and variables"
    text = cells.stdout("read_bounded")
    assert text.startswith("bounded")
    assert "%%tfprofile --steps" in text


def test_the_line_magic_runs_a_statement_unchanged_where_it_stands_and_gives_its_value(cells: Cells) -> None:
    for name, value in (("line", "True"), ("assigned", "42")):
        (result,) = cells.outputs(name, "execute_result")
        assert result.data["text/plain"] == value
    assert cells.stdout("read_line") == "[0, 1, 2, 3, 4] line_profile True"


def test_the_source_of_a_function_defined_under_the_magic_can_be_found(cells: Cells) -> None:
    assert cells.stdout("source") == "def visible():\n    return 'its source'"


def test_help_prints_the_options_and_runs_nothing(cells: Cells) -> None:
    for name in ("help", "help_above_code"):
        (shown,) = cells.outputs(name, "display_data")
        assert "--max-seconds" in shown.data["text/plain"]
    assert cells.stdout("help_ran_nothing") == "False"
    assert cells.outputs("question", "error") == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("unknown_option", "--nonsense"),
        ("empty_steps", "selects no step"),
        ("bad_name", "9lives"),
        ("statement_above", "model.fit()"),
        ("no_statement", "needs a statement"),
    ],
)
def test_a_wrong_option_is_one_line_that_says_what_to_give(cells: Cells, name: str, words: str) -> None:
    assert words in cells.usage_error(name)


def test_nothing_is_left_behind_and_unloading_takes_the_magic_out(cells: Cells) -> None:
    assert cells.stdout("wrapped").startswith("False")
    assert cells.stdout("wrapped").endswith("[]")
    assert "not found" in cells.usage_error("unloaded")


def test_a_failing_cell_stops_run_all(tmp_path: Path) -> None:
    failing = "%%tfprofile --view none\nraise RuntimeError('stop here')"
    with pytest.raises(CellExecutionError, match="stop here"):
        executed_cells({"load": "%load_ext tfprof_widgets", "failing": failing}, tmp_path, allow_errors=False)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_interrupting_the_kernel_keeps_what_was_captured_and_the_next_capture_works(tmp_path: Path) -> None:
    # Once steps run: TensorFlow turns an interrupt while it traces into a RuntimeError of its own.
    begun = "keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: epoch == 1 and print('begun'))"
    long = f"%%tfprofile --view none -o p\nmodel.fit(x, y, epochs=100000, verbose=0, callbacks=[{begun}])"
    facts = "import json\nprint(json.dumps([p.capture.outcome, numbers(p)]))"
    with started_kernel(tmp_path) as (manager, client):
        printed(client, SET_UP)
        errors = []
        for message in messages(client, client.execute(long)):
            if message["content"].get("text", "").startswith("begun"):
                time.sleep(1.0)
                manager.interrupt_kernel()
            if message["msg_type"] == "error":
                errors.append(message["content"]["ename"])
        assert errors == ["KeyboardInterrupt"]
        outcome, steps = json.loads(printed(client, facts))
        assert outcome == "interrupted"
        assert len(steps) > 1
        assert steps == list(range(len(steps)))
        printed(client, "%%tfprofile --view none -o p\nmodel.fit(x, y, verbose=0);")
        assert json.loads(printed(client, facts)) == ["complete", [0, 1, 2, 3, 4]]
