"""The exceptions of the package: each message says the value, the limit and the next step."""

from __future__ import annotations


class TfProfError(Exception):
    """Base of every error this package raises on purpose."""


class CaptureError(TfProfError):
    """A capture could not start, stop or be written; the message names the remedy."""


class TraceError(TfProfError):
    """Bytes that are not a readable trace; the message says where and what."""


class EmptyTraceError(TraceError):
    """A readable trace, or a place, that holds nothing to analyse."""
