"""A call of `fit` -> its model, data and callbacks for as long as the program keeps them: nothing is kept alive here."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fitted:
    """What a call of `fit` was given."""

    model: Any
    data: Any
    """A `tf.data.Dataset` or a `keras.utils.PyDataset`."""
    callbacks: tuple[Any, ...]


class FitCall:
    """The last call of `fit` within a capture.

    Args:
        arguments: the call's, by name.

    Raises:
        TypeError: an argument that cannot be referred to without keeping it.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        callbacks = arguments.get("callbacks") or ()
        given = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        self._model, self._data = weakref.ref(arguments["self"]), weakref.ref(arguments["x"])
        self._callbacks = [weakref.ref(one) for one in given if hasattr(one, "on_train_batch_end")]

    def fitted(self) -> Fitted | None:
        """What it was given, where model and data still are there and the data can be read again; else None."""
        model, data = self._model(), self._data()
        if model is None or not (hasattr(data, "element_spec") or hasattr(data, "num_batches")):
            return None
        callbacks = [reference() for reference in self._callbacks]
        return Fitted(model, data, tuple(one for one in callbacks if one is not None))
