"""What Keras calls around its batches -> step markers of a capture."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ..errors import CaptureError
from ..trace.capture_facts import Failure
from .machine import unrecorded_by
from .program.frames import frames_outwards, running_frames
from .record import CaptureRecord, Outcome, import_tensorflow, read_failure
from .session import Capture, step_taker
from .steps import LateBase, weakly

if TYPE_CHECKING:
    from .steps import OpenStep


class _Changed:
    """A module with other values for some names."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def without_own_marks(module: ModuleType | None) -> Callable[[], None] | None:
    """Have a module see a TensorFlow that marks nothing; return what takes that back, None where it sees none at all."""
    if module is None or "tf" not in vars(module):
        return None
    tf = vars(module)["tf"]
    experimental = _Changed(tf.profiler.experimental, Trace=lambda *_, **__: nullcontext())
    changed = _Changed(tf, profiler=_Changed(tf.profiler, experimental=experimental))
    vars(module)["tf"] = changed

    def undo() -> None:
        if vars(module)["tf"] is changed:
            vars(module)["tf"] = tf

    return undo


DEFAULT = 32
"""Keras' own default for arrays."""
MAX_DEPTH = 100


def batch_size_of(arguments: Mapping[str, Any]) -> int:
    """The batch size of a call of `fit`, `evaluate` or `predict`; 0 where unknown."""
    try:
        given = arguments.get("batch_size")
        return max(int(given), 0) if given is not None else _of_data(arguments.get("x"))
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


KINDS = {"train": "train", "test": "test", "predict": "test_predict"}
"""Keras' name of a phase -> name of its markers: XProf takes names that begin with train or test for steps."""


