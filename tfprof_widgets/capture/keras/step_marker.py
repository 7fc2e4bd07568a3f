"""A call of Keras' fit, evaluate or predict -> the same call with a callback that tells `StepMarks` of its batches."""

# ruff: noqa: ARG001 -- Keras calls its hooks with these arguments

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..session.late_base import LateBase
from ..session.tf_profiler import import_tensorflow
from .keras_steps import KINDS, StepMarks

if TYPE_CHECKING:
    from tensorflow.keras.callbacks import Callback as KerasCallback

    from ..session.session import Capture
    from ..session.step_notes import StepNotes
else:
    KerasCallback = object


class StepMarker(LateBase, KerasCallback):  # type: ignore[misc]
    """Marks the steps of one call; goes first in the list, so that other callbacks' work is in a step."""

    # Keras then keeps running everybody's batch-end hooks beside the training, as it would without us.
    async_safe = True
    marks: StepMarks

    @classmethod
    def _late_base(cls) -> type:
        """Keras' class of callbacks."""
        base: type = import_tensorflow().keras.callbacks.Callback
        return base

    def _begin(self, kind: str) -> None:
        self.marks.begin_phase(kind, self.model, (self.params or {}).get("steps"))

    def _end(self) -> None:
        self.marks.end_phase()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Count what comes until the next batch to no step, and tell of the epoch."""
        self.marks.end_step()
        self.marks.end_epoch(epoch, logs)


def _hooks(kind: str) -> dict[str, Callable[..., None]]:
    """What Keras calls in a loop of one kind, by the name that it is called by."""

    def begin(self: Any, logs: Any = None) -> None:
        self._begin(kind)

    def end(self: Any, logs: Any = None) -> None:
        self._end()

    def batch_begin(self: Any, batch: int, logs: Any = None) -> None:
        self.marks.begin_batch(batch)

    def batch_end(self: Any, batch: int, logs: Any = None) -> None:
        self.marks.note_batch_end(kind, batch, logs)

    hooks: dict[str, Callable[..., None]] = {
        "begin": begin,
        "end": end,
        "batch_begin": batch_begin,
        "batch_end": batch_end,
    }
    return {f"on_{kind}_{moment}": hook for moment, hook in hooks.items()}


for _kind in KINDS:
    for _name, _hook in _hooks(_kind).items():
        setattr(StepMarker, _name, _hook)


def make_step_marker(taker: Capture | StepNotes) -> StepMarker:
    """Return a Keras callback that marks the steps of one call for a capture, or for notes; see `marker_placed_in`."""
    marker = StepMarker()
    marker.marks = StepMarks(taker)
    return marker


@contextlib.contextmanager
def marker_placed_in(arguments: dict[str, Any], marker: Any) -> Iterator[None]:
    """Have a marker among the callbacks of one call while the block runs; `arguments` is changed.

    Args:
        arguments: the bound arguments of `fit`, `evaluate` or `predict`.
        marker: what `make_step_marker` returned, for this call alone.
    """
    import tensorflow as tf

    callbacks = arguments.get("callbacks")
    if isinstance(callbacks, tf.keras.callbacks.CallbackList):
        members = callbacks.callbacks
        if any(isinstance(member, StepMarker) for member in members):
            yield  # the validation inside fit: its hooks reach the marker of fit
            return
        members.insert(0, marker)
        marker.set_model(callbacks.model)
        marker.set_params(callbacks.params)
    else:
        # A list of our own: the user's stays as it is. Keras flattens what is nested in it.
        members = []
        given = () if callbacks is None else callbacks
        given = given if isinstance(given, (list, tuple)) else [given]
        if any(isinstance(one, StepMarker) for one in given):
            yield  # a callback that captures, or the marker of a patch around this one
            return
        arguments["callbacks"] = [marker, *given]
    try:
        yield
    except BaseException:
        marker.marks.close(is_failed=True)
        raise
    finally:
        marker.marks.close()
        if marker in members:
            members.remove(marker)
