"""Opening a path: what it leads to, what lies beside and is not read, and what is said where there is no trace."""

from __future__ import annotations

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pytest

import tfprof_widgets as tfprof
from tests.builders import EPOCH_NS, event, line, plane, session, space
from tests.unit.formats.test_first_profiler import WORKER, drawn
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.read import (
    MOST_WHOLE,
    SIDECAR,
    Hosts,
    OneFile,
    Opened,
    Steps,
    StepStats,
    find,
    open_traces,
    opening,
    places,
    read_timelines,
    step_message,
)
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


def test_the_host_is_the_one_in_the_file_and_else_in_its_name(tmp_path: Path) -> None:
    assert open_traces(write(tmp_path / "a.xplane.pb", host="inside")).trace.sessions[0].host == "inside"
    assert open_traces(write(tmp_path / "b.xplane.pb")).trace.planes[0].host == "b"
    assert open_traces(write(tmp_path / "c.xplane.pb.gz")).trace.planes[0].host == "c"


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


def test_a_path_may_start_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "h.xplane.pb")
    assert names("~/h.xplane.pb") == ["op"]


def test_a_directory_without_a_trace_says_what_it_holds(tmp_path: Path) -> None:
    for name in "abcdefg":
        (tmp_path / f"{name}.txt").touch()
    with pytest.raises(EmptyTraceError, match=r"no \*\.xplane\.pb .* It holds a\.txt, b\.txt, .* and 2 more\."):
        open_traces(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmptyTraceError, match="It is empty"):
        open_traces(tmp_path / "empty")
    with pytest.raises(TraceError, match=r"Nothing is at .*/run\. The nearest .* It holds a\.txt, .* and 3 more\."):
        open_traces(tmp_path / "gone" / "run")


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


def test_hosts_of_a_run_are_found_with_what_was_noted_beside_them(tmp_path: Path) -> None:
    files = tuple(write(tmp_path / "run" / f"{name}.xplane.pb") for name in "ab")
    (tmp_path / "run" / f"a.{SIDECAR}").touch()
    found = find(tmp_path / "run")
    assert found.parts == (Hosts(files),)
    assert found.hosts == found.files == files
    assert found.sidecars == {tmp_path / "run": (tmp_path / "run" / f"a.{SIDECAR}",)}
    assert not found.is_many


def test_more_hosts_than_are_read_whole_are_many_and_windows_of_one_host_are_not(tmp_path: Path) -> None:
    for number in range(MOST_WHOLE + 1):
        write(tmp_path / "hosts" / f"h{number:02d}.xplane.pb")
        write(tmp_path / "windows" / f"{number:02d}" / "h.xplane.pb")
    assert find(tmp_path / "hosts").is_many
    assert len(find(f"{tmp_path}/windows/*").parts) == MOST_WHOLE + 1
    assert not find(f"{tmp_path}/windows/*").is_many


def test_steps_and_single_files_are_no_hosts_unless_each_can_be_read_by_itself(tmp_path: Path) -> None:
    [steps] = find(timelines(tmp_path / "steps")).parts
    assert isinstance(steps, Steps)
    assert [file.name for file in steps.files] == ["timeline-10.json", "timeline-2.json", "timeline-30.json"]
    assert find(tmp_path / "steps").hosts == ()
    file = write(tmp_path / "renamed")
    assert find(file).parts == (OneFile(file),)
    assert find(file).hosts == ()
    assert find(write(tmp_path / "h.xplane.pb")).hosts == (tmp_path / "h.xplane.pb",)


def test_steps_beside_a_run_are_told_of_whether_it_is_reduced_or_not(tmp_path: Path) -> None:
    write(timelines(tmp_path) / "h.xplane.pb")
    told = find(tmp_path).told
    assert "timeline-2.json" in told
    with ThreadPoolExecutor(1) as threads:
        reduced = tfprof.load(tmp_path, executor=threads)
    assert not reduced.has_events
    assert told in reduced.notices
    assert told in tfprof.load(tmp_path).trace.warnings


NUMBERS = (2, 10, 30)
OTHER_TRACE = b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}'


def timelines(directory: Path, numbers: tuple[int, ...] = NUMBERS) -> Path:
    """Write a timeline of each number."""
    directory.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (directory / f"timeline-{number}.json").write_text(drawn((WORKER, "a/MatMul", "MatMul", 1000 * number, 7)))
    return directory


