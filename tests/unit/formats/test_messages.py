"""Messages: fields, varints and texts read many at once, and modules of HLO, equal what protobuf reads."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import event, line, number, plane, tag, tagged, trace, varint
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.errors import without_controls
from tfprof_widgets.read import (
    FIELDS,
    MESSAGES,
    PADDING,
    BytesContent,
    ByteView,
    FieldRows,
    FramingError,
    HloModules,
    LiveBuffer,
    RawStrings,
    Texts,
    alike,
    fields,
    follow_events,
    live_buffers,
    read_hlo_modules,
    read_xspace,
    xspace_events,
)
from tfprof_widgets.trace import merge_traces, with_host

NAME, ID, OPERANDS = (FIELDS["Instruction"][name] for name in ("name", "id", "operand_ids"))
UNKNOWN, BEYOND = 99, 2_000
"""Numbers that no one asks for, the second of more bits than are kept."""

ids = st.integers(-(2**63), 2**63 - 1)
instructions = st.builds(
    MESSAGES["Instruction"], name=st.binary(max_size=300), id=ids, operand_ids=st.lists(ids, max_size=5)
)


others = st.sampled_from(
    [
        b"",
        tagged(UNKNOWN, b"more"),
        tagged(BEYOND, b"more"),
        number(UNKNOWN, 2**40),
        tag(UNKNOWN, 1) + bytes(8),
        tag(UNKNOWN, 5) + bytes(4),
    ]
)


def rows_of(*raws: bytes) -> FieldRows:
    ends = np.cumsum([len(raw) for raw in raws])
    return FieldRows(ByteView(b"".join((*raws, PADDING))), np.append(0, ends[:-1]), ends, (NAME, ID, OPERANDS))


def contents(rows: FieldRows, wanted: int) -> dict[int, bytes]:
    found = zip(*(part.tolist() for part in rows.content(wanted)), strict=True)
    return {row: rows.view.content[begin:end] for row, begin, end in found}


@given(st.lists(st.tuples(others, instructions, others), min_size=1, max_size=8))
def test_fields_are_those_that_protobuf_reads_whatever_stands_around_them(
    drawn: list[tuple[bytes, Any, bytes]],
) -> None:
    wanted = [one for _, one, _ in drawn]
    rows = rows_of(*(before + one.SerializeToString() + after for before, one, after in drawn))
    assert contents(rows, NAME) == {i: one.name for i, one in enumerate(wanted) if one.name}
    assert rows.varint(ID).tolist() == [one.id for one in wanted]
    n, values = rows.packed(OPERANDS)
    assert n.tolist() == [len(one.operand_ids) for one in wanted]
    assert values.tolist() == [value for one in wanted for value in one.operand_ids]
    assert not rows.is_irregular.any()


def test_fields_in_any_order_are_found_and_no_message_has_none() -> None:
    rows = rows_of(number(ID, 7) + tagged(NAME, b"a"), b"", tagged(NAME, b"b"))
    assert (contents(rows, NAME), rows.varint(ID).tolist()) == ({0: b"a", 2: b"b"}, [7, 0, 0])
    assert not rows.is_irregular.any()
    empty = FieldRows(ByteView(PADDING), np.empty(0, np.int64), np.empty(0, np.int64), (NAME,))
    assert [len(part) for part in (*empty.content(NAME), *empty.packed(OPERANDS))] == [0] * 5


@pytest.mark.parametrize(
    "odd",
    [
        tagged(NAME, b"a") + tagged(NAME, b"b"),
        number(NAME, 1),
        tagged(NAME, b"a")[:-1],
        tag(NAME, 2) + varint(2**63),
        tag(NAME, 3),
        number(0, 1),
        b"\xff" * 11,
        tagged(OPERANDS, b"\x80"),
        number(OPERANDS, 1),
        number(UNKNOWN, 1) * 10_000,
    ],
    ids=[
        "twice",
        "other_type",
        "truncated",
        "endless",
        "group",
        "number_0",
        "no_tag",
        "half_a_varint",
        "not_packed",
        "many_fields",
    ],
)
def test_a_message_that_only_protobuf_can_read_is_told_and_spoils_no_other(odd: bytes) -> None:
    rows = rows_of(tagged(NAME, b"before") + number(ID, 1), odd, tagged(NAME, b"after") + number(ID, 3))
    names, found = contents(rows, NAME), rows.varint(ID)
    rows.packed(OPERANDS)
    assert rows.is_irregular.tolist() == [False, True, False]
    assert (names[0], names[2], found[[0, 2]].tolist()) == (b"before", b"after", [1, 3])


def _event(rng: random.Random) -> bytes:
    stats = b"".join(b"\x22\x04\x08" + bytes([rng.randrange(128)]) + b"\x20\x10" for _ in range(rng.randrange(30)))
    return b"\x08" + varint(rng.randrange(1, 500)) + b"\x10" + varint(rng.randrange(2**40)) + stats


def _framed(events: list[bytes]) -> bytes:
    return b"".join(tagged(4, event) for event in events)


@pytest.fixture(scope="module")
def events() -> list[bytes]:
    rng = random.Random(7)
    return [_event(rng) for _ in range(20_000)]


def test_events_are_found_between_other_fields(events: list[bytes]) -> None:
    head, tail = b"\x08\x05", b"\x5a\x01x"
    raw = head + _framed(events) + tail
    found = follow_events(raw, len(head))
    assert found is not None
    got, end = found
    assert raw[end:] == tail
    spans = zip(got.begin.tolist(), got.end.tolist(), strict=True)
    assert [raw[low:high] for low, high in spans] == events


def test_a_part_holds_its_own_bytes(events: list[bytes]) -> None:
    found = follow_events(_framed(events), 0)
    assert found is not None
    part = found[0].part(100, 103)
    assert [part.raw[a:b] for a, b in zip(part.begin.tolist(), part.end.tolist(), strict=True)] == events[100:103]


def test_a_truncated_event_does_not_count(events: list[bytes]) -> None:
    whole = _framed(events)
    found = follow_events(whole[:-1], 0)
    assert found is not None
    assert len(found[0]) == len(events) - 1


def test_few_bytes_are_left_to_protobuf(events: list[bytes]) -> None:
    assert follow_events(_framed(events[:100]), 0) is None


@pytest.mark.parametrize("low", [1, 2**7, 2**14, 2**21])
def test_events_of_many_names_are_followed_at_many_places_too(low: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []
    ends = xspace_events._ends
    monkeypatch.setattr(xspace_events, "_ends", lambda octets, at: rounds.append(len(at)) or ends(octets, at))
    stats = b"\x22\x04\x08\x05\x20\x10" * 10
    events = [b"\x08" + varint(low + k % low) + b"\x10" + varint(k << 20) + stats for k in range(20_000)]
    found = follow_events(_framed(events), 0)
    assert found is not None
    assert len(found[0]) == len(events)
    assert len(rounds) < len(events) / 100


@pytest.mark.parametrize("n_bytes", [0, 1, 127, 128, 300, 16_383, 16_384, 70_000])
def test_fields_of_a_tag_come_as_one_where_they_stand_in_a_row(n_bytes: int) -> None:
    row = b"".join(tagged(4, b"x" * n) for n in (3, n_bytes, 0, 5))
    content = tagged(2, b"name") + row + tagged(5, b"stat") + tagged(4, b"") + number(1, 7)
    alone = list(fields(BytesContent(content), 0, len(content)))
    as_rows = list(fields(BytesContent(content), 0, len(content), rows_of=0x22))
    assert [start for _, _, start, _, _ in alone if start not in {one[2] for one in as_rows}]
    assert b"".join(content[start:last] for _, _, start, _, last in as_rows) == content
    assert {start for _, _, start, _, _ in as_rows} <= {start for _, _, start, _, _ in alone}
    if n_bytes < 2**14:
        assert [key for key, *_ in as_rows] == [2, 4, 5, 4, 1]


def test_a_row_of_fields_that_ends_behind_its_message_is_told() -> None:
    content = tagged(4, b"abc") * 20
    with pytest.raises(FramingError, match="truncated"):
        list(fields(BytesContent(content), 0, len(content) - 1, rows_of=0x22))


pieces = st.one_of(st.binary(max_size=3), st.builds(bytes.__mul__, st.binary(max_size=40), st.integers(0, 6)))


@given(st.lists(pieces, max_size=12))
@example([bytes(n) for n in (0, 1, 8, 9, 128, 129, 8, 129)])
@example([b"\0\0\0\x80" * 2 + b"\0" * 8, b"\0" * 8 + b"\0\0\0\x80" * 2, b"\0" * 16])
def test_pieces_are_numbered_by_their_bytes_as_they_occur(raws: list[bytes]) -> None:
    end = np.cumsum([len(raw) for raw in raws], dtype=np.int64)
    begin = end - np.array([len(raw) for raw in raws], np.int64)
    number, first = alike(ByteView(b"".join((*raws, PADDING))), begin, end)
    distinct = list(dict.fromkeys(raws))
    assert number.tolist() == [distinct.index(raw) for raw in raws]
    assert first.tolist() == [raws.index(raw) for raw in distinct]


@pytest.mark.parametrize("raw", [b"a\xff", b"\xed\xa0\x80"])
def test_what_follows_a_piece_does_not_count(raw: bytes) -> None:
    view = ByteView(raw + b"x" + raw + b"y" + PADDING)
    begin = np.array([0, len(raw) + 1])
    assert alike(view, begin, begin + len(raw))[0].tolist() == [0, 0]


raws = st.one_of(
    st.sampled_from([b"", b"MatMul", b"\xff", b"\\xff", "µ".encode(), "核".encode()]), st.binary(max_size=4)
)


@given(st.lists(st.lists(raws, max_size=6), max_size=4))
def test_texts_of_any_bytes_are_kept_once_in_the_order_in_which_they_come(parts: list[list[bytes]]) -> None:
    together, alone = RawStrings(), RawStrings()
    for part in parts:
        length = np.array([len(raw) for raw in part], np.int64)
        found = together.text_ids(ByteView(b"".join((*part, PADDING))), np.cumsum(length) - length, length)
        assert found.tolist() == [alone.text_id(raw) for raw in part]
    assert together.texts == alone.texts
    assert [together.id_of(text) for text in together.texts] == list(range(len(together.texts)))
    wanted = (without_controls(raw.decode("utf-8", "backslashreplace")) for part in parts for raw in part)
    assert together.texts == list(dict.fromkeys(["", *wanted]))


words = st.lists(st.sampled_from(["", "add", "dot", "fusion", "\u00b5"]), max_size=12)


@given(words, st.integers(-12, 12), st.integers(-12, 12))
def test_rows_are_those_of_the_sequence(texts: list[str], low: int, high: int) -> None:
    column = Texts.of(texts)
    assert (list(column), len(column), column[low:high]) == (texts, len(texts), tuple(texts[low:high]))
    assert [column[row] for row in range(len(texts))] == texts
    assert column.at(column.code) == texts


@given(words)
def test_a_text_is_told_once_and_asked_for_by_its_code(texts: list[str]) -> None:
    column = Texts.of(texts)
    assert column.distinct == tuple(dict.fromkeys(texts))
    assert column.is_in(("add", "dot")).tolist() == [text in ("add", "dot") for text in texts]
    assert [column.code_of(text) for text in texts] == column.code.tolist()
    assert column.code_of("nowhere") == -1


@given(st.lists(st.integers(0, 3), max_size=9))
def test_a_table_may_hold_a_text_twice(code: list[int]) -> None:
    table = ("a", "b", "a", "")
    column = Texts.coded(np.array(code, np.int64), table)
    assert list(column) == [table[one] for one in code]
    assert sorted(column.distinct) == ["", "a", "b"]


values = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1), st.integers(0, 63).map(lambda bit: 2**bit))


@given(st.lists(st.tuples(values, st.integers(1, 10)), min_size=1, max_size=30))
def test_varints_of_every_length_keep_their_value(drawn: list[tuple[int, int]]) -> None:
    encoded = [varint(value, min_length=length) for value, length in drawn]
    ends = np.cumsum([len(one) for one in encoded])
    value, size = ByteView(b"".join(encoded) + PADDING).varints(ends - [len(one) for one in encoded])
    assert value.tolist() == [value for value, _ in drawn]
    assert size.tolist() == [len(one) for one in encoded]


def test_a_varint_without_an_end_or_beyond_64_bits_has_no_length() -> None:
    for content in (b"\xff" * 10 + b"\x01", b"\x80" * 12, b"\xff" * 9 + b"\x02"):
        _, size = ByteView(content + PADDING).varints(np.zeros(1, np.int64))
        assert size.tolist() == [0]


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


@pytest.mark.parametrize(
    ("kind", "stat"),
    [("Wrapped", "Hlo Proto"), ("Module", "HLO Proto"), ("Snapshot", "hlo_proto")],
)
def test_all_three_wrappings_of_a_module_are_read_under_all_names_of_its_stat(kind: str, stat: str) -> None:
    modules = read(module("prog", ADD, kind=kind), stat=stat)
    assert (modules.module_name, tuple(modules.name), modules.warnings) == (("prog",), ("a", "sum"), ())


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
