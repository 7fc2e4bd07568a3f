"""The report of `doctor()`: one line, one line a check, a table, a frame; it never raises and starts nothing."""

from __future__ import annotations

import html
import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.html_reader import Seen
from tfprof_widgets.capture import Check, all_checks, needed_packages, ok, unknown, warning
from tfprof_widgets.notebook import DoctorReport

REPORT = DoctorReport(
    (
        ok("python", "3.12.1"),
        warning("cupti", "it does not load", "pip install cupti"),
        unknown("front_end", "<script>alert(1)</script> & 'co'", 'prof.to_html("<b>.html")'),
    )
)
NAMES = ["python", *needed_packages(), "keras_backend"]
NAMES += ["gpu", "cupti", "gpu_privileges", "gpu_sampling", "cuda_graphs", "profiler_session", "cpu_memory"]
NAMES += ["disk", "cpu_sampling", "front_end", "page_widgets"]


def test_a_report_is_one_line() -> None:
    assert repr(REPORT) == "<DoctorReport: 1 ok, 1 warning (cupti), 1 unknown (front_end)>"
    assert repr(DoctorReport(REPORT.checks[1:2] * 2)) == "<DoctorReport: 2 warnings (cupti, cupti)>"
    assert repr(DoctorReport(())) == "<DoctorReport: no checks>"


def test_only_a_warning_is_not_ok() -> None:
    assert not REPORT.is_ok
    assert DoctorReport((REPORT.checks[0], REPORT.checks[2])).is_ok
    assert DoctorReport(()).is_ok


def test_text_has_one_line_a_check_with_its_remedy() -> None:
    assert str(REPORT).splitlines() == [
        "ok       python     3.12.1",
        "warning  cupti      it does not load -> pip install cupti",
        "unknown  front_end  <script>alert(1)</script> & 'co' -> prof.to_html(\"<b>.html\")",
    ]


def test_the_frame_has_a_row_a_check() -> None:
    frame = REPORT.frame
    assert frame.columns.tolist() == ["check", "status", "value", "remedy"]
    assert frame["check"].tolist() == ["python", "cupti", "front_end"]
    assert frame["status"].tolist() == ["ok", "warning", "unknown"]
    assert frame.loc[0, "remedy"] == ""
    assert DoctorReport(()).frame.columns.tolist() == frame.columns.tolist()


def test_html_shows_the_same_and_nothing_in_it_is_markup() -> None:
    bundle = REPORT._repr_mimebundle_(include=None, exclude=None)
    assert bundle["text/plain"] == str(REPORT)
    page = Seen(bundle["text/html"])
    assert set(page.names) == {"style", "table", "thead", "tbody", "tr", "th", "td", "code"}
    rows = [[check.name, check.status, check.value, check.remedy] for check in REPORT.checks]
    assert [cell for row in page.rows for cell in row] == [
        *REPORT.frame.columns,
        *(text for row in rows for text in row),
    ]
    assert html.escape("<script>") in bundle["text/html"]


def test_every_check_is_made_and_each_that_is_not_ok_has_a_remedy() -> None:
    report = tfprof.doctor()
    assert isinstance(report, tfprof.DoctorReport)
    assert [check.name for check in report.checks] == NAMES
    for check in report.checks:
        assert check.status in ("ok", "warning", "unknown")
        assert check.value, check
        assert (check.status == "ok") == (check.remedy == ""), check


def test_a_check_that_fails_becomes_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Iterable[Check]:
        raise RuntimeError("a broken\ndriver")

    for name in all_checks._GROUPS:
        monkeypatch.setitem(all_checks._GROUPS, name, fail)
    report = tfprof.doctor()
    assert {check.status for check in report.checks} == {"unknown"}
    assert report.checks[0].value == "not checked: RuntimeError: a broken driver"
    assert all(check.remedy for check in report.checks)


QUIET = """
import json, os, sys
os.environ.pop("TF_CPU_ALLOCATOR_USE_BFC", None)
before = dict(os.environ)
import tfprof_widgets as tfprof
report = tfprof.doctor()
heavy = sorted({"tensorflow", "keras", "bokeh", "IPython"} & set(sys.modules))
values = {check.name: check.value for check in report.checks}
print("@@" + json.dumps([heavy, dict(os.environ) == before, [t for t in os.listdir(".")], values]))
"""


def test_nothing_is_imported_set_or_written(tmp_path: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUIET], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    heavy, is_same, files, values = json.loads(done.stdout.rpartition("@@")[2])
    assert (heavy, is_same, files) == ([], True, [])
    assert values["profiler_session"] == "none is running: TensorFlow is not imported"
    assert values["cpu_memory"].startswith("will not be recorded")


def test_a_tensorflow_that_is_not_the_real_one_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hostile:
        """Raises at every look, as half-imported modules of broken installations do."""

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            raise OSError(f"no {name}")

    monkeypatch.setitem(sys.modules, "tensorflow", Hostile())
    report = tfprof.doctor()
    assert {"python", "disk", "front_end"} <= {check.name for check in report.checks}
