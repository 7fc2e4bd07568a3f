"""Opening a path: files, run directories, logdirs, globs, and what is said where there is no trace."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.builders import EPOCH_NS, event, line, plane, session, space
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.read import open_traces
from tfprof_widgets.read import places as bytes_module


def write(file: Path, name: str = "op", *, host: str = "", start_us: float = 0, mtime: float | None = None) -> Path:
    """Write a trace of one event."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = space(
        session(start_ns=EPOCH_NS + round(start_us * 1000)),
        plane("/host:CPU", line("main", event(name, 1, 1))),
        hostnames=[host] if host else [],
    )
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)
    if mtime is not None:
        os.utime(file, (mtime, mtime))
    return file


def names(path: Path | str) -> list[str]:
    """The names of the events behind a path, in order."""
    opened = open_traces(path)
    return [opened.trace.strings[name] for name in opened.trace.name_id]


def test_a_file_is_opened_whatever_it_is_called(tmp_path: Path) -> None:
    for name in ("vm.xplane.pb", "vm.xplane.pb.gz", "profile.pb", "renamed"):
        file = write(tmp_path / name / name)
        assert open_traces(file).paths == (file,)
        assert names(str(file)) == ["op"]


def test_the_host_is_the_one_in_the_file_and_else_in_its_name(tmp_path: Path) -> None:
    assert open_traces(write(tmp_path / "a.xplane.pb", host="inside")).trace.sessions[0].host == "inside"
    assert open_traces(write(tmp_path / "b.xplane.pb")).trace.planes[0].host == "b"
    assert open_traces(write(tmp_path / "c.xplane.pb.gz")).trace.planes[0].host == "c"


def test_a_run_directory_merges_its_hosts(tmp_path: Path) -> None:
    write(tmp_path / "run" / "b.xplane.pb", "second", start_us=50)
    write(tmp_path / "run" / "a.xplane.pb", "first")
    (tmp_path / "run" / "ALL_HOSTS.op_stats_v2.pb").write_bytes(b"a cache of XProf")
    opened = open_traces(tmp_path / "run")
    assert [path.name for path in opened.paths] == ["a.xplane.pb", "b.xplane.pb"]
    assert {plane.host for plane in opened.trace.planes} == {"a", "b"}
    assert names(tmp_path / "run") == ["first", "second"]
    assert opened.others == ()


def test_files_of_a_run_stay_apart_when_they_name_the_same_host(tmp_path: Path) -> None:
    write(tmp_path / "a.xplane.pb", host="same")
    write(tmp_path / "b.xplane.pb", host="same")
    assert {plane.host for plane in open_traces(tmp_path).trace.planes} == {"a", "b"}


@pytest.mark.parametrize("below", ["", "plugins", "plugins/profile"])
def test_a_logdir_gives_its_newest_run_and_lists_the_others(tmp_path: Path, below: str) -> None:
    profile = tmp_path / "plugins" / "profile"
    write(profile / "2026_11_20_11_00_00" / "h.xplane.pb", "newest", mtime=1e9)
    write(profile / "2026_11_19_23_00_00" / "h.xplane.pb", "middle", mtime=2e9)
    write(profile / "2025_01_01_00_00_00" / "h.xplane.pb", "oldest", mtime=3e9)
    (profile / "2027_01_01_00_00_00").mkdir()  # a capture that failed
    opened = open_traces(tmp_path / below)
    assert names(tmp_path / below) == ["newest"]
    assert [other.name for other in opened.others] == ["2026_11_19_23_00_00", "2025_01_01_00_00_00"]


def test_a_renamed_run_is_as_old_as_its_files(tmp_path: Path) -> None:
    profile = tmp_path / "plugins" / "profile"
    write(profile / "baseline" / "h.xplane.pb", "renamed", mtime=4e9)
    write(profile / "2026_11_20_11_00_00" / "h.xplane.pb", "named")
    assert names(tmp_path) == ["renamed"]


def test_a_directory_of_logdirs_is_searched_one_level_down(tmp_path: Path) -> None:
    write(tmp_path / "train" / "plugins" / "profile" / "2026_11_20_11_00_00" / "h.xplane.pb", "train")
    assert names(tmp_path) == ["train"]


