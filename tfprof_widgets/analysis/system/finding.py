"""finding: one odd thing in the samples of the machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A row of `Profile.system_findings`."""

    kind: str
    metric: str
    """The column of the samples."""
    start_ms: float
    end_ms: float
    """After the trace origin, as the samples' `time_ms`."""
    value: float
    unit: str
    text: str
    """A sentence or two: what was seen, and where to look."""
