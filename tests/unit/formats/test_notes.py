"""What a capture and a watched training noted, read back: broken notes cost themselves, never the trace."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.builders import event, line, plane, space
from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import (
    SIDECAR,
    WatchWriter,
    newest_watch,
    open_traces,
    parse_source_map,
    read_source_map,
    read_watch_log,
    saved,
    steps_file,
    steps_folder,
)
from tfprof_widgets.trace import (
    SAMPLE_COLUMNS,
    SOURCE_TABLES,
    STEP,
    SourceMap,
    empty_source_map,
    merge_source_maps,
    parse_shapes,
)


def document(**changed: Any) -> dict[str, Any]:
    """A sidecar of two ops, one of which was made by a lambda in the user's file and reads a variable for the other."""
    return {
        "version": 1,
        "recorder": "a",
        "ops": {"graph": [0, 0], "op": ["x", "sin"], "type": ["Placeholder", "Sin"], "frame": [0, 1]},
        "frames": {"parent": [-1, 0], "file": [0, 0], "line": [3, 3], "function": ["<module>", ""]},
        "files": {
            "file": ["/home/me/a.py"],
            "title": ["a.py"],
            "is_user": [True],
            "text": ["\n\nd.map(lambda x: x)\n"],
        },
        "layers": {"layer": ["m/d"], "name": ["d"], "class_name": ["Dense"], "model": ["m"], "file": [0], "line": [1]},
        "functions": {"graph": ["Dataset_map_lambda"], "file": [-1], "line": [0], "function": [""]},
        "samples": {"time_ns": [20, 10], "frame": [1, 0]},
        "details": {
            "op": [0, 1],
            "device": ["", "/cpu:0"],
            "float_ops": [0, 6],
            "input_shapes": ["()", "2x3;?"],
            "output_shapes": ["2x3", "2x-1"],
            "variable": [0, -1],
            "dtype": ["float32", "float16"],
        },
        "edges": {"op": [1], "slot": [0], "source": [0], "source_output": [0]},
        "variables": {
            "name": ["w"],
            "shape": ["2x3"],
            "dtype": ["float32"],
            "trainable": [True],
            "layer": ["net/a"],
            "device": ["CPU"],
        },
        "notices": [],
    } | changed


def packed(content: Any) -> bytes:
    return gzip.compress(json.dumps(content).encode())


def parsed(**changed: Any) -> SourceMap:
    return parse_source_map(packed(document(**changed)))


def test_a_sidecar_is_read_as_it_was_written() -> None:
    one = parsed()
    for name in ("ops", "details", "edges", "variables"):
        assert getattr(one, name).to_dict("list") == document()[name]
    assert one.files["text"].tolist() == ["\n\nd.map(lambda x: x)\n"]
    assert one.samples["time_ns"].tolist() == [10, 20]
    assert one.recorders == ("a",)
    assert not one.is_empty
    for name, columns in SOURCE_TABLES.items():
        assert list(getattr(one, name).columns) == list(columns)


def test_without_a_sidecar_the_map_is_empty_and_says_nothing(tmp_path: Path) -> None:
    one = read_source_map(tmp_path)
    assert one.is_empty
    assert one.warnings == ()
    assert list(one.layers.columns) == list(SOURCE_TABLES["layers"])


def test_tables_that_are_left_out_are_empty() -> None:
    one = parse_source_map(packed({"version": 1, "recorder": "a"}))
    assert one.is_empty
    assert one.ops["frame"].dtype == np.int64


