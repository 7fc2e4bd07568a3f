"""One real capture of 500,000 events -> our time and peak memory for all answers against the sum of XProf's tools.

Run as `python benchmarks/bench_load.py`; needs `tensorflow` (it makes the capture) and `xprof`. Ours: load, compute
every table, pack the timeline's first payload. XProf: the tools whose pages show the same. Every measurement is a
process of its own; the two sides take turns, and the best of each counts. A trace is copied to a scratch directory
first, as XProf writes caches beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TOOLS = (
    "trace_viewer@",
    "overview_page",
    "kernel_stats",
    "input_pipeline_analyzer",
    "framework_op_stats",
    "memory_profile",
)
MIN_RATIO = 8.0


def main() -> int:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="tfprof_bench_") as scratch:
        file = _trace(arguments, Path(scratch))
        ours: list[dict[str, Any]] = []
        theirs: list[dict[str, dict[str, Any]]] = []
        for _ in range(arguments.repeat):
            ours.append(_measured("ours", file, Path(scratch)))
            theirs.append({tool: _measured(tool, file, Path(scratch)) for tool in TOOLS})
        ratio, is_smaller = _report(file, ours, theirs)
    is_met = ratio >= MIN_RATIO and is_smaller
    print(f"Target (at least {MIN_RATIO:g} times faster, peak below XProf's): {'met' if is_met else 'MISSED'}")
    return 0 if is_met or not arguments.check else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=500_000, help="events in the capture to make")
    parser.add_argument("--trace", type=Path, help="measure this *.xplane.pb instead of making one")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of each side")
    parser.add_argument("--check", action="store_true", help="exit with 1 when the target is missed")
    return parser.parse_args()


def _trace(arguments: argparse.Namespace, scratch: Path) -> Path:
    if arguments.trace:
        source = arguments.trace
    else:
        print(f"Training for a capture of {arguments.events:,} events ...", flush=True)
        source = Path(_run("make_capture.py", str(scratch), str(arguments.events)))
    return shutil.copy(source, scratch / "bench.xplane.pb")


def _measured(what: str, file: Path, scratch: Path) -> dict[str, Any]:
    """One measurement on a copy that nothing was cached beside."""
    with tempfile.TemporaryDirectory(dir=scratch) as fresh:
        result: dict[str, Any] = json.loads(_run("measure.py", what, str(shutil.copy(file, fresh))))
    return result


def _run(script: str, *arguments: str) -> str:
    """The last line that a script of this directory prints."""
    root = str(HERE.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    if done.returncode:
        raise SystemExit(f"{script} {' '.join(arguments)} failed with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout.strip().splitlines()[-1]


def _report(file: Path, ours: list[dict[str, Any]], theirs: list[dict[str, dict[str, Any]]]) -> tuple[float, bool]:
    """Print both sides; how many times faster ours is, and whether its peak is the smaller one."""
    our_best = min(ours, key=_total)
    first = ours[0]
    size = f"{first['n_events']:,} events, {first['n_stats']:,} stats, {file.stat().st_size / 1e6:.1f} MB"
    print(f"{size}; best of {len(ours)}")
    print("\nours, and as a share of the load")
    _print_parts(our_best["seconds"], of=our_best["seconds"]["load"])
    our_peak = min(result["peak_bytes"] for result in ours)
    print(f"  {'peak memory':<28}{our_peak / 2**20:8.0f} MiB")
    print("\nXProf (a process per tool)")
    best = {tool: min(round_[tool]["seconds"][tool] for round_ in theirs) for tool in TOOLS}
    _print_parts(best)
    peaks = {tool: min(round_[tool]["peak_bytes"] for round_ in theirs) for tool in TOOLS}
    largest = max(peaks, key=peaks.__getitem__)
    print(f"  {'peak memory':<28}{peaks[largest] / 2**20:8.0f} MiB ({largest})")
    ratio = sum(best.values()) / _total(our_best)
    print(f"\nOurs is {ratio:.1f} times faster, with {our_peak / peaks[largest]:.2f} of the peak memory.")
    return ratio, our_peak < peaks[largest]


def _total(result: dict[str, Any]) -> float:
    return sum(result["seconds"].values())


def _print_parts(seconds: dict[str, float], *, of: float | None = None) -> None:
    for part, value in seconds.items():
        share = "" if of is None else f"{value / of:8.0%}"
        print(f"  {part:<28}{value:8.3f} s{share}")
    print(f"  {'total':<28}{sum(seconds.values()):8.3f} s")


if __name__ == "__main__":
    raise SystemExit(main())