class StepMarks:
    """Turns the hooks of a `fit`, `evaluate` or `predict` call into steps from batch begin to batch begin."""

    def __init__(self, taker: StepTaker) -> None:
        self.failure: Failure | None = None
        """The allocation that failed in the last computation that raised, which Keras does not pass to callbacks."""
        self._taker = taker
        recorder = taker.recorder
        self._recorder = recorder if recorder is not None and recorder.is_watched else None
        self._step: OpenStep | None = None
        self._is_computed = False
        self._is_announced_end = False
        self._is_plain = False
        """Whether the steps are one batch each, and computed by a function that is watched."""
        self._phases: list[_Phase] = []
        self._n_validated = 0
        self._ended_epoch: tuple[int, dict[str, float], int] | None = None
        """Number, Keras' values and Unix time of its end, until what comes behind it has a step of its own again."""

    def begin_phase(self, kind: str, model: Any, n_batches: int | None) -> None:
        """Begin a loop over batches (within another one: validation); backends other than TensorFlow's have no steps."""
        if unrecorded := unrecorded_by(model):
            self._taker.note_unrecorded(unrecorded)
            return
        self.end_step()
        self._let_go()
        is_inner = bool(self._phases)
        # Within fit Keras tells the number of batches of the training, not of the validation.
        phase = _Phase(kind, is_inner=is_inner, n_batches=None if is_inner else n_batches)
        phase.watch(model, self._computed, self._failed)
        self._phases.append(phase)

    def end_phase(self) -> None:
        """The loop over batches is over."""
        self.end_step()
        self._go_on()
        if not self._phases:
            return
        self._let_go()
        phase = self._phases.pop()
        phase.unwatch()
        if phase.is_inner:
            self._n_validated += phase.last_batch + 1

    def begin_batch(self, batch: int) -> None:
        """A batch begins: its step begins, the one before ends."""
        if not self._phases:
            return
        phase = self._phases[-1]
        if self._is_plain and self._is_computed and batch == phase.first_batch + 1 == phase.last_batch + 1:
            step = self._step
            if step is not None and self._taker.succeed(step):
                phase.first_batch = phase.last_batch = batch
                self._is_computed = self._is_announced_end = False
                return
        if self._ended_epoch is not None:
            self._go_on()
        if self._step is not None:
            if batch > phase.first_batch:
                phase.last_batch = batch - 1
            self.end_step()
        if batch == 0:
            phase.base = self._n_validated if phase.is_inner else self._taker.next_number
        phase.begin(batch)
        self._step = self._taker.begin_step(
            phase.marker,
            phase.base + batch,
            n_batches=phase.last_batch + 1 - batch,
            is_selectable=not phase.is_inner,
            is_certain=False,
            begins_epoch=batch == 0,
        )
        if batch == 0 and phase.kind != "train" and self._step.marker is not None:
            self._step.marker.set_metadata(begun_ns=max(time.perf_counter_ns() - phase.begun_ns, 1))
        # A generator of unknown length ends when Keras has announced one batch too many.
        self._is_computed = self._is_announced_end = False
        self._is_plain = phase.is_watched and not phase.is_inner and phase.last_batch == batch
        if not phase.is_watched and self._step is not None:
            self._is_computed = True
            self._step.confirm()

    def note_batch_end(self, kind: str, batch: int, logs: Any = None) -> None:
        """The computation ended with this batch, says Keras on any thread, and what it gave: one call may take several."""
        phase = self._phases[-1] if self._phases else None
        # It may come late: when the next batch has begun, or the validation.
        if phase is not None and phase.kind == kind and batch >= phase.first_batch:
            phase.last_batch = batch
            self._is_announced_end = True
            if self._recorder is not None and kind == "train":
                self._recorder.note_logs(phase.base + batch, logs)

    def end_step(self) -> None:
        step, self._step = self._step, None
        if step is None or not self._phases:
            return
        phase = self._phases[-1]
        if self._is_computed or self._is_announced_end:
            if not self._is_computed:
                # Keras 2 calls the function that it had before the watch.
                step.confirm()
            self._taker.end_step(step, n_batches=phase.last_batch + 1 - phase.first_batch)
        else:
            phase.last_batch = phase.first_batch - 1
            self._taker.cancel_step(step)

    def end_epoch(self, epoch: int, logs: Any) -> None:
        """An epoch of training has ended; what comes until its next batch is the work of other callbacks."""
        values = {str(name): value for name, value in (logs or {}).items() if isinstance(value, float)}
        self._ended_epoch = epoch, values, time.time_ns()
        self._let_go()

    def _let_go(self) -> None:
        """Release the iterator of the innermost loop, which is asked about its last batches until then."""
        iterator = self._phases[-1].take_iterator() if self._phases else None
        if iterator is not None and self._recorder is not None:
            self._recorder.let_go(iterator)

    def _go_on(self) -> None:
        epoch, self._ended_epoch = self._ended_epoch, None
        if epoch is not None and self._recorder is not None:
            self._recorder.note_epoch(*epoch)

    def close(self, *, is_failed: bool = False) -> None:
        """End what is in progress and leave the model as it was; after the call, however it ended."""
        if is_failed and self._step is not None and not self._is_computed:
            step, self._step = self._step, None
            step.confirm()
            self._taker.leave_step(step)
        while self._phases:
            self.end_phase()

    def _failed(self, error: BaseException) -> None:
        self.failure = read_failure(
            error, batch_size=0 if self._taker.program is None else self._taker.program.batch_size
        )

    def _computed(self, begin_ns: int, elapsed_ns: int, iterator: Any) -> None:
        step = self._step
        if step is None or not self._phases:
            return
        if not self._is_computed:
            self._is_computed = True
            if step.marker is not None:
                step.confirm()
        phase = self._phases[-1]
        step.asked_ns = step.asked_ns or begin_ns
        step.computing_ns = (step.computing_ns or 0) + elapsed_ns
        if self._recorder is not None:  # nobody else asks an iterator, nor is it to live longer for anybody else
            if phase.iterator is None or phase.iterator() is not iterator:
                self._let_go()
                phase.begin_iterator(iterator)
            step.iterator, step.first_element = phase.iterator, phase.n_elements
            phase.n_elements += step.n_batches
        # Where nobody knows, as in validation, each may be the last.
        is_last = phase.is_inner if phase.n_batches is None else phase.last_batch + 1 >= phase.n_batches
        if is_last:
            self.end_step()


