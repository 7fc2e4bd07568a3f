"""Serialised protobuf messages -> their fields as tables, decoded together by NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from ..errors import TraceError
from ..trace.arrays import Bool, Int64, UInt8, UInt64
from ..trace.scratch import opened
from ..trace.stats import ranges

Watcher = Callable[[int, int], None]
"""Takes, as files are read, the bytes read since the last call and those to come."""
_WATCHER: ContextVar[Watcher | None] = ContextVar("tfprof_reading", default=None)


@contextmanager
def watched_reading(by: Watcher) -> Iterator[None]:
    """Tell `by` what is read from files inside the `with` block, by this thread."""
    token = _WATCHER.set(by)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def watcher() -> Watcher | None:
    """The watcher of this thread; a copy from a server comes in another one."""
    return _WATCHER.get()


def _tell(n_read: int, n_more: int) -> None:
    told = watcher()
    if told is not None:
        told(n_read, n_more)


class Content(Protocol):
    """Bytes of a known number."""

    size: int

    def read(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` to `end`, which must lie inside."""
        ...


class BytesContent:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, begin: int, end: int) -> bytes:
        return self._data[begin:end]


class FileContent:
    """A file, read where it is asked for. It is not mapped: if it shrinks meanwhile that is an error, not a crash."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = opened(path, buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size
        _tell(0, 2 * self.size)  # planes and lines are looked up first, then the events are read

    def __enter__(self) -> FileContent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, begin: int, end: int) -> bytes:
        self._file.seek(begin)
        parts, n_left = [], end - begin
        while n_left > 0:
            part = self._file.read(n_left)
            if not part:
                raise TraceError(f"{self._path} became shorter while it was read. Load it again when it is written.")
            parts.append(part)
            n_left -= len(part)
        _tell(end - begin, 0)
        return parts[0] if len(parts) == 1 else b"".join(parts)


BYTES = 2
"""The wire type of messages and texts."""
_WINDOW_BYTES = 2**16
_LONGEST = 20
"""Bytes of the number and the length of a field."""


class FramingError(Exception):
    """A byte at which the wire format breaks, or which only protobuf itself can read."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what
        self.where = ""
        """The current message; `what` has braces for it."""


def varint(raw: bytes, at: int) -> tuple[int, int]:
    if at < len(raw) and raw[at] < 0x80:  # most are
        return raw[at], at + 1
    value = 0
    begin = at
    for shift in range(0, 70, 7):
        if at >= len(raw):
            raise FramingError(len(raw), "{} is truncated: it ends inside a number")
        octet = raw[at]
        value |= (octet & 0x7F) << shift
        at += 1
        if octet < 0x80:
            return value, at
    raise FramingError(begin, "a number of more than ten bytes in {}")


def row_end(raw: bytes, at: int, tag: int) -> int:
    """Where fields of a one-byte tag and of less than 16 kB end that stand in a row from `at` on, all of them within `raw`."""
    n = len(raw) - 3
    while at < n and raw[at] == tag:
        after, length = at + 2, raw[at + 1]
        if length >= 0x80:
            if raw[after] >= 0x80:
                break
            length += (raw[after] - 1) << 7
            after += 1
        if after + length > n + 3:
            break
        at = after + length
    return at


def fields(content: Content, begin: int, end: int, *, rows_of: int = 0) -> Iterator[tuple[int, int, int, int, int]]:
    """Number and wire type of each field of a message, where it starts, and where its content begins and ends."""
    window, base, at = b"", begin, begin
    try:
        while at < end:
            if (at + _LONGEST > base + len(window) and base + len(window) < end) or at < base:
                base = at
                window = content.read(at, min(at + _WINDOW_BYTES, end))
            key, after = varint(window, at - base)
            number, wire_type = key >> 3, key & 7
            first = base + after
            if not number or wire_type in (3, 4, 6, 7):
                octet = window[at - base]
                raise FramingError(at - base, f"0x{octet:02x} is not the start of a protobuf field in {{}}")
            if wire_type == 0:
                last = base + varint(window, after)[1]
            elif wire_type == BYTES:
                length, after = varint(window, after)
                first = base + after
                last = first + length
            else:
                last = first + (8 if wire_type == 1 else 4)
            if last > end:
                needs = f"a field that starts at byte {at} needs {last - end} bytes more"
                raise FramingError(end - base, f"{{}} is truncated: {needs}")
            if key == rows_of:
                last = max(last, base + row_end(window, at - base, rows_of))
            yield number, wire_type, at, first, last
            at = last
    except FramingError as error:
        error.at += base
        raise


