"""A custom training loop -> step markers, by `trace_steps(dataset)` or by `with step(i)` around its body."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar

from .bounds import traced_us
from .control import StepTaker
from .session import step_taker
from .steps import OpenStep

T = TypeVar("T")


class trace_steps(Generic[T]):  # noqa: N801 -- it is called like a function, as `range` is
    """Iterate over a dataset with every iteration marked as one step, the wait for its batch included.

    Steps are numbered over the whole capture, so a second epoch goes on where the first ended. Outside a capture it
    marks steps for whatever profiler runs, counting from 0 in each loop, and costs next to nothing. An iteration that
    `break`, `return` or an exception leaves is no step.

    Args:
        dataset: anything that can be iterated: a `tf.data.Dataset`, a distributed dataset, a list, a generator.
        name: of the steps. TensorBoard's profiler takes names that begin with `train` or `test` for steps.

    Examples:
        >>> with tfprof.profile() as prof:
        ...     for batch in tfprof.trace_steps(dataset):
        ...         train_step(batch)
        >>> len(prof.steps)
        8
    """

    def __init__(self, dataset: Iterable[T], *, name: str = "train") -> None:
        self._dataset = dataset
        self._name = name

    def __len__(self) -> int:
        return len(self._dataset)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T]:
        items = iter(self._dataset)
        # tf.data tells how long its iterators are waited for; `next()` takes some time besides.
        source = weakref.ref(items) if hasattr(items, "_iterator_resource") else None
        n_done = 0
        while True:
            current = _Step(self._name, None, n_done)
            current.begin()
            begin_ns = time.perf_counter_ns()
            try:
                item = next(items)
            except StopIteration:
                current.cancel()
                return
            except BaseException:
                current.cancel()
                raise
            current.confirm(begin_ns, source)
            try:
                yield item
            except BaseException:  # the generator is closed, as `break` and exceptions of the loop's body do
                current.leave()
                raise
            current.end()
            n_done += 1


class step:  # noqa: N801 -- it is called like a function
    """Mark the body of a `with` block as one step of the training.

    For a loop over a dataset `trace_steps` is simpler, and counts the wait for data as part of the step. A body that
    raises is no step.

    Args:
        number: the step's number, 0 or more. The `steps=` of a capture is about these numbers.
        name: of the step. TensorBoard's profiler takes names that begin with `train` or `test` for steps.

    Raises:
        TypeError: the number is not a whole number.
        ValueError: the number is negative.

    Examples:
        >>> batches = iter(dataset)
        >>> with tfprof.profile(steps=range(2, 4)) as prof:
        ...     for number in range(6):
        ...         with tfprof.step(number):
        ...             train_step(next(batches))
        >>> prof.steps["name"].tolist()
        ['train 2', 'train 3']
    """

    def __init__(self, number: int, *, name: str = "train") -> None:
        number = number.__index__() if hasattr(number, "__index__") else number
        if not isinstance(number, int):
            raise TypeError(f"step({number!r}) needs a whole number, not a {type(number).__name__}.")
        if number < 0:
            raise ValueError(f"step({number}) is negative; steps count from 0.")
        self._step = _Step(name, number, number)

    def __enter__(self) -> None:
        self._step.begin()
        self._step.confirm()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._step.end()
        else:
            self._step.leave()


class _Step:
    def __init__(self, name: str, number: int | None, default_number: int) -> None:
        self._name = name
        self._number = number
        self._default_number = default_number
        self._taker: StepTaker | None = None
        self._open: OpenStep | None = None

    def begin(self) -> None:
        taker, number = step_taker(), self._number
        if taker is None and sys.modules.get("tensorflow") is not None:  # else no profiler can be running
            taker, number = StepTaker(), self._default_number
        if taker is not None:
            number = taker.next_number if number is None else number
            self._taker, self._open = taker, taker.begin_step(self._name, number, is_certain=False)

    def confirm(self, asked_ns: int | None = None, source: weakref.ref[Any] | None = None) -> None:
        step = self._open
        if step is None:
            return
        if asked_ns is not None and step.traced_us in (
            None,
            traced_us(),
        ):  # nothing was traced meanwhile, or nobody asks
            step.waited_ns = time.perf_counter_ns() - asked_ns
            step.asked_ns, step.iterator, step.first_element = asked_ns, source, self._default_number
        step.confirm()

    def cancel(self) -> None:
        if self._taker is not None and self._open is not None:
            self._taker.cancel_step(self._open)

    def leave(self) -> None:
        if self._taker is not None and self._open is not None:
            self._taker.leave_step(self._open)

    def end(self) -> None:
        if self._taker is not None and self._open is not None:
            self._taker.end_step(self._open)
