"""The widgets of one run, each made when first asked for; all share one selection and one payload."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from .analysis.common import hosts_of
from .errors import TfProfError
from .export.chrome import chrome_trace_in_pieces
from .profiled_run import ProfiledRun
from .show import widgets
from .show.library import limits_of, views_js
from .show.link import LinkModel
from .show.page import dashboard_page
from .show.payload import Amount, Payload
from .show.widgets import Compact, Dashboard, OverviewPanel, Timeline, TraceData, View, open_again

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


V = TypeVar("V", bound=View)
Reply = tuple[dict[str, Any], list[bytes]]


class ProfileViews:
    """One widget of each kind, the same one however often it is asked for."""

    def __init__(
        self,
        run: ProfiledRun,
        open_host: Callable[[Mapping[str, Any]], Reply],
        widgets: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        """`open_host` shows one host in full, as the page asks for; `widgets` is where they are made."""
        self._run, self._open_host, self._widgets = run, open_host, widgets
        self._made: dict[type[View], View] = {}

    @cached_property
    def link(self) -> LinkModel:
        with self._widgets():
            return LinkModel(lambda: hosts_of(self._run.results.trace))

    @cached_property
    def data(self) -> TraceData:
        views_js(self.link)  # which the page receives while the payload is made
        data = TraceData(Payload(self._run.results, title=self._run.title))
        data.calls |= {
            "chrome_trace": self._send_chrome_trace,
            "open_host": self._open_host,
            "measure": self._measured_advice.reply,
        }
        self.link.use(data.payload.names.cut)
        return data

    def view(self, kind: type[V], **traits: Any) -> V:
        """The widget of a kind; the traits are set when it is made."""
        view = self._made.get(kind)
        if not isinstance(view, kind):
            with self._widgets():
                view = self._made[kind] = kind(link=self.link, data=self.data, **traits)
        if view.comm is None:  # closed, as a cell that showed it was run again
            open_again(self.data)
        return view

    def panel(self, name: str) -> V:  # type: ignore[type-var]
        """The view of a name, such as `op_table`: a timeline has the run's bookmarks, the overview measures advice if it can."""
        kind: type[V] = getattr(widgets, name.title().replace("_", ""))
        if kind is OverviewPanel:
            options = {"since_last": self._run.since_last, "measurable": self._measured_advice.rules()}
            return self.view(kind, options=options)
        if kind is not Timeline:
            return self.view(kind)
        made = self.view(kind, bookmarks=self._run.bookmarks)
        made.observe(self._keep_bookmarks, "bookmarks")
        return made

    def dashboard(self, *, is_compact: bool) -> Dashboard:
        """The widget that holds the others."""
        kind = Compact if is_compact else Dashboard
        facts = self._run.facts
        options: dict[str, Any] = {"compact": True} if is_compact else {}
        options |= {
            "title": self._run.title,
            "limits": limits_of(self._run.notices),
            "outcome": "" if facts is None else facts.outcome,
        }
        panels: dict[str, View] = {name: self.panel(name) for name in kind.class_trait_names(is_panel=True)}
        return self.view(kind, options=options, **panels)

    def page(self, dashboard: Dashboard, amount: Amount) -> str:
        """The text of a page that needs no kernel, with so much of the trace."""
        return dashboard_page(dashboard, amount, title=self._run.title or "tfprof")

    @cached_property
    def _measured_advice(self) -> MeasuredAdvice:
        return MeasuredAdvice(self._run.fit_call)

    def _keep_bookmarks(self, change: Mapping[str, Any]) -> None:
        self._run.bookmarks = change["new"]

    def _send_chrome_trace(self, message: Mapping[str, Any]) -> Reply:
        as_text = bool(message.get("as_text"))
        return chrome_trace_in_pieces(self._run.results, saved=self._run.saved_with_trace, as_text=as_text)
