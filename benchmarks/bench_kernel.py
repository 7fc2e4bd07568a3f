"""Fifty captures in one process, as in a notebook's kernel -> its memory after each, beside TensorFlow's own profiler.

Run as `python benchmarks/bench_kernel.py [KIND N_CAPTURES]`; prints JSON. Without arguments it measures all kinds and
prints their table. Memory is resident memory after a garbage collection, with what the C heap can give back given back.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import processes
from processes import Outcome
from table import aligned, bytes_text

N_CAPTURES, QUICK_CAPTURES = 50, 20
FIRST = 10
"""From here on memory should be flat: before, libraries load and caches fill."""
MAX_GROWTH_BYTES = 20 * 2**20
KINDS = {
    "none": "no profiler",
    "bare": "TensorFlow's profiler",
    "ours": "profile()",
    "tables": "profile(), tables read",
    "shown": "profile(), dashboard made",
}


def run(*, is_quick: bool) -> dict[str, Outcome]:
    """Measure each kind in a process of its own; some 5 minutes, 2 when quick."""
    n = QUICK_CAPTURES if is_quick else N_CAPTURES
    return {kind: processes.run(Path(__file__).name, kind, n, timeout_s=900) for kind in KINDS}


def table(outcomes: dict[str, Outcome]) -> list[list[str]]:
    """What was found, for the report."""
    rows = [["memory of a kernel", f"after {FIRST} captures", "after all", "growth", "captures"]]
    for kind, outcome in outcomes.items():
        if outcome.problem:
            rows.append([KINDS[kind], outcome.problem, "", "", ""])
        else:
            sizes = outcome.get("bytes")
            first, last = sizes[FIRST - 1], sizes[-1]
            rows.append(
                [KINDS[kind], bytes_text(first), bytes_text(last), f"{(last - first) / 2**20:.1f} MiB", str(len(sizes))]
            )
    return rows


def main(kind: str, n_captures: int) -> dict[str, Any]:
    """Capture ten steps of the same small `fit` again and again."""
    import keras
    import numpy as np
    import psutil

    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    x, y = np.ones((80, 16), "f4"), np.ones((80, 1), "f4")
    process, trim = psutil.Process(), _trimmer()
    sizes = []
    for _ in range(n_captures):
        _capture(kind, lambda: model.fit(x, y, batch_size=8, verbose=0))
        gc.collect()
        trim()
        sizes.append(process.memory_info().rss)
    return {"bytes": sizes}


def _capture(kind: str, work: Callable[[], Any]) -> None:
    import tensorflow as tf

    import tfprof_widgets as tfprof

    if kind == "none":
        work()
    elif kind == "bare":
        with tempfile.TemporaryDirectory() as folder:
            tf.profiler.experimental.start(folder)
            work()
            tf.profiler.experimental.stop()
    else:
        with tfprof.profile() as profile:
            work()
        if kind in ("tables", "shown"):
            for name in ("steps", "ops", "layers", "scopes", "source_lines", "events"):
                getattr(profile, name)
        if kind == "shown":
            from tfprof_widgets.show import close_unseen

            dashboard = profile.dashboard()
            dashboard._repr_mimebundle_()
            close_unseen(dashboard.shown_data())  # as the cell's next run does


def _trimmer() -> Callable[[], Any]:
    """Have glibc give back what it holds free."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return (lambda: None) if trim is None else (lambda: trim(0))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else N_CAPTURES)))
    else:
        print(aligned(table(run(is_quick=False))))
