"""Compiled programs: the table of their HLO ops, as XProf has it too, the graph of an op, and CUDA graphs switched off."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import U, event, line, plane, space, trace
from tests.hlo_drawings import F32, Computation, Instruction, computation, instruction, metadata_plane, module
from tests.packs import unpack
from tests.structure_drawings import drawn_graph, profile_of
from tests.unit.analysis.steps.test_tpu_steps import TV10
from tests.unit.analysis.xprof_oracle import rows, xprof
from tfprof_widgets.analysis import (
    IDLE,
    Analysis,
    HloGraph,
    HloGraphs,
    aggregate_ops,
    estimate_costs,
    graphs_switched_off,
    hlo_op_graph,
)
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.read import MESSAGES, HloModules, read_hlo_modules, read_xspace
from tfprof_widgets.show import Payload, hlo_graph_list

PROGRAM = module(
    "mod",
    computation(
        "main",
        instruction("x", "parameter", (4, 6)),
        instruction("y", "parameter", (6, 5)),
        instruction(
            "d",
            "dot",
            (4, 5),
            reads="x y",
            op="net/MatMul:MatMul",
            source="train.py:8",
            dot_dimensions=MESSAGES["DotDimensions"](lhs_contracting=[1]),
        ),
        instruction("a", "add", (4, 5), reads="d d", op="net/Add:AddV2"),
    ),
)


def run(name: str, at: float, lasts: float, **stats: object) -> object:
    return event(name, at, lasts, hlo_op=name, hlo_module="mod", program_id=1, **stats)


def results_of(*host: object, device: tuple[object, ...] = ()) -> Analysis:
    planes = [plane("/host:CPU", line("t", *host))]  # type: ignore[arg-type]
    if device:
        planes.append(plane("/device:GPU:0", line("Stream #1", *device)))  # type: ignore[arg-type]
    return Analysis(trace(metadata_plane({1: PROGRAM}), *planes))


def test_figures_in_the_trace_go_before_estimates() -> None:
    results = results_of(run("d", 0, 4, flops=U(100), bytes_accessed=50.0), run("d", 10, 6, flops=200))
    (row,) = results.hlo_ops.frame.to_dict("records")
    assert (row["flops"], row["bytes_accessed"]) == (150.0, 50.0)
    (op,) = results.ops.to_dict("records")
    assert op["flop_rate_gflops"] == pytest.approx(300 / 10e-6 / 1e9)


def test_programs_are_told_apart_by_id_and_found_by_module_name_without_one() -> None:
    drawn = trace(
        metadata_plane({1: PROGRAM, 2: module("mod", computation("main", instruction("d", "copy")))}),
        plane("/host:CPU", line("t", run("d", 0, 1), event("d", 5, 1, hlo_op="d", hlo_module="mod", program_id=2))),
    )
    assert Analysis(drawn).hlo_ops.frame["category"].tolist() == ["dot", "data formatting"]
    nameless = trace(
        metadata_plane({1: PROGRAM}), plane("/host:CPU", line("t", event("d", 0, 1, hlo_op="d", hlo_module="mod")))
    )
    (row,) = Analysis(nameless).hlo_ops.frame.to_dict("records")
    assert (row["program_id"], row["category"]) == (-1, "dot")


def tpu(*events: object) -> Analysis:
    return Analysis(trace(plane("/device:TPU:0", line("XLA Ops", *events))))  # type: ignore[arg-type]


def test_a_tpu_op_is_described_by_its_metadata() -> None:
    metadata = {
        "program_id": U(3),
        "symbol_id": U(9),
        "hlo_category": "convolution fusion",
        "tf_op": "net/conv/Conv2D:Conv2D",
        "source": "train.py:4",
        "flops": U(1000),
        "bytes_accessed": U(64),
    }
    text = "%fusion.2 = f32[8] fusion(...)"
    results = tpu(event(text, 0, 5, display_name="fusion.2", metadata_stats=metadata))
    (row,) = results.hlo_ops.frame.to_dict("records")
    assert (row["name"], row["expression"], row["category"], row["program_id"]) == (
        "fusion.2",
        text,
        "convolution fusion",
        3,
    )
    assert (row["op_name"], row["op_type"], row["source"]) == ("net/conv/Conv2D", "Conv2D", "train.py:4")
    assert (row["flops"], row["bytes_accessed"]) == (1000.0, 64.0)
    assert (results.op_shares.source_file, results.op_shares.source_line.tolist()) == (("train.py",), [4])


def test_a_tpu_counts_by_its_own_clock_from_where_its_first_op_is_drawn() -> None:
    us = 1_000_000
    results = tpu(
        event("%loop", 10, 99, device_offset_ps=500 * us, device_duration_ps=40 * us),
        event("%body", 12, 99, device_offset_ps=510 * us, device_duration_ps=10 * us),
    )
    occurrences = results.occurrences
    assert (occurrences.start_ps // us).tolist() == [10, 20]
    assert (occurrences.self_ps // us).tolist() == [30, 10]


def costs(*instructions: Instruction, inner: tuple[Instruction, ...] = ()) -> tuple[float, float]:
    """Flops and bytes of the last instruction."""
    drawn = module("m", computation("inner", *inner), computation("main", *instructions))
    modules: HloModules = read_hlo_modules(trace(metadata_plane({1: drawn})))
    found = estimate_costs(modules)
    return float(found.flops[-1]), float(found.bytes_accessed[-1])


X = instruction("x", "parameter", (10, 20))
ADD = (instruction("p", "parameter", ()), instruction("s", "add", (), reads="p p"))


@pytest.mark.parametrize(
    ("last", "want"),
    [
        (instruction("o", "add", (10, 20), reads="x x"), (200.0, 2400.0)),
        (instruction("o", "exponential", (10, 20), reads="x"), (0.0, 1600.0)),
        (instruction("o", "copy", (10, 20), reads="x"), (0.0, 1600.0)),
        (instruction("o", "bitcast", (200,), reads="x"), (0.0, 0.0)),
        (instruction("o", "slice", (5, 20), reads="x"), (0.0, 800.0)),
        (instruction("o", "reduce", (10,), reads="x x", calls="inner"), (190.0, 1640.0)),
        (instruction("o", "fusion", (10, 20), reads="x", calls="inner"), (1.0, 1600.0)),
        (instruction("o", "all-reduce", (10, 20), reads="x", calls="inner"), (200.0, 1600.0)),
    ],
)
def test_costs_are_estimated_by_the_stated_rules(last: Instruction, want: tuple[float, float]) -> None:
    assert costs(X, last, inner=ADD) == want


PARTS = (
    instruction("data", "parameter", (10, 20)),
    instruction("whole", "parameter", (10, 20)),
    instruction("part", "dynamic-slice", (1, 20), reads="data"),
    instruction("new", "add", (1, 20), reads="part part"),
    instruction("changed", "dynamic-update-slice", (10, 20), reads="whole new"),
)


def test_a_fusion_moves_the_slices_that_it_reads_and_what_it_changes() -> None:
    """As XLA updates an optimizer's slot of many in place: 80 bytes in, 80 out, rather than three times 800."""
    y = instruction("y", "parameter", (10, 20))
    assert costs(X, y, instruction("o", "fusion", (10, 20), reads="x y", calls="inner"), inner=PARTS)[1] == 160.0
    together = (*PARTS, instruction("both", "tuple", (), reads="changed new"))
    more = instruction("o", "fusion", (10, 20), reads="x y", calls="inner")
    assert costs(X, y, more, inner=together)[1] == 160.0
    read_too = (*PARTS, instruction("sum", "add", (10, 20), reads="changed data"))
    assert costs(X, y, more, inner=read_too)[1] == 1600.0


