"""The bytes of a Chrome trace -> its events in batches, without the whole document in memory; what was left out and why."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import TraceError
from ..trace.arrays import Int32, Int64, UInt8, UInt64
from ..trace.building import EventMetadata, MetadataRow
from ..trace.capture_facts import texts, whole
from ..trace.trace import MAX_PS, Line, Plane, Session, StatRow, StatValue, StringTable
from .saved import SavedProfile, parse_saved

MARKER = "tfprof"
"""The one member beside `traceEvents` that is read; others are skipped unread."""
_END_OF_EVENTS = b'\n],\n"tfprof":'
"""As `export.chrome_trace` writes it; no text of JSON holds a line feed, so this is nowhere inside an event."""
_BATCH = 4096
_SHORT_WINDOW = 2**8
"""Names of members are short, and there may be hundreds of thousands."""
_WINDOW = 2**20
_MOST_WINDOW = 256 * 2**20
"""Of an event or the marker, which may hold a long string."""
_MOST_BRACKETS = 2 * 2**20
"""Each list or object takes 20 times its bytes."""
_PLAIN = json.JSONDecoder()
_BARE_NUMBER = re.compile(r"(-?)(?:(inf(?:inity)?)|nan)\b", re.IGNORECASE)
"""Infinity and no number as C prints them, which JSON has no word for."""
_MOST_BARE_NUMBERS = 16
"""In one value."""
_BARE_WINDOW = 2**16
"""Characters of such a value, as it is read again for each of them."""
_SPACE = re.compile(r"[\s,\ufeff]*")
_STRUCTURE = re.compile(rb'["\[\]{},]')


def has_marker(content: bytes) -> bool:
    """Whether this package wrote a Chrome trace, or it looks so."""
    return b'"tfprof"' in content


class Real(str):
    """A number with a point or an exponent, as written: picoseconds of long traces do not fit into a double."""

    __slots__ = ()


class Document:
    """One Chrome trace: `find_marker()`, `events()` once, then `is_truncated`."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._decoder = json.JSONDecoder(parse_float=Real, strict=False)
        self._error = json.JSONDecodeError("nothing", "", 0)
        self.is_truncated = False
        """Whether an array of events ended without its bracket, as the format allows: the writer was killed."""

    def find_marker(self) -> Any:
        """The member `tfprof`; None where there is none. It stands behind the events, and says how to read them."""
        with self._told():
            at = self._content.rfind(_END_OF_EVENTS)
            if at >= 0:
                self._at = at + len(_END_OF_EVENTS)
                return self._value() if self._next_byte() == b"{" else None
            if b'"tfprof"' not in self._content or self._next_byte() != b"{":
                return None
            self._at += 1  # another program wrote the file anew
            while (name := self._member()) is not None:
                if name == MARKER and self._next_byte() == b"{":
                    return self._value()
                self._skip()
        return None

    def events(self) -> Iterator[list[Any]]:
        """The trace events in the order of the file, some thousand at a time, whatever they are."""
        self._at = 0
        with self._told():
            first = self._next_byte()
            if first == b"[":
                self._at += 1
                yield from self._array(may_end_early=True)
            elif first == b"{":
                self._at += 1
                yield from self._members()
            else:
                raise TraceError(f"it begins with {first!r}, neither an object nor a list of JSON")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except RecursionError as error:
            raise TraceError(f"the JSON at byte {self._at} is nested too deeply") from error
        except ValueError as error:
            raise TraceError(f"it is no JSON at byte {self._at}: {error}") from error

    def _member(self) -> str | None:
        """The name of the next member, with its value next; None at the end of the object."""
        token = self._next_byte()
        if token == b"}":
            return None
        if token != b'"':
            raise TraceError(f"it ends, or has no member, at byte {self._at}: copy it again")
        name = self._value()
        if self._next_byte() != b":":
            raise TraceError(f"a member at byte {self._at} has no value: copy it again")
        self._at += 1
        return str(name)

    def _members(self) -> Iterator[list[Any]]:
        has_events = False
        while (name := self._member()) is not None:
            if name != "traceEvents":
                self._skip()
                continue
            if has_events or self._next_byte() != b"[":
                raise TraceError("its traceEvents are no list, or there are two")
            has_events = True
            self._at += 1
            yield from self._array(may_end_early=False)
        if not has_events:
            raise TraceError("it is JSON without traceEvents, so no Chrome trace")

    def _array(self, *, may_end_early: bool) -> Iterator[list[Any]]:
        batch: list[Any] = []
        size = _WINDOW
        is_open = True
        while is_open:
            window = self._window(self._at, size)
            values, at, is_open = self._read(window, batch)
            self._at += _n_bytes(window, at)
            if is_open and self._at >= len(self._content) - _n_bytes(window[at:], len(window) - at):
                self._end_early(window, at, may_end_early=may_end_early)
                is_open = False
            size = _WINDOW if values else 2 * size
            while len(batch) >= _BATCH:
                yield batch[:_BATCH]
                del batch[:_BATCH]
        yield batch

    def _read(self, window: str, batch: list[Any]) -> tuple[int, int, bool]:
        """Append the whole values of a window to a batch: how many, where the rest begins, and whether more may follow."""
        at = n_values = 0
        while True:  # the parts of a document of JSON can only be read one by one
            at = _SPACE.match(window, at).end()  # type: ignore[union-attr]  # it matches nothing at all, too
            if at == len(window):
                return n_values, at, True
            if window[at] == "]":
                return n_values, at + 1, False
            try:
                value, at = self._decoder.raw_decode(window, at)
            except json.JSONDecodeError as error:
                self._error = error
                if (spelled := self._with_bare_numbers(window, at)) is None:
                    return n_values, at, True
                value, at = spelled
            batch.append(value)
            n_values += 1

    def _with_bare_numbers(self, window: str, at: int) -> tuple[Any, int] | None:
        """The value that failed to be read at `at`, and its end, if `inf` and `nan` in it are why; else None."""
        text, n_added, place = window[at : at + _BARE_WINDOW], 0, self._error.pos - at
        for _ in range(_MOST_BARE_NUMBERS):
            if (bare := _BARE_NUMBER.match(text, place)) is None:
                return None
            number = f"{bare[1]}Infinity" if bare[2] else "NaN"
            text = f"{text[:place]}{number}{text[bare.end() :]}"
            n_added += len(number) - len(bare[0])
            try:
                value, end = self._decoder.raw_decode(text)
            except json.JSONDecodeError as error:
                place = error.pos
                continue
            return value, at + end - n_added
        return None

    def _end_early(self, window: str, at: int, *, may_end_early: bool) -> None:
        """Accept or refuse that the file ends before its array does."""
        error = self._error
        is_cut = at == len(window) or error.pos >= len(window) - 4 or error.msg.startswith("Unterminated string")
        if not is_cut:
            raise error
        if not may_end_early:
            raise TraceError(f"its {len(self._content)} bytes end inside traceEvents: copy it again")
        self.is_truncated = True
        self._at = len(self._content)

    def _window(self, base: int, size: int) -> str:
        if size > _MOST_WINDOW:
            raise TraceError(f"the value at byte {base} is no JSON, or longer than {_MOST_WINDOW} bytes, the limit")
        raw = self._content[base : base + size]
        if size > _WINDOW and raw.count(b"[") + raw.count(b"{") > _MOST_BRACKETS:
            raise TraceError(f"the value at byte {base} has more than {_MOST_BRACKETS} lists, the limit")
        return raw.decode("utf-8", "surrogateescape")

    def _value(self) -> Any:
        """The text or object that begins at the next byte."""
        size = _SHORT_WINDOW
        while True:
            window = self._window(self._at, size)
            try:
                value, end = _PLAIN.raw_decode(window)
            except json.JSONDecodeError:
                if self._at + size >= len(self._content):
                    raise
                size *= 2
                continue
            self._at += _n_bytes(window, end)
            return value

    def _next_byte(self) -> bytes:
        """The next byte that is neither space nor comma; b"" at the end."""
        while (byte := self._content[self._at : self._at + 1]) and byte in b" \t\r\n,\xef\xbb\xbf":
            self._at += 1
        return byte

    def _skip(self) -> None:
        """Step over a value without building it."""
        self._next_byte()
        depth = 0
        while (found := _STRUCTURE.search(self._content, self._at)) is not None:
            token, self._at = found.group(), found.end()
            if token == b'"':
                self._at = self._after_string()
            elif token in b"[{":
                depth += 1
            elif token != b",":
                depth -= 1
            if depth < 0:  # the end of the object around it, which its reader must see
                self._at -= 1
            if depth <= 0:
                return
        raise TraceError(f"its {len(self._content)} bytes end inside a member: copy it again")

    def _after_string(self) -> int:
        at = self._at
        while (at := self._content.find(b'"', at)) >= 0:
            n_escapes = 0
            while self._content[at - 1 - n_escapes] == ord("\\"):
                n_escapes += 1
            at += 1
            if n_escapes % 2 == 0:
                return at
        raise TraceError(f"its {len(self._content)} bytes end inside a string: copy it again")


