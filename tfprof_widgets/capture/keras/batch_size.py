"""batch_size: the arguments of a Keras call -> how many samples are in a batch, where they tell."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

DEFAULT = 32
"""Keras' own, for arrays."""
MAX_DEPTH = 100
"""Data sets that one is made of."""

_logger = logging.getLogger(__name__)


def batch_size_of(arguments: Mapping[str, Any]) -> int:
    """The batch size of a call of `fit`, `evaluate` or `predict`; 0 where it cannot be told.

    Args:
        arguments: the call's, by name.
    """
    try:
        given = arguments.get("batch_size")
        if given is not None:
            return max(int(given), 0)
        return _of_data(arguments.get("x"))
    except Exception:  # data are anybody's classes, and a training must not fail for what a report could tell
        _logger.info("the batch size is not known", exc_info=True)
        return 0


def _of_data(data: Any) -> int:
    import tensorflow as tf

    if isinstance(data, tf.data.Dataset):
        for _ in range(MAX_DEPTH):
            size = getattr(data, "_batch_size", None)
            if size is not None:
                return int(tf.get_static_value(size) or 0)
            inputs = data._inputs()
            if len(inputs) != 1:
                return 0
            data = inputs[0]
        return 0
    while isinstance(data, (list, tuple, dict)) and data:
        data = next(iter(data.values())) if isinstance(data, dict) else data[0]
    if hasattr(data, "batch_size"):  # a `keras.utils.Sequence`, as far as it has one
        return int(data.batch_size or 0)
    return DEFAULT if hasattr(data, "shape") and hasattr(data, "__getitem__") else 0
