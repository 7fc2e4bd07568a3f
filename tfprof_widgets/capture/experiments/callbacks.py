"""callbacks: the user's Keras callbacks -> copies of them that are called as `fit` calls callbacks, writing elsewhere."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...trace.scratch import make_folder, remove_folder

_PLACES = {
    "ModelCheckpoint": "filepath",
    "BackupAndRestore": "backup_dir",
    "CSVLogger": "filename",
    "TensorBoard": "log_dir",
}
"""Callbacks of Keras that write -> the attribute that says where."""


class CallbackSet:
    """The callbacks that one variant runs with.

    Args:
        callbacks: the user's.
        shared: what copies do not copy.

    Each run gets new copies, which share the model and all else of Keras with the originals. What cannot be copied runs
    itself; its attributes are put back with everything else. Keras' own callbacks write into a folder that is deleted.
    """

    def __init__(self, callbacks: Sequence[Any], shared: Sequence[Any]) -> None:
        self._callbacks = tuple(callbacks)
        self._shared = [item for item in shared if not any(item is callback for callback in callbacks)]
        self.notices: list[str] = []
        for callback in self._callbacks:
            if self._copied(callback) is callback:
                self.notices.append(
                    f"{type(callback).__name__} could not be copied and ran itself; its attributes are as before."
                )

    @contextlib.contextmanager
    def opened(self, model: Any, *, n_steps: int) -> Iterator[Any]:
        """A `keras.callbacks.CallbackList` of copies; whatever it runs on other threads has ended afterwards."""
        import keras

        folder = make_folder(0)
        try:
            copies = [self._copied(callback) for callback in self._callbacks]
            for number, callback in enumerate(copies):
                _redirect(callback, folder / str(number))
            called = keras.callbacks.CallbackList(
                copies, add_history=True, add_progbar=False, model=model, verbose=0, epochs=1, steps=n_steps
            )
            try:
                yield called
            finally:
                executor = getattr(called, "_executor", None)
                if executor is not None:
                    executor.shutdown(wait=True)
        finally:
            remove_folder(folder, os.getpid())

    def _copied(self, callback: Any) -> Any:
        memo: dict[int, Any] = {id(item): item for item in self._shared}
        try:
            return copy.deepcopy(callback, memo)
        except Exception:  # files, locks, connections: each class fails in its own way
            return callback


def _redirect(callback: Any, folder: Path) -> None:
    for kind in type(callback).__mro__:
        place = _PLACES.get(kind.__name__) if kind.__module__.startswith("keras.") else None
        before = getattr(callback, place, None) if place is not None else None
        if isinstance(before, (str, Path)):
            folder.mkdir(parents=True, exist_ok=True)
            old, new = str(before), str(folder / Path(before).name)
            for name, value in vars(callback).items():
                # Some make more paths of that one when they are made.
                if isinstance(value, (str, Path)) and str(value).startswith(old):
                    setattr(callback, name, new + str(value)[len(old) :])
