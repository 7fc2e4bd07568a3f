"""Hosts that cannot be read, or are of another time, are left out of a reduced profile and named."""

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
from tfprof_widgets.errors import TraceError
from tfprof_widgets.export import tables
from tfprof_widgets.read import MOST_NAMED


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


@pytest.mark.parametrize(("days", "when"), [(-30, "before"), (30, "after")])
def test_a_file_of_another_month_is_left_out_and_named(tmp_path: Path, days: int, when: str) -> None:
    cluster = Cluster(4, clock_us={2: days * 86400e6})
    run = cluster.draw(tmp_path)
    with ThreadPoolExecutor(1) as threads:
        prof = tfprof.load(run, executor=threads)
    [notice] = [one for one in prof.notices if "could not be read" in one]
    assert notice.startswith(f"1 of 4 hosts could not be read: {host_name(2)}: it starts 30.0 days {when} the others")
    assert list(dict.fromkeys(prof.steps["host"])) == [host_name(number) for number in (0, 1, 3)]


@pytest.mark.parametrize("number", range(6))
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
