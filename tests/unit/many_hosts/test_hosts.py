"""A run of many hosts is reduced, wherever it lies, and each of its hosts can be opened in full."""

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
from tests.cluster import host_name
from tests.unit.many_hosts.reduced_run import MOST_WHOLE, N_HOSTS, assert_equal
from tfprof_widgets import progress
from tfprof_widgets.analysis import host_file_list
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.read import find


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


@pytest.mark.parametrize("member", ["attribution", "roofline", "program_memory", "hlo_graph"])
def test_what_needs_single_executions_says_which_profile_has_it(member: str, reduced: tfprof.Profile) -> None:
    with pytest.raises(tfprof.TfProfError, match=r"open one of its hosts in full, prof\.host\(name\)"):
        found = getattr(reduced, member)
        found("fusion")


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
