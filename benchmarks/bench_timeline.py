"""One capture -> the timeline in JupyterLab, and speedscope with the exported Chrome trace in the same Chromium."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import processes
from processes import Outcome

TIMEOUT_S = 900
SPEEDSCOPE_S = 300


@dataclass(frozen=True)
class Shown:
    """What each page gave."""

    ours: Outcome
    export: Outcome
    speedscope: Outcome


def measure(file: Path, *, has_dashboard: bool, has_speedscope: bool) -> Shown:
    """Show one capture in each."""
    ours = processes.run("measure_timeline.py", file, *["--dashboard"] * has_dashboard, timeout_s=TIMEOUT_S)
    if not has_speedscope:
        left_out = Outcome(problem="left out")
        return Shown(ours, left_out, left_out)
    with tempfile.TemporaryDirectory(prefix="tfprof_bench_") as scratch:
        target = Path(scratch, "bench.json")
        export = processes.run("export_chrome.py", file, target, timeout_s=TIMEOUT_S)
        if export.problem:
            return Shown(ours, export, Outcome(problem="no export"))
        return Shown(ours, export, processes.run("measure_speedscope.py", target, timeout_s=SPEEDSCOPE_S))
