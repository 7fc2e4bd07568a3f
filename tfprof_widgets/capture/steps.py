"""A step of the user's loop -> an event that TensorFlow's profiler and XProf recognise as a step."""

from __future__ import annotations

import functools
import inspect
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from .machine import SystemSampler
from .program.captured import CapturedProgram
from .record import Phase, import_tensorflow


@functools.cache
def _markers() -> tuple[Any, Callable[[], bool]]:
    """TensorFlow's `Trace`, found once, as its modules look up names by code, and whether a profiler runs."""
    import_tensorflow()
    from tensorflow.python.profiler import trace

    if callable(getattr(trace, "enabled", None)):
        return trace.Trace, trace.enabled
    return trace.Trace, lambda: getattr(trace, "enabled", True)  # a value in TensorFlow 2.16


@dataclass
class StepNumbers:
    next: int = 0
    """The number of the next step without one by the user."""


class OpenStep:
    """A step between its begin and its end on one thread, in few functions, as a call by cold code costs 2 us."""

    __slots__ = (
        *("name", "number", "n_batches", "is_selectable", "window_id", "n_opened", "begins_epoch", "asked_ns"),
        *("computing_ns", "waited_ns", "traced_us", "until_us", "iterator", "first_element", "thread_id", "start_ns"),
        *("begin_ns", "marker", "elapsed_ns", "phase"),
    )

    def __init__(
        self,
        name: str,
        number: int,
        n_batches: int = 1,
        is_selectable: bool = True,
        window_id: int | None = None,
        n_opened: int = 0,
        begins_epoch: bool = False,
    ) -> None:
        self.name, self.number, self.n_batches, self.is_selectable = name, number, n_batches, is_selectable
        self.window_id, self.n_opened, self.begins_epoch = window_id, n_opened, begins_epoch
        self.asked_ns: int | None = None
        """When that function was called, by the clock of `begin_ns`; None where unknown."""
        self.computing_ns: int | None = None
        """Inside the function that computes its batches; None where unknown."""
        self.waited_ns: int | None = None
        """Inside `next()`; None where unmeasured."""
        self.traced_us: int | None = None
        """The process' time of tracing at its begin, and at its end; None where unknown."""
        self.until_us: int | None = None
        self.elapsed_ns = 0
        self.phase: Phase = "before"
        self.iterator: weakref.ref[Any] | None = None
        """The source of its batches, where tf.data can be asked how long it was waited for."""
        self.first_element = 0
        """Place of its first batch in the iterator, from 0 on."""
        self.thread_id = threading.get_ident()
        self.start_ns = time.time_ns()
        """Unix time of its begin."""
        self.begin_ns = time.perf_counter_ns()
        """By the clock that nobody sets."""
        marker_class, is_recorded = _markers()
        self.marker: Any = marker_class(name) if is_recorded() else None
        """TensorFlow's running `Trace`; None where no session runs."""

    def confirm(self) -> None:
        """Make its marker that of a step. Source: semantics 2.2, `_r=1` makes an event the root of a group."""
        if self.marker is not None:
            first = {"epoch_start": 1} if self.begins_epoch else {}
            self.marker.set_metadata(step_num=self.number, _r=1, **first)

    def leave(self) -> None:
        """Have its marker say that it was left before its end: it is then no step, but for a program whose memory ran out."""
        if self.marker is not None:
            self.marker.set_metadata(step_left=1)

    def close(self) -> None:
        """End its marker, which becomes an event of this thread's line; how many batches it covered is known by now."""
        if self.marker is not None:
            if self.n_batches > 1:
                self.marker.set_metadata(n_batches=self.n_batches)
            self.marker.__exit__(None, None, None)


class Patch(Protocol):
    """What marks the steps of a library while a capture runs, such as `KerasPatch`."""

    def install(self) -> None:
        """Begin to mark; a second call does nothing."""

    def remove(self) -> None:
        """Leave the library as it was; a second call does nothing."""


def weakly(method: Callable[..., None]) -> Callable[..., None]:
    """A function that calls `method` while its object lives: a capture must not keep its owner alive, nor a thread a capture."""
    reference = weakref.WeakMethod(method)

    def call(*arguments: Any) -> None:
        alive = reference()
        if alive is not None:
            alive(*arguments)

    return call


def abandon(patch: Patch | None, sampler: SystemSampler | None, program: CapturedProgram) -> None:
    """Take back what a capture left in the process whose owner is gone without `stop()`."""
    if patch is not None:
        patch.remove()
    if sampler is not None:
        sampler.stop()
    program.stop()


Kind = TypeVar("Kind", bound="LateBase")


class LateBase:
    """Subclasses import nothing, but their objects have the late base as well, for `isinstance` of either."""

    @classmethod
    def _late_base(cls) -> type:
        raise NotImplementedError

    def __new__(cls: type[Kind], *_args: Any, **_kwargs: Any) -> Kind:
        """Make an object of the class with its late base, whose `__init__` takes the arguments."""
        made: Kind = super().__new__(_completed(cls))  # type: ignore[arg-type]
        return made


@functools.cache
def _completed(kind: type[Any]) -> type[Any]:
    base = kind._late_base()
    if issubclass(kind, base):
        return kind
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind, base), names)


Arguments = ParamSpec("Arguments")


def takes_arguments_of(
    function: Callable[Arguments, object],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, Arguments], None]]:
    """Decorates an `__init__` that hands on the arguments of a function: it has the signature of that."""

    def decorate(init: Callable[..., None]) -> Callable[Concatenate[Any, Arguments], None]:
        own, given = inspect.signature(init), inspect.signature(function).parameters.values()
        init.__signature__ = own.replace(parameters=[own.parameters["self"], *given])  # type: ignore[attr-defined]
        return init

    return decorate