BROKEN = {
    "nothing": b"",
    "no gzip": b"PK\3\4 nothing of the kind",
    "cut off": packed(document())[:-9],
    "no JSON": gzip.compress(b"{"),
    "nested too deeply": gzip.compress(b"[" * 200_000),
    "no object": packed([1]),
    "of the future": packed(document(version=2)),
    "table of another type": packed(document(ops=[])),
    "column of another type": packed(document(frames={"parent": "abc", "file": [], "line": [], "function": []})),
    "text where a number belongs": packed(document(samples={"time_ns": ["1"], "frame": [0]})),
    "fraction where a number belongs": packed(document(samples={"time_ns": [0.5], "frame": [0]})),
    "number beyond 64 bits": packed(document(samples={"time_ns": [2**70], "frame": [0]})),
    "number where a text belongs": packed(
        document(functions={"graph": [1], "file": [0], "line": [0], "function": [""]})
    ),
    "columns of different lengths": packed(document(samples={"time_ns": [1, 2], "frame": [0]})),
    "recorder of another type": packed(document(recorder=1)),
    "notices of another type": packed(document(notices="abc")),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_sidecar_is_told_of_and_empty(kind: str, tmp_path: Path) -> None:
    (tmp_path / SIDECAR).write_bytes(BROKEN[kind])
    with pytest.raises(TraceError):
        parse_source_map(BROKEN[kind])
    one = read_source_map(tmp_path)
    assert one.is_empty
    (warning,) = one.warnings
    assert str(tmp_path / SIDECAR) in warning


@given(st.binary(max_size=400))
def test_no_bytes_do_more_than_fail(content: bytes) -> None:
    for made in (content, gzip.compress(content)):
        with pytest.raises(TraceError):
            parse_source_map(made)


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "MAX_SIDECAR_BYTES", 100)
    with pytest.raises(TraceError, match="100 bytes"):
        parsed()


def test_a_list_of_many_lists_is_refused_before_it_takes_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(b'{"version":1,"ops":{},"x":[[],[],{}]}')
    assert parse_source_map(content).is_empty
    monkeypatch.setattr(saved, "MAX_BRACKETS", 5)
    with pytest.raises(TraceError, match="more than 5 lists"):
        parse_source_map(content)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / SIDECAR).write_bytes(gzip.compress(b'{"version":1}'))
    assert read_source_map(tmp_path).warnings == ()
    monkeypatch.setattr(saved, "MAX_SIDECAR_BYTES", 20)
    (warning,) = read_source_map(tmp_path).warnings
    assert "more than 20 bytes, the limit" in warning


def test_references_to_rows_that_are_not_there_are_none() -> None:
    one = parsed(
        ops={"graph": [5, -7], "op": ["a", "b"], "type": ["A", "B"], "frame": [9, 1]},
        frames={"parent": [0, 1], "file": [3, 0], "line": [1, 2], "function": ["f", "g"]},
        edges={"op": [7, 1], "slot": [0, 0], "source": [0, -5], "source_output": [0, 0]},
        details=document()["details"] | {"op": [0, 9], "variable": [3, 0]},
    )
    assert one.ops["graph"].tolist() == [-1, -1]
    assert one.ops["frame"].tolist() == [-1, 1]
    assert one.frames["parent"].tolist() == [-1, -1], "a frame that calls itself or a later one would never end"
    assert one.frames["file"].tolist() == [-1, 0]
    assert [one.edges[name].tolist() for name in ("op", "source")] == [[-1, 1], [0, -1]]
    assert [one.details[name].tolist() for name in ("op", "variable")] == [[0, -1], [-1, 0]]


def test_halves_of_characters_become_text_that_can_be_written() -> None:
    one = parsed(functions={"graph": ["\ud800"], "file": [0], "line": [0], "function": [""]})
    one.functions["graph"].iloc[0].encode("utf-8")


def test_windows_of_one_capture_are_one_map() -> None:
    early = parsed(ops={key: values[:1] for key, values in document()["ops"].items()})
    assert len(merge_source_maps([early, parsed()]).ops) == 2
    assert len(merge_source_maps([parsed(), early]).ops) == 2


def test_maps_of_different_captures_stand_side_by_side() -> None:
    other = parsed(recorder="b", files={"file": ["/b.py"], "title": ["b.py"], "is_user": [True], "text": ["b"]})
    both = merge_source_maps([parsed(), empty_source_map(), other])
    assert both.ops["frame"].tolist() == [0, 1, 2, 3]
    assert both.ops["graph"].tolist() == [0, 0, 1, 1]
    assert both.frames["parent"].tolist() == [-1, 0, -1, 2]
    assert both.frames["file"].tolist() == [0, 0, 1, 1]
    assert both.functions["file"].tolist() == [-1, -1]
    assert both.layers["file"].tolist() == [0, 1]
    assert both.samples["time_ns"].tolist() == [10, 10, 20, 20]
    assert [both.details[name].tolist() for name in ("op", "variable")] == [[0, 1, 2, 3], [0, -1, 1, -1]]
    assert [both.edges[name].tolist() for name in ("op", "source")] == [[1, 3], [0, 2]]
    assert len(both.variables) == 2
    assert both.recorders == ("a", "b")


