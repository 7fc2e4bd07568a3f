"""What comes from outside is bounded where it enters, and its texts do nothing to a terminal."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.builders import Gz, Ref, event, line, plane, session, space
from tfprof_widgets.errors import TraceError, without_controls
from tfprof_widgets.read import SAVED
from tfprof_widgets.trace import all_decoded, clean_text, decoded, document, texts, unpacked, whole

EVIL = "net/\x1b[31mevil\x1b]0;title\x07\x9b2J\r\x00\x08"
SHOWN = r"net/\x1b[31mevil\x1b]0;title\x07\x9b2J\x0d\x00\x08"


def test_controls_become_escapes_and_breaks_of_lines_stay() -> None:
    assert without_controls(EVIL) == SHOWN
    assert without_controls("a\tb\r\nc\n\u00e9") == "a\tb\r\nc\n\u00e9"


def test_all_ways_in_give_the_same_text() -> None:
    raw = EVIL.encode()
    assert {decoded(raw), clean_text(EVIL), *texts([EVIL]), *all_decoded([raw, raw])} == {SHOWN}
    assert all_decoded([raw, b"\xff", b"\x0b", b""]) == [SHOWN, r"\xff", "\x0b", ""]


@pytest.fixture
def evil(tmp_path: Path) -> tfprof.Profile:
    """A profile whose names all hold controls, in a directory that does, too."""
    ops = [event("train", 0, 900, _r=1, step_num=0)]
    ops += [event(f"{EVIL}:MatMul", 10, 500, stats={EVIL: EVIL, "r": Ref(EVIL), "z": Gz(EVIL)}, display_name=EVIL)]
    content = space(session(), plane("/host:CPU", line(EVIL, *ops)), plane(EVIL), hostnames=[EVIL], warnings=[EVIL])
    directory = tmp_path / "\x1b[2J"
    (directory / "plugins" / "profile" / "run").mkdir(parents=True)
    (directory / "plugins" / "profile" / "run" / "h.xplane.pb").write_bytes(content)
    saved = {"version": 1, "title": EVIL, "notices": [EVIL], "runs": ["run"]}
    (directory / SAVED).write_text(json.dumps(saved))
    return tfprof.load(directory)


def test_nothing_that_is_printed_of_a_profile_holds_a_control(evil: tfprof.Profile) -> None:
    printed = [
        repr(evil),
        evil.text(),
        evil.report(),
        evil.tree_text(),
        *evil.notices,
        evil.title,
        *evil.trace.strings,
    ]
    printed += [
        evil.ops.to_string(),
        evil.events.to_string(),
        evil.steps.to_string(),
        repr(evil.overview),
        repr(evil.advice),
    ]
    assert [text for text in printed if without_controls(text) != text] == []
    assert SHOWN in evil.text()


def test_an_error_names_a_file_without_its_controls(tmp_path: Path) -> None:
    file = tmp_path / "\x1b[2J.xplane.pb"
    file.write_bytes(b"\xff" * 9)
    with pytest.raises(TraceError, match=r"\\x1b\[2J\.xplane\.pb") as refused:
        tfprof.load(file)
    assert "\x1b" not in str(refused.value)


def test_a_chrome_trace_has_no_controls_either(tmp_path: Path) -> None:
    span = {"ph": "X", "name": EVIL, "pid": 1, "tid": 0, "ts": 1, "dur": 5, "args": {EVIL: EVIL}}
    name = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": EVIL}}
    (tmp_path / "h.trace.json").write_text(json.dumps({"traceEvents": [name, span]}))
    trace = tfprof.load(tmp_path / "h.trace.json").trace
    assert SHOWN in trace.strings
    assert not [text for text in (*trace.strings, trace.planes[0].name, trace.lines[0].name) if "\x1b" in text]


PACKED = gzip.compress(b"x" * 100, mtime=0)


@pytest.mark.parametrize(
    "content",
    [PACKED, PACKED + bytes(16), gzip.compress(b"x" * 60, mtime=0) + gzip.compress(b"x" * 40, mtime=0)],
    ids=["one", "padded", "two"],
)
def test_what_was_packed_in_one_stream_or_several_is_unpacked_up_to_the_limit(content: bytes) -> None:
    assert unpacked(content, 100) == b"x" * 100
    with pytest.raises(TraceError, match="unpacks to more than 99 bytes"):
        unpacked(content, 99)


@pytest.mark.parametrize(
    ("content", "said"),
    [(PACKED[:-9], "is truncated: its .* end inside the gzip stream"), (b"\x1f\x8bjunkjunk", "not whole")],
    ids=["cut", "junk"],
)
def test_what_was_not_packed_whole_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        unpacked(content, 100)


@pytest.mark.parametrize("raws", [[], [b""], [b"a", "é".encode(), b""], [b"a\0b", b"c"], [b"\xc3", b"\xa9"]])
def test_many_texts_are_decoded_as_one_by_one(raws: list[bytes]) -> None:
    assert all_decoded(raws) == [decoded(raw) for raw in raws]


@pytest.mark.parametrize("text", ["plain", "é", "\ud800", "a\udfffb"])
def test_any_text_becomes_one_that_can_be_written(text: str) -> None:
    for clean in (clean_text(text), *texts([text])):
        clean.encode("utf-8")
    assert "\ud800" in text or "\udfff" in text or clean_text(text) == text


def test_bytes_that_are_no_text_become_escapes() -> None:
    assert decoded(b"caf\xe9") == "caf\\xe9"
    assert decoded("café".encode()) == "café"


@pytest.mark.parametrize("values", ["ab", [1], [None], {"a": "b"}])
def test_a_list_of_something_else_is_no_list_of_texts(values: Any) -> None:
    with pytest.raises(TypeError):
        texts(values)


@pytest.mark.parametrize("value", [-1, 5, 1.0, True, "1", None, 2**70])
def test_what_is_no_whole_number_of_a_range_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"in \[0, 5\)"):
        whole(value, 0, 5)


def test_a_document_has_its_version_and_not_too_many_lists() -> None:
    text = b'{"version": 3, "x": [[], {}]}'
    assert document(text, 3, most_brackets=4)["x"] == [[], {}]
    for content, said in ((text, "more than 3 lists"), (b'{"version": 2}', "version is not 3"), (b"{", "no JSON")):
        with pytest.raises(TraceError, match=said):
            document(content, 3, most_brackets=3)
