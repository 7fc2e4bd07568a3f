"""doctor() in a real kernel: what it says before and after TensorFlow starts, and of sessions that run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.notebook.committed import text_of, usage_error
from tests.notebook.kernels import executed_cells
from tests.warm_process import run_python

pytestmark = pytest.mark.tensorflow

CELLS = {
    "set_up": """
import json, os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ.pop("TF_CPU_ALLOCATOR_USE_BFC", None)
import tfprof_widgets as tfprof
def tell(*names):
    found = {check.name: [check.status, check.value] for check in tfprof.doctor().checks}
    print(json.dumps({name: found[name] for name in names}))""",
    "front_end": "tell('front_end', 'page_widgets')",
    "import": "import tensorflow as tf\nfrom tensorflow.python.eager import context",
    "imported": "tell('tensorflow', 'gpu', 'profiler_session', 'cpu_memory')",
    "not_started": "print(json.dumps(context.context_safe() is None or not context.context()._initialized))",
    "extension": "%load_ext tfprof_widgets",
    "extended": "tell('cpu_memory')",
    "started": "tf.constant([1.0] * 1000) + 1\ntell('cpu_memory', 'profiler_session')",
    "python_session": """
tf.profiler.experimental.start("session")
tell('profiler_session')
tell('profiler_session')
tf.profiler.experimental.stop(save=False)
tell('profiler_session')""",
    "other_session": """
from tensorflow.python.profiler.internal import _pywrap_profiler
session = _pywrap_profiler.ProfilerSession()
session.start("", {})
tell('profiler_session')
session.stop()
tell('profiler_session')""",
    "our_session": "with tfprof.profile() as prof:\n    tell('profiler_session')\n    tf.constant(1.0) + 1",
    "free": """
tfprof.doctor()
tf.profiler.experimental.start("session")  # raises where a session runs
tf.profiler.experimental.stop(save=False)
print(json.dumps("free"))""",
    "line_magic": "%tfprofile --check\n1 + 1",
    "cell_magic": "%%tfprofile --check",
    "with_code": "%%tfprofile --check\nran = True",
    "with_statement": "%tfprofile --check ran = True",
    "shown": "tfprof.doctor()",
}
TELL = """
import json, tfprof_widgets as tfprof
print(json.dumps({c.name: [c.status, c.value, c.remedy] for c in tfprof.doctor().checks}))"""
WITHOUT_ONEDNN = f"""
import os
os.environ.pop("TF_CPU_ALLOCATOR_USE_BFC", None)
import tensorflow as tf
tf.constant([1.0] * 1000) + 1
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance().run_line_magic("load_ext", "tfprof_widgets")
{TELL}"""


def lines(cell: Any) -> list[Any]:
    errors = ["\n".join(output.traceback) for output in cell.outputs if output.output_type == "error"]
    assert not errors, errors
    return [json.loads(line) for line in text_of(cell, "stdout").splitlines()]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return executed_cells(CELLS, tmp_path_factory.mktemp("doctor"))


def statuses(cell: Any, name: str) -> list[str]:
    return [line[name][0] for line in lines(cell)]


def test_a_kernel_without_a_page_is_no_terminal(cells: dict[str, Any]) -> None:
    (found,) = lines(cells["front_end"])
    assert "plain Python" not in found["front_end"][1]
    assert found["page_widgets"][0] in ("ok", "unknown")


def test_an_imported_tensorflow_is_asked_and_not_started(cells: dict[str, Any]) -> None:
    (found,) = lines(cells["imported"])
    assert found["tensorflow"][0] == "ok"
    assert found["profiler_session"] == ["ok", "none is running"]
    assert found["cpu_memory"][0] == "warning"
    assert lines(cells["not_started"]) == [True]


def test_memory_is_recorded_when_the_extension_comes_before_the_first_op(cells: dict[str, Any]) -> None:
    (before,) = lines(cells["extended"])
    assert before["cpu_memory"][0] == "ok"
    assert "will be recorded" in before["cpu_memory"][1]
    (after,) = lines(cells["started"])
    assert after["cpu_memory"] == ["ok", "recorded"]


def test_memory_is_not_recorded_when_the_extension_comes_later() -> None:
    done = run_python(WITHOUT_ONEDNN, TF_ENABLE_ONEDNN_OPTS="0")
    assert done.returncode == 0, done.stderr[-3000:]
    status, value, remedy = json.loads(done.stdout)["cpu_memory"]
    assert status == "warning"
    assert value.startswith("not recorded: ")
    assert "set too late" in value
    assert "%load_ext tfprof_widgets" in remedy


def test_sessions_are_told_and_left_as_they_are(cells: dict[str, Any]) -> None:
    assert statuses(cells["python_session"], "profiler_session") == ["warning", "warning", "ok"]
    assert "left a session running" in lines(cells["python_session"])[0]["profiler_session"][1]
    assert statuses(cells["other_session"], "profiler_session") == ["warning", "ok"]
    assert "without a Python name" in lines(cells["other_session"])[0]["profiler_session"][1]
    assert "a tfprof capture is running" in lines(cells["our_session"])[0]["profiler_session"][1]
    assert lines(cells["free"]) == ["free"]


@pytest.mark.parametrize("name", ["line_magic", "cell_magic"])
def test_the_magic_shows_the_report(cells: dict[str, Any], name: str) -> None:
    shown = [output for output in cells[name].outputs if output.output_type == "display_data"]
    assert len(shown) == 1
    assert "cpu_memory" in shown[0].data["text/plain"]
    assert '<table class="tfprof-doctor">' in shown[0].data["text/html"]


@pytest.mark.parametrize("name", ["with_code", "with_statement"])
def test_the_magic_refuses_code_that_it_would_not_run(cells: dict[str, Any], name: str) -> None:
    assert usage_error(cells[name]).startswith("UsageError: --check runs no code")


def test_a_report_is_a_table_with_text_beside_it(cells: dict[str, Any]) -> None:
    (output,) = cells["shown"].outputs
    assert output.output_type == "execute_result"
    assert set(output.data) == {"text/plain", "text/html"}
    assert len(output.data["text/plain"].splitlines()) == output.data["text/html"].count('scope="row"')
