"""Ten million steps of a training that is watched -> time for each and memory, of what takes, writes, shows and opens them.

    python -m benchmarks.measure_watch [N_STEPS]

Steps of 1 ms go through the ring of the recorder, 250 at a time, as in a quarter of a second.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tfprof_widgets as tfprof
from tfprof_widgets.analysis import AnomalyFinder
from tfprof_widgets.capture import OpenStep, StepRecorder
from tfprof_widgets.read import WatchWriter
from tfprof_widgets.watching_state import Training

_AT_ONCE, _DRAWN = 250, 250_000
_LOOKS = 10


def main(n_steps: int) -> None:
    rng = np.random.default_rng(0)
    drawn_ns = 1e6 * rng.lognormal(0, 0.2, _DRAWN)
    drawn_ns[rng.random(_DRAWN) < 0.002] *= 5
    elapsed_ns = drawn_ns.astype(np.int64).tolist()
    recorder, training, finder = StepRecorder(is_watched=True), Training(0), AnomalyFinder(n_cores=2)
    with tempfile.TemporaryDirectory() as folder:
        with closing(WatchWriter(Path(folder))) as writer:
            parts: dict[str, Callable[[Any], Any]] = {
                "writer": writer.add_steps,
                "training": training.add_steps,
                "finder": finder.add_steps,
            }
            spent_s = dict.fromkeys(("hooks", "rows", *parts), 0.0)
            longest_s = dict(spent_s)

            def timed(name: str, part: Callable[[], Any]) -> Any:
                begin_s = time.process_time()
                result = part()
                took_s = time.process_time() - begin_s
                spent_s[name] += took_s
                longest_s[name] = max(longest_s[name], took_s)
                return result

            for at in range(0, n_steps, _AT_ONCE):
                timed("hooks", partial(_train, recorder, at, elapsed_ns))
                rows = timed("rows", recorder.take)
                rows["start_ns"] = 10**18 + 10**6 * (at + np.arange(_AT_ONCE))
                for name, add in parts.items():
                    timed(name, partial(add, rows))
                if at % (n_steps // _LOOKS) == 0:
                    print(f"{at:12,} steps: {_resident_mb():.0f} MB resident", flush=True)
        for name, seconds in spent_s.items():
            longest = f"at most {longest_s[name] * 1e3:.1f} ms a call of {_AT_ONCE}"
            print(f"{name}: {seconds / n_steps * 1e6:.2f} us a step, {longest}")
        print(f"peak {_peak_mb():.0f} MB; {[one.title for one in finder.anomalies]}")
        run: Any = tfprof.load(folder)
        looks = {"repr": run.__repr__, "report": run.report, "dashboard": run.dashboard, "table": lambda: run.steps}
        for what, show in looks.items():
            begin_s = time.perf_counter()
            show()
            print(f"{what}: {time.perf_counter() - begin_s:.2f} s, peak {_peak_mb():.0f} MB")


def _train(recorder: StepRecorder, first: int, elapsed_ns: list[int]) -> None:
    for number in range(first, first + _AT_ONCE):
        step = OpenStep("train", number)
        recorder.began(step)
        step.elapsed_ns = elapsed_ns[number % _DRAWN]
        step.phase = "after"
        recorder.ended(step)


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
