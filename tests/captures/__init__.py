"""Real TensorFlow runs, each in its own process -> the xplane.pb files that tests read.

`python -m tests.captures KIND DIR` runs one kind here and leaves `DIR/plugins/profile/*/*.xplane.pb`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.captures import fits, loops, own_captures

ROOT = Path(__file__).parents[2]
XPLANE = "plugins/profile/*/*.xplane.pb"
"""Where a run leaves its file."""

KINDS: dict[str, Callable[[str], None]] = {
    run.__name__: run
    for run in (
        fits.keras_fit,
        fits.keras_bare,
        fits.keras_first_step,
        fits.xla_fit,
        fits.lstm_fit,
        fits.tfrecord_fit,
        fits.bfloat16_fit,
        fits.float16_fit,
        loops.function_loop,
        loops.function_loop_marked,
        loops.eager_loop,
        loops.eager_loop_marked,
        loops.paced_loop,
        loops.paced_loop_marked,
        loops.function_epoch,
        own_captures.nested_fit,
        own_captures.two_optimizers,
    )
}


def capture(kind: str, directory: Path) -> Path:
    """Run one kind of training in a fresh process and give the path of its xplane.pb."""
    always = {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment = {"TF_ENABLE_ONEDNN_OPTS": "0"} | os.environ | always
    command = [sys.executable, "-m", "tests.captures", kind, str(directory.resolve())]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"the capture {kind!r} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    (path,) = directory.glob(XPLANE)
    return path
