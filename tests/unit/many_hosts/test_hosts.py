"""A run of many hosts is reduced, wherever it lies; each host opens in full, and one that cannot be read is named."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.builders import EPOCH_NS, event, line, plane, session, space
from tests.cluster import Cluster, host_name
from tests.fuzz.random_spaces import random_space
from tests.unit.many_hosts.reduced_run import MOST_WHOLE, N_HOSTS, assert_equal
from tfprof_widgets import progress
from tfprof_widgets.analysis import host_file_list
from tfprof_widgets.capture import Answer
from tfprof_widgets.capturing import _profile_of
from tfprof_widgets.errors import TfProfError, TraceError
from tfprof_widgets.export import tables
from tfprof_widgets.read import MOST_NAMED, find


def test_a_run_of_many_hosts_is_reduced_and_one_of_few_is_not(
    run: Path, reduced: tfprof.Profile, tmp_path: Path
) -> None:
    assert not reduced.has_events
    assert len(reduced.trace.planes) >= N_HOSTS
    assert list(dict.fromkeys(reduced.steps["host"])) == [host_name(number) for number in range(N_HOSTS)]
    few = tmp_path / "few"
    few.mkdir()
    for number in range(MOST_WHOLE):
        shutil.copy(run / f"{host_name(number)}.xplane.pb", few)
    assert tfprof.load(few).has_events


def test_logdirs_and_globs_of_many_hosts_are_reduced_too(run: Path, reduced: tfprof.Profile) -> None:
    for path in (run.parents[2], f"{run}/*.xplane.pb"):
        assert_equal(tfprof.load(path), reduced)


@pytest.mark.parametrize("name", ["jax_marked", pytest.param("torch_xla_unmarked", marks=pytest.mark.nightly)])
def test_hosts_of_another_framework_are_told_as_such(
    capture_of: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    path = capture_of(name)
    for number in range(N_HOSTS):
        shutil.copy(path, tmp_path / f"{host_name(number)}.xplane.pb")
    one, many = tfprof.load(path), tfprof.load(tmp_path)
    assert not many.has_events
    assert many.overview.environment.framework == one.overview.environment.framework != "TensorFlow"
    assert many.overview.environment.jax_version == one.overview.environment.jax_version
    # They count steps, which are those of all hosts.
    told = [notice.replace(f"{len(many.steps):,} that", f"{len(one.steps):,} that") for notice in many.notices]
    assert set(one.notices) <= set(told)
    assert many.input_pipeline.verdict == one.input_pipeline.verdict


def test_a_host_of_a_reduced_profile_opens_in_full(run: Path, reduced: tfprof.Profile) -> None:
    host = reduced.host(host_name(7))
    assert host.has_events
    assert host.title == host_name(7)
    alone = tfprof.load(run / f"{host_name(7)}.xplane.pb")
    pd.testing.assert_frame_equal(host.events, alone.events)
    own = reduced.steps[reduced.steps["host"] == host_name(7)]
    np.testing.assert_array_equal(own["step_time_ms"].to_numpy(), host.steps["step_time_ms"].to_numpy())
    assert reduced.host(host_name(7)) is host


def test_the_last_hosts_stay_open(reduced: tfprof.Profile) -> None:
    first = reduced.host(host_name(0))
    for number in range(1, 4):
        reduced.host(host_name(number))
    assert reduced.host(host_name(0)) is first
    for number in range(4, 8):
        reduced.host(host_name(number))
    assert reduced.host(host_name(0)) is not first


def test_an_unknown_host_is_told_with_close_ones(reduced: tfprof.Profile) -> None:
    with pytest.raises(ValueError, match=r"No host is called 'worker03'\. Is it .*'worker0003'"):
        reduced.host("worker03")
    with pytest.raises(ValueError, match=r"The hosts are 'worker0000', 'worker0001', 'worker0002' and 5 more"):
        reduced.host("x")


def test_a_host_of_a_whole_profile_opens_too(run: Path, tmp_path: Path) -> None:
    for number in range(3):
        shutil.copy(run / f"{host_name(number)}.xplane.pb", tmp_path)
    prof = tfprof.load(tmp_path)
    host = prof.host(host_name(1))
    pd.testing.assert_frame_equal(host.events, tfprof.load(tmp_path / f"{host_name(1)}.xplane.pb").events)
    assert set(host.steps["host"]) == {host_name(1)}
    chrome = prof.to_chrome_trace(tmp_path / "all.json.gz")
    merged = tfprof.load(chrome)
    part = merged.host(host_name(1))
    assert {plane.host for plane in part.trace.planes} == {host_name(1)}
    assert list(part.events["name"]) == list(host.events["name"])
    assert len(part.steps) == len(host.steps)
    alone = tfprof.load(tmp_path / f"{host_name(1)}.xplane.pb")
    assert alone.host(host_name(1)) is alone


def test_hosts_of_a_merged_file_are_summarised_each(run: Path, tmp_path: Path) -> None:
    for number in range(3):
        shutil.copy(run / f"{host_name(number)}.xplane.pb", tmp_path)
    whole = tfprof.load(tmp_path)
    chrome = whole.to_chrome_trace(tmp_path / "all.json.gz")
    with ThreadPoolExecutor(1) as threads:
        reduced = tfprof.load(chrome, executor=threads)
    assert list(dict.fromkeys(reduced.steps["host"])) == [host_name(number) for number in range(3)]
    columns = ["step", "host", "step_time_ms"]
    pd.testing.assert_frame_equal(
        reduced.workers[columns], whole.workers[columns], check_exact=False, rtol=1e-9, check_dtype=False
    )
    assert set(reduced.host(host_name(2)).steps["host"]) == {host_name(2)}


def same_named(run: Path) -> None:
    """A run of hosts that all say they are called the same."""
    for number in range(N_HOSTS):
        step = event("train", 10 + number, 100, _r=1, step_num=0)
        content = space(
            plane("/host:CPU", line("python", step)),
            session(start_ns=EPOCH_NS, duration_us=1000),
            hostnames=["localhost"],
        )
        run.mkdir(parents=True, exist_ok=True)
        (run / f"node{number:02d}.xplane.pb").write_bytes(content)


def test_hosts_of_one_name_stay_apart_under_the_names_of_their_files(tmp_path: Path) -> None:
    same_named(tmp_path / "run")
    prof = tfprof.load(tmp_path / "run")
    assert list(prof.steps["host"]) == [f"node{number:02d}" for number in range(N_HOSTS)]
    assert set(prof.host("node06").steps["host"]) == {"node06"}
    assert prof.host("node06").steps["start_ms"][0] == pytest.approx(0.016)


def test_files_of_one_name_in_two_runs_stay_apart_by_number(tmp_path: Path) -> None:
    for name in ("a", "b"):
        same_named(tmp_path / name)
    prof = tfprof.load(f"{tmp_path}/*/*.xplane.pb")
    names = [f"node{number:02d}" for number in range(N_HOSTS)]
    assert list(prof.run.reduced.files) == [*names, *(f"{name} (2)" for name in names)]
    assert prof.run.reduced.files["node04 (2)"].url == str(tmp_path / "b" / "node04.xplane.pb")


def test_a_reduced_profile_says_so(run: Path, reduced: tfprof.Profile) -> None:
    prof = reduced
    assert any(notice.startswith(f"Reduced profile of {N_HOSTS} hosts: ") for notice in prof.notices)
    assert prof.title == run.name
    assert repr(prof).startswith("<Profile ")


def test_a_reduced_profile_is_saved_with_the_files_of_all_hosts(reduced: tfprof.Profile, tmp_path: Path) -> None:
    again = tfprof.load(reduced.save(tmp_path / "saved"))
    assert not again.has_events
    pd.testing.assert_frame_equal(again.steps, reduced.steps, check_exact=True)
    assert len(list((tmp_path / "saved").rglob("*.xplane.pb"))) == N_HOSTS


def test_windows_of_one_capture_are_no_hosts(run: Path, tmp_path: Path) -> None:
    for number in range(N_HOSTS):
        window = tmp_path / "plugins" / "profile" / f"2026_11_01_00_00_{number:02d}"
        window.mkdir(parents=True)
        shutil.copy(run / f"{host_name(0)}.xplane.pb", window)
    assert tfprof.load(f"{tmp_path}/plugins/profile/*").has_events


def test_a_reduced_run_behind_a_url_is_the_same(run: Path, reduced: tfprof.Profile, tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    for file in run.iterdir():
        memory.pipe_file(f"memory://many/{run.name}/{file.name}", file.read_bytes())
    url = f"memory://many/{run.name}"
    remote = tfprof.load(url)
    assert not remote.has_events
    pd.testing.assert_frame_equal(remote.steps, reduced.steps, check_exact=True)
    pd.testing.assert_frame_equal(remote.ops, reduced.ops, check_exact=True)
    pd.testing.assert_frame_equal(remote.host(host_name(4)).events, reduced.host(host_name(4)).events)
    with pytest.raises(TfProfError, match=rf"{N_HOSTS} hosts were read where their files are"):
        remote.save("anywhere")
    assert (
        tfprof.load(remote.host(host_name(4)).save(tmp_path / "one")).trace.n_events
        == remote.host(host_name(4)).trace.n_events
    )


def test_each_host_is_read_with_its_own_source_map_and_that_of_the_run(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    for name in ("", f"{host_name(1)}.", f"{host_name(2)}."):
        document = gzip.compress(json.dumps({"version": 1, "recorder": name}).encode())
        (copy / f"{name}tfprof.sources.json.gz").write_bytes(document)
    first, second = host_file_list(find(copy))[:2]
    assert first.sidecars == ("tfprof.sources.json.gz",)
    assert second.sidecars == ("tfprof.sources.json.gz", f"{host_name(1)}.tfprof.sources.json.gz")


def test_the_progress_counts_hosts(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    monkeypatch.setattr(progress, "_SLOW_S", 0.0)
    bars = []

    class Bar:
        start_t = 0.0

        def __init__(self, **named: Any) -> None:
            self.n, self.total, self.named = 0, named["total"], named
            bars.append(self)

        def update(self, n: int) -> None:
            self.n += n

        def close(self) -> None: ...

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    tfprof.load(run)
    [bar] = bars
    assert bar.named["desc"] == f"Reading {N_HOSTS} hosts"
    assert (bar.n, bar.total) == (N_HOSTS, N_HOSTS)


NOTICE = "2 of 3 workers sent a trace. c:1: it cannot be reached."


@pytest.fixture
def captured(tmp_path: Path) -> tfprof.Profile:
    """A capture of three workers of which one did not answer."""
    answers = [Answer(name, content) for name, content in Cluster(2).files()]
    failed = Answer("c:1", failure="it cannot be reached")
    return _profile_of([*answers, failed], [failed], tmp_path / "logdir")


def assert_one_is_missing(prof: tfprof.Profile) -> None:
    assert prof.notices.count(NOTICE) == 1
    assert prof.run.n_missing_hosts == 1
    assert NOTICE in prof.text()


def test_however_a_capture_is_kept_it_says_which_workers_sent_no_trace(
    captured: tfprof.Profile, tmp_path: Path
) -> None:
    assert captured.notices == (NOTICE,)
    saved = captured.save(tmp_path / "saved")
    again = tfprof.load(saved)
    with ThreadPoolExecutor(1) as threads:
        reduced = tfprof.load(saved, executor=threads)
    assert not reduced.has_events
    chrome = tfprof.load(captured.to_chrome_trace(tmp_path / "trace.json.gz"))
    for prof in (captured, again, tfprof.load(again.save(tmp_path / "saved again")), reduced, chrome):
        assert_one_is_missing(prof)
    for prof in (captured, again, reduced):
        assert_one_is_missing(prof.aligned())


def test_a_host_of_such_a_capture_is_alone(captured: tfprof.Profile, tmp_path: Path) -> None:
    for prof in (captured, tfprof.load(captured.save(tmp_path / "saved"))):
        host = prof.host(host_name(0))
        assert host.notices == ()
        assert host.run.n_missing_hosts == 0
        assert set(tfprof.load(host.save(tmp_path / f"host of {prof.title}")).steps["host"]) == {host_name(0)}


DAY_US = 86400e6


def left_out_notice(prof: tfprof.Profile) -> str:
    [notice] = [one for one in prof.notices if "could not be read" in one]
    return notice


@pytest.mark.parametrize(("days", "when"), [(-30, "before"), (30, "after")])
def test_a_file_of_another_month_is_left_out_of_a_whole_profile_as_of_a_reduced_one(
    tmp_path: Path, days: int, when: str
) -> None:
    run = Cluster(4, clock_us={2: days * DAY_US}).draw(tmp_path / "run")
    whole = tfprof.load(run)
    with ThreadPoolExecutor(1) as threads:
        reduced = tfprof.load(run, executor=threads)
    assert whole.has_events
    assert left_out_notice(whole) == left_out_notice(reduced)
    begin = f"1 of 4 hosts could not be read: {host_name(2)}: it starts 30.0 days {when} the others, more than 13.3: "
    assert left_out_notice(whole).startswith(begin)
    for prof in (whole, reduced):
        assert list(dict.fromkeys(prof.steps["host"])) == [host_name(number) for number in (0, 1, 3)]
    assert whole.run.n_missing_hosts == reduced.run.n_missing_hosts == whole.aligned().run.n_missing_hosts == 1


def test_a_saved_profile_keeps_the_file_of_another_month_and_says_it_again(tmp_path: Path) -> None:
    prof = tfprof.load(Cluster(3, clock_us={2: 30 * DAY_US}).draw(tmp_path / "run"))
    assert prof.notices[0] == prof.trace.warnings[0] == left_out_notice(prof), "before all others"
    again = tfprof.load(prof.save(tmp_path / "saved"))
    assert left_out_notice(again) == left_out_notice(prof)
    assert again.run.n_missing_hosts == 1
    assert len(list((tmp_path / "saved").rglob("*.xplane.pb"))) == 3


@pytest.mark.parametrize("later", [0, 1])
def test_of_two_files_of_two_months_the_later_is_shown(tmp_path: Path, later: int) -> None:
    prof = tfprof.load(Cluster(2, clock_us={later: 30 * DAY_US}).draw(tmp_path))
    assert set(prof.steps["host"]) == {host_name(later)}
    notice = left_out_notice(prof)
    assert notice.startswith(f"1 of 2 hosts could not be read: {host_name(1 - later)}: it starts 30.0 days before")
    assert notice.endswith("; as no time is that of most, the latest are shown.")


def test_of_runs_of_two_months_that_a_pattern_matches_the_larger_is_shown(tmp_path: Path) -> None:
    for name, n_hosts, clock in (("may", 3, 0.0), ("june", 2, 30 * DAY_US)):
        drawn = Cluster(n_hosts, clock_us=dict.fromkeys(range(n_hosts), clock)).draw(tmp_path / "drawn" / name)
        drawn.rename(tmp_path / name)
    prof = tfprof.load(f"{tmp_path}/*/*.xplane.pb")
    assert left_out_notice(prof).startswith(
        "2 of 5 hosts could not be read: june/worker0000: it starts 30.0 days after"
    )
    assert "; june/worker0001: it starts" in left_out_notice(prof)
    assert set(prof.steps["host"]) == {host_name(number) for number in range(3)}
    again = tfprof.load(prof.save(tmp_path / "saved"))
    assert again.run.n_missing_hosts == prof.run.n_missing_hosts == 2


def test_hosts_that_cannot_be_read_are_left_out_and_named(damaged: Path, reduced_damaged: tfprof.Profile) -> None:
    prof = reduced_damaged
    [notice] = [one for one in prof.notices if "could not be read" in one]
    assert notice.startswith(f"2 of {N_HOSTS} hosts could not be read: {host_name(3)}: ")
    assert f"; {host_name(5)}: " in notice
    kept = [host_name(number) for number in range(N_HOSTS) if number not in (3, 5)]
    assert list(dict.fromkeys(prof.steps["host"])) == kept
    with pytest.raises(ValueError, match=f"No host is called '{host_name(3)}'"):
        prof.host(host_name(3))
    with ThreadPoolExecutor(2) as threads:
        assert_equal(tfprof.load(damaged, executor=threads), prof)


def test_when_no_host_can_be_read_that_is_an_error_with_reasons(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{host_name(number)}.xplane.pb").write_bytes(b"\xff" * 100)
    with pytest.raises(
        TraceError, match=r"30 of 30 hosts could not be read: worker0000: .*; and 10 more of 30\."
    ) as caught:
        tfprof.load(tmp_path)
    assert str(caught.value).count("worker00") >= MOST_NAMED


def test_a_fault_in_the_analysis_of_one_host_leaves_it_out(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfprof_widgets.analysis import many_hosts

    real = many_hosts.summarize_host

    def faulty(results: Any, **named: Any) -> Any:
        if results.trace.planes[0].host == host_name(2):
            raise ZeroDivisionError("division by zero")
        return real(results, **named)

    monkeypatch.setattr(many_hosts, "summarize_host", faulty)
    prof = tfprof.load(run)
    assert any(f"{host_name(2)}: ZeroDivisionError: division by zero" in notice for notice in prof.notices)


def test_files_that_only_this_process_has_are_not_read_where_an_executor_broke(notes: Path) -> None:
    def no_start() -> None:
        raise ZeroDivisionError

    memory = fsspec.filesystem("memory")
    for number in range(2):
        memory.pipe_file(f"memory://broken/{host_name(number)}.xplane.pb", dict(Cluster(2).files())[host_name(number)])
    with (
        ThreadPoolExecutor(1, initializer=no_start) as broken,
        pytest.raises(TraceError, match="2 of 2 hosts could not"),
    ):
        tfprof.load("memory://broken", executor=broken)


@pytest.mark.parametrize("number", [0, 1, *(pytest.param(i, marks=pytest.mark.nightly) for i in range(2, 6))])
def test_whatever_one_host_holds_all_figures_of_the_others_are_there(number: int, run: Path, tmp_path: Path) -> None:
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    whole = (copy / f"{host_name(2)}.xplane.pb").read_bytes()
    (copy / f"{host_name(2)}.xplane.pb").write_bytes(whole[: -1 - 9 * number])
    (copy / f"{host_name(4)}.xplane.pb").write_bytes(random_space(number))
    prof = tfprof.load(copy)
    assert not prof.has_events
    assert all(name in prof.notices[1] for name in (host_name(2), "could not be read"))
    found = tables(prof.run.results)
    assert host_name(0) in set(found["steps"]["host"])
    assert prof.input_pipeline.verdict
    assert prof.report()
