"""patch: Keras' Model class -> the same class whose fit, evaluate and predict mark their steps while a capture runs."""

from __future__ import annotations

import functools
import inspect
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

from ..session.step_notes import StepNotes, step_taker
from .batch_size import batch_size_of
from .own_marks import without_own_marks
from .step_marker import make_step_marker, marker_placed_in

METHODS = ("fit", "evaluate", "predict")

_logger = logging.getLogger(__name__)
_lock = threading.Lock()


class OwnMarksPatch:
    """Takes away the marks that Keras 2 makes of steps itself, while a callback of ours makes them, and puts them back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Change what there is to change; a second call does nothing."""
        with _lock:
            if not self._undo:
                for model_class in _model_classes():
                    self._change(model_class)

    def remove(self) -> None:
        """Change it back; a second call does nothing."""
        with _lock:
            while self._undo:
                self._undo.pop()()

    def _change(self, model_class: type) -> None:
        undo = without_own_marks(sys.modules.get(model_class.__module__))
        if undo is not None:
            self._undo.append(undo)


class KerasPatch(OwnMarksPatch):
    """Wraps the public methods of every Keras `Model` class in this process besides, and takes the wrappers out again.

    Subclasses that override `fit` and call `super().fit(...)` pass through the wrapper too; so do instances that exist.
    """

    def _change(self, model_class: type) -> None:
        for method in METHODS:
            self._undo.append(_wrap(model_class, method))
        super()._change(model_class)


def _model_classes() -> list[type]:
    """Return the Model classes: of `tf.keras` (Keras 3 or, by the user's choice, Keras 2) and of a separate `keras`."""
    classes: list[type] = []
    for name in ("tensorflow", "keras"):
        module = sys.modules.get(name)
        try:
            model_class = module.keras.Model if name == "tensorflow" else module.Model  # type: ignore[union-attr]
        except Exception:  # tf.keras is loaded lazily: a broken Keras must not keep other code from being profiled
            _logger.info("no Keras in %s", name, exc_info=True)
            continue
        if model_class not in classes:
            classes.append(model_class)
    return classes


def _wrap(model_class: type, method: str) -> Callable[[], None]:
    """Replace one method and return what puts the original back."""
    original = getattr(model_class, method)
    is_own = method in vars(model_class)
    wrapper = _marked(original)
    setattr(model_class, method, wrapper)

    def undo() -> None:
        if vars(model_class).get(method) is not wrapper:
            # Someone patched it meanwhile and calls ours: without an active capture ours only passes on.
            return
        if is_own:
            setattr(model_class, method, original)
        else:
            delattr(model_class, method)

    return undo


def _marked(original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # IPython leaves this frame out of the user's traceback
        taker = step_taker()
        if taker is None:
            return original(self, *args, **kwargs)
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:
            return original(self, *args, **kwargs)  # its own message is the one the user knows
        marker = make_step_marker(taker)
        if isinstance(taker, StepNotes):
            with marker_placed_in(bound.arguments, marker):
                return original(*bound.args, **bound.kwargs)
        program = taker.program
        program.batch_size = batch_size_of(bound.arguments) or program.batch_size
        if original.__name__ == "fit":
            program.note_fit(bound.arguments)
            program.expect(self)
        with program.calls.noted(), marker_placed_in(bound.arguments, marker):
            try:
                return original(*bound.args, **bound.kwargs)
            finally:
                program.see(self)

    return method
