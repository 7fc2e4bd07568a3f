"""The widgets of one run, each made when first asked for; all share one selection and one payload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from .analysis.common import hosts_of
from .export.chrome import chrome_trace_in_pieces
from .measured_advice import MeasuredAdvice
from .profiled_run import ProfiledRun
from .show import widgets
from .show.embedding import Amount, build_payload, embed
from .show.library import limits_of, views_js
from .show.link import LinkModel
from .show.page import dashboard_page
from .show.widgets import Compact, Dashboard, OverviewPanel, Timeline, TraceData, View, open_again

V = TypeVar("V", bound=View)
Reply = tuple[dict[str, Any], list[bytes]]


class ProfileViews:
    """One widget of each kind, the same one however often it is asked for."""

    def __init__(self, run: ProfiledRun, open_host: Callable[[Mapping[str, Any]], Reply]) -> None:
        """`open_host` shows one host in full, as the page asks for."""
        self._run, self._open_host = run, open_host
        self._made: dict[type[View], View] = {}

    @cached_property
    def link(self) -> LinkModel:
        """What all of them have selected."""
        return LinkModel(lambda: hosts_of(self._run.results.trace))

    @cached_property
    def data(self) -> TraceData:
        """What all of them draw from."""
        views_js(self.link)  # which the page receives while the payload is made
        data = TraceData(build_payload(self._run.results, title=self._run.title))
        data.calls |= {
            "chrome_trace": self._send_chrome_trace,
            "open_host": self._open_host,
            "measure": self._measured_advice.reply,
        }
        self.link.use(data.payload.contents.names.cut)
        return data

    def view(self, kind: type[V], **traits: Any) -> V:
        """The widget of a kind; the traits are set when it is made."""
        view = self._made.get(kind)
        if not isinstance(view, kind):
            view = self._made[kind] = kind(link=self.link, data=self.data, **traits)
        if view.comm is None:  # closed, as a cell that showed it was run again
            open_again(self.data)
        return view

    def named(self, kind: str) -> Any:
        """The widget of the class of this name."""
        return self.view(getattr(widgets, kind))

    def timeline(self) -> Timeline:
        """The timeline, whose bookmarks are the run's."""
        made = self.view(Timeline, bookmarks=self._run.bookmarks)
        made.observe(self._keep_bookmarks, "bookmarks")
        return made

    def overview_panel(self) -> OverviewPanel:
        """The overview, which measures advice where it can be measured."""
        options = {"since_last": self._run.since_last, "measurable": self._measured_advice.rules()}
        return self.view(OverviewPanel, options=options)

    def dashboard(self, panels: Callable[[str], View], *, is_compact: bool) -> Dashboard:
        """The widget that holds the others; `panels` gives each by its name."""
        kind = Compact if is_compact else Dashboard
        facts = self._run.facts
        options: dict[str, Any] = {"compact": True} if is_compact else {}
        options |= {
            "title": self._run.title,
            "limits": limits_of(self._run.notices),
            "outcome": "" if facts is None else facts.outcome,
        }
        return self.view(
            kind, options=options, **{name: panels(name) for name in kind.class_trait_names(is_panel=True)}
        )

    def page(self, dashboard: Dashboard, amount: Amount) -> str:
        """The text of a page that needs no kernel, with so much of the trace."""
        return dashboard_page(dashboard, embed(self.data.payload, amount), title=self._run.title or "tfprof")

    @cached_property
    def _measured_advice(self) -> MeasuredAdvice:
        return MeasuredAdvice(self._run.fit_call)

    def _keep_bookmarks(self, change: Mapping[str, Any]) -> None:
        self._run.bookmarks = change["new"]

    def _send_chrome_trace(self, message: Mapping[str, Any]) -> Reply:
        as_text = bool(message.get("as_text"))
        return chrome_trace_in_pieces(self._run.results, saved=self._run.saved_with_trace, as_text=as_text)
