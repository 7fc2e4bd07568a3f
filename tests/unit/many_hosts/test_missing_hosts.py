"""Hosts that cannot be read or are of another time, or of which there is nothing: a profile says which and why."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pytest

import tfprof_widgets as tfprof
from tests.cluster import Cluster, host_name
from tests.fuzz.random_spaces import random_space
from tests.unit.many_hosts.reduced_run import N_HOSTS, assert_equal
from tfprof_widgets.capture import Answer
from tfprof_widgets.capturing import _profile_of
from tfprof_widgets.errors import TraceError
from tfprof_widgets.export import tables
from tfprof_widgets.read import MOST_NAMED

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


def test_a_capture_says_which_workers_sent_no_trace(captured: tfprof.Profile) -> None:
    assert captured.notices == (NOTICE,)
    assert_one_is_missing(captured)
    assert_one_is_missing(captured.aligned())


def test_a_saved_capture_still_says_it(captured: tfprof.Profile, tmp_path: Path) -> None:
    again = tfprof.load(captured.save(tmp_path / "saved"))
    assert_one_is_missing(again)
    assert_one_is_missing(again.aligned())
    assert_one_is_missing(tfprof.load(again.save(tmp_path / "saved again")))


def test_a_saved_capture_that_is_reduced_still_says_it(captured: tfprof.Profile, tmp_path: Path) -> None:
    saved = captured.save(tmp_path / "saved")
    with ThreadPoolExecutor(1) as threads:
        reduced = tfprof.load(saved, executor=threads)
    assert not reduced.has_events
    assert_one_is_missing(reduced)
    assert_one_is_missing(reduced.aligned())


def test_a_chrome_trace_of_a_capture_still_says_it(captured: tfprof.Profile, tmp_path: Path) -> None:
    assert_one_is_missing(tfprof.load(captured.to_chrome_trace(tmp_path / "trace.json.gz")))


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


def test_a_notice_of_files_left_out_comes_before_all_warnings_of_the_traces(tmp_path: Path) -> None:
    prof = tfprof.load(Cluster(3, clock_us={2: 30 * DAY_US}).draw(tmp_path))
    assert prof.notices[0] == prof.trace.warnings[0] == left_out_notice(prof)


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
