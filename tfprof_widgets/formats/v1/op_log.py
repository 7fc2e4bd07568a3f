"""The bytes of tfprof's OpLogProto -> `OpLog`: float operations, further types and call stacks of ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...errors import TraceError
from ...trace.bounds import decoded
from ...trace.op_graph import sane_float_ops
from .frame_table import FrameTable
from .step_stats_messages import step_message


@dataclass(frozen=True)
class OpLog:
    """What a log says of ops, by name."""

    float_ops: dict[str, int] = field(default_factory=dict)
    types: dict[str, list[str]] = field(default_factory=dict)
    frame: dict[str, int] = field(default_factory=dict)
    """The innermost row of `frames` of the call that made the op."""
    frames: FrameTable = field(default_factory=FrameTable)


def read_op_log(content: bytes | None, *, source: str = "") -> OpLog:
    """Read a log; an empty one for None.

    Raises:
        TraceError: it is none.
    """
    from google.protobuf.message import DecodeError

    from ..wire.wire_walk import break_of

    found = OpLog()
    if not content:
        return found
    try:
        log = step_message("OpLog").FromString(content)
    except DecodeError as error:
        raise TraceError(f"{source or 'The op log'} is no whole OpLogProto: {break_of(content)}") from error
    texts: dict[int, str] = {}
    for entry in log.id_to_string:
        texts.setdefault(entry.key, decoded(entry.value))
    for entry in log.log_entries:
        _take(found, entry, texts)
    return found


def _take(found: OpLog, entry: Any, texts: dict[int, str]) -> None:
    name = decoded(entry.name)
    found.types.setdefault(name, []).extend(decoded(one) for one in entry.types)
    if n_float_ops := sane_float_ops(entry.float_ops):
        found.float_ops[name] = n_float_ops
    if entry.HasField("code_def") and name not in found.frame:
        found.frame[name] = frame_of(found.frames, entry.code_def, lambda number: texts.get(number, ""))


def frame_of(frames: FrameTable, code: Any, text_of: Callable[[int], str]) -> int:
    """The innermost frame of a CodeDef message, -1 for an empty one; `text_of` gives the text of a number."""
    row = -1
    for trace in code.traces:  # as deep as calls nest
        file, function, text = map(text_of, (trace.file_id, trace.function_id, trace.line_id))
        row = frames.row(row, file, trace.lineno, function, trace.func_start_line, text)
    return row
