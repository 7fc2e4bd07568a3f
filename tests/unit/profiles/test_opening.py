"""Opening a trace where little is installed, as in a browser's Python: no TensorFlow, nothing compiled of ours, no processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.full_run import PLAIN, write_run
from tests.unit.test_contract import VIEWS

ROOT = Path(__file__).resolve().parents[3]
ABSENT = ("tensorflow", "keras", "psutil", "pynvml", "pyarrow", "xprof", "multiprocessing", "_multiprocessing")
"""Not in Pyodide, or of no use there."""
PROGRAM = f"""
import subprocess, sys, threading
for name in {ABSENT}:
    sys.modules[name] = None
def refuse(*_, **__):
    raise OSError("no processes and no threads here")
subprocess.Popen = threading.Thread.start = refuse
from pathlib import Path
import tfprof_widgets as tfprof
source, out = map(Path, sys.argv[1:])
prof = tfprof.load(source)
tables = [prof.events, prof.steps, prof.ops, prof.kernels, prof.hlo_ops, prof.layers, prof.source_lines, prof.scopes,
    prof.workers, prof.counters, prof.memory.summary, prof.input_pipeline.iterators]
assert all(map(len, tables)), [len(table) for table in tables]
assert prof.text() and not {{"IPython", "ipywidgets", "bokeh", "ssl"}} & sys.modules.keys(), "numbers need no front end"
assert list(prof.flows)
for name in {VIEWS!r}.split():
    getattr(prof, name)()
assert prof.timeline().data.payload.first and prof.overview.verdict and prof.text()
prof.to_html(out / "page.html")
prof.to_html(out / "full.html", embed="full")
prof.to_csv(out / "tables")
for path in (prof.to_chrome_trace(out / "trace.json.gz"), prof.save(out / "run")):
    assert len(tfprof.load(path).events) == len(prof.events), path
print("done", len(prof.events))
"""


@pytest.mark.parametrize("protobuf", ["python", pytest.param("upb", marks=pytest.mark.nightly)])
def test_all_tables_views_and_files_come_without_tensorflow_processes_and_threads(
    tmp_path: Path, protobuf: str
) -> None:
    """With either implementation of protobuf: a browser's Python may have only the one in Python."""
    run = write_run(tmp_path / "in", PLAIN)
    (tmp_path / "out").mkdir()
    env = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": protobuf, "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable,
        "-W",
        "error::DeprecationWarning:tfprof_widgets",
        "-c",
        PROGRAM,
        str(run),
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("done ")


def test_the_package_holds_nothing_compiled() -> None:
    files = [
        path for path in (ROOT / "tfprof_widgets").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert {path.suffix for path in files} <= {".py", ".js", ".css", ".txt", ".sha256", ".typed", ""}
