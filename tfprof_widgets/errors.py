"""The exceptions of the package: each message says the value, the limit and the next step, and does nothing to a terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]|\r(?!\n)")


def without_controls(text: str) -> str:
    """Replace control characters, other than breaks of lines and tabs, with backslash escapes."""
    return text if text.isprintable() else _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class TfProfError(Exception):
    """Base of every error that this package raises on purpose: catch it to catch them all. The message says what to do."""

    def __init__(self, message: object = "") -> None:
        super().__init__(without_controls(str(message)))


class CaptureError(TfProfError):
    """A capture could not start, stop or be written, or its data is not there yet; the message names the remedy."""


class TraceError(TfProfError):
    """Bytes that are not a readable trace, or no trace where one should be; the message says where and what."""


class EmptyTraceError(TraceError):
    """A readable trace, or a place, that holds nothing to analyse; the message says why."""
