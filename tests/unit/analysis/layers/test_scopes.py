"""The tree of name scopes: complete, and its sums right, whatever the names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analysis.layers.totals import totals_of
from tfprof_widgets.analysis import MAX_SCOPE_DEPTH, TABLES, Results, Scopes, compute_scopes, op_scopes
from tfprof_widgets.analysis import scopes as scopes_module
from tfprof_widgets.read import open_traces

PART = st.sampled_from(["a", "b", "c_1", "gradient_tape", "while"])
OPS = st.lists(
    st.tuples(st.lists(PART, max_size=5), st.integers(0, 9), st.booleans()),
    max_size=15,
    unique_by=lambda op: tuple(op[0]),
)


def tree(*ops: tuple[str, float], on_device: bool = False) -> Scopes:
    names = [name for name, _ in ops]
    scopes = op_scopes(names, ["Mul"] * len(names))
    return compute_scopes(scopes, totals_of([us for _, us in ops], is_device=[on_device] * len(ops)))


def row(frame: pd.DataFrame, scope: str) -> pd.Series:
    (found,) = frame[frame["scope"] == scope].to_dict("records")
    return pd.Series(found)


def test_a_scope_holds_its_ops_and_those_below() -> None:
    found = tree(
        ("net/dense/MatMul", 5), ("net/dense/BiasAdd", 1), ("net/Add", 2), ("NoOp", 1), ("gradient_tape/net/Add/Sum", 4)
    )
    assert tuple(found.frame.columns) == TABLES["scopes"].names
    root, net, dense = (row(found.frame, scope) for scope in ("", "net", "net/dense"))
    assert (root.total_time_us, root.self_time_us, root.n_ops, root.depth) == (13, 1, 5, 0)
    assert (net.total_time_us, net.self_time_us, net.parent, net["name"], net.depth) == (12, 2, "", "net", 1)
    assert (net.backward_time_us, net.total_time_ratio) == (4, 12 / 13)
    assert (dense.total_time_us, dense.self_time_us, dense.parent, dense["name"]) == (6, 6, "net", "dense")


def test_devices_and_hosts_have_trees_of_their_own() -> None:
    scopes = op_scopes(["net/MatMul", "net/conv/Conv2D"], ["MatMul", "Conv2D"])
    found = compute_scopes(scopes, totals_of([3, 7], is_device=[True, False]))
    assert found.frame[["device", "scope", "total_time_us", "total_time_ratio"]].to_numpy().tolist() == [
        ["Device", "", 3.0, 1.0],
        ["Device", "net", 3.0, 1.0],
        ["Host", "", 7.0, 1.0],
        ["Host", "net", 7.0, 1.0],
        ["Host", "net/conv", 7.0, 1.0],
    ]


def test_a_trace_without_ops_has_an_empty_tree() -> None:
    found = tree()
    assert len(found.frame) == 0
    assert found.entries["scope"].tolist() == [""]
    assert repr(found) == "Scopes(0 name scopes)"


@given(OPS)
def test_self_times_add_up_and_a_total_is_that_of_its_children(ops: list[tuple[list[str], int, bool]]) -> None:
    names = ["/".join([*parts, "Op"]) for parts, _, _ in ops]
    times, sides = [us for _, us, _ in ops], [device for _, _, device in ops]
    found = compute_scopes(op_scopes(names, ["Mul"] * len(ops)), totals_of(times, is_device=sides))
    for device, side in found.frame.groupby("device"):
        whole = sum(us for us, on_device in zip(times, sides, strict=True) if on_device == (device == "Device"))
        assert side["self_time_us"].sum() == whole == side["total_time_us"].iloc[0]
        below = side[side["depth"] > 0].groupby("parent")["total_time_us"].sum()
        expected = side.set_index("scope")["self_time_us"].add(below, fill_value=0.0)
        assert expected.sort_index().tolist() == side.set_index("scope")["total_time_us"].sort_index().tolist()
    parent = found.entries["parent"].to_numpy()
    assert (parent < np.arange(len(parent))).all()


def test_a_thousand_levels_and_thousands_of_scopes_are_one_tree() -> None:
    deep = "/".join(f"level{i}" for i in range(1000))
    ops = [(f"{deep}/MatMul", 1.0), *((f"wide{i}/{i % 7}/x{i}/MatMul", 1.0) for i in range(20_000))]
    found = tree(*ops)
    assert found.entries["depth"].max() == 1000
    assert row(found.frame, "level0/level1").total_time_us == 1
    assert found.n_folded_ops == 0


def test_ops_deeper_than_the_bound_are_charged_to_the_deepest_scope_and_counted() -> None:
    found = tree(("/".join(["a"] * (MAX_SCOPE_DEPTH + 5)) + "/Op", 2.0), ("b/Op", 1.0))
    assert found.entries["depth"].max() == MAX_SCOPE_DEPTH
    assert found.n_folded_ops == 1
    assert found.frame["self_time_us"].sum() == 3


def test_paths_beyond_the_bound_of_memory_are_charged_to_a_scope_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes_module, "MAX_PATH_CHARS", 10)
    found = tree(("abc/def/Op", 2.0), ("ghi/Op", 1.0))
    assert found.entries["scope"].tolist() == ["", "abc", "abc/def"]
    assert found.n_folded_ops == 1
    assert found.frame["self_time_us"].sum() == 3


@pytest.mark.parametrize(
    "kind", ["keras_fit", "lstm_fit", "xla_fit", pytest.param("nested_fit", marks=pytest.mark.tensorflow)]
)
def test_the_tree_of_a_real_run_holds_all_time(kind: str, capture_of: Callable[[str], Path]) -> None:
    results = Results(open_traces(capture_of(kind)).trace)
    check(results)
    assert not results.scopes.frame["scope"].str.contains("PartitionedCall|gradient_tape|/body/|Optimizer").any()


def test_the_tree_of_a_gpu_trace_holds_all_time(v100_xplane: Path) -> None:
    results = Results(open_traces(v100_xplane).trace)
    check(results)
    frame = results.scopes.frame
    assert row(frame[frame["device"] == "Host"], "bert_span_labeler/bert_encoder_1/transformer").n_ops > 2000
    assert not frame["scope"].str.contains("replica_").any()


def check(results: Results) -> None:
    frame = results.scopes.frame
    for device, side in results.ops.groupby("device"):
        whole = side["total_self_time_us"].sum()
        assert frame["self_time_us"][frame["device"] == device].sum() == pytest.approx(whole, rel=1e-12)
        assert frame["total_time_us"][(frame["device"] == device) & (frame["scope"] == "")].item() == pytest.approx(
            whole
        )
    assert len(results.scopes.op_entry) == len(results.op_shares)
