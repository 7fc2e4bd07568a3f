"""Real captures of 10 k to 10 M events -> our speed and memory beside XProf's and speedscope's, as one table and marks.

Run as `python benchmarks/bench.py [--sizes 10000,500000] [--quick] [--check]`; `make bench` does. Needs `tensorflow` (it
makes the captures, kept under build/bench), `xprof`, Chromium, and speedscope from `npm ci` in `js/`. The table is
printed and written to build/bench/report.md.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

import bench_capture
import bench_foreign
import bench_growth
import bench_hosts
import bench_kernel
import bench_load
import bench_paint
import bench_sampling
import bench_timeline
import bench_watch
import captures
import processes
from bench_load import TOOLS, VIEWER
from marks import capture_marks, marks, sampling_mark
from table import Figures, aligned, markdown, parts, problems, seconds_text, table

SIZES = (10_000, 100_000, 500_000, 1_000_000, 10_000_000)
QUICK_SIZES = (10_000, 100_000)
ALL_TOOLS_AT = 500_000
N_ROUNDS = 3
NOTES = """\
In brackets: the figure over the peer's of the same run. XProf viewer: trace_viewer@ as its page asks for it, server side
only. First paint: from the kernel's date of the cell's output to the frame after the timeline drew slices. Frames:
intervals between animation frames while a script zooms, drags, points, types and searches by real input events, one a
display frame; a display frame is 16.7 ms, so nothing can be under it. speedscope draws by WebGL, computed in software
here; it is zoomed, dragged and pointed at the same way. Kernel: the resident memory of the whole process, Python and
libraries included. Page: after a garbage collection, by the DevTools protocol. A size marked * repeats a smaller capture. Foreign
traces: ours as above (load, tables, first payload; not the advice, which comes after those), the same six tools of one new
server of xprof-rs and of XProf. Growth: what an event costs us where one quantity is ten times as much and all else the
same; in brackets over the row above; time is the processor's, of all threads, but for that on the clock; memory is the peak
above what imports take."""


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what is being measured ends too
    begin = time.monotonic()
    by_size: dict[int, Figures] = {}
    for size in arguments.sizes:
        try:
            by_size[size] = _measured(size, arguments)
        except RuntimeError as error:
            print(f"{size:,} events: {error}", file=sys.stderr)
    print("sampling of the machine ...", file=sys.stderr, flush=True)
    sampling = bench_sampling.run(is_quick=arguments.quick)
    print("trainings that are watched ...", file=sys.stderr, flush=True)
    watched = bench_watch.run(is_quick=arguments.quick)
    print("captures beside TensorFlow's own ...", file=sys.stderr, flush=True)
    costs = bench_capture.run(is_quick=arguments.quick)
    kernel = bench_kernel.run(is_quick=arguments.quick)
    print("first paint ...", file=sys.stderr, flush=True)
    painted = bench_paint.run(1 if arguments.quick else bench_paint.N_ROUNDS)
    hosts = bench_hosts.run(*((bench_hosts.QUICK_HOSTS, (1,)) if arguments.quick else ()))
    rows = table(by_size)
    found = [
        *marks(by_size),
        sampling_mark(sampling),
        *capture_marks(costs, kernel),
        *bench_paint.marks(painted),
        *bench_hosts.marks(hosts),
    ]
    machine = (
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {processes.available_bytes() / 1e9:.0f} GB to be had; "
        f"{', '.join(f'{size:,} *' for size, one in by_size.items() if one.is_repeated) or 'no size repeats another'}; "
        f"measured in {seconds_text(time.monotonic() - begin)}"
    )
    lines = (
        [str(mark) for mark in found]
        + _tools(by_size)
        + bench_sampling.sentences(sampling)
        + bench_watch.sentences(watched)
    )
    lines += bench_paint.sentences(painted)
    lines += bench_hosts.projections(hosts)
    lines += [problem for figures in by_size.values() for problem in problems(figures)]
    tables = [rows, *(parts(by_size, session) for session in ("while_loading", "when_loaded"))]
    tables += [*bench_capture.tables(costs), bench_kernel.table(kernel), bench_hosts.table(hosts)]
    if not arguments.quick:
        tables.append(bench_foreign.table(n_rounds=arguments.rounds))
        tables.append(bench_growth.table(n_rounds=arguments.rounds))
    print("\n\n".join(["", *(aligned(one) for one in tables if one), NOTES, machine, "\n".join(lines)]))
    report = captures.FOLDER / "report.md"
    told = [markdown(one) for one in tables if one] + [NOTES, machine, "\n".join(f"- {line}" for line in lines)]
    report.write_text("\n\n".join(["# Benchmarks", *told]) + "\n")
    return 0 if all(mark.is_met for mark in found) or not arguments.check else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=_sizes, help="numbers of events, with commas between them")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round, no speedscope")
    parser.add_argument("--rounds", type=int, help="measurements of loading; the best counts")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a mark is missed")
    arguments = parser.parse_args()
    arguments.sizes = arguments.sizes or (QUICK_SIZES if arguments.quick else SIZES)
    arguments.rounds = arguments.rounds or (1 if arguments.quick else N_ROUNDS)
    return arguments


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(part.replace("_", "")) for part in text.split(",")))


def _measured(size: int, arguments: argparse.Namespace) -> Figures:
    capture = captures.capture_of(size)
    print(f"{size:,} events ...", file=sys.stderr, flush=True)
    is_large = size > 1_000_000
    loads = bench_load.measure(
        capture.file,
        tools=TOOLS if size == ALL_TOOLS_AT else (VIEWER,),
        n_rounds=1 if is_large else arguments.rounds,
    )
    shown = bench_timeline.measure(capture.file, has_dashboard=not is_large, has_speedscope=not arguments.quick)
    return Figures(size, capture.is_repeated, loads, shown)


def _tools(by_size: dict[int, Figures]) -> list[str]:
    """Each part of the comparison with all of XProf's tools."""
    figures = by_size.get(ALL_TOOLS_AT)
    if figures is None or figures.loads.ours.problem:
        return []
    ours = ", ".join(f"{part} {seconds_text(value)}" for part, value in figures.loads.ours.get("seconds").items())
    theirs = ", ".join(
        one.problem or f"{tool} {seconds_text(one.get('seconds', tool))}" for tool, one in figures.loads.theirs.items()
    )
    return [f"ours at 500 k: {ours}", f"XProf at 500 k: {theirs}"]


if __name__ == "__main__":
    raise SystemExit(main())
