"""Names of events, ops and functions, places of frames, and numbers and texts in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import event, line, plane, trace
from tfprof_widgets.analysis import (
    KERAS,
    KERAS_LOSS,
    KERAS_OPTIMIZER,
    TF_DATA,
    FrameTable,
    OpCategory,
    UserFiles,
    amount,
    bucket_of_file,
    by_stem,
    ends,
    frame_places,
    framework_op,
    head,
    milliseconds,
    moments_of,
    once,
    parse_op_names,
    parsed_names,
    tail_of_text,
)
from tfprof_widgets.trace import Trace, made_source_map, table_frame

_PARTS = (
    *("a/", "b", ":", "::", "MatMul", "relu", "MemcpyHToD", "Iterator", "[2]"),
    *("_", "_1", "_12", "3", "XlaCompile", "\u00b2"),
)


def drawn() -> Trace:
    return trace(
        plane("/host:CPU", line("main", event("a/MatMul:MatMul", 0, 9, s="told"), event("Run", 1, 2))),
        plane("/device:GPU:0", line("stream", event("kernel", 2, 2), event("kernel", 5, 2))),
    )


def test_what_is_kept_of_a_trace_is_found_once_for_each_trace() -> None:
    one, other = drawn(), drawn()
    assert parsed_names(one) is parsed_names(one)
    n_events = once(lambda trace: [trace.n_events])
    assert n_events(one) is n_events(one)
    assert n_events(one) is not n_events(other)


@given(st.lists(st.lists(st.sampled_from(_PARTS), min_size=1, max_size=6).map("".join), unique=True))
def test_a_name_means_the_same_whichever_others_differ_from_it_in_a_number_at_the_end(names: list[str]) -> None:
    one = trace(plane("/host:CPU", line("main", *(event(name, 2 * i, 1) for i, name in enumerate(names)))))
    found, alone = parsed_names(one), parse_op_names([one.strings[i] for i in one.used_names.tolist()])
    assert (found.category.tolist(), found.type, found.name) == (alone.category.tolist(), alone.type, alone.name)


def test_numbers_at_the_end_of_a_name_of_a_million_letters_are_read_in_one_go() -> None:
    name = "a" + "_1" * 500_000 + "__1"  # a pattern that begins anew at each number would not come to an end
    one = trace(plane("/device:GPU:0", line("stream", event(name, 0, 1))))
    assert by_stem(one, len, np.int64)[one.name_id].tolist() == [len(name) - 1]


@pytest.mark.parametrize(
    ("full", "category", "op_type", "name"),
    [
        ("model/dense/MatMul:MatMul", OpCategory.TENSORFLOW, "MatMul", "model/dense/MatMul"),
        ("scope/Add_12:", OpCategory.TENSORFLOW, "Add", "scope/Add_12"),
        ("Iterator::Root::Map", OpCategory.TFDATA, "Dataset", "Iterator::Root::Map"),
        ("jit(f)/dot_general:dot_general[x=1]", OpCategory.JAX, "dot_general", "jit(f)/dot_general"),
        ("jit(f)/add_3:", OpCategory.JAX, "add", "jit(f)/add_3"),
        ("MemcpyHtoD", OpCategory.MEMCPY_HTOD, "MemcpyHToD", "MemcpyHtoD"),
        ("MemcpyH2D", OpCategory.UNKNOWN, "", "MemcpyH2D"),
        ("EagerLocalExecute: MatMul", OpCategory.UNKNOWN, "", "EagerLocalExecute: MatMul"),
        ("a;b:MatMul", OpCategory.UNKNOWN, "", "a;b:MatMul"),
        ("", OpCategory.UNKNOWN, "", ""),
        ("a:B\n", OpCategory.UNKNOWN, "", "a:B\n"),
    ],
)
def test_a_full_name_splits_into_category_type_and_name(
    full: str, category: OpCategory, op_type: str, name: str
) -> None:
    parsed = parse_op_names([full])
    assert (parsed.category[0], parsed.type[0], parsed.name[0]) == (category, op_type, name)


@pytest.mark.parametrize(
    ("op_name", "op_type", "want"),
    [
        ("net/dense/MatMul", "MatMul", ("net/dense/MatMul", "MatMul")),
        ("jit(train)/jit(main)/dense/dot_general", "", ("dense/dot_general", "dot_general")),
        ("a_inference_one_step_on_data_1538__.14/net/Relu", "Relu", ("net/Relu", "Relu")),
        ("__inference_train_12/net/Relu", "Relu", ("net/Relu", "Relu")),
        ("net/Mul;net/Add", "Mul", ("net/Mul", "Mul")),
        ("net/Relu:", "Relu", ("net/Relu", "Relu")),
        ("jit(f)/", "", ("jit(f)/", "Unknown")),
        ("was <b>fett</b>", "Böse", ("was <b>fett</b>", "Böse")),
    ],
)
def test_framework_names_are_those_of_the_traced_graph(op_name: str, op_type: str, want: tuple[str, str]) -> None:
    assert framework_op(op_name, op_type) == want


LIB = "/venv/lib/python3.11/site-packages"
FIT = (f"{LIB}/keras/src/backend/tensorflow/trainer.py", "fit")
SEQUENTIAL = (f"{LIB}/keras/src/models/sequential.py", "call")
DENSE = (f"{LIB}/keras/src/layers/core/dense.py", "call")
ADAM = (f"{LIB}/keras/src/optimizers/adam.py", "update_step")
LOSS = (f"{LIB}/keras/src/losses/loss.py", "__call__")
METRIC = (f"{LIB}/keras/src/metrics/metric.py", "update_state")
MY_CELL, MY_LAYER = ("/tmp/ipykernel_1/2.py", "<module>"), ("/home/me/net.py", "call")


def standing_for(*stack: tuple[str, str]) -> tuple[str, str, bool]:
    """The user's file, the bucket and whether a layer stands for the innermost frame of a stack."""
    table = FrameTable(
        tuple(range(-1, len(stack) - 1)),
        tuple(path for path, _ in stack),
        (1,) * len(stack),
        tuple(function for _, function in stack),
        tuple(UserFiles({}, ()).has(path) for path, _ in stack),
    )
    places = frame_places(table)
    user = int(places.user_frame[-1])
    return table.path[user] if user >= 0 else "", places.bucket[-1], bool(places.is_of_layer[-1])