def run(directory: Path, name: str = "op") -> Path:
    """Write a run of one host."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "h.xplane.pb").write_bytes(space(session(), plane("/host:CPU", line("main", event(name, 1, 1)))))
    return directory


def graph(file: Path, *names: str) -> Path:
    """Write a GraphDef of some placeholders."""
    message = step_message("GraphDef")()
    for name in names:
        message.node.add(name=name.encode(), op=b"MatMul")
    file.write_bytes(message.SerializeToString())
    return file


def steps(opened: Opened) -> list[str]:
    """The names of the steps behind a path."""
    trace = opened.trace
    names = [trace.strings[name] for name in trace.name_id]
    return [name for name in names if name.startswith("step ")]


def told(opened: Opened, text: str) -> list[str]:
    """The warnings in which a text is."""
    return [warning for warning in opened.trace.warnings if text in warning]


DAMAGED = {
    "empty": (b"", r"is empty \(0 bytes\)"),
    "cut before its first process": (drawn((WORKER, "a", "MatMul", 1, 1)).encode()[:60], r"its 60 bytes end inside"),
    "no JSON": (b"\x00" * 20, r"it begins with b'\\x00', neither an object nor a list"),
    "another trace": (OTHER_TRACE, r"is no timeline of TensorFlow's first profiler: .*span of category"),
    "without a process": (b'{"traceEvents": []}', r"its 19 bytes name no process .*CPU:0 Compute"),
    "a cut gzip": (gzip.compress(OTHER_TRACE)[:-9], r"end inside the gzip stream"),
}


@pytest.mark.parametrize("what", DAMAGED)
@pytest.mark.parametrize("pattern", ["", "timeline-*.json*", "*.json*"])
def test_a_timeline_that_is_none_is_named_with_where_and_what(tmp_path: Path, what: str, pattern: str) -> None:
    content, message = DAMAGED[what]
    bad = tmp_path / "timeline-30.json"
    timelines(tmp_path, (2, 10))
    bad.write_bytes(content)
    with pytest.raises(TraceError, match=rf"timeline-30\.json.*{message}"):
        open_traces(tmp_path / pattern)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is empty"), (b'{"traceEvents": [{"ph": ', "end inside traceEvents"), (b"{}", "without traceEvents")],
)
def test_a_file_of_any_name_that_a_pattern_gives_is_named_where_it_is_none(
    tmp_path: Path, content: bytes, message: str
) -> None:
    for number in NUMBERS:
        (tmp_path / f"t{number}.json").write_text(drawn((WORKER, "a", "MatMul", number, 1)))
    (tmp_path / "t10.json").write_bytes(content)
    with pytest.raises(TraceError, match=rf"t10\.json.*{message}"):
        open_traces(f"{tmp_path}/t*.json")


def test_a_logdir_gives_its_newest_run_and_tells_of_the_timelines_beside(tmp_path: Path) -> None:
    for name in ("2024_01_01_00_00_00", "2024_01_02_00_00_00"):
        run(tmp_path / "plugins" / "profile" / name, name)
    timelines(tmp_path)
    opened = open_traces(tmp_path)
    assert [path.parent.name for path in opened.paths] == ["2024_01_02_00_00_00"]
    assert [path.name for path in opened.others] == ["2024_01_01_00_00_00"]
    assert len(told(opened, "timeline-10.json")) == 1
    assert steps(open_traces(tmp_path / "timeline-*.json")) == [f"step {number}" for number in NUMBERS]


def test_a_run_opens_whatever_timelines_lie_beside_it(tmp_path: Path) -> None:
    run(tmp_path)
    whole = gzip.compress(drawn((WORKER, "a", "MatMul", 1, 1)).encode())
    (tmp_path / "timeline-1.json.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "timeline-2.json.gz").write_bytes(b"\x1f\x8bjunk")
    opened = open_traces(tmp_path)
    assert [path.name for path in opened.paths] == ["h.xplane.pb"]
    assert len(told(opened, "timeline-1.json.gz, timeline-2.json.gz")) == 1


def test_files_of_steps_are_read_once_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timelines(tmp_path)
    events: list[str] = []
    opened = places.opened

    def open_one(file: Path) -> BinaryIO:
        events.append(file.name)
        return opened(file)

    def parse_some(files: dict[int, tuple[str, bytes]]) -> StepStats:
        events.append(f"parsed {sorted(files)}")
        return read_timelines(files)

    monkeypatch.setattr(places, "opened", open_one)
    monkeypatch.setattr("tfprof_widgets.read.v1.timeline_json.read_timelines", parse_some)
    open_traces(tmp_path)
    read = [text for number in NUMBERS for text in (f"timeline-{number}.json", f"parsed [{number}]")]
    told = [one for one in events if one.startswith(("timeline", "parsed"))]
    assert told[-len(read) :] == read
    looked_at = told[: -len(read)]  # to see of what kind they are
    assert sorted(looked_at) == sorted({f"timeline-{number}.json" for number in NUMBERS} & set(looked_at))


def test_of_more_files_than_the_limit_the_last_steps_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST_FILES", 4)
    for task in "ab":
        timelines(tmp_path / task)
    opened = open_traces(tmp_path / "a")
    assert len(opened.paths) == 3 and not told(opened, " of ")
    opened = open_traces(f"{tmp_path}/*/timeline-*.json")
    assert sorted(steps(opened)) == ["step 10"] * 2 + ["step 30"] * 2
    assert len(opened.paths) == 4
    assert len(told(opened, "4 of 6 files")) == 1


@pytest.mark.parametrize("place", ["run/h.xplane.pb", "run", "steps", "steps/timeline-2.json", "steps/*.json"])
def test_a_graph_that_does_not_exist_is_an_error(tmp_path: Path, place: str) -> None:
    run(tmp_path / "run")
    timelines(tmp_path / "steps")
    with pytest.raises(TraceError, match=r"graph=.*nonexistent\.pb"):
        open_traces(tmp_path / place, graph=tmp_path / "nonexistent.pb")
    with pytest.raises(TraceError, match=r"graph=.*is a directory"):
        open_traces(tmp_path / place, graph=tmp_path)


def test_a_graph_that_is_not_used_is_told(tmp_path: Path) -> None:
    run(tmp_path / "run")
    timelines(tmp_path / "steps")
    of_program = graph(tmp_path / "graph.pb", "a/MatMul")
    other = graph(tmp_path / "other.pb", "b")
    assert len(told(open_traces(tmp_path / "run", graph=of_program), f"{of_program} was not used")) == 1
    assert len(told(open_traces(tmp_path / "run" / "*.pb", graph=of_program), f"{of_program} was not used")) == 1
    assert len(told(open_traces(tmp_path / "steps", graph=other), f"{other} names nothing of what ran")) == 1
    assert not told(open_traces(tmp_path / "steps", graph=of_program), "graph.pb")


@pytest.mark.parametrize(("given", "saved"), [("of_program.pb", "graph.pb"), ("of_program.pbtxt", "graph.pbtxt")])
def test_a_graph_is_saved_under_the_name_by_which_it_is_found(tmp_path: Path, given: str, saved: str) -> None:
    import tfprof_widgets as tfprof

    timelines(tmp_path / "steps")
    of_program = graph(tmp_path / "graph.pb", "a/MatMul").rename(tmp_path / given)
    if given.endswith("txt"):
        of_program.write_text('node { name: "a/MatMul" op: "MatMul" }')
    with pytest.warns(UserWarning, match="TensorBoard"):
        tfprof.load(tmp_path / "steps", graph=of_program).save(tmp_path / "saved")
    assert [path.name for path in (tmp_path / "saved").rglob("*.pb*")] == [saved]


def test_a_saved_chrome_trace_called_timeline_opens_again(tmp_path: Path) -> None:
    import tfprof_widgets as tfprof

    text = json.loads(drawn((WORKER, "a", "MatMul", 1, 1)))
    text["traceEvents"].append({"ph": "X", "cat": "python", "name": "mine", "pid": 9, "tid": 1, "ts": 10**15, "dur": 1})
    (tmp_path / "timeline.json").write_text(json.dumps(text))
    prof = tfprof.load(tmp_path / "timeline.json")
    with pytest.warns(UserWarning, match="TensorBoard"):
        prof.save(tmp_path / "saved")
    assert tfprof.load(tmp_path / "saved").trace.n_events == prof.trace.n_events


def test_a_directory_of_an_empty_timeline_is_empty(tmp_path: Path) -> None:
    (tmp_path / "timeline-1.json").touch()
    with pytest.raises(EmptyTraceError, match=r"timeline-1\.json is empty"):
        open_traces(tmp_path)
