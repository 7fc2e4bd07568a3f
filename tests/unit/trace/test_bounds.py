"""What comes from outside is bounded where it enters: texts, numbers, and what is compressed."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from tfprof_widgets.errors import TraceError
from tfprof_widgets.trace import all_decoded, clean_text, decoded, document, texts, unpacked, whole

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