def test_what_fit_calls_has_the_name_of_its_part() -> None:
    assert standing_for(MY_CELL, FIT, ADAM)[1] == KERAS_OPTIMIZER
    assert standing_for(MY_CELL, FIT, LOSS)[1] == KERAS_LOSS
    assert standing_for(MY_CELL, FIT, METRIC)[1] == KERAS_LOSS
    assert standing_for(MY_CELL, FIT)[1] == KERAS
    assert standing_for(MY_CELL, (FIT[0], "one_step_on_data")) == (MY_CELL[0], "", False), "of which fit is a caller"


def test_layers_that_keras_calls_stand_for_themselves() -> None:
    assert standing_for(MY_CELL, FIT, SEQUENTIAL, DENSE)[2]
    assert standing_for(MY_CELL, SEQUENTIAL, DENSE) == (MY_CELL[0], "", True)
    assert standing_for(MY_CELL, FIT, DENSE)[2]
    assert not standing_for(MY_CELL, DENSE)[2], "a layer that the user's line calls"


@pytest.mark.parametrize(
    ("path", "bucket"),
    [
        (f"{LIB}/tensorflow/python/data/ops/map_op.py", TF_DATA),
        (f"{LIB}/keras/src/trainers/compile_utils.py", KERAS_LOSS),
        (f"{LIB}/tf_keras/src/optimizers/adam.py", KERAS_OPTIMIZER),
        ("C:\\venv\\Lib\\site-packages\\keras\\src\\layers\\core.py", KERAS),
        ("/usr/lib/python3.11/threading.py", "Python library"),
    ],
)
def test_files_of_libraries_have_buckets(path: str, bucket: str) -> None:
    assert bucket_of_file(path) == bucket


ROOTS = ["/usr/lib/python3.12", "/usr/local/lib/python3.12/dist-packages", "/kit/keras"]
FILES = {
    "file": ["/kit/work.py", "/odd/generated.py"],
    "title": ["work.py", ""],
    "is_user": [True, False],
    "text": ["", ""],
}
KNOWN = UserFiles.of_map(
    made_source_map({"files": table_frame("files", FILES), "roots": table_frame("roots", {"root": ROOTS})}, (), ())
)


@pytest.mark.parametrize(
    ("path", "is_users"),
    [
        ("/kit/work.py", True),
        ("/kit/other.py", True),
        ("/usr/lib/python3.12/threading.py", False),
        ("/home/me/lib/python3.12/site-packages/mine.py", True),
        ("/odd/generated.py", False),
        ("<frozen runpy>", False),
        ("/tmp/__autograph_generated_file5x_a.py", False),
        ("<ipython-input-3-abc>", True),
        ("", False),
    ],
)
def test_the_roots_that_the_capture_noted_decide(path: str, is_users: bool) -> None:
    assert KNOWN.has(path) is is_users


@pytest.mark.parametrize(
    ("path", "is_users"),
    [
        ("/home/me/train.py", True),
        ("/home/me/site-packages-demo/train.py", True),
        ("/venv/lib/python3.11/site-packages/keras/src/layers/layer.py", False),
        ("/tmp/ipykernel_1/2.py", True),
        ("/tmp/__autograph_generated_file5x_a.py", False),
    ],
)
def test_without_them_the_path_tells_as_much_as_it_can(path: str, is_users: bool) -> None:
    assert UserFiles.of_map(None).has(path) is is_users


@pytest.mark.parametrize("latest", [40, 2**62], ids=["near", "too far apart for one number"])
def test_moments_are_ordered_by_owner_and_then_by_time_over_all_columns(latest: int) -> None:
    first = np.array([2, -1, 0, 7], np.int32), np.array([5, latest, 3, 0])
    second = np.array([0, 0, 2], np.int64), np.array([latest, 3, 5])

    numbers = np.concatenate(moments_of(first, second)).tolist()

    owners, times = (np.concatenate(columns).tolist() for columns in zip(first, second, strict=True))
    pairs = list(zip(owners, times, strict=True))
    assert sorted(range(7), key=lambda i: (numbers[i], i)) == sorted(range(7), key=lambda i: (pairs[i], i))
    assert len(set(numbers)) == len(set(pairs))


NAME = "replica_0/" + "x" * 50 + "/MatMul"


def test_each_keeps_its_part() -> None:
    assert head(NAME, 11) == "replica_0/…"
    assert tail_of_text(NAME, 8) == "…/MatMul"
    assert ends(NAME, 20) == "replic…xxxxxx/MatMul"


def test_times_have_the_unit_that_suits_them() -> None:
    assert [milliseconds(ms) for ms in (0, 0.0371, 0.9996, 21.34, 999.4, 1027)] == [
        *("0 ms", "37.1 µs", "1.00 ms", "21.3 ms", "999 ms", "1.03 s")
    ]


def test_means_of_counts_have_decimals_where_they_are_not_whole() -> None:
    assert [amount(count) for count in (18.0, 1 / 3, 8125)] == ["18", "0.333", "8,125"]
