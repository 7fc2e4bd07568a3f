"""Profile: what a user holds after a capture or a load; every table, every view and every export of one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..analysis.base.wording import plural
from ..analysis.columns.docstrings import tell_columns
from ..errors import TfProfError
from .display import WithoutWidgets, output_of
from .exports import Exports
from .forwarding import method_of, property_of
from .hosts import Hosts, on_one_clock
from .profile_tables import ProfileTables
from .run import Run
from .widgets import Widgets

if TYPE_CHECKING:
    from ..opening.many_hosts import ReducedHosts
    from ..opening.opened import Opened


class Profile(ProfileTables):
    """One profiled run: every number as a table, every view as a widget, every export as a method.

    `profile()`, `%%tfprofile`, `ProfileCallback`, `capture_remote` and `load` make it. In a notebook it shows itself as
    the dashboard, on a terminal as text. Tables are computed when you first ask for them and then kept: copy a table
    before you change it. A table without rows still has its columns.

    Names of columns end in their unit: `_ns`, `_us`, `_ms`, `_s`, `_bytes`; `_ratio` is a share (1 is all), `_pct` is
    percent. Times of events count from the trace origin, which is when the profiler began. `Device` is a GPU or TPU,
    `Host` is the CPU. A column `step` is a row of `steps`, 0 the first that was captured, and not the step's own number,
    which is in its name, such as `train 12`; only in `workers` it counts the steps that all hosts share.

    Raises:
        CaptureError: whatever needs data raises it inside the `with` block of `profile()`: the capture has not ended
            yet.
        EmptyTraceError: nothing could be captured; the message says why.
        TraceError: a captured file cannot be read; the message names the file and the place in it.

    Examples:
        >>> prof = tfprof.load(logdir)
        >>> prof.overview.n_steps
        8
        >>> slowest = prof.steps.nlargest(3, "step_time_ms")
        >>> on_cpu = prof.ops[prof.ops["device"] == "Host"].head(10)
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
        self._exports = Exports(self.run)
        self._hosts = Hosts(self.run, lambda opened, name: Profile(lambda: opened, title=name))
        self._widgets = Widgets(self.run, self._exports, self._hosts)

    @property
    def title(self) -> str:
        """What the profile is called in headings: the name of its folder, or what it was saved with. You may set it."""
        return self.run.title

    @title.setter
    def title(self, title: str) -> None:
        self.run.title = title

    # ---- the capture ------------------------------------------------------------------------------------------------

    capture = property_of("run", Run.capture)
    cost = property_of("run", Run.cost)
    system = property_of("run", Run.system)
    system_findings = property_of("run", Run.system_findings)
    memory_failure = property_of("run", Run.memory_failure)
    notices = property_of("run", Run.notices)

    # ---- hosts ------------------------------------------------------------------------------------------------------

    hosts = property_of("_hosts", Hosts.table)
    is_reduced = property_of("run", Run.is_reduced)

    def host(self, name: str) -> Profile:
        """One host of a profile of many, in full: a profile of its own, with all its events.

        It reads the file of that host once more. The four that you asked for last are kept.

        Args:
            name: as the `host` columns name it.

        Raises:
            ValueError: the profile has no such host; the message names some that it has.
            TraceError: the file of the host cannot be read any more.

        Examples:
            >>> name = prof.hosts["host"].iloc[0]
            >>> alone = prof.host(name)
        """
        return self._hosts.host(name) or self

    def aligned(self) -> Profile:
        """The same profile with the clocks of its hosts moved, so that the steps that they share end together.

        Hosts that train together end each step together, with the exchange of gradients. Where the ends of their steps
        are apart, their clocks are: the times of each host are moved by the median of that. Hosts without shared steps,
        such as parameter servers, stay where they are, and so do all where none waits for another: workers of parameter
        servers, and programs that train side by side. The files are not changed: `save` of the result writes them as
        captured.

        Returns:
            A profile of its own. Its times are as they were for a single host, where no step is shared, and where hosts
            exchange nothing.
        """
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
    copy_table = method_of("_widgets", Widgets.copy_table)
    roofline_chart = method_of("_widgets", Widgets.roofline_chart)
    hlo_table = method_of("_widgets", Widgets.hlo_table)
    layer_table = method_of("_widgets", Widgets.layer_table)
    source_view = method_of("_widgets", Widgets.source_view)
    scope_icicle = method_of("_widgets", Widgets.scope_icicle)
    tree_view = method_of("_widgets", Widgets.tree_view)
    worker_chart = method_of("_widgets", Widgets.worker_chart)
    dashboard = method_of("_widgets", Widgets.dashboard)
    compact = method_of("_widgets", Widgets.compact)

    # ---- out --------------------------------------------------------------------------------------------------------

    to_html = method_of("_widgets", Widgets.to_html)
    to_chrome_trace = method_of("_exports", Exports.to_chrome_trace)
    to_csv = method_of("_exports", Exports.to_csv)
    to_parquet = method_of("_exports", Exports.to_parquet)
    report = method_of("_exports", Exports.report)
    save = method_of("_exports", Exports.save)
    text = method_of("_exports", Exports.text)
    to_pprof = method_of("_exports", Exports.to_pprof)
    tree_text = method_of("_exports", Exports.tree_text)

    def __repr__(self) -> str:
        if not self.run.has_ended:
            return "<Profile: capture still running>"
        try:
            n, average_ms = self.overview.n_steps, self.overview.step_time_avg_ms
            steps = f"{plural(n, 'step')}, {average_ms:.3g} ms a step" if n else "no steps"
            steps = steps if self.memory_failure is None else "out of memory"
            environment = self.overview.environment
            reduced = f"reduced, {plural(len(environment.hosts), 'host')}, " if self.run.results.is_reduced else ""
            return f"<Profile {self.title}: {reduced}{steps}, {plural(environment.n_events, 'event')}>"
        except TfProfError as error:
            return f"<Profile {self.title}: {error}>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        if not self.run.has_ended:
            return {"text/plain": repr(self)}
        instead = WithoutWidgets(self.text, self._exports.plain_html, self._widgets.page)
        return output_of(self, instead, name="dashboard")


tell_columns(Profile)
