"""Short drawings of traces -> XSpace bytes, without protobuf, so that tests can also write what no library would.

    space(plane("/host:CPU", line("main", event("train", 0, 9, _r=1, step_num=1), event("MatMul:MatMul", 2, 3))))

Times are microseconds: an event's start after its line's timestamp, a line's timestamp after the session's start.
`trace(...)` takes the same arguments as `space(...)` and reads the result back.
"""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace

VARINT, FIXED64, LENGTH = 0, 1, 2
EPOCH_NS = 1_700_000_000_000_000_000
"""The session start that `session()` writes by default."""


# --- values of stats: a Python float is a double, int and bool an int64, str a str_value, bytes a bytes_value ---


@dataclass(frozen=True)
class U:
    """A uint64_value."""

    value: int


@dataclass(frozen=True)
class Ref:
    """A string stored as the name of a stat metadata (ref_value)."""

    text: str


@dataclass(frozen=True)
class Gz:
    """A compressed_str_value; `raw` replaces the compressed bytes."""

    text: str = ""
    raw: bytes | None = None


@dataclass(frozen=True)
class Nothing:
    """A stat that has a name and no value."""


@dataclass(frozen=True)
class Event:
    name: str | bytes
    start_ps: int
    duration_ps: int
    stats: tuple[tuple[str, Any], ...] = ()
    n_occurrences: int | None = None
    display_name: str = ""
    metadata_stats: tuple[tuple[str, Any], ...] = ()
    has_metadata: bool = True
    extra: bytes = b""
    """Encoded fields appended to the event, e.g. `tag(99, LENGTH) + length_prefixed(b"?")`."""


@dataclass(frozen=True)
class Line:
    name: str
    events: tuple[Event, ...]
    id: int | None = None
    timestamp_ns: int = 0
    display_name: str = ""


@dataclass(frozen=True)
class Plane:
    name: str
    lines: tuple[Line, ...]
    stats: dict[str, Any] = field(default_factory=dict)


def event(
    name: str | bytes,
    start_us: float,
    duration_us: float,
    /,
    *,
    stats: dict[str, Any] | Iterable[tuple[str, Any]] = (),
    metadata_stats: dict[str, Any] | None = None,
    **more: Any,
) -> Event:
    """A timed event. Stats come as keywords, or in `stats` where a name is no identifier or is repeated."""
    fields = {key: more.pop(key) for key in ("display_name", "has_metadata", "extra") if key in more}
    pairs = tuple(stats.items() if isinstance(stats, dict) else stats) + tuple(more.items())
    return Event(
        name,
        round(start_us * 1e6),
        round(duration_us * 1e6),
        pairs,
        metadata_stats=tuple((metadata_stats or {}).items()),
        **fields,
    )


def aggregated(name: str, n_occurrences: int, total_us: float, /, **stats: Any) -> Event:
    """An aggregated event: a count and a total duration, no start."""
    return replace(event(name, 0, total_us, **stats), n_occurrences=n_occurrences)


def line(
    name: str,
    *events: Event,
    id: int | None = None,
    timestamp_us: float = 0,
    timestamp_ns: int | None = None,
    display_name: str = "",
) -> Line:
    """A thread or stream; lines number themselves from 1 in their plane unless `id` is given."""
    at_ns = round(timestamp_us * 1e3) if timestamp_ns is None else timestamp_ns
    return Line(name, events, id, at_ns, display_name)


def plane(name: str, /, *lines: Line, **stats: Any) -> Plane:
    """A host or a device; keywords are plane stats."""
    return Plane(name, lines, stats)


def session(*, start_ns: int = EPOCH_NS, duration_us: float = 1000) -> Plane:
    """The plane that says when the profiler started and stopped."""
    return plane(
        "Task Environment", profile_start_time=U(start_ns), profile_stop_time=U(start_ns + round(duration_us * 1e3))
    )


def space(
    *planes: Plane,
    hostnames: Iterable[str] = (),
    errors: Iterable[str] = (),
    warnings: Iterable[str] = (),
    odd: Odd | None = None,
) -> bytes:
    """The bytes of an XSpace file."""
    writer = _Writer(odd or Odd())
    parts = [tagged(1, writer.plane(one)) for one in planes]
    for number, texts in ((2, errors), (3, warnings), (4, hostnames)):
        parts += [tagged(number, text.encode()) for text in texts]
    return b"".join(parts)


def trace(*planes: Plane, **options: Any) -> Trace:
    """The same, read back."""
    return read_xspace(space(*planes, **options))


def write_steps(folder: Path, n_steps: int = 9) -> Path:
    """A run of marked steps of 9 us, as a file in its folder."""
    steps = (event("train", 10 * i, 9, _r=1, step_num=i) for i in range(n_steps))
    (folder / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *steps))))
    return folder


# --- the wire format ---


def varint(value: int, *, min_length: int = 1) -> bytes:
    """A varint; negative values in ten bytes, `min_length` pads with redundant bytes."""
    if 0 <= value <= 0x7F and min_length == 1:
        return bytes((value,))
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F or len(out) + 1 < min_length:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@cache
def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def length_prefixed(content: bytes) -> bytes:
    return varint(len(content)) + content


