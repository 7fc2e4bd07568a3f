"""An advice -> how much of a step it would save, measured in the kernel on the model and data of the profiled `fit`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .errors import TfProfError

if TYPE_CHECKING:
    from .capture.program.calls import FitCall, Fitted


PATIENCE_S = 20.0
"""A page asks while a cell may run, which the measurement would disturb: so long it waits for the kernel to be free."""


class MeasuredAdvice:
    """Measures the `fit` profiled last in the thread of the cells, once it is free: after a cell, or while one awaits."""

    def __init__(self, call: FitCall | None) -> None:
        self._call = call
        self._loop: asyncio.AbstractEventLoop | None = None
        with contextlib.suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()

    @property
    def _fitted(self) -> Fitted | None:
        return None if self._call is None else self._call.fitted()

    def rules(self) -> dict[str, str]:
        """Rules of which the advice can be measured here, and what its code has in it then; none without a kernel."""
        if self._loop is None:
            return {}
        from .capture.experiments import measurable_rules

        return measurable_rules(self._fitted)

    def reply(self, message: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        """The answer to a page that asks for the measurement of a rule, once the thread of the cells is free."""
        measure = partial(self._measure, str(message.get("rule")))
        if self._loop is None or threading.current_thread() is threading.main_thread():
            return measure(), []
        done: concurrent.futures.Future[dict[str, Any]] = concurrent.futures.Future()
        self._loop.call_soon_threadsafe(_run, done, measure)
        try:
            return done.result(PATIENCE_S), []
        except concurrent.futures.TimeoutError:
            if done.cancel():
                raise TfProfError("A cell runs: measure when it has ended.") from None
            return done.result(), []

    def _measure(self, rule: str) -> dict[str, Any]:
        from .analysis.experiments import rate_table, run_frame, saved_ratio, saving_sentence
        from .capture.experiments import ADVISED, measurable_rules, measure_rule

        fit = self._fitted
        if fit is None or rule not in measurable_rules(fit):
            raise TfProfError(
                "The model or the data of this fit are gone: keep both in variables, and profile it again."
            )
        advised = ADVISED[rule]
        try:
            found = measure_rule(rule, fit)
        except KeyboardInterrupt:
            raise TfProfError("The measurement was interrupted; everything is as it was.") from None
        except Exception as error:  # whatever TensorFlow says to a training that nobody has tried
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise TfProfError(f"It does not train {advised.how}: {reason} Everything is as it was.") from error
        table = rate_table(run_frame(found.runs), found.variants)
        return {
            "gain_ratio": saved_ratio(table),
            "words": " ".join([saving_sentence(table, advised.how, advised.per), *found.notices]),
        }


def _run(done: concurrent.futures.Future[dict[str, Any]], measure: Callable[[], dict[str, Any]]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(measure())
    except BaseException as error:  # whatever it is, it ends the waiting
        done.set_exception(error)
