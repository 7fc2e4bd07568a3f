"""Profile: what a user holds after a capture or a load; every table, every view and every export of one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..analysis.columns.docstrings import tell_columns
from ..errors import TfProfError
from .capture_account import CaptureAccount
from .display import output_of
from .exports import Exports
from .forwarding import method_of, property_of
from .hosts import Hosts
from .run import Run
from .tables import Tables
from .widgets import Widgets

if TYPE_CHECKING:
    from ..capture.session.record import CaptureRecord
    from ..opening.many_hosts import ReducedHosts
    from ..opening.opened import Opened

_FRAME_PX = 920


class Profile:
    """One profiled run. All data is computed when first asked for and kept: copy a table before you change it.

    Made by `profile()`, `%%tfprofile`, `ProfileCallback` or `load()`. A table without rows has its columns all the same.

    Raises:
        CaptureError: from whatever needs data, inside the `with` block of `profile()`: the capture has not ended yet.
        EmptyTraceError: from the same, where nothing could be captured; the message says why.
        TraceError: from the same, where a captured file cannot be read; the message says which and where in it.
    """

    def __init__(
        self,
        open_files: Callable[[], Opened] | None = None,
        *,
        title: str = "",
        notices: tuple[str, ...] = (),
        hosts: ReducedHosts | None = None,
    ) -> None:
        self.run = Run(open_files, title=title, notices=notices, reduced=hosts)
        """What was opened and the analyses of it, which all else here reads from."""
        self._tables = Tables(self.run)
        self._account = CaptureAccount(self.run)
        self._exports = Exports(self.run, self._account)
        self._hosts = Hosts(self.run, _of_host)
        self._widgets = Widgets(self.run, self._account, self._exports, self._hosts)

    def take(self, record: CaptureRecord) -> None:
        """Fill the profile from a capture that ended."""
        self.run.take(record)

    @property
    def title(self) -> str:
        """What the profile is of, for headings."""
        return self.run.title

    @title.setter
    def title(self, title: str) -> None:
        self.run.title = title

    # ---- numbers ----------------------------------------------------------------------------------------------------

    trace = property_of("_tables", Tables.trace)
    events = property_of("_tables", Tables.events)
    flows = property_of("_tables", Tables.flows)
    steps = property_of("_tables", Tables.steps)
    ops = property_of("_tables", Tables.ops)
    op_statistics = method_of("_tables", Tables.op_statistics)
    kernels = property_of("_tables", Tables.kernels)
    hlo_ops = property_of("_tables", Tables.hlo_ops)
    layers = property_of("_tables", Tables.layers)
    source_lines = property_of("_tables", Tables.source_lines)
    scopes = property_of("_tables", Tables.scopes)
    memory = property_of("_tables", Tables.memory)
    input_pipeline = property_of("_tables", Tables.input_pipeline)
    overview = property_of("_tables", Tables.overview)
    advice = property_of("_tables", Tables.advice)
    advice_table = property_of("_tables", Tables.advice_table)
    tree = method_of("_tables", Tables.tree)
    counters = property_of("_tables", Tables.counters)
    variables = property_of("_tables", Tables.variables)
    workers = property_of("_tables", Tables.workers)
    stragglers = property_of("_tables", Tables.stragglers)
    communication = property_of("_tables", Tables.communication)

    # ---- the capture ------------------------------------------------------------------------------------------------

    capture = property_of("_account", CaptureAccount.capture)
    cost = property_of("_account", CaptureAccount.cost)
    system = property_of("_account", CaptureAccount.system)
    system_findings = property_of("_account", CaptureAccount.system_findings)
    memory_failure = property_of("_account", CaptureAccount.memory_failure)
    notices = property_of("_account", CaptureAccount.notices)

    # ---- hosts ------------------------------------------------------------------------------------------------------

    hosts = property_of("_hosts", Hosts.table)
    is_reduced = property_of("run", Run.is_reduced)

    def host(self, name: str) -> Profile:
        """Open one host in full: a profile of its own, with all its events. The last few are kept.

        Args:
            name: as in the `host` columns.

        Raises:
            ValueError: no such host is in the profile; the message names some that are.
            TraceError: its file cannot be read any more.
        """
        return self._hosts.host(name) or self

    def aligned(self) -> Profile:
        """The same profile with the clocks of its hosts moved, so that the steps that they share end together.

        Hosts that train together end each step together, with the exchange of gradients; where the ends of their steps are
        apart, their clocks are. Each host's times are moved by the median of that. Hosts without shared steps, such as
        parameter servers, stay, and so do all where none waits for another: workers of parameter servers, and programs that
        train side by side. The files stay as they are: `save` of the result writes them as captured.

        Returns:
            A profile of its own; of a single host, where no step is shared, and where hosts exchange nothing, with the times as
            they are.
        """
        from .clocks import on_one_clock

        opened, hosts = on_one_clock(self.run)
        return Profile(lambda: opened, title=self.title, notices=self.run.own_notices, hosts=hosts)

    # ---- views ------------------------------------------------------------------------------------------------------

    link = property_of("_widgets", Widgets.link)
    select = method_of("_widgets", Widgets.select)
    timeline = method_of("_widgets", Widgets.timeline)
    memory_timeline = method_of("_widgets", Widgets.memory_timeline)
    op_table = method_of("_widgets", Widgets.op_table)
    input_graph = method_of("_widgets", Widgets.input_graph)
    step_chart = method_of("_widgets", Widgets.step_chart)
    overview_panel = method_of("_widgets", Widgets.overview_panel)
    kernel_table = method_of("_widgets", Widgets.kernel_table)
    hlo_table = method_of("_widgets", Widgets.hlo_table)
    layer_table = method_of("_widgets", Widgets.layer_table)
    source_view = method_of("_widgets", Widgets.source_view)
    scope_icicle = method_of("_widgets", Widgets.scope_icicle)
    tree_view = method_of("_widgets", Widgets.tree_view)
    worker_chart = method_of("_widgets", Widgets.worker_chart)
    dashboard = method_of("_widgets", Widgets.dashboard)

    # ---- out --------------------------------------------------------------------------------------------------------

    to_html = method_of("_widgets", Widgets.to_html)
    to_chrome_trace = method_of("_exports", Exports.to_chrome_trace)
    to_csv = method_of("_exports", Exports.to_csv)
    to_parquet = method_of("_exports", Exports.to_parquet)
    report = method_of("_exports", Exports.report)
    save = method_of("_exports", Exports.save)
    summary = method_of("_exports", Exports.summary)
    to_pprof = method_of("_exports", Exports.to_pprof)
    tree_text = method_of("_exports", Exports.tree_text)

    def __repr__(self) -> str:
        from ..analysis.base.wording import plural

        if not self.run.has_ended:
            return "<Profile: capture still running>"
        try:
            n, average_ms = self.overview.n_steps, self.overview.step_time_avg_ms
            steps = f"{plural(n, 'step')}, {average_ms:.3g} ms a step" if n else "no steps"
            environment = self.overview.environment
            reduced = f"reduced, {plural(len(environment.hosts), 'host')}, " if self.run.results.is_reduced else ""
            return f"<Profile {self.title}: {reduced}{steps}, {plural(environment.n_events, 'event')}>"
        except TfProfError as error:
            return f"<Profile {self.title}: {error}>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        if not self.run.has_ended:
            return {"text/plain": repr(self)}
        return output_of(self.summary, self.dashboard, self._widgets.page, name="dashboard", height_px=_FRAME_PX)


def _of_host(opened: Opened, name: str) -> Profile:
    return Profile(lambda: opened, title=name)


tell_columns(Profile)