def _n_bytes(text: str, end: int) -> int:
    return end if text.isascii() else len(text[:end].encode("utf-8", "surrogateescape"))


class OddEventError(TraceError):
    """An event is not what the format asks for: it is left out, and the others are read."""

    def __init__(self, text: str, what: str = "odd") -> None:
        super().__init__(text)
        self.what = what
        """One of a few kinds, which are counted."""


@dataclass
class LeftOut:
    n_read: int = 0
    """Events read so far, those left out included."""
    is_of_xprof: bool = False
    """Whether there was an empty object, which is left out without a notice."""
    _kinds: Counter[str] = field(default_factory=Counter)
    _first: str = ""

    def take(self, events: Iterable[Any], take_up: Callable[[Any], None]) -> None:
        """Take up events one by one; those for which that raises an `OddEventError` are left out."""
        for event in events:  # JSON has no columns; this loop is what makes them
            try:
                if event or event != {}:
                    take_up(event)
                else:  # XProf's converter ends its list so, to need no comma before it
                    self.is_of_xprof = True
            except OddEventError as error:
                self._first = self._first or f"event {self.n_read}: {error}"
                self._kinds[error.what] += 1
            self.n_read += 1

    @property
    def notices(self) -> tuple[str, ...]:
        """One sentence where events were left out, else none."""
        if not self._kinds:
            return ()
        kinds = ", ".join(f"{what} ({n:,})" for what, n in self._kinds.most_common())
        n_all = self._kinds.total()
        return (
            f"{n_all:,} of {self.n_read:,} events {'was' if n_all == 1 else 'were'} left out: {kinds}. "
            f"The first is {self._first}.",
        )

    def check_some(self, *, found_any: bool) -> None:
        """Refuse a file that has nothing but such events."""
        if self._kinds and not found_any:
            raise TraceError(f"none of its events can be shown; the first odd one is {self._first}")


