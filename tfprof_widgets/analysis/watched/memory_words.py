"""Memory that grows -> what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..base.wording import size
from .anomaly import Anomaly
from .memory import GrowingMemory, Growth

_KINDS = {
    "rss_bytes": ("memory_grows", "The memory of this process"),
    "tf_bytes": ("gpu_memory_grows", "What TensorFlow holds of the memory of GPUs"),
}
_HOUR_S = 3600.0
_MANY_BYTES = 8 * 2**30
"""Growth in an hour that ends many a program."""


def memory_anomalies(memory: Mapping[str, GrowingMemory], *, n_epochs: int) -> Iterator[Anomaly]:
    """Each column that grows, or grew, in words.

    Args:
        memory: by the names of the columns of samples.
        n_epochs: how many epochs have begun; in the first a cache of the data set fills.
    """
    for column, growing in memory.items():
        growth = growing.growth
        if growth is not None and (growth.is_steady or not growth.has_ended):  # else it was a buffer that filled
            yield _anomaly(*_KINDS[column], growth, is_first_epoch=n_epochs == 1)


def _anomaly(kind: str, whose: str, growth: Growth, *, is_first_epoch: bool) -> Anomaly:
    rate = f"{size(growth.bytes_per_second)} a second"
    by = f"{size(growth.bytes_per_step)} a step" if np.isfinite(growth.bytes_per_step) else rate
    first, last = f"{growth.first_number:,}", f"{growth.last_number:,}"
    since = "at least since" if growth.has_begun_before else "since about"
    span = (
        f"grew by {by} from about step {first} to {last}" if growth.has_ended else f"grows by {by} {since} step {first}"
    )
    may_cache = is_first_epoch and growth.may_be_cache and kind == "memory_grows"
    may_fill = may_cache or not growth.is_steady
    hedge = " A cache or a buffer that fills looks the same at first." if may_fill and not growth.has_ended else ""
    severe = "medium" if growth.bytes_per_second * _HOUR_S >= _MANY_BYTES else "low"
    return Anomaly(
        kind,
        f"{whose} {span}: {size(growth.from_bytes)} then, {size(growth.to_bytes)} at step {last}",
        f"{rate[0].upper()}{rate[1:]}, by the least of its samples.{hedge}",
        growth.first_number,
        growth.last_number if growth.has_ended else None,
        "info" if may_fill or growth.has_ended else severe,
        wants_window=not growth.has_ended,
    )
