"""How far from a trace's origin a time may lie."""

from __future__ import annotations

MAX_PS = 2**60
"""Thirteen days: no time of a trace lies further from its origin, so that sums of two times fit in an int64."""
