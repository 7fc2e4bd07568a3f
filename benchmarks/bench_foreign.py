"""Traces that nobody tuned for -> our time and peak memory for all answers beside XProf's tools and those of xprof-rs.

Of each side the best of some rounds, by turns: ours as in `measure.py`; XProf's tools as its pages ask for them, a process
each; the same tools of one new server of xprof-rs, one after the other. Traces that cannot be made here are told so.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import bench_load
import captures
import processes
from make_foreign import KINDS, TRACES
from processes import Outcome
from table import bytes_text, seconds_text

HEAD = ["foreign trace", "ours", "xprof-rs", "XProf", "ours, peak", "xprof-rs, peak", "XProf, peak"]


def table(*, n_rounds: int = 1, with_xprof: bool = True) -> list[list[str]]:
    """Header and a row a trace; in brackets how many times as long the peer took."""
    rows = [HEAD]
    for name, file in _files():
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows.append([name, *_cells(file, n_rounds=n_rounds, with_xprof=with_xprof)])
    return rows


def _files() -> Iterator[tuple[str, Path]]:
    """The traces that are here, those that can be made, and those packed in `shared/traces`, unpacked."""
    captures.FOLDER.mkdir(parents=True, exist_ok=True)
    for kind, (_, size) in KINDS.items():
        try:
            yield f"{kind}, {size:,}", captures.foreign_capture(kind, size)
        except RuntimeError as error:
            print(error, file=sys.stderr)
    for packed in sorted(TRACES.glob("**/*.xplane.pb*")):
        name = packed.parts[-5] if packed.suffix == ".gz" else packed.name.split(".")[0]
        file = captures.FOLDER / f"shared_{name}.xplane.pb"
        content = packed.read_bytes()
        file.write_bytes(gzip.decompress(content) if packed.suffix == ".gz" else content)
        yield name, file


def _cells(file: Path, *, n_rounds: int, with_xprof: bool) -> list[str]:
    ours, rs = [], []
    theirs: list[bench_load.Loads] = []
    for _ in range(n_rounds):
        ours.append(bench_load.measured("ours", file))
        rs.append(processes.run("measure_rs.py", file, timeout_s=bench_load.TIMEOUT_S))
    if with_xprof:
        theirs.append(bench_load.measure(file))
    own, peer = bench_load.best(ours), bench_load.best(rs)
    seconds = _seconds(own)
    xprof: float | str = theirs[0].their_seconds if theirs else "-"
    peaks = [one.get("peak_bytes") for one in theirs[0].theirs.values()] if theirs else []
    most = max((peak for peak in peaks if isinstance(peak, int)), default="-")
    times = [_text(seconds), _text(_seconds(peer), seconds), _text(xprof, seconds)]
    return [
        *times,
        *(bytes_text(p) if isinstance(p, int) else "-" for p in (own.get("peak_bytes"), peer.get("peak_bytes"), most)),
    ]


def _seconds(outcome: Outcome) -> float | str:
    return outcome.problem or float(sum(outcome.get("seconds").values()))


def _text(seconds: float | str, ours: float | str | None = None) -> str:
    if isinstance(seconds, str):
        return seconds
    return seconds_text(seconds) + (f" ({seconds / ours:.1f})" if isinstance(ours, float) else "")
