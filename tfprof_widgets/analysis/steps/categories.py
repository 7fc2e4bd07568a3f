"""What step time is made of: the categories of this package, and the nine of XProf's guide."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from .step_spans import SpanType

STEP_CATEGORIES = (
    "input",
    "copy_to_device",
    "host_compute",
    "dispatch",
    "kernel_launch",
    "sync",
    "device_compute",
    "device_to_device",
    "device_collectives",
    "output",
    "compile",
    "checkpoint",
    "other",
)
"""What step time is made of; the code of a category is its place here. Also the order of a stack, from the bottom: input
first, because only the lowest layer has a common baseline."""
CATEGORY_LABELS = (
    "Input",
    "Copy to device",
    "Host compute",
    "Python, dispatch",
    "Kernel launch",
    "Synchronising",
    "Device compute",
    "Device to device",
    "Communication",
    "Output",
    "Compilation",
    "Checkpoint",
    "Other",
)
"""What a screen calls the categories; the same as in `js/src/data/meta.ts`."""
GUIDE_CATEGORIES = (
    "input",
    "host_compute",
    "kernel_launch",
    "device_compute",
    "device_to_device",
    "device_collectives",
    "output",
    "compile",
    "other",
)
"""The categories of TensorFlow's guide to its profiler, as XProf charges them."""
GUIDE_PREFIX = "guide_"
"""Before the names of their columns in `Steps.frame`."""

_GUIDE_OF_TYPE = {
    SpanType.OTHER: "other",
    SpanType.HOST_COMPUTE: "host_compute",
    SpanType.COMPILE: "compile",
    SpanType.HOST_TO_HOST: "other",
    SpanType.HOST_TO_DEVICE: "input",
    SpanType.KERNEL_LAUNCH: "kernel_launch",
    SpanType.COLLECTIVES: "device_collectives",
    SpanType.WAIT_INPUT: "input",
    SpanType.DEVICE_TO_DEVICE: "device_to_device",
    SpanType.DEVICE_TO_HOST: "output",
    SpanType.COMPUTE_32: "device_compute",
    SpanType.COMPUTE_16: "device_compute",
}
GUIDE_CODE = np.array([GUIDE_CATEGORIES.index(_GUIDE_OF_TYPE[SpanType(kind)]) for kind in range(12)], np.uint8)
"""From each `SpanType` to the place of its category in `GUIDE_CATEGORIES`."""


class Part(IntEnum):
    """What an instant of a step goes to; of several that are present the largest (semantics 3.7)."""

    OTHER = 0
    DISPATCH = 1
    HOST_COMPUTE = 2
    KERNEL_LAUNCH = 3
    OWN_DISPATCH = 4
    """What begins with `OWN` is done by the thread that launches what the device runs next."""
    SYNC = 5
    LATENCY = 6
    """What the device runs next was launched while it idled, and has not begun."""
    QUEUED = 7
    """What the device runs next was launched before it fell idle."""
    CHECKPOINT = 8
    COMPILE = 9
    EXCHANGE = 10
    """Waiting for other hosts."""
    INPUT = 11
    OWN_HOST_COMPUTE = 12
    OWN_KERNEL_LAUNCH = 13
    OWN_SYNC = 14
    OWN_CHECKPOINT = 15
    OWN_COMPILE = 16
    OWN_INPUT = 17
    COPY_TO_DEVICE = 18
    OUTPUT = 19
    DEVICE_TO_DEVICE = 20
    COLLECTIVES = 21
    COMPUTE = 22


_CATEGORY_OF_PART = {
    Part.EXCHANGE: "device_collectives",
    Part.LATENCY: "kernel_launch",
    Part.QUEUED: "other",
    Part.COLLECTIVES: "device_collectives",
    Part.COMPUTE: "device_compute",
}
"""Of those that are not called as their category."""
CATEGORY_CODE = np.array(
    [
        STEP_CATEGORIES.index(_CATEGORY_OF_PART.get(part, part.name.lower().removeprefix("own_")))
        for part in sorted(Part)
    ],
    np.uint8,
)
"""From each `Part` to the place of its category in `STEP_CATEGORIES`."""
OWN = np.array(
    [Part[f"OWN_{part.name}"] if f"OWN_{part.name}" in Part.__members__ else part for part in sorted(Part)], np.uint8
)
"""From each `Part` of hosts to that of the thread that launches."""

PART_OF_TYPE = np.full(256, Part.OTHER, np.uint8)
"""From the `SpanType` of an event of a device to its `Part`."""
PART_OF_TYPE[SpanType.COMPUTE_32 : SpanType.NONE] = Part.COMPUTE
PART_OF_TYPE[SpanType.HOST_TO_DEVICE] = Part.COPY_TO_DEVICE
PART_OF_TYPE[SpanType.DEVICE_TO_HOST] = Part.OUTPUT
PART_OF_TYPE[SpanType.DEVICE_TO_DEVICE] = Part.DEVICE_TO_DEVICE
PART_OF_TYPE[SpanType.COLLECTIVES] = Part.COLLECTIVES
