"""`summary`, `report`, `html`, `export` and `sql` on a real capture: what they print and write is what a notebook has."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.unit.analysis.watched.drawn_steps import steps
from tests.unit.cli.shell import Shell
from tests.unit.export.pprof_reader import read_pprof
from tfprof_widgets.loading import load_profile
from tfprof_widgets.read import WatchWriter

Drawn = Callable[[str, Sequence[int]], Path]


@pytest.fixture
def quiet_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_summary(tfprof: Shell, run: Path) -> None:
    prof = load_profile(run)
    told = tfprof("summary", run)
    assert (told.status, told.out, told.err) == (0, f"{prof.text()}\n", "")
    found = tfprof("summary", run, "--json").value
    assert found["step_time_ms"]["mean"] == prof.overview.step_time_avg_ms
    assert found["n_steps"] == len(prof.steps) == 8
    assert found["verdict"] == prof.overview.verdict
    assert [one["rule"] for one in found["advice"]] == [one.rule for one in prof.advice]
    assert sum(one["ms"] for one in found["breakdown"]) == pytest.approx(prof.overview.step_time_avg_ms)


def test_report(tfprof: Shell, run: Path) -> None:
    prof = load_profile(run)
    told = tfprof("report", run)
    assert (told.status, told.out, told.err) == (0, f"{prof.report()}\n", "")
    found = tfprof("report", run, "--json").value
    assert [step["step_time_ms"] for step in found["steps"]] == prof.steps["step_time_ms"].tolist()
    assert found["tables"]["ops"]["n_rows"] > len(found["tables"]["ops"]["rows"]) == 20


def test_a_trace_without_steps_has_a_summary_without_times(tfprof: Shell, drawn: Drawn) -> None:
    found = tfprof("summary", drawn("none", []), "--json").value
    assert found["n_steps"] == 0
    assert found["step_time_ms"] is None


def test_html(tfprof: Shell, run: Path, quiet_folder: Path) -> None:
    told = tfprof("html", run)
    assert (told.status, told.out, told.err) == (0, "profile.html\n", "")
    assert (quiet_folder / "profile.html").read_text(encoding="utf-8").startswith("<!")


def test_export_to_chrome_is_opened_again(tfprof: Shell, run: Path, quiet_folder: Path) -> None:
    assert tfprof("export", run, "--to", "chrome").out == "trace.json.gz\n"
    assert json.loads(gzip.decompress((quiet_folder / "trace.json.gz").read_bytes()))["traceEvents"]
    again = tfprof("summary", "trace.json.gz", "--json").value
    assert again["step_time_ms"] == tfprof("summary", run, "--json").value["step_time_ms"]


def test_export_to_pprof_without_call_stacks_is_by_name_scope(tfprof: Shell, run: Path, quiet_folder: Path) -> None:
    assert tfprof("export", run, "--to", "pprof", "-o", "x.pb.gz").out == "x.pb.gz\n"
    written = read_pprof(quiet_folder / "x.pb.gz")
    assert len(written.samples) > 10
    whole = load_profile(run).tree("scope")["total_micros"].iloc[0]
    assert written.totals()["micros"] == pytest.approx(whole, abs=1)


def test_export_of_tables(tfprof: Shell, run: Path, quiet_folder: Path) -> None:
    found = tfprof("export", run, "--to", "csv", "-o", "csv", "--json").value
    assert found["n_bytes"] == sum(file.stat().st_size for file in (quiet_folder / "csv").iterdir())
    assert (quiet_folder / "csv/steps.csv").read_text(encoding="utf-8").count("\n") == 9
    parquet = tfprof("export", run, "--to", "parquet")
    if importlib.util.find_spec("pyarrow") is None:
        assert "`pip install pyarrow` installs it" in parquet.refused()
    else:
        assert parquet.out == "tables\n"
        assert (quiet_folder / "tables/steps.parquet").stat().st_size


@pytest.mark.parametrize("words", [("html",), *(("export", "--to", kind) for kind in ("chrome", "pprof", "csv"))])
def test_a_place_that_cannot_be_written_is_refused(
    tfprof: Shell, drawn: Drawn, words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    told = tfprof(words[0], drawn("small", [1000, 1000]), *words[1:], "-o", tmp_path / "file" / "below").refused()
    assert f"{tmp_path}{os.sep}file" in told
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize("command", ["summary", "html", "sql"])
def test_a_watched_training_has_no_profile_of_its_own(tfprof: Shell, command: str, tmp_path: Path) -> None:
    with closing(WatchWriter(folder := tmp_path / "watched")) as writer:
        writer.add_steps(steps(np.full(40, 4.0)))
    assert "tfprof report tells of it" in tfprof(command, folder).refused()
    assert "tfprof report tells of it" in tfprof("report", folder, "--json").refused_in_json()
    told = tfprof("report", folder)
    assert told.status == 0
    assert told.out.startswith("# ")
