"""Ten million steps of a training that is watched -> time for each and memory, of what keeps them and looks at them.

    python -m benchmarks.measure_watch [N_STEPS]

Steps of 1 ms come 250 at a time, as in a quarter of a second.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from tfprof_widgets.analysis import AnomalyFinder, StepBins
from tfprof_widgets.read import WatchWriter, read_watch_log
from tfprof_widgets.trace import STEP

_AT_ONCE, _DRAWN = 250, 250_000
_LOOKS = 10


def main(n_steps: int) -> None:
    rng = np.random.default_rng(0)
    drawn = np.zeros(_DRAWN, STEP)
    drawn["duration_us"] = 1e3 * rng.lognormal(0, 0.2, _DRAWN)
    drawn["wait_us"], drawn["outside_us"] = 20, 30
    drawn["duration_us"][rng.random(_DRAWN) < 0.002] *= 5
    spent_s = dict.fromkeys(("writer", "bins", "finder"), 0.0)
    longest_s = dict.fromkeys(spent_s, 0.0)
    with tempfile.TemporaryDirectory() as folder, closing(WatchWriter(Path(folder))) as writer:
        parts = {"writer": writer.add_steps}
        bins, finder = StepBins(), AnomalyFinder(n_cores=2)
        parts |= {"bins": bins.add, "finder": finder.add_steps}
        for at in range(0, n_steps, _AT_ONCE):
            is_look = at % (n_steps // _LOOKS) == 0
            rows = drawn[at % _DRAWN : at % _DRAWN + _AT_ONCE].copy()
            rows["number"], rows["start_ns"] = at + np.arange(_AT_ONCE), 10**18 + 10**6 * (at + np.arange(_AT_ONCE))
            for name, add in parts.items():
                begin_s = time.process_time()
                add(rows)
                took_s = time.process_time() - begin_s
                spent_s[name] += took_s
                longest_s[name] = max(longest_s[name], took_s)
            if is_look:
                n_bytes = _size(bins) + _size(finder)
                print(
                    f"{at:12,} steps: {n_bytes:12,} bytes in bins and finder, {_resident_mb():.0f} MB resident",
                    flush=True,
                )
        for name, seconds in spent_s.items():
            print(
                f"{name}: {seconds / n_steps * 1e6:.2f} us a step, at most {longest_s[name] * 1e3:.1f} ms a call of {_AT_ONCE}"
            )
        begin_s = time.perf_counter()
        log = read_watch_log(folder)
        print(f"opened {len(log.steps):,} steps in {time.perf_counter() - begin_s:.2f} s; {finder.anomalies}")
        print(
            f"95th percentiles not known: {int(np.isnan(bins.columns()['p95_ms']).sum())} of {len(bins.columns()['n'])}"
        )


def _size(thing: object, seen: set[int] | None = None) -> int:
    """Bytes of an object and of what it holds."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, type) or callable(thing):
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return thing.nbytes if thing.base is None else _size(thing.base, seen)
    inner = getattr(thing, "__dict__", {})
    held = [*inner.values(), *(thing.values() if isinstance(thing, dict) else ())]
    if hasattr(thing, "__iter__") and not isinstance(thing, (str, bytes, dict)):
        held += list(thing)
    return sys.getsizeof(thing) + sum(_size(one, seen) for one in held)


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