class _Phase:
    """One loop over batches, and a watch on the model's function for one; validation steps end with their computation."""

    def __init__(self, kind: str, *, is_inner: bool, n_batches: int | None) -> None:
        self.kind = kind
        self.begun_ns = time.perf_counter_ns()
        self.marker = KINDS[kind]
        self.is_inner = is_inner
        self.base = 0
        self.first_batch = 0
        self.last_batch = -1
        self.is_watched = False
        self.n_batches = n_batches
        """Of an epoch; None where Keras does not know."""
        self._model: Any = None
        self.iterator: weakref.ref[Any] | None = None
        """The iterator of the latest batches, where tf.data can be asked how long it was waited for."""
        self.n_elements = 0
        self._kept: Any = None
        """The iterator itself, as Keras releases it before the last batches of an epoch are asked about."""

    def begin(self, batch: int) -> None:
        self.first_batch = self.last_batch = batch
        per_call = getattr(self._model, "steps_per_execution", None) or 1
        if per_call != 1:
            left = per_call if self.n_batches is None else self.n_batches - batch
            self.last_batch += max(min(int(per_call), left), 1) - 1

    def watch(
        self, model: Any, computed: Callable[[int, int, Any], None], failed: Callable[[BaseException], None]
    ) -> None:
        """Call `computed` after each computation of a batch, with its begin and time in ns and its iterator, else `failed`."""
        self._model = model
        function = getattr(model, self._function_name, None)
        if callable(function) and not isinstance(function, _WatchedFunction):
            self.is_watched = True
            setattr(model, self._function_name, _WatchedFunction(function, computed, failed))

    def begin_iterator(self, iterator: Any) -> None:
        """The model takes its batches from another iterator, which can be asked or not."""
        is_known = hasattr(iterator, "_iterator_resource")
        self._kept, self.iterator = (iterator, weakref.ref(iterator)) if is_known else (None, None)
        self.n_elements = 0

    def take_iterator(self) -> Any:
        kept, self._kept = self._kept, None
        return kept

    def unwatch(self) -> None:
        """Restore the model's function."""
        function = getattr(self._model, self._function_name, None)
        if self.is_watched and isinstance(function, _WatchedFunction):
            self.is_watched = False
            setattr(self._model, self._function_name, function.original)

    @property
    def _function_name(self) -> str:
        return f"{self.kind}_function"


class _WatchedFunction:
    """Keras' train function with a call after each of its calls, and the same attributes."""

    def __init__(self, original: Any, after: Any, failed: Any) -> None:
        self.original = original
        self._after = after
        self._failed = failed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        begin_ns = time.perf_counter_ns()
        try:
            result = self.original(*args, **kwargs)
        except Exception as error:
            self._failed(error)
            raise
        self._after(begin_ns, time.perf_counter_ns() - begin_ns, args[0] if args else None)
        return result

    def __getattr__(self, name: str) -> Any:
        if name == "original":  # a copy in the making: without this it would ask itself for ever
            raise AttributeError(name)
        return getattr(self.original, name)


# ruff: noqa: ARG001 -- Keras calls its hooks with these arguments


if TYPE_CHECKING:
    from tensorflow.keras.callbacks import Callback as KerasCallback

    from .control import StepTaker
else:
    KerasCallback = object


class StepMarker(LateBase, KerasCallback):  # type: ignore[misc]
    """Marks the steps of one call; goes first in the list, so that other callbacks' work is in a step."""

    # Keras then keeps running everybody's batch-end hooks beside the training, as it would without us.
    async_safe = True
    marks: StepMarks

    @classmethod
    def _late_base(cls) -> type:
        base: type = import_tensorflow().keras.callbacks.Callback
        return base

    def _begin(self, kind: str) -> None:
        self.marks.begin_phase(kind, self.model, (self.params or {}).get("steps"))

    def _end(self) -> None:
        self.marks.end_phase()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Count what comes until the next batch to no step, and report the epoch."""
        self.marks.end_step()
        self.marks.end_epoch(epoch, logs)


def _hooks(kind: str) -> dict[str, Callable[..., None]]:
    """The hooks of a loop of one kind -> their methods' names."""

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


