"""Reading of HLO modules: every field against TensorFlow's own classes, damage, and which modules are read at all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import event, line, plane, trace
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import MESSAGES, HloModules, LiveBuffer, live_buffers, read_hlo_modules, read_xspace
from tfprof_widgets.trace import merge_traces, with_host

_DUMP = """
import json, sys
from tensorflow.compiler.xla.service import hlo_pb2
proto = hlo_pb2.HloProto.FromString(open(sys.argv[1], "rb").read())
rows = []
for computation in proto.hlo_module.computations:
    names = {one.id: one.name for one in computation.instructions}
    called = {one.id: one.name for one in proto.hlo_module.computations}
    for one in computation.instructions:
        rows.append([computation.name, one.name, one.opcode, one.fusion_kind or one.custom_call_target,
            one.metadata.op_name, one.metadata.op_type, one.metadata.source_file, one.metadata.source_line,
            one.shape.element_type, list(one.shape.dimensions), list(one.shape.layout.minor_to_major),
            [names[id] for id in one.operand_ids], [called[id] for id in one.called_computation_ids],
            one.id == computation.root_id])
json.dump([proto.hlo_module.name, proto.hlo_module.id, rows], sys.stdout)
"""

ADD = computation("main", instruction("a", "parameter"), instruction("sum", "add", reads="a a", op="m/Add:AddV2"))


def read(*blobs: bytes, **more: Any) -> HloModules:
    return read_hlo_modules(trace(metadata_plane(dict(enumerate(blobs, 1)), **more)))


@pytest.fixture(scope="module")
def real(capture_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[HloModules, list[Any]]:
    """The modules of a compiled Keras step, as we and as TensorFlow's generated classes read them."""
    whole = read_xspace(capture_of("xla_fit").read_bytes())
    blob = tmp_path_factory.mktemp("hlo") / "module.pb"
    blob.write_bytes(max(whole.blobs, key=len))
    command = [sys.executable, "-c", _DUMP, str(blob)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    return read_hlo_modules(whole), json.loads(told)


@pytest.mark.tensorflow
def test_every_instruction_of_a_real_program_is_as_tensorflow_reads_it(real: tuple[HloModules, list[Any]]) -> None:
    modules, (name, program, rows) = real
    assert (modules.module_name, modules.program_id.tolist(), modules.warnings) == ((name,), [program], ())
    assert len(rows) == modules.n_instructions > 300
    for row, want in enumerate(rows):
        low, high = modules.dim_offsets[row : row + 2]
        operands = modules.operand[modules.operand_offsets[row] : modules.operand_offsets[row + 1]]
        called = modules.called[modules.called_offsets[row] : modules.called_offsets[row + 1]]
        assert [
            modules.computation_name[modules.computation[row]],
            modules.name[row],
            modules.opcode[row],
            modules.detail[row],
            modules.op_name[row],
            modules.op_type[row],
            modules.source_file[row],
            max(int(modules.source_line[row]), 0),
            modules.dtype[row],
            modules.dims[low:high].tolist(),
            modules.layout[low:high].tolist(),
            [modules.name[one] for one in operands],
            [modules.computation_name[one] for one in called],
            modules.root[modules.computation[row]] == row,
        ] == want


def test_all_three_wrappings_of_a_module_are_read() -> None:
    for kind in ("Wrapped", "Module", "Snapshot"):
        modules = read(module("prog", ADD, kind=kind))
        assert (modules.module_name, tuple(modules.name), modules.warnings) == (("prog",), ("a", "sum"), ()), kind


def test_the_stat_is_found_under_its_older_names_too() -> None:
    for stat in ("Hlo Proto", "HLO Proto", "hlo_proto"):
        assert read(module("prog", ADD), stat=stat).n_instructions == 2, stat


def test_the_program_is_the_one_in_the_metadata_name() -> None:
    modules = read_hlo_modules(trace(metadata_plane({41: module("prog", ADD, id=3)})))
    assert modules.program_id.tolist() == [41]
    assert modules.find(41, "prog", "sum") == modules.find(41, "other", "sum") == modules.find(-1, "prog", "sum") == 1
    assert modules.find(3, "prog", "sum") == modules.find(41, "prog", "gone") == -1


def test_an_id_of_64_bits_is_kept_as_events_have_it() -> None:
    modules = read_hlo_modules(trace(metadata_plane({2**64 - 5: module("prog", ADD)})))
    assert modules.program_id.tolist() == [-5]
    assert modules.find(-5, "prog", "sum") == 1


def test_only_programs_that_are_asked_for_are_read() -> None:
    drawn = trace(metadata_plane({1: module("one", ADD), 2: module("two", ADD)}))
    assert read_hlo_modules(drawn, programs={2}).module_name == ("two",)
    assert read_hlo_modules(drawn, programs=()).n_instructions == 0


def test_windows_of_one_process_bring_a_module_once_and_hosts_each_their_own() -> None:
    window = trace(metadata_plane({1: module("one", ADD)}))
    assert read_hlo_modules(merge_traces([window, window])).host == ("",)
    hosts = read_hlo_modules(
        merge_traces([with_host(window, "a"), with_host(trace(metadata_plane({1: module("b", ADD)})), "b")])
    )
    assert hosts.host == ("a", "b")


def test_a_damaged_module_costs_its_names_and_says_so() -> None:
    good = module("good", ADD)
    modules = read(good[: len(good) // 2], b"", module("good", ADD))
    assert modules.program_id.tolist() == [3]
    assert len(modules.warnings) == 2
    assert all("mod(" in warning and "could not be read" in warning for warning in modules.warnings)


@given(st.data())
def test_no_mutation_of_a_module_raises_anything(data: st.DataObject) -> None:
    raw = bytearray(module("prog", ADD, computation("m", instruction("f", "fusion", reads="x", calls="main"))))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    modules = read(bytes(raw))
    assert len(modules.program_id) + len(modules.warnings) == 1


def test_sizes_count_elements_and_bytes_and_tuples_add_up() -> None:
    shape = MESSAGES["Shape"]
    bits = shape(element_type=16, dimensions=[3, 5])
    both = shape(element_type=13, tuple_shapes=[bits, shape(element_type=1), shape(element_type=21, dimensions=[3])])
    endless = shape(element_type=11, dimensions=[2**40, 2**40])
    rows = [instruction(name, "custom-call", shape=one) for name, one in (("b", bits), ("t", both), ("e", endless))]
    modules = read(module("prog", computation("main", *rows)))
    assert modules.n_elements.tolist() == [15, 19, 2**62]
    assert modules.n_bytes.tolist() == [30, 33, 2**62]


def test_calls_go_only_to_earlier_computations_so_that_no_cycle_exists() -> None:
    forward = computation("first", instruction("a", "parameter"))
    message = MESSAGES["Wrapped"].FromString(
        module("prog", forward, computation("second", instruction("b", "call", calls="first")))
    )
    first = message.hlo_module.computations[0]
    caller = MESSAGES["Instruction"].FromString(first.instructions[0])
    caller.called_computation_ids.append(2)
    first.instructions[0] = caller.SerializeToString()
    modules = read(message.SerializeToString())
    assert np.diff(modules.called_offsets).tolist() == [0, 1]


def test_no_instruction_reads_itself_so_that_no_cycle_exists() -> None:
    blob = module("m", computation("main", instruction("a", "add", reads="a"), instruction("b", "add", reads="a b")))
    modules = read_hlo_modules(trace(metadata_plane({1: blob})))
    assert modules.operand.tolist() == [-1, 0, -1]


def test_a_stack_frame_index_gives_the_whole_traceback() -> None:
    frames = MESSAGES["StackFrameIndex"](
        file_names=[b"train.py", b"keras.py"],
        function_names=[b"main", b"call"],
        file_locations=[
            MESSAGES["FileLocation"](file_name_id=1, function_name_id=1, line=7),
            MESSAGES["FileLocation"](file_name_id=2, function_name_id=2, line=99),
        ],
        stack_frames=[
            MESSAGES["StackFrame"](file_location_id=1),
            MESSAGES["StackFrame"](file_location_id=2, parent_frame_id=1),
        ],
    )
    rows = [
        instruction("x", "add", stack_frame_id=2),
        instruction("y", "add"),
        instruction("z", "add", stack_frame_id=9),
    ]
    modules = read(module("one", ADD), module("prog", computation("main", *rows), frames=frames))
    assert modules.frame.tolist()[-3:] == [1, -1, -1]
    assert modules.frames.stack(1) == (("keras.py", 99, "call"), ("train.py", 7, "main"))
    assert (modules.source_file[-3], modules.source_line[-3]) == ("keras.py", 99)
    assert modules.frames.stack(-1) == ()


def test_a_cycle_of_stack_frames_ends() -> None:
    frames = MESSAGES["StackFrameIndex"](
        stack_frames=[MESSAGES["StackFrame"](parent_frame_id=2), MESSAGES["StackFrame"](parent_frame_id=1)]
    )
    modules = read(module("prog", computation("main", instruction("x", "add", stack_frame_id=1)), frames=frames))
    assert len(modules.frames.stack(0)) == 2


def test_a_trace_without_programs_has_no_modules() -> None:
    modules = read_hlo_modules(trace(plane("/host:CPU", line("t", event("e", 0, 1)))))
    assert (modules.n_instructions, len(modules.program_id), modules.warnings) == (0, 0, ())


def test_columns_are_read_only() -> None:
    modules = read(module("prog", ADD))
    with pytest.raises(ValueError, match="read-only"):
        modules.n_bytes[0] = 1


MIB = 2**20
ALLOC, FREE, SHARE = range(3)
NAMES = ("a", "b", "c")
SIZES = {1: 100, 2: 30, 3: 100}
"""Of the buffers of the instructions, by id."""


def program(*events: tuple[int, ...], planned: int = 0, **allocations: int) -> bytes:
    """A module of three instructions with these events of its heap and, by kind, allocations."""
    drawn = module("m", computation("main", *(instruction(name, "add") for name in NAMES)))
    read = MESSAGES["WithBuffers"].FromString(drawn)
    ids = [one.id for one in read.hlo_module.computations[0].instructions]
    place = MESSAGES["Place"]
    buffers = [
        MESSAGES["LogicalBuffer"](id=id_, size=size, defined_at=place(instruction_id=ids[id_ - 1]))
        for id_, size in SIZES.items()
    ]
    heap = [MESSAGES["HeapEvent"](kind=e[0], buffer_id=e[1], share_with_canonical_id=(*e, 0)[2]) for e in events]
    kinds: dict[str, Any] = {name: {name: True} for name in allocations}
    plan = [MESSAGES["Allocation"](size=size, **kinds[name]) for name, size in allocations.items()]
    found = MESSAGES["Buffers"](
        logical_buffers=buffers,
        buffer_allocations=[*plan, MESSAGES["Allocation"](size=planned)],
        heap_simulator_traces=[MESSAGES["HeapTrace"](events=heap)],
    )
    return bytes(drawn + MESSAGES["WithBuffers"](buffer_assignment=found).SerializeToString())


def live(blob: bytes) -> dict[str, int]:
    """Bytes by instruction, or by kind where there is none."""
    found = live_buffers(trace(metadata_plane({1: blob})), {1})
    return {one.instruction or one.kind: one.n_bytes for one in found}


def test_what_lives_at_the_peak_is_told_and_what_nothing_lives_in() -> None:
    events = ((ALLOC, 1), (FREE, 1), (ALLOC, 2), (ALLOC, 3), (FREE, 2), (FREE, 3))
    assert live(program(*events, planned=150)) == {"b": 30, "c": 100, "unused": 20}


@pytest.mark.parametrize(
    "events",
    [
        ((ALLOC, 1), (SHARE, 3, 1), (FREE, 1), (ALLOC, 2), (FREE, 2), (FREE, 3)),
        ((ALLOC, 1), (FREE, 1), (SHARE, 3, 1), (ALLOC, 2), (FREE, 2), (FREE, 3)),
    ],
    ids=["before it ends", "right after"],
)
def test_a_shared_buffer_lives_once_until_the_last_of_its_users_ends(events: tuple[tuple[int, ...], ...]) -> None:
    assert live(program(*events, planned=130)) == {"a": 100, "b": 30}


def test_parameters_outputs_and_constants_are_told_apart_and_stacks_of_threads_left_out() -> None:
    kinds = {"is_entry_computation_parameter": 5, "maybe_live_out": 6, "is_constant": 7, "is_thread_local": 8}
    assert live(program(**kinds)) == {"parameter": 5, "output": 6, "constant": 7}


@pytest.mark.parametrize("events", [((FREE, 1),), ((SHARE, 1, 1), (FREE, 1), (FREE, 1)), ((ALLOC, 99), (SHARE, 2, 98))])
def test_events_of_a_damaged_heap_do_no_harm(events: tuple[tuple[int, ...], ...]) -> None:
    assert all(size >= 0 for size in live(program(*events, planned=10)).values())


def test_sizes_that_no_machine_has_are_shares_of_a_whole_all_the_same() -> None:
    """Of a damaged plan: their sum is beyond 64 bits."""
    most = 2**63 - 1
    ran = event("a", 0, 1, hlo_op="a", hlo_module="m", program_id=1)
    blob = program(planned=most, is_constant=most, maybe_live_out=most)
    table = Analysis(trace(metadata_plane({1: blob}), plane("/host:CPU", line("t", ran)))).program_memory
    assert table["peak_ratio"].tolist() == pytest.approx([1 / 3] * 3)


def test_a_program_without_a_plan_has_no_buffers() -> None:
    drawn = trace(metadata_plane({1: module("m", computation("main", instruction("a", "add")))}))
    assert live_buffers(drawn, {1}) == []
    assert live_buffers(trace(metadata_plane({1: program(planned=3)})), {2}) == []
    assert live_buffers(trace(metadata_plane({1: program(planned=3)})), {1}) == [LiveBuffer(1, "", (), "temporary", 3)]


@pytest.mark.parametrize(
    ("name", "parameters", "temporary", "unused"),
    [("h100_resnet_xla", 307.26966, 2560.78519, 8.97349), ("h100_transformer_xla", 1052.56814, 4264.28907, 131.04934)],
)
def test_buffers_of_an_h100_add_up_to_what_xprof_shows(
    capture_of: Callable[[str], Path], name: str, parameters: float, temporary: float, unused: float
) -> None:
    """In MiB, as the memory viewer of XProf 2.24.2 has them for these programs."""
    results = Analysis(read_xspace(capture_of(name).read_bytes()))
    table = results.program_memory
    sums = table.groupby("kind")["bytes"].sum() / MIB
    assert (sums["parameter"], sums["temporary"], sums["unused"]) == pytest.approx((parameters, temporary, unused))
    assert table["peak_ratio"].sum() == pytest.approx(1)
    made = table[table["kind"] == "temporary"]
    assert (made["op_name"] != "").mean() > 0.9
    assert made.groupby("layer")["bytes"].sum().max() < sums["temporary"] * MIB / 2
