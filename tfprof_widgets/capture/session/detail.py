"""detail: `low`, `normal` or `high` -> what TensorFlow's profiler is asked to record, and what is switched off in it.

Measured with TensorFlow 2.21 on two busy cores: `fit` of a small convolutional network in steps of 8.5 ms (13.8 ms of CPU),
32 samples each, through a tf.data pipeline, CPU memory recorded; 16 captures of 24 steps a level, turn by turn with as
many without. `host_tracer_level` 1 is no level of ours: it records no op of a CPU.

| detail | host_tracer_level | events a step | file, a step | to stop | CPU time of a step | what can be told |
|---|---|---|---|---|---|---|
| - | 0 | 0 | 0 | - | - | nothing |
| - | 1 | 630 | 13 kB | - | - | steps as wholes; no ops, memory, tf.data, layers or lines |
| low | 2, no thread pools | 730 | 55 kB | 0.5 s | +9 % | all that normal tells, but for the arrows of kind `pool` |
| normal | 2 | 1,520 | 73 kB | 0.7 s | +11 % | everything; 61 ops |
| high | 3 | 2,850 | 119 kB | 1.4 s | +21 % | 261 ops; arguments and results of functions; the executor's queues |

All of this on a CPU. On a GPU `low` is hardly cheaper: of seven captures on an H100 the events of thread pools are 1 to 11 %,
and 32 % of one whose input pipeline keeps the CPU busy. The rest are kernels, their launches and the ops between them; TensorFlow
can record no part of these: without the tracer of devices there are no kernels, and with `host_tracer_level` 1 no ops.

Which ops there are: TensorFlow times its ops while nobody watches, and records those that it found cheap at `high` only.
In its first steps a program has them all at every level. `Profile.capture` tells the cost of your own run.
"""

from __future__ import annotations

import ctypes
import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

Detail = Literal["low", "normal", "high"]
"""How much a capture records of each step."""
DETAILS: tuple[Detail, ...] = get_args(Detail)

LOUD_NOTICE = (
    'detail="low" records as much as "normal" here: this build of TensorFlow has no switch for the events of its '
    "thread pools that could be found. Capture fewer steps to record less."
)

_VERBOSE = 3
_POOL_CATEGORIES = (0, 1)
"""`EventCategory::kScheduleClosure` and `kRunClosure` of tsl/platform/tracing.h: work put into a thread pool, and run there."""
_SET_COLLECTOR = "_ZN3tsl7tracing17SetEventCollectorENS0_13EventCategoryEPKNS0_14EventCollectorE"
_LIBRARIES = ("libtensorflow_framework.so.2", "libtensorflow_framework.2.dylib")

_logger = logging.getLogger(__name__)


def profiler_options(tf: Any, detail: Detail) -> Any:
    """Return TensorFlow's `ProfilerOptions` of a level; None for its own defaults."""
    if detail != "high":
        return None
    return tf.profiler.experimental.ProfilerOptions(host_tracer_level=_Level(_VERBOSE))


class _Level:
    """A number that is no truth value.

    TensorFlow 2.21 asks first whether an option can be a bool. Every int can, and is refused then ("host_tracer_level
    expects an i value" in its log), so that no option has an effect. This can go when ints pass again; earlier
    versions take it too.
    """

    def __init__(self, value: int) -> None:
        self._value = value

    def __index__(self) -> int:
        return self._value


def mute_thread_pools() -> bool:
    """Have the session that just began record no thread-pool event; False where that cannot be done.

    They are half of the events on a CPU, and no step, op or verdict needs them. TensorFlow has no option for it: it
    listens to its pools whatever the level, so its listener is unhooked, as its own stop does it later again.
    """
    unhook = _collector_setter()
    if unhook is None:
        return False
    for category in _POOL_CATEGORIES:
        unhook(category, None)
    return True


@functools.cache
def _collector_setter() -> Callable[[int, None], None] | None:
    """Return `tsl::tracing::SetEventCollector`. The symbol's name holds the types of its arguments: found means fitting."""
    from .tf_profiler import import_tensorflow

    try:
        folder = Path(import_tensorflow().sysconfig.get_lib())
        library = next(folder / name for name in _LIBRARIES if (folder / name).is_file())
        setter = getattr(ctypes.CDLL(str(library)), _SET_COLLECTOR)
    except (OSError, AttributeError, StopIteration):
        _logger.info("the events of thread pools cannot be switched off", exc_info=True)
        return None
    setter.argtypes, setter.restype = [ctypes.c_uint, ctypes.c_void_p], None
    found: Callable[[int, None], None] = setter
    return found
