"""What one report is about, and how much of it there is room for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from ...analysis.results import AnyResults

if TYPE_CHECKING:
    from ...analysis.steps.interference import CaptureSummary


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Subject:
    """One profile, as a report sees it."""

    results: AnyResults
    title: str = ""
    notices: tuple[str, ...] = ()
    """Sentences that come first."""
    since_last: str = ""
    """How the run compares with the last one of its cell."""
    capture: CaptureSummary | None = None
    """What the capture cost; None for a trace loaded without it."""
    system: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Samples of the machine, as `Profile.system`."""
    findings: pd.DataFrame = field(default_factory=pd.DataFrame)
    """What is odd in them, as `Profile.system_findings`."""
    version: str = ""
    """Of this package; empty where it is not known."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """How much a report holds of what has no end of its own. Widths are in characters, of the trace's own text."""

    rows: int
    advice: int
    name: int
    """Of a name in a table or a list."""
    sentence: int
    code: int
    """Of the code of one fix."""
    sentences: int
    """Notices, and findings about the machine."""


ROOMS = (
    Room(rows=10, advice=8, name=90, sentence=400, code=1_500, sentences=6),
    Room(rows=6, advice=5, name=60, sentence=300, code=800, sentences=4),
    Room(rows=3, advice=3, name=40, sentence=200, code=400, sentences=2),
)
"""The largest first; a report takes the first that fits."""
