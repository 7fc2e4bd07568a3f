"""One capture -> our time and peak memory for all answers against XProf's tools, a process each.

Ours: load, compute every table, pack the first payload. XProf: the tools whose pages show the same. The two sides take
turns, and the best of each counts. XProf writes caches beside its input, so each measurement has a copy of its own.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import processes
from processes import Outcome

VIEWER = "trace_viewer@"
TOOLS = (
    VIEWER,
    "overview_page",
    "kernel_stats",
    "input_pipeline_analyzer",
    "framework_op_stats",
    "memory_profile",
)
TIMEOUT_S = 600


@dataclass(frozen=True)
class Loads:
    """The best outcome of each side."""

    ours: Outcome
    theirs: dict[str, Outcome]

    @property
    def our_seconds(self) -> float | str:
        """All of ours, or why there is none."""
        return self.ours.problem or sum(self.ours.get("seconds").values())

    @property
    def their_seconds(self) -> float | str:
        """All of the tools', or why there is none."""
        problems = [f"{tool}: {one.problem}" for tool, one in self.theirs.items() if one.problem]
        return problems[0] if problems else sum(_seconds(one) for one in self.theirs.values())


def measure(file: Path, *, tools: tuple[str, ...] = TOOLS, n_rounds: int = 1) -> Loads:
    """Measure both sides of one file so many times."""
    ours, theirs = [], {tool: [] for tool in tools}  # type: ignore[var-annotated]
    for _ in range(n_rounds):
        ours.append(measured("ours", file))
        for tool in tools:
            # What failed for want of memory or time would fail again.
            if not any(one.problem for one in theirs[tool]):
                theirs[tool].append(measured(tool, file))
    return Loads(best(ours), {tool: best(outcomes) for tool, outcomes in theirs.items()})


def measured(what: str, file: Path) -> Outcome:
    """One side of one file, once: `ours` or a tool of XProf."""
    with tempfile.TemporaryDirectory(prefix="tfprof_bench_") as fresh:
        copy = shutil.copy(file, Path(fresh) / "bench.xplane.pb")
        return processes.run("measure.py", what, copy, timeout_s=TIMEOUT_S)


def best(outcomes: list[Outcome]) -> Outcome:
    """The quickest, with the least peak of all."""
    good: list[Outcome] = [one for one in outcomes if not one.problem]
    if not good:
        return outcomes[0]
    peak = min(one.result["peak_bytes"] for one in good)
    return Outcome({**min(good, key=_seconds).result, "peak_bytes": peak})


def _seconds(outcome: Outcome) -> float:
    seconds: dict[str, Any] = outcome.result["seconds"]
    return float(sum(seconds.values()))