def test_merging_keeps_what_is_to_be_told() -> None:
    told = merge_source_maps([empty_source_map(warnings=("x",)), parsed(), empty_source_map(warnings=("x", "y"))])
    assert told.warnings == ("x", "y")
    assert merge_source_maps([]).is_empty


def _run(folder: Path) -> Path:
    """A run directory with a small trace."""
    folder.mkdir(parents=True)
    (folder / "vm.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", event("MatMul:MatMul", 0, 10)))))
    return folder


def test_opening_a_run_brings_its_map(tmp_path: Path) -> None:
    run = _run(tmp_path / "plugins" / "profile" / "2026_01_01_00_00_00")
    (run / SIDECAR).write_bytes(packed(document()))
    for place in (tmp_path, run, run / "vm.xplane.pb", f"{run.parent}/*"):
        opened = open_traces(place)
        assert len(opened.source_map.ops) == 2, place
        assert opened.trace.warnings == ()


def test_a_trace_beside_a_broken_map_is_whole_and_says_so(tmp_path: Path) -> None:
    run = _run(tmp_path / "run")
    (run / SIDECAR).write_bytes(b"broken")
    opened = open_traces(run)
    assert opened.trace.n_events == 1
    assert "Source lines are unknown" in opened.trace.warnings[-1]
    assert opened.source_map.is_empty


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("details", "float_ops", ["6", "7"]),
        ("details", "input_shapes", [1, 2]),
        ("edges", "slot", [0, 1]),
        ("edges", "source", [2**70]),
        ("variables", "trainable", ["yes"]),
        ("variables", "shape", [[2, 3]]),
    ],
)
def test_a_broken_table_is_told_of(name: str, column: str, values: list[Any]) -> None:
    with pytest.raises(TraceError, match="broken"):
        parsed(**{name: document()[name] | {column: values}})


def test_variables_alone_make_a_map() -> None:
    assert not parsed(**{name: {} for name in SOURCE_TABLES if name != "variables"}).is_empty


def test_shapes_are_told_apart() -> None:
    assert parse_shapes("32x-1;();?;7") == [(32, -1), (), None, (7,)]
    assert parse_shapes("") == []
    assert parse_shapes(";") == [None, None]
    assert parse_shapes("x".join("1" * 255)) == [None]
    assert parse_shapes("9" * 19) == [None]


@given(st.text(max_size=60))
def test_any_text_is_shapes_or_none(text: str) -> None:
    for shape in parse_shapes(text):
        assert shape is None or all(size >= -1 for size in shape)


def _rows(n: int) -> Any:
    rows = np.zeros(n, STEP)
    rows["start_ns"] = 1_700_000_000_000_000_000 + 5_000_000 * np.arange(n)
    rows["duration_us"], rows["number"], rows["wait_us"] = 5000, np.arange(n), np.nan
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "plugins" / "profile" / "one").mkdir(parents=True)
    with closing(WatchWriter(folder)) as writer:
        writer.add_steps(_rows(10))
        writer.add_sample([1e18, *range(1, len(SAMPLE_COLUMNS))])
        writer.add_event({"kind": "begin", "at_ns": 5, "step": None, "title": "my\x1b[31m\ud800 cell"})
        writer.add_event({"kind": "window", "at_ns": 6, "step": 3, "index": 0, "run": "one"})
    return folder


def test_what_was_written_is_read(folder: Path) -> None:
    for path in (folder, folder / "tfprof.steps.json", folder / "tfprof.steps.bin", str(folder)):
        assert steps_folder(path) == folder
        log = read_watch_log(path)
        assert log.steps["number"].tolist() == list(range(10))
        assert log.samples.columns.tolist() == list(SAMPLE_COLUMNS)
        assert log.samples.loc[0, "rss_bytes"] == 3
        assert [event["kind"] for event in log.events] == ["begin", "window"]
        assert log.windows == (folder / "plugins" / "profile" / "one",)
        assert log.notices == ()
    assert read_watch_log(folder).events[0]["title"] == "my\\x1b[31m\\xed\\xa0\\x80 cell"