TABLE = (
    instruction("table", "parameter", (1000, 20)),
    instruction("at", "parameter", (3, 1)),
    instruction("rows", "parameter", (3, 20)),
)


def test_a_scatter_moves_what_it_adds_and_not_the_table() -> None:
    """The gradient of an embedding: 240 bytes read with 12 of indices, 240 of the table read and written."""
    alone = instruction("o", "scatter", (1000, 20), reads="table at rows", calls="inner")
    assert costs(*TABLE, alone, inner=ADD) == (60, 3 * 240 + 12)
    outer = [instruction(f"of_{one.name}", "parameter", one.dims) for one in TABLE]
    fusion = instruction("o", "fusion", (1000, 20), reads="of_table of_at of_rows", calls="fused")
    drawn = module(
        "m",
        computation("add", *ADD),
        computation("fused", *TABLE, instruction("sum", "scatter", (1000, 20), reads="table at rows", calls="add")),
        computation("main", *outer, fusion),
    )
    found = estimate_costs(read_hlo_modules(trace(metadata_plane({1: drawn}))))
    assert (found.flops[-1], found.bytes_accessed[-1]) == (60, 3 * 240 + 12)


def test_no_op_of_a_damaged_module_moves_less_than_nothing() -> None:
    """A fusion slices a parameter that is larger than the operand it stands for."""
    inner = (instruction("p", "parameter", (10**9,)), instruction("s", "slice", (8,), reads="p"))
    assert costs(X, instruction("o", "fusion", reads="x", calls="inner"), inner=inner)[1] == 0


