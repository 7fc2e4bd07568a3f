"""Short drawings of HLO modules -> serialised modules, and the plane of a trace that carries them.

blob = module("mod", computation("fused", instruction("p", "parameter"), instruction("add", "add", reads="p p")),
              computation("main", instruction("a", "parameter"), instruction("f", "fusion", reads="a", calls="fused")))
trace(metadata_plane({7: blob}), plane("/host:CPU", line("t", event("f", 0, 5, hlo_op="f", program_id=7))))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests import builders
from tfprof_widgets.read import MESSAGES

F32 = 11


@dataclass(frozen=True)
class Instruction:
    name: str
    opcode: str
    dims: tuple[int, ...] = (8,)
    reads: str = ""
    calls: str = ""
    op: str = ""
    """`name:type` of the framework op."""
    source: str = ""
    """`file:line`."""
    more: dict[str, Any] = field(default_factory=dict)
    """Other fields of the message."""


@dataclass(frozen=True)
class Computation:
    name: str
    instructions: tuple[Instruction, ...]


def instruction(
    name: str,
    opcode: str,
    /,
    dims: tuple[int, ...] = (8,),
    *,
    reads: str = "",
    calls: str = "",
    op: str = "",
    source: str = "",
    **more: Any,
) -> Instruction:
    """An instruction with a result of floats; `reads` and `calls` are names between spaces."""
    return Instruction(name, opcode, dims, reads, calls, op, source, more)


def computation(name: str, *instructions: Instruction) -> Computation:
    """A computation whose last instruction is its root."""
    return Computation(name, instructions)


def module(name: str, *computations: Computation, id: int = 1, kind: str = "Wrapped", frames: Any = None) -> bytes:
    """A serialised module: an HloProto, with `kind` a bare `Module` or a `Snapshot`."""
    message = MESSAGES["Module"](name=name.encode(), id=id)
    if frames is not None:
        message.stack_frame_index.CopyFrom(frames)
    instruction_ids: dict[str, int] = {}
    computation_ids: dict[str, int] = {}
    for drawn in computations:
        own = message.computations.add(name=drawn.name.encode(), id=len(computation_ids) + 1)
        n_parameters = 0
        for one in drawn.instructions:
            written = _message(one, instruction_ids, computation_ids, n_parameters)
            own.instructions.append(written.SerializeToString())
            n_parameters += one.opcode == "parameter"
        own.root_id = written.id if drawn.instructions else 0
        computation_ids[drawn.name] = own.id
    if kind == "Module":
        return bytes(message.SerializeToString())
    wrapped = MESSAGES["Wrapped"](hlo_module=message)
    return bytes((MESSAGES["Snapshot"](hlo=wrapped) if kind == "Snapshot" else wrapped).SerializeToString())


def _message(one: Instruction, ids: dict[str, int], computations: dict[str, int], n_parameters: int) -> Any:
    ids[one.name] = len(ids) + 100
    op_name, _, op_type = one.op.partition(":")
    file, _, number = one.source.rpartition(":")
    metadata = MESSAGES["OpMetadata"](op_name=op_name.encode(), op_type=op_type.encode(), source_file=file.encode())
    if number:
        metadata.source_line = int(number)
    fields: dict[str, Any] = {"shape": MESSAGES["Shape"](element_type=F32, dimensions=one.dims), "metadata": metadata}
    if one.opcode == "parameter":
        fields["parameter_number"] = n_parameters
    fields |= one.more
    if "stack_frame_id" in fields:
        metadata.stack_frame_id = fields.pop("stack_frame_id")
    return MESSAGES["Instruction"](
        name=one.name.encode(),
        opcode=one.opcode.encode(),
        id=ids[one.name],
        operand_ids=[ids.get(name, 99) for name in one.reads.split()],
        called_computation_ids=[computations[name] for name in one.calls.split()],
        **fields,
    )


def metadata_plane(modules: Mapping[int, bytes], *, name: str = "mod", stat: str = "Hlo Proto") -> builders.Plane:
    """`/host:metadata` with one module per program; XProf takes the id of the n-th for n, so draw programs 1, 2, ..."""
    events = (
        builders.event(f"{name}({program})", 0, 0, metadata_stats={stat: blob}) for program, blob in modules.items()
    )
    return builders.plane("/host:metadata", builders.line("", *events))
