"""Compiled programs: the graph of an op, and graphs of CUDA that were switched off."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.builders import event, line, plane, trace
from tests.hlo_drawings import Computation, computation, instruction, metadata_plane, module
from tests.structure_drawings import drawn_graph, profile_of
from tests.unit.analysis.cluster.comparison import Both
from tfprof_widgets.analysis import Analysis, HloGraph, HloGraphs, graphs_switched_off, hlo_op_graph
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.read import read_hlo_modules
from tfprof_widgets.show import build_payload, hlo_graph_list, unpack
from tfprof_widgets.show import lists as packing
from tfprof_widgets.trace import with_host

FUSED = computation(
    "fused",
    instruction("p", "parameter", (4,)),
    instruction("q", "parameter", (4,)),
    instruction("m", "multiply", (4,), reads="p q", op="jit(step)/net/Mul:Mul"),
    instruction("b", "broadcast", (12,), reads="m"),
    instruction("r", "add", (12,), reads="b b", op="net/Add:AddV2"),
)
MAIN = computation(
    "main",
    instruction("x", "parameter", (4,)),
    instruction("y", "negate", (4,), reads="x", op="net/Neg:Neg"),
    instruction("f", "fusion", (12,), reads="y x", calls="fused", op="net/Add:AddV2"),
    instruction("s", "sqrt", (12,), reads="f", op="net/Sqrt:Sqrt"),
    instruction("t", "tanh", (12,), reads="s"),
    instruction("u", "exponential", (12,), reads="t"),
)


def results_of(*computations: Computation, ran: dict[str, float]) -> Analysis:
    """Analysis of a program of which some ops ran, each as long as it says."""
    events, at = [], 0.0
    for name, lasts in ran.items():
        events.append(event(name, at, lasts, hlo_op=name, hlo_module="mod", program_id=1))
        at += lasts
    program = metadata_plane({1: module("mod", *computations)})
    return Analysis(trace(program, plane("/host:CPU", line("t", *events))))


def graph_of(name: str, *computations: Computation, most: int = 60) -> HloGraph:
    modules = read_hlo_modules(trace(metadata_plane({1: module("mod", *computations)})))
    return HloGraphs(modules).of(modules.find(1, "mod", name), most=most)


def edges(graph: HloGraph) -> set[tuple[str, str]]:
    return {(graph.name[node], reader) for reader, nodes in zip(graph.name, graph.reads, strict=True) for node in nodes}


def test_a_fusion_is_what_it_is_made_of_with_the_operands_outside_as_parameters() -> None:
    graph = graph_of("f", FUSED, MAIN)
    assert graph.frame.drop(columns="work_ratio").to_dict("records") == [
        {"name": "y", "opcode": "parameter", "shape": "f32[4]{0}", "op_name": "", "reads": ()},
        {"name": "x", "opcode": "parameter", "shape": "f32[4]{0}", "op_name": "", "reads": ()},
        {"name": "m", "opcode": "multiply", "shape": "f32[4]{0}", "op_name": "net/Mul", "reads": ("y", "x")},
        {"name": "b", "opcode": "broadcast", "shape": "f32[12]{0}", "op_name": "", "reads": ("m",)},
        {"name": "r", "opcode": "add", "shape": "f32[12]{0}", "op_name": "net/Add", "reads": ("b",)},
    ]
    assert (graph.n_nodes, graph.centre) == (5, -1)


def test_its_instructions_share_its_work() -> None:
    assert graph_of("f", FUSED, MAIN).work_ratio.tolist() == [0, 0, 4 / 16, 0, 12 / 16]


def test_a_call_that_holds_only_a_fusion_is_looked_through() -> None:
    call = computation(
        "parallel",
        instruction("first", "parameter", (4,)),
        instruction("second", "parameter", (4,)),
        instruction("f", "fusion", (12,), reads="second first", calls="fused"),
    )
    main = computation(
        "main",
        instruction("x", "parameter", (4,)),
        instruction("y", "negate", (4,), reads="x"),
        instruction("c", "call", (12,), reads="y x", calls="parallel"),
    )
    assert graph_of("c", FUSED, call, main).name == ("x", "y", "m", "b", "r")


def test_around_an_op_are_two_levels_of_what_it_reads_and_what_reads_it() -> None:
    graph = graph_of("s", FUSED, MAIN)
    assert graph.name == ("x", "y", "f", "s", "t", "u")
    assert edges(graph) == {("x", "y"), ("y", "f"), ("x", "f"), ("f", "s"), ("s", "t"), ("t", "u")}
    assert graph.name[graph.centre] == "s"
    assert np.isnan(graph.work_ratio).all()
    assert graph_of("u", FUSED, MAIN).name == ("s", "t", "u")


def test_the_nearest_are_kept_of_too_many() -> None:
    inside = graph_of("f", FUSED, MAIN, most=3)
    assert (inside.name, inside.n_nodes) == (("m", "b", "r"), 5)
    assert inside.work_ratio.tolist() == [4 / 16, 0, 12 / 16]
    around = graph_of("s", FUSED, MAIN, most=3)
    assert (around.name, around.n_nodes) == (("f", "s", "t"), 6)


def test_an_operand_that_the_file_does_not_hold_is_no_node() -> None:
    assert graph_of("a", computation("main", instruction("a", "add", reads="gone gone"))).reads == ((),)


def test_of_ops_of_one_name_the_costliest_whose_program_is_known_is_meant() -> None:
    results = results_of(FUSED, MAIN, ran={"f": 5, "s": 3, "lost": 9})
    assert hlo_op_graph(results.hlo_ops, results.units.hlo, "f").name[:2] == ("y", "x")
    with pytest.raises(TfProfError, match="no HLO op named 'gone' ran"):
        hlo_op_graph(results.hlo_ops, results.units.hlo, "gone")
    with pytest.raises(TfProfError, match="'lost' is made of is not known"):
        hlo_op_graph(results.hlo_ops, results.units.hlo, "lost")


def test_what_ran_travels_costliest_first_with_what_it_stands_for() -> None:
    fusion, root = hlo_graph_list(results_of(FUSED, MAIN, ran={"s": 3, "f": 5, "lost": 9}))
    assert {key: fusion[key] for key in ("name", "module", "category", "self_us", "ops", "ratios", "centre")} == {
        "name": "f",
        "module": "mod",
        "category": fusion["category"],
        "self_us": 5,
        "ops": ["net/Mul", "net/Add"],
        "ratios": [0.25, 0.75],
        "centre": -1,
    }
    assert fusion["values"] == [0, 0, 0.25, 0, 0.75]
    assert list(zip(fusion["from"], fusion["to"], strict=True)) == [(0, 2), (1, 2), (2, 3), (3, 4)]
    assert (root["names"][root["centre"]], root["values"]) == ("s", [0, 0, 5, 3, 0, 0])


def test_as_many_travel_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    results = results_of(FUSED, MAIN, ran={"f": 5, "s": 3, "t": 2})
    assert [row["name"] for row in hlo_graph_list(results)] == ["f", "s", "t"]
    monkeypatch.setattr(packing, "_MOST_GRAPHS", 2)
    assert [row["name"] for row in hlo_graph_list(results)] == ["f", "s"]
    monkeypatch.setattr(packing, "_MOST_CHARACTERS", len(json.dumps(hlo_graph_list(results)[0])))
    assert [row["name"] for row in hlo_graph_list(results)] == ["f"]


def test_a_capture_without_programs_has_none() -> None:
    results = profile_of(drawn_graph(2)).run.results
    assert hlo_graph_list(results) == []
    assert unpack(build_payload(results).part("hlo_graphs:0"))[0]["hlo_graphs"] == []


OFF = "WARNING: CommandBuffer disabled when profiling"


def test_calls_inside_a_graph_that_was_switched_off_are_counted_apart() -> None:
    launches = [event("cuLaunchKernel", at, 1, correlation_id=at) for at in (2, 5, 20)]
    drawn = trace(plane("/host:CPU", line("t", event(OFF, 0, 10), *launches)))
    found = graphs_switched_off(drawn)
    assert (found.n_graphs, found.n_calls, found.n_calls_in_all) == (1, 2, 3)
    (notice,) = Analysis(drawn).notices
    assert "2 of 3 calls" in notice
    assert "XLA_FLAGS=--xla_enable_command_buffers_during_profiling=true" in notice


def test_a_run_of_many_hosts_is_told_the_sum_of_them() -> None:
    launches = [event("cuLaunchKernel", at, 1, correlation_id=at) for at in (2, 5, 20)]
    drawn = trace(plane("/host:CPU", line("t", event(OFF, 0, 10), *launches)))
    reduced = Both.of_traces([with_host(drawn, host) for host in ("a", "b")]).reduced
    assert [notice for notice in reduced.notices if "2 CUDA graphs kernel by kernel: 4 of 6 calls" in notice]


def test_a_run_whose_graphs_stayed_is_told_nothing() -> None:
    assert Analysis(trace(plane("/host:CPU", line("t", event("cuGraphLaunch", 0, 1, correlation_id=1))))).notices == ()