_PS_PER_US = 1_000_000
_EXACT_US = 2_000.0 * _PS_PER_US
"""Half an hour: below it the double nearest to a decimal is less than half a picosecond off."""
_MOST_US = 2.0**62
"""Beyond any clock, and what 64 bits hold."""
_TIME = re.compile(r"[-+]?[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,3})?")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}")
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_DECIMAL = re.compile(r"-?[0-9]{1,20}\.[0-9]{1,20}(?:e[-+]?[0-9]{1,3})?")
"""Texts that Chrome and Perfetto take for numbers, as XProf's converter writes those in `args`."""


def picoseconds(event: dict[str, Any], name: str) -> int:
    """A time of an event, also one written as a text, exact to the picosecond."""
    value = event.get(name)
    if type(value) is Real or (type(value) is str and _TIME.fullmatch(value)):
        real = float(value)
        if -_EXACT_US < real < _EXACT_US:
            return round(real * _PS_PER_US)
        if -_MOST_US < real < _MOST_US:
            return int(Decimal(value).scaleb(6).to_integral_value())
    elif type(value) is int and -_MOST_US < value < _MOST_US:
        return value * _PS_PER_US
    if value is None:
        raise OddEventError(f"it has no {name}", f"no {name}")
    shown = repr(value)
    shown = f"{shown[:40]}{'…' if len(shown) > 40 else ''}"
    raise OddEventError(f"its {name} is {shown}, not a time in microseconds", f"bad {name}")


