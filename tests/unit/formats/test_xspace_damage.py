"""What is no readable XSpace is refused with a sentence that says where and what."""

from __future__ import annotations

import pytest

from tests.builders import Gz, event, line, number, plane, session, space, tagged, trace
from tests.unit.formats.test_xspace import cpu
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.read import read_xspace, xspace, xspace_events
from tfprof_widgets.read import xspace_events as xspace_messages


def test_no_bytes_are_an_empty_trace() -> None:
    with pytest.raises(EmptyTraceError, match=r"run/a\.xplane\.pb is empty \(0 bytes\)"):
        read_xspace(b"", source="run/a.xplane.pb")


def test_a_truncated_file_says_where_it_ends_and_what_is_missing() -> None:
    whole = space(plane("/host:CPU", line("main", *(event(f"op{i}", i, 1, a=i) for i in range(50)))))
    with pytest.raises(TraceError, match=rf"byte 300 of 300: the file is truncated.* {len(whole) - 300} bytes more"):
        read_xspace(whole[:300])


def test_every_truncation_is_refused_or_a_smaller_trace() -> None:
    whole = space(plane("/host:CPU", line("main", event("a", 0, 1, s="text"))), session())
    for length in range(1, len(whole)):
        try:
            read = read_xspace(whole[:length])
        except TraceError:
            continue
        assert len(read.planes) == 1  # cut between the two planes


def test_damage_inside_a_plane_is_named() -> None:
    broken_line = tagged(3, number(1, 1) + b"\x07\x01")
    with pytest.raises(
        TraceError, match=r"byte \d+ of \d+: 0x07 is not the start of a protobuf field in line 0 of plane 1"
    ):
        read_xspace(tagged(1, tagged(2, b"fine")) + tagged(1, tagged(2, b"/host:CPU") + broken_line))


def test_a_broken_event_names_its_plane() -> None:
    broken = tagged(3, number(1, 1) + tagged(4, number(1, 1)) + tagged(4, b"\x12\x05"))
    with pytest.raises(TraceError, match=r"plane '/host:CPU'.*Event 1 \(2 bytes: 12 05\) is not an XEvent"):
        read_xspace(tagged(1, tagged(2, b"/host:CPU") + broken))


@pytest.mark.parametrize(
    "content",
    [b"hello, world", b"\x89PNG\r\n\x1a\n" + bytes(40), b"<html></html>", bytes(100), b"\xff" * 64, b"\x08\x01"],
)
def test_foreign_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(TraceError, match="Not a"):
        read_xspace(content)


def test_metadata_that_is_broken_is_named() -> None:
    plane = tagged(2, b"/host:CPU") + tagged(4, bytes.fromhex("0801")) + tagged(4, bytes.fromhex("08011205"))
    with pytest.raises(
        TraceError, match=r"EventMetadataEntry 1 \(4 bytes: 08 01 12 05\) is not an XEventMetadataEntry"
    ):
        read_xspace(tagged(1, plane))


def test_a_broken_stat_of_a_plane_is_named() -> None:
    stats = tagged(6, number(1, 1) + number(4, 7)) + tagged(6, bytes.fromhex("2a05"))
    with pytest.raises(TraceError, match=r"Stat 1 \(2 bytes: 2a 05\) is not an XStat"):
        read_xspace(tagged(1, tagged(2, b"/host:CPU") + stats))


def test_gzip_says_how_to_open_it() -> None:
    with pytest.raises(TraceError, match="compressed by gzip: give the path"):
        read_xspace(b"\x1f\x8b\x08" + bytes(20))


def test_a_compressed_string_that_is_not_gzip_is_refused() -> None:
    with pytest.raises(TraceError, match="compressed string of 3 bytes is not gzip"):
        cpu(event("e", 0, 1, z=Gz(raw=b"abc")))


def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xspace_events, "MAX_COMPRESSED_TEXT_BYTES", 1000)
    assert cpu(event("e", 0, 1, z=Gz("x" * 1000))).stats_of(0)["z"] == "x" * 1000
    with pytest.raises(TraceError, match="more than 1000 bytes"):
        cpu(event("e", 0, 1, z=Gz("x" * 600)), event("f", 1, 1, z=Gz("y" * 600)))


def test_more_planes_or_lines_than_any_profiler_writes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (xspace_messages, xspace):
        monkeypatch.setattr(module, "MAX_PLANES", 3)
        monkeypatch.setattr(module, "MAX_LINES", 5)
    trace(plane("p", *[line("t")] * 5), plane("q"), plane("r"))
    with pytest.raises(TraceError, match="more than 5 lines"):
        trace(plane("p", *[line("t")] * 6))
    with pytest.raises(TraceError, match="more than 3 planes"):
        trace(*[plane("p")] * 4)
