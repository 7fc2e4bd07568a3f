"""The bytes of a Chrome trace -> its events in batches and its other members, without the document ever being in memory."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

from ...errors import TraceError

MARKER = "tfprof"
"""The one member beside `traceEvents` that is read; others are skipped unread."""
_END_OF_EVENTS = b'\n],\n"tfprof":'
"""As `export.chrome_trace` writes it. No text of JSON holds a line feed, so this is nowhere inside an event."""
_BATCH = 4096
_SHORT_WINDOW = 2**8
"""Names of members are short, and there may be hundreds of thousands."""
_WINDOW = 2**20
_MOST_WINDOW = 256 * 2**20
"""An event, or the marker, may be this long: it may hold a long string, but not"""
_MOST_BRACKETS = 2 * 2**20
"""more lists and objects than this, each of which takes 20 times its bytes."""
_PLAIN = json.JSONDecoder()
_BARE_NUMBER = re.compile(r"(-?)(?:(inf(?:inity)?)|nan)\b", re.IGNORECASE)
"""Infinity and no number as C prints them, which JSON has no word for."""
_MOST_BARE_NUMBERS = 16
"""In one value, which may take"""
_BARE_WINDOW = 2**16
"""characters, as it is read again for each of them."""
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
        """The member `tfprof`; None where there is none. It stands behind the events, and says how to read them.

        Raises:
            TraceError: it is damaged.
        """
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
        """The trace events in the order of the file, some thousand at a time, whatever they are.

        Raises:
            TraceError: it is no JSON, or no Chrome trace; the message says where.
        """
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
        """The value that failed to be read at `at`, and where it ends, if `inf` and `nan` in it are why; else None."""
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
        """Step over a value that nobody asks for, without building it."""
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
    """How many bytes of the file the first `end` characters were."""
    return end if text.isascii() else len(text[:end].encode("utf-8", "surrogateescape"))
