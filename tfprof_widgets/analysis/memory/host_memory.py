"""`Snapshots` as TensorFlow tells them -> with no more free memory on a host than its machine has.

TensorFlow's allocators of a host claim address space, often 64 GiB, whatever the machine has.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from .memory_snapshots import Snapshots

_OF_HOST = re.compile(r"cpu|host", re.IGNORECASE)


def is_of_host(allocator: str) -> bool:
    """Whether an allocator gives memory of the machine: `cpu`, `mklcpu`, `gpu_host_bfc`."""
    return _OF_HOST.search(allocator.rpartition(": ")[2]) is not None  # less the name of the host


def within_machine(snapshots: Snapshots, machine_bytes: int) -> Snapshots:
    """Bound the free bytes of allocators of a host by the memory of its machine, as in semantics 7.1.

    Args:
        snapshots: as the trace tells them.
        machine_bytes: memory of the machine; 0 where it is not known, so that neither is what is free.
    """
    of_host = np.array([is_of_host(name) for name in snapshots.allocators], np.bool_)
    told = snapshots.free_bytes
    room = np.maximum(machine_bytes - snapshots.in_use_bytes, 0)
    over = of_host[snapshots.allocator_id] & (told > room)
    if not over.any():
        return snapshots
    free = np.where(over, room, told)
    largest = np.minimum(told * (1 - snapshots.fragmentation_ratio), free)
    none = np.full(len(free), 1.0 if machine_bytes else np.nan)
    ratio = np.divide(largest, free, out=none, where=free > 0)
    fragmentation = np.where(over, 1 - ratio, snapshots.fragmentation_ratio)
    return replace(snapshots, free_bytes=free, fragmentation_ratio=fragmentation)
