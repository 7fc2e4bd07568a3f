"""What files tell of ops is taken as far as a machine could have done it, and names of tensors are read in one way."""

from __future__ import annotations

import pytest

from tests.builders import number
from tests.unit.formats.test_tfprof_profile import node, profile
from tfprof_widgets.read import graph_nodes, read_op_log, read_profile_proto, source_of, step_message
from tfprof_widgets.trace import MOST_FLOAT_OPS

FLOAT_OPS = [(30, 30), (2**62, MOST_FLOAT_OPS), (-1, 0)]


@pytest.mark.parametrize(("written", "expected"), FLOAT_OPS)
def test_float_operations_of_a_log_leave_room_for_sums(written: int, expected: int) -> None:
    log = step_message("OpLog")()
    log.log_entries.add(name=b"a", float_ops=written)
    assert read_op_log(log.SerializeToString()).float_ops.get("a", 0) == expected


@pytest.mark.parametrize(("written", "expected"), FLOAT_OPS)
def test_float_operations_of_a_profile_leave_room_for_sums(written: int, expected: int) -> None:
    graph = read_profile_proto(profile(node("a", number(8, written % 2**64))))
    assert graph.ops["float_ops"].tolist() == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("x", ("x", 0)), ("x:2", ("x", 2)), ("^x", ("x", -1)), ("^x:0", ("x", -1)), ("x:y", ("x", 0)), ("", ("", 0))],
)
def test_a_tensor_is_named_alike_in_graphs_and_labels(text: str, expected: tuple[str, int]) -> None:
    assert source_of(text) == expected
    graph = step_message("GraphDef")()
    graph.node.add(name=b"n", op=b"Add", input=[text.encode()])
    assert graph_nodes([graph])["n"].inputs == (expected,)


def test_code_that_could_not_be_read_is_no_text() -> None:
    log = step_message("OpLog")()
    log.id_to_string.extend(
        step_message("IdToString")(key=i, value=text) for i, text in enumerate((b"none", b"net.py", b"f", b"y = x"))
    )
    entry = log.log_entries.add(name=b"a")
    for line_id in (0, 3):
        entry.code_def.traces.add(lineno=1, file_id=1, function_id=2, line_id=line_id)
    assert read_op_log(log.SerializeToString()).frames.columns()["text"] == ["", "y = x"]
