"""What a capture noted of its program, read back; a broken note costs the lines, never the trace."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import event, line, plane, space
from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import SIDECAR, open_traces, parse_source_map, read_source_map
from tfprof_widgets.read import saved as module
from tfprof_widgets.trace import SOURCE_TABLES, SourceMap, empty_source_map, merge_source_maps, parse_shapes


def document(**changed: Any) -> dict[str, Any]:
    """A sidecar of two ops, one of which was made by a lambda in the user's file."""
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
        "notices": [],
    } | changed


def packed(content: Any) -> bytes:
    return gzip.compress(json.dumps(content).encode())


def parsed(**changed: Any) -> SourceMap:
    return parse_source_map(packed(document(**changed)))


def test_a_sidecar_is_read_as_it_was_written() -> None:
    one = parsed()
    assert one.ops.to_dict("list") == document()["ops"]
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
    monkeypatch.setattr(module, "MAX_SIDECAR_BYTES", 100)
    with pytest.raises(TraceError, match="100 bytes"):
        parsed()


def test_a_list_of_many_lists_is_refused_before_it_takes_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(b'{"version":1,"ops":{},"x":[[],[],{}]}')
    assert parse_source_map(content).is_empty
    monkeypatch.setattr(module, "MAX_BRACKETS", 5)
    with pytest.raises(TraceError, match="more than 5 lists"):
        parse_source_map(content)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / SIDECAR).write_bytes(gzip.compress(b'{"version":1}'))
    assert read_source_map(tmp_path).warnings == ()
    monkeypatch.setattr(module, "MAX_SIDECAR_BYTES", 20)
    (warning,) = read_source_map(tmp_path).warnings
    assert "more than 20 bytes, the limit" in warning


def test_references_to_rows_that_are_not_there_are_none() -> None:
    one = parsed(
        ops={"graph": [5, -7], "op": ["a", "b"], "type": ["A", "B"], "frame": [9, 1]},
        frames={"parent": [0, 1], "file": [3, 0], "line": [1, 2], "function": ["f", "g"]},
    )
    assert one.ops["graph"].tolist() == [-1, -1]
    assert one.ops["frame"].tolist() == [-1, 1]
    assert one.frames["parent"].tolist() == [-1, -1], "a frame that calls itself or a later one would never end"
    assert one.frames["file"].tolist() == [-1, 0]


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


NEW = ("details", "edges", "variables")


def detailed_document(**changed: Any) -> dict[str, Any]:
    """A sidecar of a variable and two ops, one of which reads it for the other."""
    return {
        "version": 1,
        "recorder": "a",
        "ops": {"graph": [0, 0], "op": ["r", "m"], "type": ["ReadVariableOp", "Mul"], "frame": [-1, -1]},
        "functions": {"graph": ["f"], "file": [-1], "line": [0], "function": [""]},
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
    } | changed


def parsed_details(**changed: Any) -> SourceMap:
    return parse_source_map(gzip.compress(json.dumps(detailed_document(**changed)).encode()))


def test_details_are_read_as_they_were_written() -> None:
    one = parsed_details()
    for name in NEW:
        assert getattr(one, name).to_dict("list") == detailed_document()[name]


def test_types_of_ops_are_unknown_in_a_sidecar_of_before() -> None:
    details = {key: values for key, values in detailed_document()["details"].items() if key != "dtype"}
    assert parsed_details(details=details).details["dtype"].tolist() == ["", ""]


@pytest.mark.parametrize("name", NEW)
def test_a_sidecar_of_before_has_none_and_the_rest(name: str) -> None:
    old = detailed_document()
    del old[name]
    one = parse_source_map(gzip.compress(json.dumps(old).encode()))
    assert getattr(one, name).empty
    assert list(getattr(one, name).columns) == list(SOURCE_TABLES[name])
    assert one.ops["op"].tolist() == ["r", "m"]
    assert one.warnings == ()


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
        parsed_details(**{name: detailed_document()[name] | {column: values}})


def test_edges_and_details_to_rows_that_are_not_there_are_none() -> None:
    one = parsed_details(
        edges={"op": [7, 1], "slot": [0, 0], "source": [0, -5], "source_output": [0, 0]},
        details=detailed_document()["details"] | {"op": [0, 9], "variable": [3, 0]},
    )
    assert one.edges["op"].tolist() == [-1, 1]
    assert one.edges["source"].tolist() == [0, -1]
    assert one.details["op"].tolist() == [0, -1]
    assert one.details["variable"].tolist() == [-1, 0]


def test_maps_of_two_captures_keep_their_own_rows() -> None:
    both = merge_source_maps([parsed_details(), parsed_details(recorder="b")])
    assert both.details["op"].tolist() == [0, 1, 2, 3]
    assert both.details["variable"].tolist() == [0, -1, 1, -1]
    assert both.edges["source"].tolist() == [0, 2]
    assert both.edges["op"].tolist() == [1, 3]
    assert len(both.variables) == 2


def test_variables_alone_make_a_map() -> None:
    assert not parsed_details(ops={}, details={}, edges={}, functions={}).is_empty


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
