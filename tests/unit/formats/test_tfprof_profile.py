"""A ProfileProto becomes an OpGraph; what is none is refused with a sentence that says where and what."""

from __future__ import annotations

import pytest

from tests.builders import number, tagged
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.read import read_profile_proto


def entry(field: int, key: int | bytes, value: bytes | int) -> bytes:
    """An entry of a map."""
    first = tagged(1, key) if isinstance(key, bytes) else number(1, key)
    return tagged(field, first + (tagged(2, value) if isinstance(value, bytes) else number(2, value)))


def node(name: str, *fields: bytes) -> bytes:
    return b"".join((tagged(1, name.encode()), tagged(9, b"MatMul"), tagged(5, b"MatMul"), *fields))


def profile(*nodes: bytes, strings: tuple[bytes, ...] = (b"none", b"/a/net.py", b"build", b"x @ y")) -> bytes:
    return b"".join(
        (*(entry(1, i, one) for i, one in enumerate(nodes)), *(entry(4, i, text) for i, text in enumerate(strings)))
    )


def times(*pairs: tuple[int, int]) -> bytes:
    return b"".join(tagged(1, b"".join(number(1, value) for value in pair)) for pair in pairs)


def frame(line: int, text: int = 3) -> bytes:
    return tagged(1, number(2, line) + number(6, 1) + number(7, 2) + number(8, text))


def test_a_profile_keeps_every_table() -> None:
    ran = number(1, 2) + number(2, 1000) + number(3, 1050)
    ran += entry(5, b"/device:cpu:0", times((1000, 20), (1030, 20)))
    ran += entry(4, b"/device:gpu:0/stream:all", times((1005, 7)))
    ran += tagged(7, number(1, 1050) + number(6, 64) + number(7, 32) + number(8, 8) + number(9, 16))
    first = node("w", number(4, 5), number(4, 3), tagged(6, b"cpu:0"), tagged(7, b"cpu:0"), entry(15, 0, number(1, 5)))
    second = node(
        "net/MatMul",
        number(8, 30),
        entry(2, 0, 0),
        entry(14, 0, 0),
        entry(12, 3, ran),
        tagged(10, frame(10) + frame(20)),
    )
    graph = read_profile_proto(profile(first, second))
    assert graph.is_whole and graph.counts_steps and graph.steps == [3]
    assert graph.ops["name"].tolist() == ["w", "net/MatMul"]
    assert graph.ops["shape"].tolist() == [(5, 3), None]
    assert graph.ops["frame"].tolist() == [-1, 1]
    assert graph.ops["float_ops"].tolist() == [0, 30]
    assert graph.frames[["parent", "file", "line", "function", "text"]].to_numpy().tolist() == [
        [-1, "/a/net.py", 10, "build", "x @ y"],
        [0, "/a/net.py", 20, "build", "x @ y"],
    ]
    assert graph.inputs.to_numpy().tolist() == [[1, 0, 0, 0]]
    assert graph.shapes.to_numpy().tolist() == [[0, True, 0, (5,)]]
    assert graph.runs.to_numpy().tolist() == [[1, 3, 2, 1000, 1050]]
    assert graph.times[["is_accelerator", "duration_us"]].to_numpy().tolist() == [[True, 7], [False, 20], [False, 20]]
    memory = graph.memory.iloc[0]
    assert (memory.requested_bytes, memory.peak_bytes, memory.residual_bytes, memory.output_bytes) == (64, 32, 8, 16)
    assert memory.time_us == 1050


def test_ops_with_the_same_call_stack_share_its_frames() -> None:
    stack = tagged(10, frame(10) + frame(20))
    graph = read_profile_proto(profile(node("a", stack), node("b", stack), node("c", tagged(10, frame(10)))))
    assert graph.ops["frame"].tolist() == [1, 1, 0]
    assert len(graph.frames) == 2


def test_names_that_are_not_utf_8_are_data() -> None:
    graph = read_profile_proto(profile(tagged(1, b"a\xff")))
    assert graph.ops["name"].tolist() == ["a\\xff"]


def test_no_bytes_are_an_empty_profile() -> None:
    with pytest.raises(EmptyTraceError, match=r"run/profile\.context is empty \(0 bytes\)"):
        read_profile_proto(b"", source="run/profile.context")


def test_a_cut_profile_says_where_it_ends() -> None:
    whole = profile(node("a", tagged(10, frame(10))), node("b"))
    with pytest.raises(TraceError, match=r"^p\.context: Not a tfprof ProfileProto.*: byte 20 of 20: .*truncated"):
        read_profile_proto(whole[:20], source="p.context")


def test_every_cut_is_refused_or_a_smaller_profile() -> None:
    whole = profile(node("a", entry(12, 3, entry(5, b"cpu:0", times((1, 2))))), node("b", entry(2, 0, 0)))
    for length in range(1, len(whole)):
        try:
            graph = read_profile_proto(whole[:length])
        except TraceError:
            continue
        assert 1 <= len(graph.ops) <= 2


@pytest.mark.parametrize(
    "content", [b"hello, world", b'{"traceEvents": []}', bytes(100), b"\x08\x01", b"\x1f\x8b\x08\x00"]
)
def test_foreign_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(TraceError, match=r"Not a tfprof ProfileProto, such as profile\.context"):
        read_profile_proto(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (profile(node("a", entry(2, 1, 77))), "input 1 of op 'a' is node 77, which is not in the file"),
        (profile(node("a"), node("a")), "two of its nodes are called 'a'"),
        (profile(node("a", tagged(10, frame(10, 9)))), "call stack of op 'a' has text 9, which is not among the 4"),
        (profile(node("a", tagged(10, b"\x0a\xff"))), "call stack of op 'a' is no CodeDef"),
        (
            profile(node("a", entry(12, 3, entry(5, b"cpu:0", tagged(1, number(1, 5)))))),
            "op 'a' in step 3 has 1 numbers",
        ),
    ],
    ids=["input", "name", "text", "stack", "time"],
)
def test_what_does_not_fit_together_is_named(content: bytes, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_profile_proto(content)