def library_call(name: str, target: str, product: tuple[int, ...], reads: str, **more: Any) -> Instruction:
    """A custom call of two results: a product, and room to work in."""
    array, room = (
        MESSAGES["Shape"](element_type=kind, dimensions=dims) for kind, dims in ((F32, product), (3, [4000]))
    )
    shape = MESSAGES["Shape"](element_type=13, tuple_shapes=[array, room])
    return instruction(name, "custom-call", reads=reads, custom_call_target=target.encode(), shape=shape, **more)


ENDLESS = b'{"dot_dimension_numbers": {"lhs_contracting_dimensions": [1e999]}}'


@pytest.mark.parametrize("config", [b"", b"[]", b"{", b'{"dot_dimension_numbers": 3}', b"[" * 100_000, ENDLESS])
def test_a_call_that_does_not_say_what_it_sums_over_has_no_figure(config: bytes) -> None:
    flops, _ = costs(X, library_call("c", "__cublas$gemm", (10, 10), "x x", backend_config=config))
    assert np.isnan(flops)


def test_figures_of_a_tpu_that_cannot_be_are_left_out() -> None:
    metadata = {"program_id": 0.5, "symbol_id": float("nan"), "flops": float("inf"), "bytes_accessed": -1}
    stats = {"device_offset_ps": 2**63 - 1, "device_duration_ps": -5}
    (row,) = tpu(event("%a", 0, 1, metadata_stats=metadata, **stats)).hlo_ops.frame.to_dict("records")
    assert (row["program_id"], row["total_time_us"]) == (-1, 1.0)
    assert np.isnan(row["flops"])
    assert np.isnan(row["bytes_accessed"])


def test_a_derived_line_of_a_tpu_runs_nothing() -> None:
    drawn = trace(plane("/device:TPU:0", line("XLA Ops", event("%a", 0, 1), id=-559038737)))
    assert len(Analysis(drawn).occurrences) == 0


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


def ran_program(*computations: Computation, ran: dict[str, float]) -> Analysis:
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
    results = ran_program(FUSED, MAIN, ran={"f": 5, "s": 3, "lost": 9})
    assert hlo_op_graph(results.hlo_ops, results.units.hlo, "f").name[:2] == ("y", "x")
    with pytest.raises(TfProfError, match="no HLO op named 'gone' ran"):
        hlo_op_graph(results.hlo_ops, results.units.hlo, "gone")
    with pytest.raises(TfProfError, match="'lost' is made of is not known"):
        hlo_op_graph(results.hlo_ops, results.units.hlo, "lost")


OFF = "WARNING: CommandBuffer disabled when profiling"


def test_a_capture_without_programs_has_none() -> None:
    results = profile_of(drawn_graph(2)).run.results
    assert hlo_graph_list(results) == []
    assert unpack(Payload(results).part("hlo_graphs:0"))[0]["hlo_graphs"] == []