def make_step_marker(taker: StepTaker) -> StepMarker:
    """Return a Keras callback that marks the steps of one call for a capture, or for notes; see `marker_placed_in`."""
    marker = StepMarker()
    marker.marks = StepMarks(taker)
    return marker


@contextlib.contextmanager
def marker_placed_in(arguments: dict[str, Any], marker: Any) -> Iterator[None]:
    """Have a marker among the callbacks of one call while the block runs; `arguments` is changed."""
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
    """Wraps the public methods of every Keras `Model` class, and so of subclasses and existing objects, and restores them."""

    def _change(self, model_class: type) -> None:
        for method in METHODS:
            self._undo.append(_wrap(model_class, method))
        super()._change(model_class)


def _model_classes() -> list[type]:
    """The Model classes of `tf.keras` (Keras 3 or, by the user's choice, Keras 2) and of a separate `keras`."""
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
        marker, program = make_step_marker(taker), taker.program
        if program is None:
            with marker_placed_in(bound.arguments, marker):
                return original(*bound.args, **bound.kwargs)
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


Result = TypeVar("Result")


class CapturingCallback(StepMarker, Generic[Result]):
    """A Keras callback that captures every `fit` (or lone `evaluate`, `predict`) call, with step numbers from 0 in each."""

    _result_name: ClassVar[str]
    """A noun for what a call gives in messages, such as "profile"."""

    def __init__(self) -> None:
        super().__init__()
        self._capture: Capture | None = None
        self._caller: _Caller | None = None
        self._depth = 0
        self._results: list[Result] = []

    def _start_capture(self, end_if_over: Callable[[], None]) -> Capture:
        raise NotImplementedError

    def _result_of(self, record: CaptureRecord) -> Result:
        raise NotImplementedError

    @property
    def _last_result(self) -> Result:
        if not self._all_results:
            raise CaptureError(
                f"No {self._result_name} yet: pass the callback to `model.fit(callbacks=[...])` and let it end."
            )
        return self._results[-1]

    @property
    def _all_results(self) -> list[Result]:
        """Results of all calls, oldest first; for a call that failed what was captured before."""
        self._finish_if_over()
        return list(self._results)

    def _begin(self, kind: str) -> None:
        self._finish_if_over()
        if self._depth == 0:
            capture = self._start_capture(weakly(self._finish_if_over))
            self._capture, self._caller = capture, _Caller()
            capture.program.batch_size = batch_size_of(self._caller.arguments)
            capture.program.see(self.model)
            self.marks = StepMarks(capture.control)
        self._depth += 1
        super()._begin(kind)

    def _end(self) -> None:
        super()._end()
        self._depth -= 1
        if self._depth == 0:
            self._finish("complete")

    def _finish_if_over(self) -> None:
        # Keras tells a callback nothing when a call fails: whoever needs to know afterwards ends its capture.
        if self._caller is not None and not self._caller.is_running:
            self._finish("exception")

    def _finish(self, outcome: Outcome) -> None:
        capture, self._capture, self._caller = self._capture, None, None
        self._depth = 0
        if capture is None:
            return
        try:
            self.marks.close(is_failed=outcome == "exception")
            capture.stop(outcome=outcome, failure=self.marks.failure if outcome == "exception" else None)
        finally:
            self._results.append(self._result_of(capture.record))


class _Caller:
    """The function whose call is captured, and whether it is still on the stack of its thread."""

    def __init__(self) -> None:
        self._thread_id = threading.get_ident()
        # The frame itself, although it keeps the call's arguments alive: Python uses the id of a frame again at once.
        self._frame = next(
            (frame for frame in frames_outwards(sys._getframe()) if frame.f_code.co_name in METHODS), None
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """By name; empty where a loop of the user's own drives the callback."""
        return {} if self._frame is None else {name: self._frame.f_locals.get(name) for name in ("x", "batch_size")}

    @property
    def is_running(self) -> bool:
        """True, too, where a loop of the user's own drives the callback and ends the capture by Keras' hooks."""
        if self._frame is None:
            return True
        return self._frame in frames_outwards(running_frames().get(self._thread_id, sys._getframe()))