PADDING = bytes(24)
"""What a buffer must end with, so that a varint read at its last byte stays inside."""

_u = np.uint64
_LOW_BITS = _u(0x7F7F7F7F7F7F7F7F)
_MANY = 0.7
"""From this share of varints of several bytes on it is not worth telling them from the others."""
_GAPS = ((_u(0x7F007F007F007F00), _u(1)), (_u(0x3FFF00003FFF0000), _u(2)), (_u(0x0FFFFFFF00000000), _u(4)))
"""Step by step: which bits have a gap below them, and how wide it is."""
_SIZE_OF_STOP = _u(1 | sum(size << (61 - 8 * size) for size in range(1, 8)))
"""Times the top bit of byte `size` of a window gives `size` in the highest four bits."""


class ByteView:
    """A padded buffer seen as bytes (`octets`) and as the little-endian uint64 at every byte (`windows`)."""

    def __init__(self, content: bytes) -> None:
        """View `content`, which must end with `PADDING`."""
        self.content = content
        self.octets: UInt8 = np.frombuffer(content, np.uint8)
        self.windows: UInt64 = np.ndarray((len(content) - 7,), np.dtype("<u8"), content, strides=(1,))

    def varints(self, at: Int64) -> tuple[UInt64, Int64]:
        """The varint at each position and its length in bytes; length 0 where there is none within ten bytes."""
        first = self.octets.take(at)
        long = np.flatnonzero(first >= 0x80)
        if len(long) > _MANY * len(at):
            return self._windowed(at)
        value, size = first.astype(np.uint64), np.ones(len(at), np.int64)
        if len(long):
            value[long], size[long] = self._windowed(at[long])
        return value, size

    def _windowed(self, at: Int64) -> tuple[UInt64, Int64]:
        """As `varints`, all at the price of long ones: the lowest clear top bit of an 8-byte window ends the value."""
        window = self.windows[at]
        filled = window | _LOW_BITS
        stop = filled + _u(1)  # carries into the lowest clear top bit
        stop &= np.invert(filled, out=filled)
        value = np.subtract(stop, _u(1), out=filled)
        value &= window
        value &= _LOW_BITS
        for upper, shift in _GAPS:
            part = np.bitwise_and(value, upper, out=window)
            value ^= part
            part >>= shift
            value |= part
        stop *= _SIZE_OF_STOP
        stop >>= _u(60)
        size = stop.view(np.int64)
        long = np.flatnonzero(size == 0)
        if len(long):
            value[long], size[long] = self._finish_long(at[long] + 8, value[long])
        return value, size

    def _finish_long(self, at: Int64, low: UInt64) -> tuple[UInt64, Int64]:
        """Add the ninth and tenth byte, which stand at `at`, to the low 56 bits; length 0 where that is not the end."""
        ninth, tenth = self.octets[at].astype(np.uint64), self.octets[at + 1].astype(np.uint64)
        is_nine = ninth < 0x80
        is_ten = ~is_nine & (tenth <= 1)  # a larger tenth byte does not fit in 64 bits
        value = low | ((ninth & _u(0x7F)) << _u(56))
        value[is_ten] |= tenth[is_ten] << _u(63)
        return value, np.where(is_nine, 9, np.where(is_ten, 10, 0))


