"""Graphs of ops of several files become one: ops by name, executions of all."""

from __future__ import annotations

from typing import Any

from tfprof_widgets.trace import OpGraph, make_op_graph, merge_op_graphs


def drawn(names: list[str], *, step: int, device: str = "/cpu:0", edge: bool = True) -> OpGraph:
    """Ops in a row, each of which ran once for as many microseconds as its place."""
    n = len(names)
    tables: dict[str, dict[str, Any]] = {
        "ops": {
            "name": names,
            "type": ["Op"] * n,
            "op_types": [("Op",)] * n,
            "device": [device] * n,
            "host_device": [device] * n,
            "float_ops": [0] * n,
            "shape": [None] * n,
            "frame": list(range(n)),
        },
        "frames": {
            "parent": [-1, *range(n - 1)],
            "file": ["f.py"] * n,
            "line": list(range(n)),
            "function": [""] * n,
            "function_line": [0] * n,
            "text": names,
        },
        "runs": {"op": range(n), "step": [step] * n, "n_runs": [1] * n, "start_us": [1.0] * n, "end_us": [2.0] * n},
        "times": {
            "op": range(n),
            "step": [step] * n,
            "device": [device] * n,
            "is_accelerator": [False] * n,
            "start_us": [1.0] * n,
            "duration_us": [float(i) for i in range(n)],
        },
    }
    if edge:
        tables["inputs"] = {"op": [1], "slot": [0], "source": [0], "source_output": [0]}
    return make_op_graph(tables)


def test_steps_of_one_program_share_their_ops() -> None:
    merged = merge_op_graphs([drawn(["a", "b"], step=1), drawn(["b", "c"], step=2)])
    assert merged.ops["name"].tolist() == ["a", "b", "c"]
    assert merged.steps == [1, 2]
    names = merged.ops["name"].to_numpy()
    edges = list(zip(names[merged.inputs["source"]], names[merged.inputs["op"]], strict=True))
    assert edges == [("a", "b"), ("b", "c")]
    times = list(zip(names[merged.times["op"]], merged.times["step"], merged.times["duration_us"], strict=True))
    assert times == [("a", 1, 0.0), ("b", 1, 1.0), ("b", 2, 0.0), ("c", 2, 1.0)]


def test_an_op_keeps_the_call_stack_and_the_edges_of_the_first_file() -> None:
    merged = merge_op_graphs([drawn(["a", "b"], step=1), drawn(["a", "b"], step=1)])
    assert len(merged.inputs) == 1
    assert merged.runs[["op", "n_runs"]].values.tolist() == [[0, 2], [1, 2]]
    texts = merged.frames["text"].to_numpy()
    assert texts[merged.ops["frame"]].tolist() == ["a", "b"]
    other = merge_op_graphs([drawn(["a", "b"], step=1), drawn(["x", "y"], step=1)])
    assert other.frames["text"].to_numpy()[other.ops["frame"]].tolist() == ["a", "b", "x", "y"]
    assert (other.frames["parent"].to_numpy() < range(len(other.frames))).all()


def test_an_op_that_ran_only_in_a_later_file_has_its_device() -> None:
    merged = merge_op_graphs([drawn(["a", "b"], step=1, device=""), drawn(["b", "a"], step=2)])
    assert merged.ops["device"].tolist() == ["/cpu:0", "/cpu:0"]
