"""An XSpace read message by message through a complete protobuf schema: the oracle for the columnar reader.

It shares nothing with `tfprof_widgets.formats`: its own schema with real maps and nested messages, objects per event.
"""

from __future__ import annotations

import gzip
from functools import cache
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tfprof_widgets.errors import without_controls
from tfprof_widgets.trace import Trace

_F = descriptor_pb2.FieldDescriptorProto
_TYPES = {"i": _F.TYPE_INT64, "u": _F.TYPE_UINT64, "d": _F.TYPE_DOUBLE, "b": _F.TYPE_BYTES}
# name:number:type, `*` for repeated, `|` for a member of the oneof, `Map<value>` for a map from int64
_SCHEMA = {
    "XStat": "metadata_id:1:i double_value:2:d| uint64_value:3:u| int64_value:4:i| str_value:5:b| bytes_value:6:b| "
    "ref_value:7:u| compressed_str_value:8:b|",
    "XEvent": "metadata_id:1:i offset_ps:2:i| duration_ps:3:i stats:4:XStat* num_occurrences:5:i|",
    "XEventMetadata": "id:1:i name:2:b metadata:3:b display_name:4:b stats:5:XStat* child_id:6:i*",
    "XStatMetadata": "id:1:i name:2:b description:3:b",
    "XLine": "id:1:i name:2:b timestamp_ns:3:i events:4:XEvent* duration_ps:9:i display_id:10:i display_name:11:b",
    "XPlane": "id:1:i name:2:b lines:3:XLine* event_metadata:4:XEventMetadata@ stat_metadata:5:XStatMetadata@ "
    "stats:6:XStat*",
    "XSpace": "planes:1:XPlane* errors:2:b* warnings:3:b* hostnames:4:b*",
}


@cache
def space_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="full_xplane.proto", package="full", syntax="proto3")
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        if "|" in fields:
            message.oneof_decl.add(name="value")
        for text in fields.split():
            _add(message, name, text)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("full.XSpace"))


def _add(message: Any, owner: str, text: str) -> None:
    name, number, kind = text.split(":")
    bare = kind.rstrip("*|@")
    field = message.field.add(name=name, number=int(number), label=_F.LABEL_REPEATED if kind[-1] in "*@" else 1)
    if kind.endswith("|"):
        field.oneof_index = 0
    if kind.endswith("@"):
        entry_name = "".join(part.capitalize() for part in name.split("_")) + "Entry"
        entry = message.nested_type.add(name=entry_name)
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=_F.TYPE_INT64, label=1)
        entry.field.add(name="value", number=2, type=_F.TYPE_MESSAGE, type_name=f".full.{bare}", label=1)
        field.type, field.type_name = _F.TYPE_MESSAGE, f".full.{owner}.{entry_name}"
    elif bare in _TYPES:
        field.type = _TYPES[bare]
    else:
        field.type, field.type_name = _F.TYPE_MESSAGE, f".full.{bare}"


def text(raw: bytes) -> str:
    return without_controls(raw.decode("utf-8", "backslashreplace"))


def expected_events(data: bytes, *, origin_ns: int = 0) -> list[tuple[Any, ...]]:
    """Plane, line id, start, duration, name, display name, occurrences, stats, metadata stats; in the Trace's order."""
    events = []
    for index, plane in enumerate(space_class().FromString(data).planes):
        order: dict[int, int] = {}
        for line in plane.lines:
            order.setdefault(line.id, len(order))
            shift = line.timestamp_ns - (origin_ns if min(line.timestamp_ns, origin_ns) > 10**15 else 0)
            for event in line.events:
                metadata = plane.event_metadata.get(event.metadata_id)
                row = (
                    index,
                    line.id,
                    shift * 1000 + event.offset_ps,
                    event.duration_ps,
                    text(metadata.name) if metadata else "",
                    text(metadata.display_name) if metadata else "",
                    event.num_occurrences,
                    [_stat(plane, stat) for stat in event.stats],
                    [_stat(plane, stat) for stat in metadata.stats] if metadata else [],
                )
                events.append(((index, order[line.id], row[2], -row[3]), row))
    return [row for _, row in sorted(events, key=lambda pair: pair[0])]


def _stat(plane: Any, stat: Any) -> tuple[str, Any]:
    def name(id_: int) -> str:
        return text(plane.stat_metadata[id_].name) if id_ in plane.stat_metadata else ""

    kind = stat.WhichOneof("value")
    value = getattr(stat, kind) if kind else 0
    if kind == "ref_value":
        value = name(value)
    elif kind == "compressed_str_value":
        value = text(gzip.decompress(value))
    elif kind == "str_value":
        value = text(value)
    return name(stat.metadata_id), _comparable(value)


def _comparable(value: Any) -> Any:
    """NaN is not equal to itself; its name is."""
    return "nan" if value != value else value


def actual_events(trace: Trace) -> list[tuple[Any, ...]]:
    """The same from a Trace."""
    own = trace.stats.all_stats()
    values = [
        _values(trace, own.kind, own.bits),
        _values(trace, trace.metadata_stat_kind, trace.metadata_stat_bits),
    ]
    keys = [own.key.tolist(), trace.metadata_stat_key.tolist()]
    offsets = [np.append(0, np.cumsum(own.n)).tolist(), trace.metadata_stat_offsets.tolist()]

    def stats(table: int, row: int) -> list[tuple[str, Any]]:
        low, high = offsets[table][row : row + 2]
        return [(trace.strings[keys[table][k]], values[table][k]) for k in range(low, high)]

    columns = (trace.line_id, trace.start_ps, trace.duration_ps, trace.name_id, trace.metadata_id, trace.n_occurrences)
    events = []
    for row, (line, start, duration, name, metadata, occurrences) in enumerate(
        zip(*(c.tolist() for c in columns), strict=True)
    ):
        shown = trace.display_name_id[metadata]
        events.append(
            (
                trace.lines[line].plane,
                trace.lines[line].id,
                start,
                duration,
                trace.strings[name],
                trace.strings[shown] if shown >= 0 else "",
                occurrences,
                stats(0, row),
                stats(1, metadata),
            )
        )
    return events


def _values(trace: Trace, kinds: Any, bits: Any) -> list[Any]:
    readers = {
        2: lambda value: float(value.view("<f8")),
        3: int,
        4: lambda value: int(value.view("<i8")),
        5: lambda value: trace.strings[int(value)],
        6: lambda value: trace.blobs[int(value)],
    }
    return [_comparable(readers[kind](value)) for kind, value in zip(kinds.tolist(), bits, strict=True)]