_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_FIXED_BYTES = np.array([0, 8, 0, 0, 0, 4, 0, 0], np.int64)
_KNOWN_TYPES = np.array([True, True, True, False, False, True, False, False])
"""Groups are left to protobuf."""
_HIGHEST = 2**7
"""Fields of higher numbers are dropped."""
_MOST_FIELDS = 2**9
"""A longer message is left to protobuf: each round is for the k-th field of every message."""
_Round = tuple[Int64, UInt8, UInt8, Int64, Int64]
"""Messages, the number and wire type of a field of each, its value or where its content begins, and where it ends."""
_AT_ONCE = 2**15
"""Messages looked at together, so that their data stays in the processor's cache."""


class FieldRows:
    """The fields of some messages, round by round: the k-th of every message at once."""

    def __init__(self, view: ByteView, begin: Int64, end: Int64, wanted: Collection[int]) -> None:
        """Find the fields whose numbers are `wanted` in messages `view.content[begin:end]`."""
        self.view = view
        self.is_irregular = np.zeros(len(begin), np.bool_)
        """Messages that only protobuf can read."""
        is_wanted = np.zeros(_HIGHEST, np.bool_)
        is_wanted[list(wanted)] = True
        none, few = np.empty(0, np.int64), np.empty(0, np.uint8)
        found: list[_Round] = [(none, few, few, none, none)]
        for first in range(0, len(begin), _AT_ONCE):
            row = np.arange(first, min(first + _AT_ONCE, len(begin)))
            found += self._rounds(is_wanted, row, begin[row], end[row])
        columns = zip(*found, strict=True)
        self._row, self._number, self._kind, self._content, self._end = (np.concatenate(part) for part in columns)

    def _rounds(self, is_wanted: Bool, row: Int64, at: Int64, stop: Int64) -> Iterator[_Round]:
        for _ in range(_MOST_FIELDS):
            is_open = (at < stop) & ~self.is_irregular[row]
            if not is_open.any():
                return
            row, at, stop = row[is_open], at[is_open], stop[is_open]
            number, kind, value, first, at = self._next(row, at, stop)
            kept = np.flatnonzero(is_wanted[np.minimum(number, _HIGHEST - 1)] & ~self.is_irregular[row])
            kind = kind[kept]
            yield (
                row[kept],
                number[kept].astype(np.uint8),
                kind,
                np.where(kind == _BYTES, first[kept], value[kept]),
                at[kept],
            )
        self.is_irregular[row[at < stop]] = True

    def _next(self, row: Int64, at: Int64, stop: Int64) -> tuple[Int64, UInt8, Int64, Int64, Int64]:
        """Number and wire type of the field at a place of each message, its value, and begin and end of its content."""
        tag, size = self.view.varints(at)
        kind, number = (tag & np.uint64(7)).astype(np.uint8), (tag >> np.uint64(3)).view(np.int64)
        first = at + size
        is_odd = (size == 0) | (tag >= np.uint64(2**32)) | (number == 0) | ~_KNOWN_TYPES[kind] | (first > stop)
        np.minimum(first, stop, out=first)
        value, size = self.view.varints(first)
        has_varint = (kind == _VARINT) | (kind == _BYTES)
        is_odd |= has_varint & (size == 0)
        first = np.where(has_varint, first + size, first)
        length = np.minimum(value, np.uint64(len(self.view.octets))).view(np.int64)
        end = first + np.where(kind == _BYTES, length, _FIXED_BYTES[kind])
        is_odd |= end > stop
        self.is_irregular[row[is_odd]] = True
        return number, kind, value.view(np.int64), first, end

    def _of(self, number: int, kind: int) -> Int64:
        """The one field of each message that has it; a message in which it is twice, or of another type, is irregular."""
        found = np.flatnonzero(self._number == number)
        rows = self._row[found]
        is_of_kind = self._kind[found] == kind
        self.is_irregular[rows[~is_of_kind]] = True
        self.is_irregular |= np.bincount(rows, minlength=len(self.is_irregular)) > 1
        of_kind: Int64 = found[is_of_kind]
        return of_kind

    def varint(self, number: int) -> Int64:
        """The value of a varint field, 0 where a message has none."""
        found = self._of(number, _VARINT)
        column = np.zeros(len(self.is_irregular), np.int64)
        column[self._row[found]] = self._content[found]
        return column

    def content(self, number: int) -> tuple[Int64, Int64, Int64]:
        """The messages that have a field of bytes, and where its content begins and ends."""
        found = self._of(number, _BYTES)
        return self._row[found], self._content[found], self._end[found]

    def packed(self, number: int) -> tuple[Int64, Int64]:
        """How many varints a packed field of each message holds, and the varints, message after message."""
        rows, begin, end = self.content(number)
        order = np.argsort(rows, kind="stable")
        rows, begin, end = rows[order], begin[order], end[order]
        at = ranges(begin, end - begin)
        is_last = self.view.octets.take(at) < 0x80
        size = end - begin
        owner = np.repeat(np.arange(len(rows)), size)
        ends_well = np.ones(len(rows), np.bool_)
        stops = np.cumsum(size)[size > 0] - 1
        ends_well[size > 0] = is_last[stops]
        starts = np.append(True, is_last[:-1])[: len(at)]
        value, width = self.view.varints(at[starts])
        self.is_irregular[rows[~ends_well]] = True
        self.is_irregular[rows[owner[starts][width == 0]]] = True
        n = np.zeros(len(self.is_irregular), np.int64)
        n[rows] = np.bincount(owner[starts], minlength=len(rows))
        return n, value.view(np.int64)