def id_of(event: dict[str, Any], name: str) -> Hashable:
    """The key of a process or a thread, the same for a number and its digits; 0 for none."""
    value = event.get(name)
    if type(value) is int:
        return value
    if value is None:
        return 0
    if type(value) is str:
        return int(value) if _WHOLE.fullmatch(value) else value
    if type(value) is Real:
        real = float(value)
        return int(real) if real.is_integer() else value
    raise OddEventError(f"its {name} is a {type(value).__name__}, neither a number nor a text", f"bad {name}")


def link_id_of(event: dict[str, Any]) -> Hashable:
    """The key of an arrow or an asynchronous span: 16 and "0x10" are one."""
    value = id_of(event, "id")
    return int(value, 16) if type(value) is str and _HEX.fullmatch(value) else value


def number_or_text(text: str) -> int | float | str:
    """The number that a text spells, if that reads the same; else the text."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and repr(number := float(text)) == text:
        return number
    return text


def text_of(event: dict[str, Any], name: str) -> str:
    """A text, "" for none."""
    value = event.get(name)
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, (int, float, str)):
        return str(value)
    raise OddEventError(f"its {name} is a {type(value).__name__}, not a text", f"bad {name}")


def args_of(event: dict[str, Any]) -> dict[str, Any]:
    """The args; empty for none."""
    args = event.get("args")
    if args is None:
        return {}
    if not isinstance(args, dict):
        raise OddEventError(f"its args are a {type(args).__name__}, not an object", "bad args")
    return args


def phase_of(event: Any) -> str:
    """The letter that says what an event is; of several the first, as in Perfetto."""
    if type(event) is not dict:
        raise OddEventError(f"it is a {type(event).__name__}, not an object", "no object")
    phase = event.get("ph")
    if type(phase) is not str or not phase:
        raise OddEventError("it has no ph" if not phase else f"its ph is {str(phase)[:40]!r}, not a letter", "no ph")
    return phase[:1]


BYTES_MEMBER, DOUBLE_MEMBER = "$bytes", "$double"
"""The one member of objects for values without a word in JSON: base64, and infinite or no numbers."""


def stat_rows(
    args: dict[str, Any], strings: StringTable, unsigned: frozenset[str], *, is_own: bool = True
) -> list[StatRow]:
    rows = []
    for name, value in args.items():
        kind = type(value)
        if not is_own and kind is str and value[-1:].isdecimal() and not name.endswith("name"):
            value = number_or_text(value)
            kind = type(value)
        plain = value if kind is str or (kind is int and -(2**63) <= value < 2**64) else _plain(value)
        rows.append(strings.stat(name, plain, is_unsigned=name in unsigned))
    return rows


def _plain(value: Any) -> StatValue:
    """A value of JSON as a stat can hold it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (Real, float)):
        return float(value)
    if isinstance(value, dict) and len(value) == 1:
        (name, content), *_ = value.items()
        try:
            if name == BYTES_MEMBER and isinstance(content, str):
                return base64.b64decode(content, validate=True)
            if name == DOUBLE_MEMBER and isinstance(content, str):
                return float(content)
        except (binascii.Error, ValueError) as error:
            raise OddEventError(f"a value of {name} is broken: {error}", "bad args") from error
    return json.dumps(_as_numbers(value), ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)


def _as_numbers(value: Any) -> Any:
    """A value with numbers in place of their texts, as deep as the JSON reader reads."""
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, list):
        return [_as_numbers(one) for one in value]
    if isinstance(value, dict):
        return {name: _as_numbers(one) for name, one in value.items()}
    return value


def not_shared(metadata: EventMetadata, event: Int64, key: Int32, kind: UInt8, bits: UInt64) -> Int64:
    """Rows of the stats of events that are not already among those of their metadata."""
    everything = np.arange(len(event))
    table = metadata.table
    if not len(table.stats.key):
        return everything
    row = metadata.row_of_event[event]
    some = np.flatnonzero(table.stats.n[row] > 0)
    own = _packed(row[some], key[some], kind[some], bits[some])
    shared_row = np.repeat(np.arange(len(table.name_id)), table.stats.n)
    shared = _packed(shared_row, table.stats.key, table.stats.kind, table.stats.bits)
    keep = np.ones(len(event), np.bool_)
    keep[some[np.isin(own, shared)]] = False
    return everything[keep]


