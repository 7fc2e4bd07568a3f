"""Compiled programs: the graph of an op, and graphs of CUDA that were switched off."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import event, line, plane, trace
from tests.hlo_drawings import Computation, computation, instruction, metadata_plane, module
from tests.packs import unpack
from tests.structure_drawings import drawn_graph, profile_of
from tfprof_widgets.analysis import Analysis, HloGraph, HloGraphs, graphs_switched_off, hlo_op_graph
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.read import read_hlo_modules
from tfprof_widgets.show import build_payload, hlo_graph_list

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


OFF = "WARNING: CommandBuffer disabled when profiling"


def test_a_capture_without_programs_has_none() -> None:
    results = profile_of(drawn_graph(2)).run.results
    assert hlo_graph_list(results) == []
    assert unpack(build_payload(results).part("hlo_graphs:0"))[0]["hlo_graphs"] == []


def test_calls_inside_a_graph_that_was_switched_off_are_counted_apart() -> None:
    launches = [event("cuLaunchKernel", at, 1, correlation_id=at) for at in (2, 5, 20)]
    drawn = trace(plane("/host:CPU", line("t", event(OFF, 0, 10), *launches)))
    found = graphs_switched_off(drawn)
    assert (found.n_graphs, found.n_calls, found.n_calls_in_all) == (1, 2, 3)
    (notice,) = Analysis(drawn).notices
    assert "2 of 3 calls" in notice
    assert "XLA_FLAGS=--xla_enable_command_buffers_during_profiling=true" in notice