def test_calls_inside_a_graph_that_was_switched_off_are_counted_apart() -> None:
    launches = [event("cuLaunchKernel", at, 1, correlation_id=at) for at in (2, 5, 20)]
    drawn = trace(plane("/host:CPU", line("t", event(OFF, 0, 10), *launches)))
    found = graphs_switched_off(drawn)
    assert (found.n_graphs, found.n_calls, found.n_calls_in_all) == (1, 2, 3)
    (notice,) = Analysis(drawn).notices
    assert "2 of 3 calls" in notice
    assert "XLA_FLAGS=--xla_enable_command_buffers_during_profiling=true" in notice


SILENT = ("parameter", "constant", "tuple", "get-tuple-element")
GPU = {"device_vendor": "Nvidia", "compute_cap_major": 8, "core_count": U(108), "clock_rate": U(1_410_000)}
FLOPS_PER_ELEMENT = 3
"""What XProf's cost model for GPUs takes an element-wise operation for; see `hlo_cost.py`."""


@dataclass(frozen=True)
class Case:
    modules: HloModules
    results: Analysis
    theirs: dict[str, Any]


@pytest.fixture(scope="module")
def gpu(capture_of: Callable[[str], Path]) -> Case:
    """A GPU that runs each op of a compiled Keras step up to three times, in a kernel each (D15), and ops of TensorFlow."""
    whole = read_xspace(capture_of("xla_fit").read_bytes())
    blob = max(whole.blobs, key=len)
    modules = read_hlo_modules(whole)
    entry = int(np.argmax(np.diff(modules.instruction_offsets)))
    low, high = modules.instruction_offsets[entry : entry + 2].tolist()
    names = [modules.name[row] for row in range(low, high) if modules.opcode[row] not in SILENT]
    runs = [
        event(
            f"kernel_{k}",
            100 * i + 20 * k,
            3 + i % 7 + k,
            hlo_op=f"thunk::{name}" if k else name,
            hlo_module="m",
            program_id=1,
            scope_range_id=10 * i + k,
        )
        for i, name in enumerate(names)
        for k in range(1 + i % 3)
    ]
    runs.append(event("kernel_0", 90_000, 7, hlo_op="gone.1", hlo_module="m", program_id=1))
    others = line("Stream #8(Compute)", event("volta_gemm", 5, 9, tf_op="other/MatMul:MatMul"), event("Memset", 20, 3))
    data = space(
        metadata_plane({1: blob}),
        plane("/host:CPU", line("t", event("cuLaunchKernel", 0, 1))),
        plane("/device:GPU:0", line("Stream #7(Compute)", *runs), others, **GPU),
    )
    return Case(modules, Analysis(read_xspace(data)), xprof(data, "hlo_stats", "framework_op_stats"))


@pytest.fixture(scope="module")
def drawn_tpu() -> Case:
    results = Analysis(read_xspace(TV10))
    return Case(results.occurrences.hlo.modules, results, xprof(TV10, "hlo_stats", "framework_op_stats"))


def of_xla(case: Case) -> dict[str, dict[str, Any]]:
    """XProf's rows by HLO op; those of ops that no program compiled have program 0."""
    return {row["hlo_op_name"]: row for row in rows(case.theirs["hlo_stats"]) if str(row["program_id"]) != "0"}


def test_names_categories_and_times_on_a_gpu_are_xprofs(gpu: Case) -> None:
    theirs, ours = of_xla(gpu), gpu.results.hlo_ops.frame
    assert len(theirs) > 60
    assert set(ours["name"]) - set(theirs) == {"gone.1"}, "XProf drops what it does not find"
    for row in ours[ours["name"] != "gone.1"].to_dict("records"):
        want = theirs[row["name"]]
        full = f"{row['op_name']}:{row['op_type']}" if row["op_name"] else ""
        got = (
            row["category"],
            str(row["program_id"]),
            full,
            row["occurrences"],
            row["total_time_us"],
            row["total_self_time_us"],
        )
        assert got == (
            want["category"],
            str(want["program_id"]),
            want["tf_op_name"],
            want["occurrences"],
            want["total_time"],
            want["total_self_time"],
        )