def _packed(row: npt.NDArray[np.integer[Any]], key: Int32, kind: UInt8, bits: UInt64) -> npt.NDArray[np.void]:
    packed = np.empty(len(row), [("row", "<i4"), ("key", "<i4"), ("kind", "<i4"), ("bits", "<u8")])
    packed["row"], packed["key"], packed["kind"], packed["bits"] = row, key, kind, bits
    return packed


VERSION = 1


@dataclass(frozen=True)
class Marker:
    """What a trace was before it became a Chrome trace."""

    origin_ns: int
    planes: tuple[Plane, ...]
    lines: tuple[Line, ...]
    sessions: tuple[Session, ...]
    session_runs: list[list[int]]
    """`(first event, session)` in the order of the file."""
    unsigned: frozenset[str]
    metadata: tuple[MetadataRow, ...]
    warnings: tuple[str, ...]
    saved: SavedProfile

    def session_of(self, n_events: int) -> Int32:
        first = np.array([min(max(0, run[0]), n_events) for run in self.session_runs] + [n_events], np.int64)
        if not n_events or first[0] > 0 or (np.diff(first) < 0).any():
            return np.zeros(n_events, np.int32)
        return np.repeat(np.array([run[1] for run in self.session_runs], np.int32), np.diff(first))


def read_marker(document: Any, strings: StringTable) -> Marker | None:
    """Check the member and take it up; None where a file has none."""
    if document is None:
        return None
    if document.get("version") != VERSION:
        raise TraceError(
            f"its member tfprof has version {document.get('version')!r}, not {VERSION}: update tfprof_widgets"
        )
    try:
        return _marker(document, strings)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise TraceError(f"its member tfprof is broken: {type(error).__name__}: {error}") from error


def _marker(document: dict[str, Any], strings: StringTable) -> Marker:
    unsigned = frozenset(texts(document["unsigned"]))
    planes = tuple(_plane(one, strings, unsigned) for one in document["planes"])
    lines = tuple(_line(one, len(planes)) for one in document["lines"])
    sessions = tuple(Session(texts([host])[0], _time(start), _time(stop)) for host, start, stop in document["sessions"])
    if not sessions:
        raise ValueError("it has no session")
    runs = [[_int(first), whole(one, 0, len(sessions))] for first, one in document["session_runs"]]
    metadata = tuple(_metadata(one, len(planes), strings, unsigned) for one in document["metadata"])
    origin_ns = whole(document["origin_ns"], 0, 2**63)
    warnings = tuple(texts(document["warnings"]))
    saved = parse_saved(document["profile"])
    return Marker(origin_ns, planes, lines, sessions, runs, unsigned, metadata, warnings, saved)


def _plane(one: dict[str, Any], strings: StringTable, unsigned: frozenset[str]) -> Plane:
    name, host = texts([one["name"], one["host"]])
    rows = stat_rows(dict(one["stats"]), strings, unsigned)
    return Plane(name, host, {strings.texts[key]: strings.value(kind, bits) for key, kind, bits in rows})


def _line(one: list[Any], n_planes: int) -> Line:
    plane, id_, *names = one
    name, display_name = texts(names)
    return Line(whole(plane, 0, n_planes), _int(id_), name, display_name)


def _metadata(one: list[Any], n_planes: int, strings: StringTable, unsigned: frozenset[str]) -> MetadataRow:
    plane, *names, stats = one
    name, display_name = texts(names)
    rows = stat_rows(dict(stats), strings, unsigned)
    shown = strings.id_of(display_name) if display_name else -1
    return MetadataRow(whole(plane, -1, n_planes), strings.id_of(name), shown, rows)


def _int(value: Any) -> int:
    return whole(value, -(2**63), 2**64)


def _time(value: Any) -> int:
    return max(-MAX_PS, min(_int(value), MAX_PS))
