"""Names of events, ops and framework functions: what they tell, each asked once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import event, line, plane, trace
from tfprof_widgets.analysis import OpCategory, by_stem, framework_op, once, parse_op_names, parsed_names
from tfprof_widgets.trace import Trace

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
    assert by_stem(one, lambda stems: [*map(len, stems)], np.int64)[one.name_id].tolist() == [len(name) - 1]


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
