"""Commands on one run, on two and on the machine: they print and write what a notebook has, and end with a status."""

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
from tests.unit.export.duckdb_needed import needs_duckdb
from tests.unit.export.pprof_reader import read_pprof
from tfprof_widgets.analysis import MachineLoad, RunDiff
from tfprof_widgets.capture import Check
from tfprof_widgets.cli import QUANTITY, names
from tfprof_widgets.comparing import diff
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


def steady(ms: float) -> list[int]:
    """Thirty steps of about so many milliseconds, in microseconds."""
    return (ms * 1000 + np.random.default_rng(0).normal(0, 2, 30)).astype(int).tolist()


def noisy(ms: float, seed: int) -> list[int]:
    """Eight steps that differ by half."""
    return (ms * 1000 * np.random.default_rng(seed).uniform(0.7, 1.3, 8)).astype(int).tolist()


def test_without_a_limit_it_only_tells(tfprof: Shell, drawn: Drawn) -> None:
    a, b = drawn("a", steady(10)), drawn("b", steady(20))
    told = tfprof("diff", a, b)
    assert (told.status, told.err) == (0, "")
    _, *rest = str(diff(load_profile(a), load_profile(b))).split("\n")
    assert told.out.splitlines() == ["a.xplane.pb (a) -> b.xplane.pb (b)", *rest]
    found = tfprof("diff", a, b, "--json").value
    assert (found["a"], found["b"]) == ("a.xplane.pb", "b.xplane.pb")
    assert (found["fail_above"], found["is_above"]) == (None, None)


@pytest.mark.parametrize(
    ("a", "b", "named"),
    [
        ("good", "now", ("good", "now")),
        ("./logs/good/", "./logs/now", ("good", "now")),
        ("/runs/before/logs", "/runs/after/logs", ("before", "after")),
        ("runs/2/a.xplane.pb", "runs/10/b.xplane.pb", ("2/a.xplane.pb", "10/b.xplane.pb")),
        ("gs://one/run", "gs://two/run", ("one", "two")),
        ("logs", "logs/second", ("logs", "logs/second")),
        ("logs/run", "logs/second/run", ("logs/run", "logs/second/run")),
        ("logs", "logs/", ("logs", "logs/")),
    ],
)
def test_runs_are_called_by_what_tells_their_paths_apart(a: str, b: str, named: tuple[str, str]) -> None:
    assert names(a, b) == named


def test_saved_runs_are_called_by_their_paths(tfprof: Shell, drawn: Drawn, tmp_path: Path) -> None:
    for name, ms in (("before", 10), ("after", 20)):
        saved = load_profile(drawn(name, steady(ms)))
        saved.title = "profile"
        saved.save(tmp_path / name / "logs")
    told = tfprof("diff", tmp_path / "before" / "logs", tmp_path / "after" / "logs").out
    assert told.startswith("before (a) -> after (b)\n")


def test_the_limit_is_on_the_median_time_of_comparable_steps(tfprof: Shell, drawn: Drawn) -> None:
    a, slower = drawn("a", steady(10)), drawn("slower", steady(16))
    told = tfprof("diff", a, slower, "--fail-above", "1.05")
    assert told.status == 1
    assert "Step time, the median of comparable steps: 10.0 ms (a, 30 steps) -> 16.0 ms (b, 30 steps), x1.6" in told.out
    assert told.out.endswith("Above the limit of x1.05, by more than noise.\n")
    assert tfprof("diff", a, slower, "--fail-above", "1.8").status == 0
    within = tfprof("diff", slower, a, "--fail-above", "1.05").out
    assert within.endswith("Within the limit of x1.05, with all that noise may hide.\n")
    found = tfprof("diff", a, slower, "--fail-above", "1.05", "--json")
    assert found.status == 1
    value = found.value
    assert (value["quantity"], value["is_above"], value["is_beyond_noise"]) == (QUANTITY, True, True)
    assert value["ratio"] == pytest.approx(1.6, rel=1e-3)
    assert value["interval_95"][0] < value["ratio"] < value["interval_95"][1]
    times = {row["metric"]: (row["a"], row["b"]) for row in value["summary"]}
    assert value["ratio"] == pytest.approx(times["step_time"][1] / times["step_time"][0])


def test_one_long_step_does_not_fail_a_build(tfprof: Shell, drawn: Drawn) -> None:
    times = steady(10)
    times[7] *= 40
    assert tfprof("diff", drawn("a", steady(10)), drawn("b", times), "--fail-above", "1.2").status == 0


@pytest.mark.parametrize("limit", ["1.01", "1.1"])
def test_noise_on_both_sides_of_the_limit_cannot_be_told(tfprof: Shell, drawn: Drawn, limit: str) -> None:
    for a, b in (
        (drawn("a", noisy(10, 1)), drawn("b", noisy(11.5, 2))),
        (drawn("c", steady(10)), drawn("d", noisy(9, 3))),
    ):
        told = tfprof("diff", a, b, "--fail-above", limit)
        assert told.status == 3
        assert f"Cannot tell whether it is above the limit of x{limit}: the interval has it inside." in told.out
        found = tfprof("diff", a, b, "--fail-above", limit, "--json")
        assert (found.status, found.value["is_above"], found.value["is_beyond_noise"]) == (3, None, False)
        assert found.value["judgement"].startswith("Step time, the median of comparable steps: ")