Fields = tuple[tuple[str, int, str], ...]
"""Of a message: name, number, a scalar type or a message, then perhaps `repeated` or `oneof`; others are skipped."""


class Messages:
    """The classes of one schema; made when first asked for."""

    def __init__(self, package: str, text: str) -> None:
        """Declare messages in `package`, a name that no other schema has, as `Message: field 1 int64, other 2 bytes repeated`;
        an indented line has more fields of the one above."""
        self._package = package
        self.schema: dict[str, Fields] = {}
        name = ""
        for line in filter(None, text.split("\n")):
            head, is_new, fields = line.partition(": ")
            name = head if is_new else name
            told = (one.split(maxsplit=2) for one in (fields if is_new else line).rstrip(",").split(", "))
            own = tuple((field, int(number), kind) for field, number, kind in told)
            self.schema[name] = (*self.schema.get(name, ()), *own)
        self._pool: Any = None
        self._classes: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._classes:
            self._classes[name] = self._class(name)
        return self._classes[name]

    def _class(self, name: str) -> Any:
        from google.protobuf import message_factory

        if self._pool is None:
            self._pool = self._declared()
        descriptor = self._pool.FindMessageTypeByName(f"{self._package}.{name}")
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(self._pool).GetPrototype(descriptor)  # protobuf before 4.22

    def _declared(self) -> Any:
        from google.protobuf import descriptor_pb2, descriptor_pool

        file = descriptor_pb2.FileDescriptorProto(
            name=f"{self._package.replace('.', '_')}.proto", package=self._package, syntax="proto3"
        )
        for name, fields in self.schema.items():
            message = file.message_type.add(name=name)
            for field, number, kind in fields:
                self._add_field(message, field, number, kind)
        pool = descriptor_pool.DescriptorPool()
        pool.AddSerializedFile(file.SerializeToString())
        return pool

    def _add_field(self, message: Any, name: str, number: int, kind: str) -> None:
        type_name, _, modifier = kind.partition(" ")
        field = message.field.add(name=name, number=number)
        field.label = field.LABEL_REPEATED if modifier == "repeated" else field.LABEL_OPTIONAL
        if type_name in self.schema:
            field.type, field.type_name = field.TYPE_MESSAGE, f".{self._package}.{type_name}"
        else:
            field.type = getattr(field, f"TYPE_{type_name.upper()}")
        if modifier == "oneof":
            if not message.oneof_decl:
                message.oneof_decl.add(name="value")
            field.oneof_index = 0


_MOST_BYTES = 128
"""Longer pieces are few: they are compared by the number that Python has for them."""
_FIRST_BYTES = np.array([*(256**n - 1 for n in range(8)), 2**64 - 1], np.uint64)
"""Masks of the first bytes of a window."""