def test_a_glob_merges_what_it_matches(tmp_path: Path) -> None:
    write(tmp_path / "r1" / "h.xplane.pb", "one", host="h")
    write(tmp_path / "r2" / "h.xplane.pb", "two", host="h", start_us=10)
    write(tmp_path / "other" / "h.xplane.pb", "three", host="h", start_us=20)
    assert names(f"{tmp_path}/r*/*.xplane.pb") == ["one", "two"]
    assert names(f"{tmp_path}/r*") == ["one", "two"]
    merged = open_traces(f"{tmp_path}/**/*.xplane.pb")
    assert merged.trace.n_events == 3
    assert len(merged.trace.sessions) == 3
    assert len(merged.trace.lines) == 1


def test_a_path_may_start_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "h.xplane.pb")
    assert names("~/h.xplane.pb") == ["op"]


def test_a_missing_path_names_the_nearest_directory_and_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "logs" / "fit").mkdir(parents=True)
    with pytest.raises(TraceError, match=r"Nothing is at .*/logs/fut/run\. .* is .*/logs\. It holds fit/\."):
        open_traces(tmp_path / "logs" / "fut" / "run")


def test_a_directory_without_a_trace_says_what_it_holds(tmp_path: Path) -> None:
    for name in "abcdefg":
        (tmp_path / f"{name}.txt").touch()
    with pytest.raises(EmptyTraceError, match=r"no \*\.xplane\.pb .* It holds a\.txt, b\.txt, .* and 2 more\."):
        open_traces(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmptyTraceError, match="It is empty"):
        open_traces(tmp_path / "empty")


def test_a_glob_without_a_trace_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(TraceError, match="it matches nothing"):
        open_traces(f"{tmp_path}/*.xplane.pb")
    with pytest.raises(TraceError, match=r"no \*\.xplane\.pb among what it matches, 1 in all"):
        open_traces(f"{tmp_path}/*")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b'{"events": []}', "is JSON without traceEvents"),
        (b'\n {"cells": []}', "is JSON"),
        (b"# Notes\n", "Not a"),
        (gzip.compress(b'{"events": []}', mtime=0), "is JSON"),
        (gzip.compress(b"x" * 1000, mtime=0)[:-6], "end inside the gzip stream"),
        (b"\x1f\x8bnot gzip at all", "is not whole"),
    ],
)
def test_a_file_of_another_type_is_refused_by_name(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "some.file"
    file.write_bytes(content)
    with pytest.raises(TraceError, match=f"some.file.*{said}"):
        open_traces(file)


def test_a_trace_whose_first_bytes_look_like_json_is_a_trace(tmp_path: Path) -> None:
    first = next(
        content for n in range(200) if (content := space(plane("x" * n, line("t", event("op", 1, 1)))))[:2] == b"\n{"
    )
    (tmp_path / "h.xplane.pb").write_bytes(first)
    assert names(tmp_path) == ["op"]


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytes_module, "MAX_UNPACKED_BYTES", 1000)
    bomb = tmp_path / "h.xplane.pb.gz"
    bomb.write_bytes(gzip.compress(bytes(10**6)))
    with pytest.raises(TraceError, match="unpacks to more than 1000 bytes"):
        open_traces(bomb)


def test_a_broken_host_of_a_run_is_named(tmp_path: Path) -> None:
    whole = write(tmp_path / "a.xplane.pb").read_bytes()
    (tmp_path / "b.xplane.pb").write_bytes(whole[:20])
    with pytest.raises(TraceError, match=r"b\.xplane\.pb: .*truncated"):
        open_traces(tmp_path)


def test_a_path_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        open_traces(tmp_path / ("x" * 300))


def test_a_file_of_several_gzip_streams_is_read_to_its_end(tmp_path: Path) -> None:
    data = space(plane("/host:CPU", line("main", *(event("x", i, 1) for i in range(50)))))
    file = tmp_path / "h.xplane.pb.gz"
    file.write_bytes(gzip.compress(data[:100]) + gzip.compress(data[100:]) + bytes(16))
    assert open_traces(file).trace.n_events == 50


def test_a_host_named_by_bytes_that_are_no_text_is_still_printable(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.xplane.pb")
    file.write_bytes(space(plane("/host:CPU", line("main", event("x", 0, 1)))))
    assert open_traces(file).trace.planes[0].host == "caf\\xe9"
