"""Files made to hang, to fill memory or to lead elsewhere: each is refused at once, in time that its bytes allow."""

from __future__ import annotations

import gzip
import json
import os
import time
import tracemalloc
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, session, space
from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import SAVED, SIDECAR, open_traces

SOON_S = 5.0
"""Far more than any takes on a busy machine; before they were bounded, these took 10 to 50 s or never ended."""
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def run(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    steps = line("main", event("train", 0, 900, _r=1, step_num=0), event("net/MatMul:MatMul", 100, 500))
    (directory / "h.xplane.pb").write_bytes(space(session(duration_us=1000), plane("/host:CPU", steps)))
    return directory


def refused(file: Path) -> str:
    begin = time.monotonic()
    with pytest.raises(TraceError) as refusal:
        tfprof.load(file)
    assert time.monotonic() - begin < SOON_S
    return str(refusal.value)


@needs_pipes
@pytest.mark.parametrize("name", ["h.xplane.pb", "h.trace.json", "h.xplane.pb.gz"])
def test_a_pipe_is_refused_and_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    assert "is a pipe or a device" in refused(tmp_path / name)


@needs_pipes
@pytest.mark.parametrize("name", [SIDECAR, SAVED])
def test_a_pipe_beside_a_trace_does_not_keep_it_from_loading(name: str, tmp_path: Path) -> None:
    os.mkfifo(run(tmp_path) / name)
    assert len(tfprof.load(tmp_path).ops)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_a_sidecar_that_is_a_device_is_told_and_not_read(tmp_path: Path) -> None:
    (run(tmp_path) / SIDECAR).symlink_to("/dev/zero")
    prof = tfprof.load(tmp_path)
    assert len(prof.ops)
    assert any("is a pipe or a device" in notice for notice in prof.notices)


def test_saving_follows_no_link_out_of_the_run(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.write_bytes(gzip.compress(b'{"version":1}'))
    (run(tmp_path / "run") / SIDECAR).symlink_to(private)
    with pytest.warns(UserWarning, match="is a link out of its directory, so it was not saved"):
        tfprof.load(tmp_path / "run").save(tmp_path / "saved")
    assert not [file for file in (tmp_path / "saved").rglob("*") if file.name == SIDECAR]


def test_saving_takes_a_link_within_the_run_along(tmp_path: Path) -> None:
    (run(tmp_path / "run") / "kept").write_bytes(gzip.compress(b'{"version":1}'))
    (tmp_path / "run" / SIDECAR).symlink_to("kept")
    tfprof.load(tmp_path / "run").save(tmp_path / "saved")
    assert [file for file in (tmp_path / "saved").rglob("*") if file.name == SIDECAR]


def test_millions_of_empty_planes_are_refused_before_they_are_held(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb.gz").write_bytes(gzip.compress(b"\x0a\x00" * 24_000_000, 1))
    assert "are empty messages, which no profiler writes" in refused(tmp_path / "h.xplane.pb.gz")
    (tmp_path / "h.xplane.pb").write_bytes(b"\x0a\x00" * 20_000)
    assert "more than 10,000 planes" in refused(tmp_path / "h.xplane.pb")


def test_a_hundred_thousand_empty_streams_take_no_more_than_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb.gz").write_bytes(gzip.compress(b"") * 100_000)
    assert "is empty" in refused(tmp_path / "h.xplane.pb.gz")


def test_zeros_between_streams_are_stepped_over_without_copying(tmp_path: Path) -> None:
    trace = (run(tmp_path) / "h.xplane.pb").read_bytes()
    (tmp_path / "z").mkdir()
    packed = gzip.compress(b"") + b"\0"
    (tmp_path / "z" / "h.xplane.pb.gz").write_bytes(packed * 50_000 + gzip.compress(trace) + b"\0" * 20_000_000)
    begin = time.monotonic()
    assert len(tfprof.load(tmp_path / "z").ops)
    assert time.monotonic() - begin < SOON_S


def test_names_of_members_of_json_are_read_in_the_time_of_their_bytes(tmp_path: Path) -> None:
    members = ",".join(f'"m{i}":1' for i in range(175_000))
    (tmp_path / "h.trace.json").write_text(f'{{"traceEvents":[],{members}}}')
    begin = time.monotonic()
    tfprof.load(tmp_path / "h.trace.json")
    assert time.monotonic() - begin < SOON_S


def test_a_capture_that_is_there_twice_counts_once_and_is_told(tmp_path: Path) -> None:
    once = tfprof.load(run(tmp_path / "a"))
    run(tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "h.xplane.pb.gz").write_bytes(gzip.compress((tmp_path / "a" / "h.xplane.pb").read_bytes()))
    prof = tfprof.load(tmp_path / "*")
    assert len(prof.trace.sessions) == 1
    assert prof.ops["occurrences"].tolist() == once.ops["occurrences"].tolist()
    assert "2 of 3 files are copies of another, and counted once: b/h.xplane.pb, c/h.xplane.pb.gz." in prof.notices


def test_a_hundred_copies_take_the_memory_of_one(tmp_path: Path) -> None:
    content = space(*(plane("/host:CPU", line("t", *(event(f"op{i}:T", i, 1) for i in range(600)))),))
    for k in range(100):
        (tmp_path / str(k)).mkdir()
        (tmp_path / str(k) / "h.xplane.pb").write_bytes(content)
    tracemalloc.start()
    try:
        opened = open_traces(tmp_path / "*")
        assert tracemalloc.get_traced_memory()[1] < 2e6  # a tenth of a MB is kept, and one more read
    finally:
        tracemalloc.stop()
    assert opened.trace.n_events == 600
    assert "99 of 100 files are copies" in opened.trace.warnings[-1]


def test_a_run_that_a_saved_profile_names_twice_counts_once(tmp_path: Path) -> None:
    saved = tfprof.load(run(tmp_path / "run")).save(tmp_path / "saved")
    document = json.loads((saved / SAVED).read_text())
    document["runs"] *= 1000
    (saved / SAVED).write_text(json.dumps(document))
    assert len(tfprof.load(saved).trace.sessions) == 1


def test_two_sessions_of_a_host_at_one_time_break_no_search_for_steps(tmp_path: Path) -> None:
    calls = [event("f", 100 * i, 90, tf_function_call="traced-nonXla") for i in range(5)]
    for name, name_of_more in (("a", "x"), ("b", "y")):  # of which one differs, so that it is no copy
        (tmp_path / name).mkdir()
        threads = line("main", *calls, event(name_of_more, 600, 5), id=1)
        (tmp_path / name / "h.xplane.pb").write_bytes(space(session(), plane("/host:CPU", threads)))
    prof = tfprof.load(tmp_path / "*")
    assert len(prof.trace.sessions) == 2
    assert prof.report()
