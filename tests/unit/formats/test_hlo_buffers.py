"""What lives in the memory of a compiled program at its peak."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import event, line, plane, trace
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import MESSAGES, LiveBuffer, live_buffers, read_xspace

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