@pytest.mark.parametrize("name", ["tfprof.steps.bin", "tfprof.samples.bin", "tfprof.events.jsonl"])
def test_whatever_is_whole_before_a_cut_end_is_read(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    seen = set()
    for n in range(0, len(content), 3):
        (folder / name).write_bytes(content[:n])
        log = read_watch_log(folder)
        n_read = {
            "tfprof.steps.bin": len(log.steps),
            "tfprof.samples.bin": len(log.samples),
            "tfprof.events.jsonl": len(log.events),
        }[name]
        size = {"tfprof.steps.bin": STEP.itemsize, "tfprof.samples.bin": 8 * len(SAMPLE_COLUMNS)}.get(name)
        assert n_read == (n // size if size else content[:n].count(b"\n"))
        seen.add(n_read)
    assert len(seen) > 1 or name == "tfprof.samples.bin"
    (folder / name).unlink()
    assert f"{folder / name} cannot be read" in read_watch_log(folder).notices[0]


def test_steps_that_a_failed_disk_left_as_zeros_are_left_out(folder: Path) -> None:
    with (folder / "tfprof.steps.bin").open("ab") as file:
        file.write(bytes(7 * STEP.itemsize))
    log = read_watch_log(folder)
    assert len(log.steps) == 10
    assert log.notices[0].startswith("7 of 17 steps were never written")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("duration_us", np.nan), ("duration_us", -1), ("duration_us", np.inf)),
        *(("wait_us", -1), ("outside_us", np.inf), ("start_ns", 2**63 - 1)),
    ],
)
def test_steps_that_are_none_are_refused(folder: Path, column: str, value: float) -> None:
    rows = _rows(10)
    rows[column][7] = value
    (folder / "tfprof.steps.bin").write_bytes(rows.tobytes())
    with pytest.raises(TraceError, match=r"its row 7 of 32 bytes says is no step"):
        read_watch_log(folder)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[" * 100_000,
        b"{}",
        b'{"version": 1, "format": "tfprof steps"}',
        b'{"version": 1, "format": "tfprof steps", "sample_columns": []}',
        b'{"version": 1, "format": "tfprof steps", "sample_columns": ["a", "a"]}',
        b'{"version": 1, "format": "tfprof steps", "sample_columns": "time_ns"}',
        b'{"version": 2, "format": "tfprof steps", "sample_columns": ["time_ns"]}',
        b'{"version": 1, "format": "another", "sample_columns": ["time_ns"]}',
        b" " * (2**16 + 1),
    ],
)
def test_a_broken_header_is_refused(folder: Path, header: bytes) -> None:
    (folder / "tfprof.steps.json").write_bytes(header)
    assert not steps_folder(folder)
    with pytest.raises(TraceError, match="run"):
        read_watch_log(folder)


def test_what_is_no_watch_is_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", "https://there/run", "a\0b", "x" * 5000):
        assert not steps_folder(path)
    with pytest.raises(TraceError, match="holds no steps"):
        read_watch_log(tmp_path)


def test_the_newest_watch_of_a_logdir_is_the_last_that_is_whole(folder: Path, tmp_path: Path) -> None:
    assert newest_watch(tmp_path) is None
    for name in ("tfprof-watch-20261125-235959", "tfprof-watch-20261126-000000"):
        shutil.copytree(folder, tmp_path / name)
    (tmp_path / "tfprof-watch-20261127-000000").mkdir()
    assert newest_watch(tmp_path) == tmp_path / "tfprof-watch-20261126-000000"
    run = tfprof.load(tmp_path)
    assert isinstance(run, tfprof.WatchedRun)
    assert run.folder == tmp_path / "tfprof-watch-20261126-000000"
    assert newest_watch("http://nobody.test/logs") is None


