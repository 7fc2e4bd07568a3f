"""Where the events of a line begin and end: the same as protobuf says, or nothing."""

from __future__ import annotations

import random

import pytest

from tests.builders import number, tagged
from tfprof_widgets.read import BytesContent, FramingError, fields, follow_events, xspace_events


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _event(rng: random.Random) -> bytes:
    stats = b"".join(b"\x22\x04\x08" + bytes([rng.randrange(128)]) + b"\x20\x10" for _ in range(rng.randrange(30)))
    return b"\x08" + _varint(rng.randrange(1, 500)) + b"\x10" + _varint(rng.randrange(2**40)) + stats


def _framed(events: list[bytes]) -> bytes:
    return b"".join(b"\x22" + _varint(len(event)) + event for event in events)


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


def test_another_field_between_the_events_is_left_to_protobuf(events: list[bytes]) -> None:
    raw = _framed(events[:10_000]) + b"\x5a\x01x" + _framed(events[10_000:])
    found = follow_events(raw, 0)
    assert found is None or raw[found[1]] == 0x5A


def test_a_length_of_three_bytes_is_left_to_protobuf(events: list[bytes]) -> None:
    raw = _framed([*events[:10_000], b"\x08\x01" + bytes(40_000), *events[10_000:]])
    found = follow_events(raw, 0)
    assert found is None or found[1] < len(raw)


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
    events = [b"\x08" + _varint(low + k % low) + b"\x10" + _varint(k << 20) + stats for k in range(20_000)]
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