@pytest.mark.parametrize(("busy", "status"), [("a", 3), ("b", 3), ("", 0)])
def test_a_run_that_other_programs_disturbed_passes_no_build(
    busy: str, status: int, tfprof: Shell, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program got slower, but the baseline is from a busy machine: the ratio alone would pass."""
    loads = tuple(MachineLoad(2, 0.5, 1.4 if name == busy else 0.02) for name in "ab")
    monkeypatch.setattr(RunDiff, "loads", loads)
    told = tfprof("diff", drawn("a", steady(10)), drawn("b", steady(7.4)), "--fail-above", "1.5")
    assert told.status == status
    words = f"other programs used 1.40 of 2 cores during {busy}. Run it again on a free machine."
    assert (words in told.out) is bool(busy)


def test_few_steps_pass_no_build(tfprof: Shell, drawn: Drawn) -> None:
    few, many = drawn("few", steady(10)[:3]), drawn("many", steady(20))
    for runs in ((few, many), (many, few)):
        told = tfprof("diff", *runs, "--fail-above", "1.05")
        assert f"takes 6 comparable steps in each run, and there are 3 in {few}: capture more" in told.refused()
        in_json = tfprof("diff", *runs, "--fail-above", "1.05", "--json")
        assert in_json.refused_in_json() == told.refused()
    found = tfprof("diff", few, many, "--json").value
    assert (found["is_beyond_noise"], found["interval_95"]) == (None, [None, None])


def test_runs_without_steps_cannot_be_judged(tfprof: Shell, drawn: Drawn) -> None:
    none, other, some = drawn("none", []), drawn("other", []), drawn("some", steady(10))
    assert f"there are none in {none}:" in tfprof("diff", none, some, "--fail-above", "1.05").refused()
    assert (
        f"there are none in {none}:" in tfprof("diff", some, none, "--fail-above", "1.05", "--json").refused_in_json()
    )
    assert f"{none} and in {other}:" in tfprof("diff", none, other, "--fail-above", "1.05").refused()
    assert tfprof("diff", none, some).status == 0


def test_real_runs(tfprof: Shell, capture_of: Callable[[str], Path]) -> None:
    a, b = capture_of("keras_fit"), capture_of("h100_resnet_xla")
    found = tfprof("diff", a, b, "--fail-above", "1.05", "--json")
    assert found.status == 1
    assert found.value["ratio"] == diff(load_profile(a), load_profile(b)).step_time_ratio
    assert tfprof("diff", a, a, "--fail-above", "1").status == 3  # the same cannot be told from a little slower


def test_a_path_that_is_no_run_is_named(tfprof: Shell, drawn: Drawn, tmp_path: Path) -> None:
    some = drawn("some", steady(10))
    assert str(tmp_path / "gone") in tfprof("diff", some, tmp_path / "gone").refused()
    assert str(tmp_path / "gone") in tfprof("diff", tmp_path / "gone", some).refused()


def test_without_a_query_it_lists_the_tables(tfprof: Shell, run: Path) -> None:
    told = tfprof("sql", run)
    assert (told.status, told.out) == (0, f"{load_profile(run).tables}\n")
    rows = tfprof("sql", run, "--json").value
    assert {"table": "steps", "column": "start_ms", "type": "float", "unit": "milliseconds"}.items() <= next(
        row for row in rows if (row["table"], row["column"]) == ("steps", "start_ms")
    ).items()


@needs_duckdb
def test_rows(tfprof: Shell, run: Path) -> None:
    query = "select step, step_time_ms from steps order by step limit 2"
    steps = load_profile(run).steps.head(2)
    found = tfprof("sql", run, query, "--json").value
    assert found == [
        {"step": step, "step_time_ms": ms} for step, ms in zip(steps["step"], steps["step_time_ms"], strict=True)
    ]
    told = tfprof("sql", run, query)
    assert told.out.splitlines()[0].split() == ["step", "step_time_ms"]
    assert len(told.out.splitlines()) == 3


@needs_duckdb
def test_a_query_that_means_nothing(tfprof: Shell, run: Path) -> None:
    assert 'Referenced column "nam" not found' in tfprof("sql", run, "select nam from ops").refused()
    assert "one SELECT statement" in tfprof("sql", run, "drop table ops").refused()


@pytest.mark.parametrize(("status", "expected"), [("ok", 0), ("unknown", 0), ("warning", 1)])
def test_doctor(tfprof: Shell, monkeypatch: pytest.MonkeyPatch, status: str, expected: int) -> None:
    checks = (Check("python", "ok", "3.12"), Check("gpu\x1b[2J", status, "none", "buy one"))  # type: ignore[arg-type]
    monkeypatch.setattr("tfprof_widgets.capture.checks.all_checks.run_all_checks", lambda: checks)
    told = tfprof("doctor")
    assert (told.status, told.err) == (expected, "")
    assert told.out.splitlines()[0].split() == ["ok", "python", "3.12"]
    assert told.out.endswith(r"gpu\x1b[2J  none -> buy one" + "\n")
    found = tfprof("doctor", "--json")
    assert found.status == expected
    assert found.value["is_ok"] is (expected == 0)
    assert found.value["checks"][1] == {"check": "gpu\x1b[2J", "status": status, "value": "none", "remedy": "buy one"}


def test_doctor_of_this_machine(tfprof: Shell) -> None:
    told = tfprof("doctor", "--json")
    assert told.status in (0, 1)
    assert told.value["checks"][0]["check"] == "python"
