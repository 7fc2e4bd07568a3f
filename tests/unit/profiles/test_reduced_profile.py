"""What leaves a reduced profile: files, texts and displays, each right or saying what it lacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.two_hosts import BARE, FULL, write_two_hosts
from tfprof_widgets.analysis import MOST
from tfprof_widgets.errors import TfProfError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_two_hosts(tmp_path_factory.mktemp("reduced_two_hosts"))


@pytest.fixture(scope="module")
def prof(run: Path) -> Iterator[tfprof.Profile]:
    with ThreadPoolExecutor(1) as executor:
        yield tfprof.load(run, executor=executor)


@pytest.fixture(scope="module")
def whole(run: Path) -> tfprof.Profile:
    return tfprof.load(run)


def test_its_name_says_that_it_is_reduced_and_counts_the_events_of_the_files(
    prof: tfprof.Profile, whole: tfprof.Profile
) -> None:
    assert f"reduced, 2 hosts, 16 steps, 9.5 ms a step, {whole.trace.n_events} events" in repr(prof)


def test_the_summary_and_the_report_have_the_figures_of_the_whole_profile(
    prof: tfprof.Profile, whole: tfprof.Profile
) -> None:
    assert prof.notices[0].startswith("Reduced profile of 2 hosts")
    assert prof.notices[0] in prof.text()
    assert whole.overview.verdict in prof.text()
    report = prof.report()
    assert whole.overview.verdict in report
    assert "prof.memory.held_at_peak(allocator)" in report
    assert len(report.encode()) <= 20_000


def test_what_was_cut_is_told_however_many_warnings_the_traces_have(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MOST, "host_pieces", 1)
    monkeypatch.setattr("tfprof_widgets.profiled_run._MOST_WARNINGS", 0)
    with ThreadPoolExecutor(1) as executor:
        prof = tfprof.load(run, executor=executor)
    assert any("outlines" in notice for notice in prof.notices)


def test_tables_are_written_and_those_that_need_events_are_empty(
    prof: tfprof.Profile, whole: tfprof.Profile, tmp_path: Path
) -> None:
    directory = prof.to_csv(tmp_path / "tables")
    index = json.loads((directory / "index.json").read_text())["tables"]
    assert index["memory_timeline"]["n_rows"] == 0
    assert index["memory_peak"]["n_rows"] > 0
    ops = pd.read_csv(directory / "ops.csv")
    assert ops["occurrences"].tolist() == whole.ops["occurrences"].tolist()


def test_saving_keeps_the_files_whole(prof: tfprof.Profile, whole: tfprof.Profile, tmp_path: Path) -> None:
    again = tfprof.load(prof.save(tmp_path / "saved"))
    assert again.has_events
    assert again.trace.n_events == whole.trace.n_events


def test_a_chrome_trace_has_what_the_timeline_shows(prof: tfprof.Profile, tmp_path: Path) -> None:
    again = tfprof.load(prof.to_chrome_trace(tmp_path / "reduced.json"))
    assert again.trace.n_events == prof.trace.n_events
    assert any("Reduced profile" in text for text in again.notices)


def test_costs_by_structure_have_the_time_of_the_whole_profile(
    prof: tfprof.Profile, whole: tfprof.Profile, tmp_path: Path
) -> None:
    for view in ("scope", "op"):
        mine, theirs = (one.tree(view) for one in (prof, whole))
        assert mine["total_micros"].iloc[0] == pytest.approx(theirs["total_micros"].iloc[0], abs=2)
    assert prof.to_pprof(tmp_path / "costs.pb.gz", "scope").stat().st_size > 0


@pytest.mark.parametrize(
    "table",
    [
        lambda selected: selected.ops,
        lambda selected: selected.kernels,
        lambda selected: selected.hlo_ops,
        lambda selected: selected.layers,
        lambda selected: selected.scopes,
        lambda selected: selected.source_lines,
    ],
    ids=["ops", "kernels", "hlo_ops", "layers", "scopes", "source_lines"],
)
def test_a_range_of_time_needs_one_host(table: Callable[[object], pd.DataFrame], prof: tfprof.Profile) -> None:
    with pytest.raises(TfProfError, match=r"a reduced profile has no single executions.*prof\.host\('worker-0'\)"):
        table(prof.select(time_range=(0, 1_000_000)))


def test_steps_of_a_range_are_known(prof: tfprof.Profile, whole: tfprof.Profile) -> None:
    mine, theirs = (one.select(time_range=(0, 15_000_000)).steps for one in (prof, whole))
    assert mine["name"].tolist() == theirs["name"].tolist()


def test_comparing_names_what_to_compare_instead(prof: tfprof.Profile, whole: tfprof.Profile) -> None:
    with pytest.raises(TfProfError, match=r"b is a reduced profile.*tfprof\.diff\(a\.host\(name\), b\.host\(name\)\)"):
        tfprof.diff(whole, prof)


def test_hosts_tell_where_their_files_are(prof: tfprof.Profile, run: Path) -> None:
    assert sorted(prof.hosts["host"]) == sorted([FULL, BARE])
    assert {Path(path).parent for path in prof.hosts["path"]} == {run}


def test_aligned_clocks_make_a_reduced_profile_again(prof: tfprof.Profile) -> None:
    aligned = prof.aligned()
    assert not aligned.has_events
    assert len(aligned.steps) == len(prof.steps)
    assert "reduced, 2 hosts" in repr(aligned)


def test_a_dashboard_opens(prof: tfprof.Profile) -> None:
    assert prof.dashboard() is not None
