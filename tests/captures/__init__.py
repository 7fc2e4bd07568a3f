"""Real TensorFlow runs, each in its own process -> the xplane.pb files that tests read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.captures import fits, loops, own_captures
from tests.warm_process import run_python

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
    program = f"from tests.captures import KINDS\nKINDS[{kind!r}]({str(directory.resolve())!r})"
    done = run_python(program, TF_CPU_ALLOCATOR_USE_BFC="true", TF_ENABLE_ONEDNN_OPTS="0")
    if done.returncode:
        raise RuntimeError(f"the capture {kind!r} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    (path,) = directory.glob(XPLANE)
    return path