def test_shares_on_a_gpu_are_xprofs_once_idle_time_and_other_ops_count(gpu: Case) -> None:
    device = aggregate_ops(gpu.results.occurrences, shares=gpu.results.op_shares, idle=True)
    whole = device.loc[device["device"] == "Device", "total_self_time_us"].sum()
    theirs, ours = of_xla(gpu), gpu.results.hlo_ops.frame.set_index("name")["total_self_time_us"]
    assert len(theirs) > 60
    for name, row in theirs.items():
        assert row["total_self_time_percent"] == pytest.approx(ours[name] / whole * 100, rel=1e-12)


def test_the_text_of_an_op_is_how_xlas_own_begins(gpu: Case) -> None:
    ours = gpu.results.hlo_ops.frame.set_index("name")["expression"]
    xla = of_xla(gpu)
    assert len(xla) > 60
    for name, row in xla.items():
        theirs = re.sub(r"/\*index=\d+\*/", "", row["hlo_op_expression"])
        assert theirs.startswith(ours[name])


def test_bytes_on_a_gpu_are_those_of_xlas_cost_analysis(gpu: Case) -> None:
    theirs, ours = of_xla(gpu), gpu.results.hlo_ops.frame
    compared = 0
    for row in ours[ours["name"] != "gone.1"].to_dict("records"):
        if "scatter" in row["name"] or "reduce-window" in row["name"]:
            continue  # XLA counts the window's overlap and the untouched part of the target
        want = theirs[row["name"]]["measured_memory_bw"] * row["total_time_us"] * 1e-6 * 2**30 / row["occurrences"]
        assert row["bytes_accessed"] == pytest.approx(want, rel=1e-9), row["name"]
        compared += 1
    assert compared > 55


def test_flops_on_a_gpu_are_those_of_xlas_cost_analysis_but_for_its_weights(gpu: Case) -> None:
    """Of element-wise operations XProf's figure is a weight of its model of GPUs; it is undone where it is the common one."""
    theirs, ours = of_xla(gpu), gpu.results.hlo_ops.frame
    compared = {"dot": 0, "convolution": 0, "fusion": 0}
    for row in ours[ours["name"] != "gone.1"].to_dict("records"):
        want = theirs[row["name"]]["model_flop_rate"] * 1e9 * row["total_time_us"] * 1e-6 / row["occurrences"]
        if row["category"] in compared:
            compared[row["category"]] += 1
            assert row["flops"] == pytest.approx(want, rel=1e-9), row["name"]
        elif is_plain(gpu.modules, row["name"]):
            compared["fusion"] += 1
            assert row["flops"] * FLOPS_PER_ELEMENT == pytest.approx(want, rel=1e-9), row["name"]
    assert compared["dot"] >= 6
    assert compared["convolution"] >= 2
    assert compared["fusion"] > 20


def is_plain(modules: HloModules, name: str) -> bool:
    """Whether an op is a fusion of nothing but additions and the like on floats."""
    row = next(row for row in range(modules.n_instructions - 1, -1, -1) if modules.name[row] == name)
    inside = [
        one
        for computation in modules.called[modules.called_offsets[row] : modules.called_offsets[row + 1]].tolist()
        for one in range(*modules.instruction_offsets[computation : computation + 2].tolist())
    ]
    plain = ("add", "subtract", "multiply", "maximum", "broadcast", "bitcast", "reduce", "parameter", "constant")
    return modules.opcode[row] == "fusion" and all(modules.opcode[one] in plain for one in inside)


def test_framework_ops_of_a_gpu_are_xprofs_once_fusions_go_to_their_roots(gpu: Case) -> None:
    """Undoes the sharing of fusions: XProf gives each HLO op to the framework op in its own metadata."""
    frame = gpu.results.hlo_ops.frame
    name = frame["op_name"].where(frame["op_name"] != "", frame["name"])
    ours = frame[frame["name"] != "gone.1"].groupby(name)
    total, count = ours["total_time_us"].sum(), ours["occurrences"].max()
    theirs = {
        row["operation"]: row
        for row in rows(gpu.theirs["framework_op_stats"][1])
        if row["host_or_device"] == "Device" and row["operation"] != "other/MatMul"
    }
    assert set(theirs) == set(total.index)
    assert len(theirs) > 20
    for op, row in theirs.items():
        assert (row["total_time"], row["occurrences"]) == (pytest.approx(total[op], rel=1e-12), count[op])


