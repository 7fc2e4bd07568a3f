"""A file that is read piece by piece gives the same trace as one read whole, and is left closed whatever happens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.builders import event, line, number, plane, session, space, tagged
from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import BytesContent, FileContent, read_xspace, watched_reading
from tfprof_widgets.read import protobuf as file_content
from tfprof_widgets.read import xspace as xspace_parts


def drawn() -> bytes:
    host = plane(
        "/host:CPU",
        line(
            "main", *(event(f"op{i % 7}", 2 * i, 1, id=i, text="x" * (i % 150)) for i in range(3000)), display_name="M"
        ),
        line("short", event("a", 0, 1)),
    )
    return space(session(), host, hostnames=["h"])


@pytest.mark.parametrize("n_bytes", [40_000, 100_000])
def test_long_lines_are_read_in_pieces(n_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_xspace(drawn())
    monkeypatch.setattr(xspace_parts, "_PIECE_BYTES", n_bytes)
    parts = xspace_parts.space_parts(BytesContent(drawn()))
    assert max(len(part.pieces) for plane in parts.planes for part in plane.lines) > 1
    read = read_xspace(drawn())
    for name in ("start_ps", "duration_ps", "name_id", "line_id"):
        np.testing.assert_array_equal(getattr(read, name), getattr(whole, name))
    for name in ("n", "key", "kind", "bits"):
        np.testing.assert_array_equal(getattr(read.stats.all_stats(), name), getattr(whole.stats.all_stats(), name))
    assert read.lines == whole.lines


def test_framing_that_only_protobuf_reads_is_read_through_it() -> None:
    group = bytes([0x3B, 0x3C])  # a group of field 7, unknown and empty
    content = tagged(1, tagged(2, b"/host:CPU") + group + tagged(3, number(1, 5) + group + tagged(4, number(1, 1))))
    assert read_xspace(content).n_events == 1


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(drawn())
    with FileContent(file) as content:
        file.write_bytes(b"")
        with pytest.raises(TraceError, match="became shorter while it was read"):
            read_xspace(content)


def test_reading_tells_how_far_it_is_and_can_be_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(drawn())
    told: list[tuple[int, int]] = []
    with watched_reading(lambda *counts: told.append(counts)), FileContent(file) as content:
        read_xspace(content)
    read, more = np.array(told).sum(axis=0)
    assert more == 2 * file.stat().st_size
    assert 0.9 * more < read <= 1.3 * more  # the look-up reads a little ahead

    def interrupt(n_read: int, _: int) -> None:
        if n_read:
            raise KeyboardInterrupt

    content = None
    with pytest.raises(KeyboardInterrupt), watched_reading(interrupt), FileContent(file) as content:
        read_xspace(content)
    assert content is not None
    assert content._file.closed
    assert file_content._WATCHER.get() is None