def test_a_capture_is_its_steps_until_it_has_a_window_and_then_a_profile_whatever_the_steps_are(tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    with closing(WatchWriter(folder, "profile")) as writer:
        writer.add_steps(_rows(3))
    run = tfprof.load(folder)
    assert isinstance(run, tfprof.WatchedRun)
    assert (len(run.steps), run.windows) == (3, [])
    (folder / "plugins" / "profile").mkdir(parents=True)
    write_run(tmp_path / "one", PLAIN).rename(folder / "plugins" / "profile" / "one")
    (folder / "tfprof.steps.bin").write_bytes(b"x" * 320)
    for path in (folder, folder / "tfprof.steps.bin"):
        assert isinstance(tfprof.load(path), tfprof.Profile)


def test_samples_of_other_columns_are_read_by_name(folder: Path) -> None:
    header = {"format": "tfprof steps", "version": 1, "sample_columns": ["another", "time_ns"]}
    (folder / "tfprof.steps.json").write_text(json.dumps(header))
    (folder / "tfprof.samples.bin").write_bytes(np.array([1.0, 1e18, 2.0, np.nan, 3.0, 2e18]).tobytes())
    samples = read_watch_log(folder).samples
    assert samples["time_ns"].tolist() == [1e18, 2e18]
    assert samples["rss_bytes"].isna().all()


def test_lines_that_are_no_events_are_counted(folder: Path) -> None:
    lines = [
        *(b"", b"[]", b"nonsense", b'{"kind": 1}', b'{"kind": "x", "at_ns": "soon"}', b'{"kind": "x", "step": 1e9}'),
        *(
            b"[" * 20_000,
            b'{"kind": "x", "at_ns": ' + b"9" * 30 + b"}",
            b"\xff",
            b'{"kind": "x", "n": ' + b"9" * 5000 + b"}",
        ),
        b'{"kind": "x", "text": "' + b"a" * steps_file.MAX_LINE_BYTES + b'"}',
    ]
    (folder / "tfprof.events.jsonl").write_bytes(b"\n".join([*lines, b'{"kind": "end"}', b'{"kind": "cut']))
    log = read_watch_log(folder)
    assert [event["kind"] for event in log.events] == ["end"]
    assert log.notices == (
        f"{len(lines)} of {len(lines) + 1} lines of {folder / 'tfprof.events.jsonl'} are no events.",
    )


@pytest.mark.parametrize("path", ["/etc", "../one", "none", ".", "link", "a\0b", "x" * 5000, 3])
def test_windows_elsewhere_are_left_out(folder: Path, path: object) -> None:
    (folder.parent / "other").mkdir()
    (folder / "plugins" / "profile" / "link").symlink_to(folder.parent / "other")
    (folder / "tfprof.events.jsonl").write_text(json.dumps({"kind": "window", "run": path}) + "\n")
    log = read_watch_log(folder)
    assert log.windows == ()
    assert log.notices == (f"1 of 1 profile windows are not in {folder}.",)


@pytest.mark.parametrize("name", ["tfprof.steps.json", "tfprof.steps.bin", "tfprof.samples.bin", "tfprof.events.jsonl"])
def test_a_pipe_or_a_device_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(TraceError):
        read_watch_log(folder)
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(TraceError):
        read_watch_log(folder)


def test_files_beyond_the_limits_are_refused_unread(folder: Path) -> None:
    for name, most in (
        ("tfprof.steps.bin", steps_file.MAX_STEP_BYTES),
        ("tfprof.samples.bin", steps_file.MAX_SAMPLE_BYTES),
    ):
        content = (folder / name).read_bytes()
        os.truncate(folder / name, most + 1)
        with pytest.raises(TraceError, match="the limit"):
            read_watch_log(folder)
        (folder / name).write_bytes(content)
    (folder / "tfprof.events.jsonl").write_bytes(b"\n" * (steps_file.MAX_EVENTS + 1))
    with pytest.raises(TraceError, match="200,001 lines"):
        read_watch_log(folder)
    os.truncate(folder / "tfprof.events.jsonl", steps_file.MAX_EVENT_BYTES + 1)
    with pytest.raises(TraceError, match="the limit"):
        read_watch_log(folder)


def test_ten_million_steps_open_at_once_and_in_little_memory(folder: Path) -> None:
    rows = _rows(2**18)
    with (folder / "tfprof.steps.bin").open("wb") as file:
        for _ in range(38):
            file.write(rows.tobytes())
    begin_s = time.process_time()
    log = read_watch_log(folder)
    assert time.process_time() - begin_s < 2
    assert len(log.steps) == 38 * 2**18
    assert not log.steps.flags.writeable
    assert log.steps.nbytes > steps_file._MAPPED_BYTES  # mapped: the bytes below are the system's


def test_the_writer_writes_no_more_events_than_the_reader_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfprof_widgets.read.steps_file.MAX_EVENTS", 5)
    with closing(WatchWriter(tmp_path)) as writer:
        for i in range(9):
            writer.add_event({"kind": "line", "step": i})
        writer.add_event({"kind": "end"})
    kinds = [event["kind"] for event in read_watch_log(tmp_path).events]
    assert kinds == ["line"] * 4 + ["end"]
    assert "full at 5 events" in writer.notice


Writes = Callable[[Path], WatchWriter]


@pytest.fixture
def write() -> Iterator[Writes]:
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(closing(WatchWriter(folder)))


def test_what_is_added_is_in_the_files_at_once(tmp_path: Path, write: Writes) -> None:
    folder = tmp_path / "deep" / "run"
    writer = write(folder)
    writer.add_steps(_rows(3))
    writer.add_steps(_rows(2))
    writer.add_sample(np.arange(len(SAMPLE_COLUMNS)))
    writer.add_event({"kind": "epoch", "at_ns": np.int64(7), "step": None, "loss": np.float32(0.5), "path": folder})
    assert np.fromfile(folder / "tfprof.steps.bin", STEP)["number"].tolist() == [0, 1, 2, 0, 1]
    assert np.fromfile(folder / "tfprof.samples.bin").tolist() == list(range(len(SAMPLE_COLUMNS)))
    assert json.loads((folder / "tfprof.events.jsonl").read_text()) == (
        {"kind": "epoch", "at_ns": 7, "step": None, "loss": 0.5, "path": str(folder)}
    )
    assert json.loads((folder / "tfprof.steps.json").read_text())["format"] == "tfprof steps"
    assert writer.notice == ""


def test_a_folder_that_has_a_watch_is_left_alone(tmp_path: Path, write: Writes) -> None:
    first = write(tmp_path)
    first.add_steps(_rows(2))
    second = write(tmp_path)
    second.add_steps(_rows(5))
    assert (tmp_path / "tfprof.steps.bin").stat().st_size == 2 * STEP.itemsize
    assert second.notice.startswith(f"{tmp_path} is written no more")


def test_a_failed_write_ends_the_writing_and_is_told_once(tmp_path: Path, write: Writes) -> None:
    writer = write(tmp_path)
    writer.add_steps(_rows(1))
    writer._files["tfprof.steps.bin"].close()
    writer._files["tfprof.steps.bin"] = open(os.devnull, "rb", buffering=0)  # type: ignore[assignment] # noqa: SIM115, PTH123
    writer.add_steps(_rows(1))
    notice = writer.notice
    assert "the training goes on" in notice
    writer.add_steps(_rows(1))
    writer.add_event({"kind": "end"})
    assert writer.notice == notice
    assert (tmp_path / "tfprof.events.jsonl").stat().st_size == 0


def test_steps_beyond_the_limit_are_left_out_and_told(
    tmp_path: Path, write: Writes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps_file, "MAX_STEP_BYTES", 10 * STEP.itemsize + 5)
    writer = write(tmp_path)
    writer.add_steps(_rows(8))
    writer.add_steps(_rows(8))
    writer.add_steps(_rows(8))
    assert (tmp_path / "tfprof.steps.bin").stat().st_size == 10 * STEP.itemsize
    assert "is full at 320 bytes" in writer.notice
    writer.add_event({"kind": "end"})
    assert (tmp_path / "tfprof.events.jsonl").stat().st_size > 0


def test_an_event_that_is_too_long_is_left_out(tmp_path: Path, write: Writes) -> None:
    writer = write(tmp_path)
    writer.add_event({"kind": "begin", "program": "x" * steps_file.MAX_LINE_BYTES})
    writer.add_event({"kind": "end"})
    assert (tmp_path / "tfprof.events.jsonl").read_text().count("\n") == 1
    assert "An event of" in writer.notice


def test_what_comes_after_the_end_is_not_kept(tmp_path: Path, write: Writes) -> None:
    writer = write(tmp_path)
    writer.close()
    writer.add_steps(_rows(1))
    assert (tmp_path / "tfprof.steps.bin").stat().st_size == 0
    assert writer.notice == ""