def test_all_device_time_is_charged_with_and_without_sharing(gpu: Case) -> None:
    ops = gpu.results.ops
    device = ops[ops["device"] == "Device"]
    occurrences = gpu.results.occurrences
    measured = occurrences.self_ps[occurrences.is_device[occurrences.op]].sum() / 1e6
    assert device["total_self_time_us"].sum() == pytest.approx(measured, rel=1e-12)
    theirs = sum(
        row["total_self_time"] for row in rows(gpu.theirs["framework_op_stats"][1]) if row["host_or_device"] == "Device"
    )
    assert measured == pytest.approx(theirs + 7, rel=1e-12), "XProf drops the op it does not find"


def test_tpu_op_times_are_xprofs(drawn_tpu: Case) -> None:
    theirs = {row["hlo_op_name"]: row for row in rows(drawn_tpu.theirs["hlo_stats"])}
    ours = drawn_tpu.results.hlo_ops.frame
    assert dict(zip(ours["name"], ours["total_self_time_us"], strict=True)) == {
        "conv.1": 120.0,
        "infeed.1": 60.0,
        "while.1": 60.0,
        "all-reduce.1": 12.0,
    }
    for row in ours.to_dict("records"):
        want = theirs[row["name"]]
        assert (
            row["category"],
            row["occurrences"],
            row["total_time_us"],
            row["total_self_time_us"],
            row["expression"],
        ) == (
            want["category"],
            want["occurrences"],
            want["total_time"],
            want["total_self_time"],
            want["hlo_op_expression"],
        )


def test_tpu_idle_and_framework_ops_are_xprofs(drawn_tpu: Case) -> None:
    ours = aggregate_ops(drawn_tpu.results.occurrences, shares=drawn_tpu.results.op_shares, idle=True)
    ours = ours[ours["device"] == "Device"]
    theirs = [row for row in rows(drawn_tpu.theirs["framework_op_stats"][0]) if row["host_or_device"] == "Device"]
    # XProf gives an op without a framework op the type "Unknown"; here it is its HLO category.
    assert {(row["operation"], row["occurrences"], row["total_self_time"]) for row in theirs} == set(
        zip(ours["name"], ours["occurrences"], ours["total_self_time_us"], strict=True)
    )
    assert ours.set_index("name")["total_self_time_us"][IDLE] == 248.0
    assert ours.set_index("name")["type"]["m/conv"] == "Conv2D"


def test_the_tensor_core_share_of_device_ops_is_xprofs() -> None:
    details = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"

    def kernel(name: str, at_us: float, lasts_us: float, op: str, **more: Any) -> Any:
        return event(name, at_us, lasts_us, tf_op=op, **more)

    kernels = [
        kernel("volta_h884gemm_nn", 0, 3.0004, "net/MatMul:MatMul", kernel_details=details),
        kernel("volta_h884gemm_nn", 10, 5, "net/MatMul:MatMul", kernel_details=details),
        kernel("splitK_reduce", 20, 1.9996, "net/MatMul:MatMul", kernel_details=details),
        kernel("relu", 30, 4, "net/Relu:Relu", kernel_details=details),
        kernel("MemcpyH2D", 40, 4, "net/Copy:Copy"),
    ]
    data = space(
        plane("/host:CPU", line("t", event("host/Op:Op", 0, 1))),
        plane("/device:GPU:0", line("Stream #7(Compute)", *kernels), **GPU),
    )
    ours = Analysis(read_xspace(data)).ops.set_index("name")["tensor_core_ratio"]
    theirs = {row["operation"]: row for row in rows(xprof(data, "framework_op_stats")["framework_op_stats"][1])}
    for op in ("net/MatMul", "net/Relu"):
        assert ours[op] == pytest.approx(theirs[op]["gpu_tensorcore_utilization"], rel=1e-12), op
    assert ours["net/MatMul"] == pytest.approx(8.0 / 9.999, rel=1e-3)
    assert np.isnan(ours["net/Copy"]), "XProf shows 0 where no kernel was described"
    assert np.isnan(ours["host/Op"])
