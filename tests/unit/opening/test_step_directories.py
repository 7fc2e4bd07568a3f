"""What lies in a directory of timelines is read, refused by name or told of: nothing is left out silently."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.builders import event, line, plane, session, space
from tests.unit.formats.test_two_tasks import WORKER, drawn
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.read import Opened, StepStats, open_traces, opening, places, read_timelines, step_message

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
