"""This Python and its packages -> what works with them: a training captured, opened again, shown, and captures of others read."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import tfprof_widgets as tfprof
from tests.captures import committed
from tfprof_widgets.capture import version_checks

SHOWN_VERSIONS = (
    "python",
    "tensorflow",
    "keras",
    "numpy",
    "pandas",
    "protobuf",
    "ipywidgets",
    "anywidget",
    "bokeh",
    "ipython",
)
READ = ("keras_fit", "xla_fit", "h100_lstm", "v100")
"""Captures of `tests/data`: their tables have all columns between them."""
N_STEPS = 12
N_VIEWS = 15
"""So many and more widgets a dashboard has."""
ASKED = """
data, sent = tfprof.load('shown').dashboard().data, []
data.comm.send = lambda data=None, metadata=None, buffers=None: sent.append(data["content"]["kind"])
ask = {"kind": "parts?", "keys": [data.payload.late_keys[0]]}
data._handle_msg({"content": {"data": {"method": "custom", "content": ask}}, "buffers": []})
sent[0]
"""
"""What a view asks its kernel for, as the version of ipywidgets hands it over."""
LEAST_PAGE_BYTES = 150_000
LONGEST_MS = 120_000
"""The machine is sampled in the time of the trace: no sample is further from its begin than the capture can have lasted."""


class Shown:
    """What is asked of a row, each method a check; those below use what those above made."""

    def __init__(self, folder: Path, answer: Path) -> None:
        self.folder, self.answer = folder, answer
        self.digests: dict[str, str] = {}
        self.fitted: Any = None
        self.looped: Any = None

    def doctor(self) -> None:
        """No version is called too old or missing."""
        wrong = [check for check in version_checks() if check.status != "ok"]
        assert not wrong, wrong
        assert str(tfprof.doctor())

    def capture(self) -> None:
        """`fit`, and a loop of one's own."""
        import tensorflow as tf

        keras = tf.keras
        data = tf.data.Dataset.from_tensors((tf.ones((8, 16)), tf.ones((8, 1)))).repeat(N_STEPS)
        model = keras.Sequential(
            [keras.layers.Input((16,)), keras.layers.Dense(32, name="wide"), keras.layers.Dense(1)]
        )
        model.compile("sgd", "mse")
        model.fit(data, verbose=0)
        with tfprof.profile(logdir=self.folder / "fit") as self.fitted:
            model.fit(data, verbose=0)
        step = tf.function(lambda batch: tf.reduce_sum(model(batch[0])))
        with tfprof.profile() as self.looped:
            for batch in tfprof.trace_steps(data):
                step(batch)
        for prof in (self.fitted, self.looped):
            assert len(prof.steps) == N_STEPS, prof.steps
            assert set(prof.steps["source"]) == {"marker"}
            assert len(prof.source_lines)
            assert prof.system["time_ms"].abs().max() < LONGEST_MS, prof.system["time_ms"]
        assert "wide" in " ".join(self.fitted.layers["layer"]), self.fitted.layers

    def load(self) -> None:
        """The log directory, a saved profile and a Chrome trace give the steps back."""
        steps = self.fitted.steps
        self.fitted.save(self.folder / "saved")
        self.fitted.to_chrome_trace(self.folder / "trace.json.gz")
        for place in ("fit", "saved", "trace.json.gz"):
            assert tfprof.load(self.folder / place).steps["step_time_ms"].tolist() == steps["step_time_ms"].tolist(), (
                place
            )

    def tables(self) -> None:
        """Every table, summary, advice and report, and what others read."""
        for prof in (self.fitted, self.looped):
            prof.to_csv(self.folder / "csv")
            prof.to_pprof(self.folder / "costs.pb.gz")
            assert prof.text()
            assert prof.report()
            assert prof.overview.verdict
            assert len(prof.advice_table) == len(prof.advice)
            assert len(prof.tree("scope"))
        assert tfprof.diff(self.fitted, self.looped).verdict

    def page(self) -> None:
        """The dashboard, as widgets and as a page."""
        assert self.fitted.dashboard().model_id
        for prof, name in ((self.fitted, "fit.html"), (tfprof.diff(self.fitted, self.looped), "diff.html")):
            assert prof.to_html(self.folder / name).stat().st_size > LEAST_PAGE_BYTES

    def notebook(self) -> None:
        """The quickstart runs in a kernel of this Python and writes its page."""
        from tools.demo import execute, printed

        page = self.folder / "quickstart.html"
        executed = execute(page)
        assert page.stat().st_size > LEAST_PAGE_BYTES
        assert "ms a step" in printed(executed.cells[-1]), executed.cells[-1]
        kinds = {kind for cell in executed.cells for one in cell.get("outputs", ()) for kind in one.get("data", ())}
        assert {"application/vnd.jupyter.widget-view+json", "text/html"} <= kinds, kinds

    def saved(self) -> None:
        """A notebook shows the dashboard of a capture, whose kernel answers, and saves what a front end draws without one."""
        import nbformat
        from nbclient import NotebookClient

        committed.unpack("keras_fit", self.folder / "shown")
        code = "import tfprof_widgets as tfprof\ntfprof.load('shown').dashboard()"
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in (code, ASKED)])
        place = {"metadata": {"path": str(self.folder)}}
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
        assert len(notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]) > N_VIEWS
        assert notebook.cells[1].outputs[0]["data"]["text/plain"] == "'part'", notebook.cells[1].outputs
        nbformat.write(notebook, self.answer.with_suffix(".ipynb"))

    def captures(self) -> None:
        """Captures that others made have tables; whether they are those of other versions the caller finds out."""
        for name in READ:
            committed.unpack(name, self.folder / name)
            written = tfprof.load(self.folder / name).to_csv(self.folder / f"{name}.csv")
            for table in sorted(written.glob("*.csv")):
                self.digests[f"{name}/{table.stem}"] = hashlib.sha256(table.read_bytes()).hexdigest()


CHECKS = ("doctor", "capture", "load", "tables", "page", "notebook", "saved", "captures")


def main(answer: Path) -> None:
    """Write what passed, what failed and how, and the versions that it was with."""
    passed, failures = [], {}
    with tempfile.TemporaryDirectory() as folder:
        shown = Shown(Path(folder), answer)
        for name in CHECKS:
            try:
                getattr(shown, name)()
            except Exception:
                failures[name] = traceback.format_exc(limit=-4)
            else:
                passed.append(name)
    versions = {name: importlib.metadata.version(name) for name in SHOWN_VERSIONS[1:]}
    versions["python"] = platform.python_version()
    if "TF_USE_LEGACY_KERAS" in os.environ:
        versions["keras"] = importlib.metadata.version("tf_keras")
    told = {"versions": versions, "passed": passed, "failures": failures, "digests": shown.digests}
    answer.write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