def tagged(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return tag(number, LENGTH) + length_prefixed(content)


def number(field_number: int, value: int, *, min_length: int = 1) -> bytes:
    """A varint field."""
    return tag(field_number, VARINT) + varint(value, min_length=min_length)


@dataclass(frozen=True)
class Odd:
    """Legal but unusual ways of writing the same XSpace; all off by default."""

    shuffled: random.Random | None = None
    """Fields of events, metadata and stats in random order."""
    unknown_fields: bool = False
    """Every event, metadata and stat carries a field the schema does not have."""
    long_varints: bool = False
    """Varints padded with redundant bytes."""
    explicit_zeros: bool = False
    """Zero fields are written instead of left out."""
    metadata_first: bool = False
    """A plane's metadata maps before its lines."""


class _Writer:
    def __init__(self, odd: Odd) -> None:
        self.odd = odd

    def plane(self, plane: Plane) -> bytes:
        self.event_ids: dict[Any, int] = {}
        self.stat_ids: dict[str, int] = {}
        lines = [tagged(3, self.line(one, i)) for i, one in enumerate(plane.lines, start=1)]
        stats = [tagged(6, self.stat(key, value)) for key, value in plane.stats.items()]
        events = [tagged(4, self.event_metadata(key, id_)) for key, id_ in list(self.event_ids.items())]
        names = [
            tagged(5, self.entry(id_, [tagged(2, name.encode("utf-8", "surrogateescape"))], []))
            for name, id_ in self.stat_ids.items()
        ]
        body = [*events, *names, *lines] if self.odd.metadata_first else [*lines, *events, *names]
        return b"".join([tagged(2, plane.name.encode()), *body, *stats])

    def event_metadata(self, key: Any, id_: int) -> bytes:
        name, display_name, stats = key
        raw = name if isinstance(name, bytes) else name.encode()
        texts = [tagged(2, raw), tagged(4, display_name.encode()) if display_name else b""]
        return self.entry(id_, texts, [tagged(5, self.stat(stat, content)) for stat, content in stats])

    def entry(self, id_: int, texts: list[bytes], stats: list[bytes]) -> bytes:
        key = self.varint_field(1, id_)
        return key + tagged(
            2, self.ordered([key, *texts], stats)
        )  # of unknown fields beside these protobuf's maps make nothing

    def line(self, line: Line, position: int) -> bytes:
        head = number(1, position if line.id is None else line.id) + tagged(2, line.name.encode())
        if line.timestamp_ns:
            head += number(3, line.timestamp_ns)
        tail = tagged(11, line.display_name.encode()) if line.display_name else b""
        return head + b"".join(tagged(4, self.event(one)) for one in line.events) + tail

    def event(self, event: Event) -> bytes:
        key = (event.name, event.display_name, event.metadata_stats)
        id_ = self.event_ids.setdefault(key, len(self.event_ids) + 1) if event.has_metadata else 2**40
        fields = [self.varint_field(1, id_)]
        if event.n_occurrences is None:
            fields.append(self.varint_field(2, event.start_ps))
        fields.append(self.varint_field(3, event.duration_ps))
        stats = [tagged(4, self.stat(name, value)) for name, value in event.stats]
        last = b"" if event.n_occurrences is None else number(5, event.n_occurrences)
        if self.odd.shuffled:
            return self.ordered([*fields, last], stats) + event.extra
        return self.ordered(fields, stats) + last + event.extra

    def stat(self, name: str, value: Any) -> bytes:
        key = self.varint_field(1, self.stat_id(name))
        return self.ordered([key, self.stat_value(value)], [])

    def stat_value(self, value: Any) -> bytes:
        match value:
            case float():
                return tag(2, FIXED64) + struct.pack("<d", value)
            case U():
                return tag(3, VARINT) + varint(value.value, min_length=self.min_length)
            case int():
                return tag(4, VARINT) + varint(value, min_length=self.min_length)
            case str():
                return tagged(5, value.encode("utf-8", "surrogateescape"))
            case bytes():
                return tagged(6, value)
            case Ref():
                return number(7, self.stat_id(value.text))
            case Gz():
                return tagged(8, gzip.compress(value.text.encode(), mtime=0) if value.raw is None else value.raw)
            case Nothing():
                return b""
        raise TypeError(f"no stat can hold {value!r}")

    def stat_id(self, name: str) -> int:
        return self.stat_ids.setdefault(name, len(self.stat_ids) + 1)

    @property
    def min_length(self) -> int:
        return 5 if self.odd.long_varints else 1

    def varint_field(self, field_number: int, value: int) -> bytes:
        if not value and not self.odd.explicit_zeros:
            return b""
        return number(field_number, value, min_length=self.min_length)

    def ordered(self, fields: list[bytes], stats: list[bytes]) -> bytes:
        """Fields in their order, or shuffled; the order among stats is kept, as it has a meaning."""
        if not (self.odd.unknown_fields or self.odd.shuffled):
            return b"".join(fields + stats)
        fields = [one for one in fields if one]
        if self.odd.unknown_fields:
            fields.append(tagged(77, b"?"))
        parts = fields + stats
        if self.odd.shuffled:
            slots = ["field"] * len(fields) + ["stat"] * len(stats)
            self.odd.shuffled.shuffle(slots)
            self.odd.shuffled.shuffle(fields)
            sources = {"field": iter(fields), "stat": iter(stats)}
            parts = [next(sources[slot]) for slot in slots]
        return b"".join(parts)