def alike(view: ByteView, begin: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Number of each piece's content, and first piece of each number; by random sums, so that none collide on purpose."""
    odd = np.random.default_rng().integers(2**63, size=2, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    parts = (slice(low, low + _AT_ONCE) for low in range(0, len(begin), _AT_ONCE))
    mixed = [_mixed(view, begin[part], end[part], odd) for part in parts]
    _, first, number = np.unique(
        np.concatenate([np.empty(0, np.uint64), *mixed]), return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[number.reshape(-1)], first[order]


def _mixed(view: ByteView, begin: Int64, end: Int64, odd: UInt64) -> UInt64:
    size = end - begin
    mixed = size.astype(np.uint64)
    row = np.flatnonzero((size > 0) & (size <= _MOST_BYTES))
    at, left, before = begin[row], size[row], mixed[row]
    while len(row):  # eight bytes of each at a time
        window = view.windows[at]
        window &= _FIRST_BYTES.take(np.minimum(left, 8))
        window ^= before
        for one in odd:
            window *= one
            window ^= window >> np.uint64(32)
        mixed[row] = window
        more = np.flatnonzero(left > 8)
        row, at, left, before = row[more], at[more] + 8, left[more] - 8, window[more]
    long = np.flatnonzero(size > _MOST_BYTES)
    ends = zip(begin[long].tolist(), end[long].tolist(), strict=True)
    told = np.fromiter((hash(view.content[low:high]) for low, high in ends), np.int64, len(long))
    mixed[long] = told.view(np.uint64)
    return mixed


PEEKED_BYTES = 4096
"""So many bytes show the kind of a file."""


class FileKind(Enum):
    """Kinds of files; the value is what to call one in a message."""

    EMPTY = "empty"
    JSON = "JSON"
    XSPACE = "an XSpace"
    RUN_METADATA = "a RunMetadata or StepStats"
    STEP_STATS = "a StepStats"
    PROFILE = "a ProfileProto of tfprof"
    GRAPH = "a GraphDef"
    OP_LOG = "an OpLogProto of tfprof"
    ZIP = "a zip archive"
    LFS_POINTER = "a pointer of Git LFS"
    PPROF = "a profile of pprof"
    UNKNOWN = "nothing known"


STEP_KINDS = (FileKind.RUN_METADATA, FileKind.STEP_STATS, FileKind.PROFILE)
"""Messages that are steps of a profile, several of which may be one."""
_SPACE = b"\xef\xbb\xbf \t\r\n"


def kind_of(start: bytes) -> FileKind:
    """What a file is by its first bytes (`PEEKED_BYTES` of them do), unpacked: the fields that each message begins with."""
    if not start:
        return FileKind.EMPTY
    if start.lstrip(_SPACE)[:1] in (b"{", b"[") and _is_text(start):
        return FileKind.JSON
    if start.startswith((b"PK\x03\x04", b"version https://git-lfs")):
        return FileKind.ZIP if start[:1] == b"P" else FileKind.LFS_POINTER
    number, inner, _ = _first(start)
    if (
        number == 1 and len(inner) == 4 and inner[::2] == b"\x08\x10"
    ):  # two short numbers, as no other message has there
        return FileKind.PPROF
    if number == 4:  # id_to_string or has_trace of a profile without nodes, hostnames of an empty XSpace
        return FileKind.PROFILE if inner[:1] == b"\x08" else FileKind.UNKNOWN
    return _kind_of_first(inner) if number == 1 else FileKind.UNKNOWN


def _is_text(start: bytes) -> bool:
    """Whether no byte is one that JSON never has: the first two of an XSpace can be a line feed and a brace."""
    return not any(byte < 0x20 and byte not in b"\t\r\n" for byte in start[:256])


def _kind_of_first(inner: bytes) -> FileKind:
    """Kind of a file by the content of its field 1."""
    if inner[:1] == b"\x08":  # a number comes first: a map's key, or the id of a plane
        number, content, _ = _first(_after_number(inner))
        return FileKind.PROFILE if number == 2 and content[:1] == b"\x0a" and _is_name(content) else FileKind.XSPACE
    number, content, end = _first(inner)
    if number != 1:
        return FileKind.XSPACE if number == 2 else FileKind.UNKNOWN
    deeper = _first(content)
    if deeper[0] == 1 and deeper[1][:1] == b"/":
        return FileKind.RUN_METADATA
    if content[:1] == b"/" and b"/" in content[1:]:
        return FileKind.STEP_STATS
    # What begins with a name: a NodeDef has its op's type next, an entry of a log anything else.
    following = inner[end : end + 1]
    if following == b"\x12":
        return FileKind.GRAPH
    return FileKind.OP_LOG if following in (b"\x10", b"\x1a", b"\x22") else FileKind.UNKNOWN


def _is_name(node: bytes) -> bool:
    """Whether a message begins with a text, as a node of a profile does."""
    number, text, _ = _first(node)
    return number == 1 and bool(text) and all(byte >= 0x20 for byte in text[:64])


def _first(data: bytes) -> tuple[int, bytes, int]:
    """Number, content (as much as is there) and end of the first field where that is a message or a text; else zeros."""
    try:
        key, at = varint(data, 0)
        if key & 7 == BYTES:
            length, at = varint(data, at)
            return key >> 3, data[at : at + length], at + length
    except FramingError:
        pass
    return 0, b"", 0


def _after_number(data: bytes) -> bytes:
    """What follows the number that is the first field."""
    try:
        return data[varint(data, 1)[1] :]
    except FramingError:
        return b""


_MOST_ROUNDS = 64
"""Repeated fields are found round by round, the k-th of every message at once; of messages with more than this one by one."""
_MessageRound = tuple[Int64, Int64 | int, Int64, Int64]
"""Messages, which of their fields, and where its content begins and ends."""


class MessageRows:
    """Some messages, each read up to `at`. All tags are those of one byte."""

    def __init__(self, view: ByteView, begin: Int64, end: Int64) -> None:
        self.view, self.at, self.end = view, begin.copy(), end
        self.is_irregular = np.zeros(len(end), np.bool_)
        """Messages that only protobuf can read; once all fields are taken, also those that go on behind them."""

    def finish(self) -> None:
        """Note which messages have not ended."""
        self.is_irregular |= self.at != self.end

    def varint(self, tag: int) -> Int64:
        """The value of a varint field where it comes next, else 0; moves on behind it."""
        present = (self.view.octets.take(self.at) == tag) & (self.at < self.end)
        n_present = np.count_nonzero(present)
        if n_present == len(present):
            value, size = self.view.varints(self.at + 1)
            self.at += size + 1
            self.is_irregular |= (size == 0) | (self.at > self.end)
            np.minimum(self.at, self.end, out=self.at)
            return value.view(np.int64)
        column = np.zeros(len(present), np.int64)
        if n_present:
            rows = np.flatnonzero(present)
            value, size = self.view.varints(self.at[rows] + 1)
            column[rows] = value.view(np.int64)
            at = self.at[rows] + size + 1
            self.is_irregular[rows] |= (size == 0) | (at > self.end[rows])
            self.at[rows] = np.minimum(at, self.end[rows])
        return column

    def content(self, tag: int) -> tuple[Int64, Int64]:
        """Where the content of a field of bytes begins and ends where it comes next, else nothing; moves on behind it."""
        rows = np.flatnonzero((self.view.octets.take(self.at) == tag) & (self.at < self.end))
        begin, end = self.at.copy(), self.at.copy()
        rows, begin_of_rows, end_of_rows = self._contents(rows, self.at[rows], self.end[rows])
        begin[rows], end[rows] = begin_of_rows, end_of_rows
        self.at = end.copy()
        return begin, end

    def repeated(self, tag: int) -> tuple[Int64, Int64, Int64]:
        """How many fields of bytes with this tag come next in each message, and where each begins and ends."""
        rounds = self._rounds(tag)
        n = np.zeros(len(self.end), np.int64)
        for rows, _, _, _ in rounds:
            n += np.bincount(rows, minlength=len(n))
        offsets = np.cumsum(n) - n
        begin = np.empty(int(n.sum()), np.int64)
        end = np.empty_like(begin)
        for rows, position, round_begin, round_end in rounds:
            slots = offsets[rows] + position
            begin[slots], end[slots] = round_begin, round_end
        return n, begin, end

    def _rounds(self, tag: int) -> list[_MessageRound]:
        """Walk over the fields of all messages in step: one round per position in the message."""
        octets = self.view.octets
        rows = np.flatnonzero((octets.take(self.at) == tag) & (self.at < self.end))
        at, message_end = self.at[rows], self.end[rows]
        rounds: list[_MessageRound] = []
        while len(rows):
            if len(rounds) == _MOST_ROUNDS:
                return rounds + [self._walked(row, tag) for row in rows.tolist()]
            rows, begin, at = self._contents(rows, at, message_end)
            if len(rows) < len(message_end):
                message_end = self.end[rows]
            self.at[rows] = at
            rounds.append((rows, len(rounds), begin, at))
            goes_on = (at < message_end) & (octets.take(at) == tag)
            if not goes_on.all():
                rows, at, message_end = rows[goes_on], at[goes_on], message_end[goes_on]
        return rounds

    def _contents(self, rows: Int64, at: Int64, message_end: Int64) -> tuple[Int64, Int64, Int64]:
        """Begin and end of the fields of bytes at these places that lie inside their messages."""
        length, size = self.view.varints(at + 1)
        begin = at + 1
        begin += size
        end = np.minimum(length, np.uint64(len(self.view.octets))).view(np.int64)
        end += begin
        is_inside = (end <= message_end) & (size > 0)
        if not is_inside.all():
            self.is_irregular[rows[~is_inside]] = True
            return rows[is_inside], begin[is_inside], end[is_inside]
        return rows, begin, end

    def _walked(self, row: int, tag: int) -> _MessageRound:
        content, at, end = self.view.content, int(self.at[row]), int(self.end[row])
        found: list[tuple[int, int]] = []
        while at < end and content[at] == tag:
            try:
                length, begin = varint(content, at + 1)
            except FramingError:
                length, begin = end, end
            if begin + length > end:
                self.is_irregular[row] = True
                break
            at = begin + length
            found.append((begin, at))
        self.at[row] = at
        n = len(found)
        begins, ends = np.array(found, np.int64).reshape(-1, 2).T
        return np.full(n, row), _MOST_ROUNDS + np.arange(n), begins, ends


_FILE, _PLANE, _LINE = "the file", "plane", "line"
Children = Mapping[str, tuple[int, str]]
_CHILD: Children = {_FILE: (1, _PLANE), _PLANE: (3, _LINE)}
"""Per message: the number of the field whose messages are walked, and their kind."""


def describe_damage(data: bytes, *, children: Children = _CHILD, kind: str = "an *.xplane.pb file") -> str:
    """Where `data` breaks the protobuf wire format, looked for in the file and the messages of `children` in it."""
    told = _first_damage(data, children)
    if not told:
        return "its events or metadata break the protobuf wire format. Capture it again."
    return f"{told} {'Copy or capture it again.' if 'truncated' in told else f'Is it {kind}?'}"


def break_of(data: bytes) -> str:
    """Where the outermost fields of any message break the protobuf wire format."""
    told = _first_damage(data, {}) or f"a message within its {len(data)} bytes breaks the protobuf wire format."
    return f"{told} Copy it again."


def _first_damage(data: bytes, children: Children) -> str:
    try:
        _check(BytesContent(data), 0, len(data), _FILE, _FILE, children)
    except FramingError as error:
        return f"byte {error.at} of {len(data)}: {error.what.format(error.where)}."
    return ""


def _check(content: BytesContent, begin: int, end: int, kind: str, where: str, children: Children) -> None:
    wanted, child = children.get(kind, (0, ""))
    seen = 0
    try:
        for number, wire_type, _, first, last in fields(content, begin, end):
            if number == wanted and wire_type == BYTES:
                own = f"{child} {seen}" if kind == _FILE else f"{child} {seen} of {where}"
                _check(content, first, last, child, own, children)
                seen += 1
    except FramingError as error:
        error.where = error.where or where
        raise
