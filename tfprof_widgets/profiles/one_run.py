"""Profile: what a user holds after a capture or a load; every table, every view and every export of one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..analysis.base.wording import plural
from ..analysis.columns.docstrings import tell_columns
from ..errors import TfProfError
from .display import WithoutWidgets, output_of
from .exports import Exports
from .forwarding import method_of, property_of, table_at
from .hosts import Hosts, on_one_clock
from .run import Run
from .widgets import Widgets

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.advice.advice import Advice
    from ..analysis.cluster.merged_memory import ReducedMemory
    from ..analysis.input.input_pipeline import InputPipeline
    from ..analysis.memory.memory import MemoryProfile
    from ..analysis.overview.overview import Overview
    from ..analysis.roofline.roofline import RooflineRows
    from ..analysis.selection import OpRows
    from ..analysis.tree.tree_options import TreeView
    from ..capture.session.record import CaptureRecord
    from ..opening.many_hosts import ReducedHosts
    from ..opening.opened import Opened
    from ..trace.trace import Trace


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
        self._exports = Exports(self.run)
        self._hosts = Hosts(self.run, lambda opened, name: Profile(lambda: opened, title=name))
        self._widgets = Widgets(self.run, self._exports, self._hosts)

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

    @property
    def trace(self) -> Trace:
        """All events as one columnar table.

        Raises:
            TraceError: the captured file cannot be read.
            CaptureError: the capture has not ended yet.
        """
        return self.run.results.trace

    events = table_at("run.results.events", "Empty where the trace holds no event.")

    @property
    def flows(self) -> pd.DataFrame:
        """Empty where no event made another start."""
        from ..analysis.timeline.flows import flow_table

        return flow_table(self.trace, self.run.results.flows)

    steps = table_at(
        "run.results.step_frame", "The categories add up to the step time; see `Steps.frame`. Empty without steps."
    )
    step_guide = table_at(
        "run.results.step_guide",
        "They equal those of XProf's overview page once D1 to D12 are undone. Empty without steps.",
    )
    idle = table_at(
        "run.results.idle",
        "Within steps the causes add up to what `steps` has of them, of several devices for each. Empty where nothing ran on a "
        "device, and in a reduced profile, where `prof.host(name).idle` has those of one host.",
    )
    kernel_launches = table_at("run.results.kernel_launches", "Empty where `idle` is.")
    ops = table_at("run.results.ops", "Idle time has no row, see `op_statistics`. Empty when no op ran.")

    def op_statistics(self, *, by: OpRows = "op", idle: bool = False) -> pd.DataFrame:
        """The op statistics as a whole.

        Args:
            by: `"op"` for the columns of `ops`, `"type"` for one row per op type: `n_ops` in place of `name`.
            idle: add a row `IDLE` for the time in which threads and devices ran no op; ratios then include it.

        Raises:
            ValueError: `by` is neither.
        """
        from ..analysis.selection import Selection

        return Selection(self.run.results, None, ()).op_statistics(by=by, idle=idle)

    kernels = table_at("run.results.kernels.frame", "Empty when nothing ran on a GPU.")
    copies = table_at("run.results.copies", "See `copy_table`. Empty where no GPU copied anything.")

    @property
    def roofline(self) -> pd.DataFrame:
        """Set against the peaks of its device, which `roof_ratio` is a part of. Float operations and bytes of compiled programs
        are estimated from shapes, those of other ops are known where the capture noted their graph. Empty without a GPU, and
        where the trace names no op.

        Raises:
            TfProfError: of a reduced profile, which has no single executions.
        """
        return self.run.whole("roofline").roofline.frame

    def roofline_by(self, by: RooflineRows) -> pd.DataFrame:
        """The columns of `roofline` for other rows than ops.

        Args:
            by: `"op"` as `roofline`; `"kernel"` for the rows of `kernels`; `"layer"`; or `"step"`, in their order, with the
                float operations of a step over its whole time as `mfu_ratio`, NaN where those and the peaks for
                them are known of less than 90 % of its time on devices.

        Raises:
            ValueError: `by` is none of them.
            TfProfError: of a reduced profile, which has no single executions.
        """
        return self.run.whole("roofline").roofline.by(by)

    hlo_ops = table_at("run.results.hlo_ops.frame", "Empty when no compiled program ran.")

    @property
    def program_memory(self) -> pd.DataFrame:
        """What XLA planned to keep in the memory of each program that ran, which allocations show as one buffer of an unknown op:
        all that lives when the program holds most. Empty when no compiled program ran, or the trace does not hold its buffers.

        Raises:
            TfProfError: of a reduced profile, which has none of it.
        """
        return self.run.whole("memory of compiled programs").program_memory

    hlo_graph = method_of("run", Run.hlo_graph)
    layers = table_at(
        "run.results.layers.frame",
        "Loss, optimizer, input and all else have rows of their own, so the shares of a side add up to 1. "
        "See `Layers.frame`. Empty when no op ran.",
    )
    source_lines = table_at(
        "run.results.source_lines.frame",
        "What no line can be charged with has named rows, so the shares of a side add up to 1. "
        "See `SourceLines.frame`. Empty when no op ran.",
    )
    scopes = table_at("run.results.scopes.frame", "See `Scopes.frame`. Empty when no op ran.")

    @property
    def memory(self) -> MemoryProfile | ReducedMemory:
        """Allocations by allocator: `.summary`, `.timeline(allocator)`, `.peak(allocator)`; `.allocators` is empty where none
        was recorded, as on a CPU without `TF_CPU_ALLOCATOR_USE_BFC=true`."""
        return self.run.results.memory

    @property
    def input_pipeline(self) -> InputPipeline:
        """What tf.data did: `.verdict`, `.bottleneck`, `.suggestion`, `.hosts`, `.pipelines`, `.iterators`, `.steps`, `.ops`,
        `.categories`, and `.execution(pipeline, rank)` for one call of a pipeline. Its tables are empty without tf.data."""
        return self.run.results.input_pipeline

    @property
    def overview(self) -> Overview:
        """Step time (ms), breakdown, verdict, environment and top ops; without steps its times are 0 and its verdict says why."""
        return self.run.results.overview

    @property
    def advice(self) -> list[Advice]:
        """What to change, the largest gain first, single slow steps of unknown cause last: each `Advice` has numbers, a fix to
        paste, what to select, and the share of the step time that it could win at most. Empty where nothing is wrong, or nothing
        can be judged.

        A reduced profile has the advice on each of its hosts that train, merged: what was found on several is said once, as it
        is on the host where it costs most, with the number of hosts; its share is of the step time of all of them, and below
        5 % of that it is left out. `prof.host(name).advice` is the advice on one host."""
        return list(self.run.results.advice)

    @property
    def advice_table(self) -> pd.DataFrame:
        """It is `advice` as a table, in the same order. Empty where that is."""
        from ..analysis.advice.engine import advice_table

        return advice_table(self.run.results.advice)

    counters = table_at(
        "run.results.counters.frame",
        "The counters are bytes in use of allocators, buffers of tf.data iterators, what devices recorded, and the samples of "
        "`system`, of which totals are given as rates. Empty when there is none.",
    )

    def tree(self, /, view: TreeView = "scope", **options: Any) -> pd.DataFrame:
        """The cost of the ops as a tree: the nodes, numbers and order of TensorFlow's first profiler, tfprof.

        Times are microseconds (`micros` is accelerator and CPU together), sizes bytes. Of old files they are averages over
        the steps in which an op ran, of captures sums of self times over all of it; `step` and `average` say otherwise. A
        `step` is a row of `steps` in a capture, and the step's own number in old files. It is of the whole profile: `select`
        does not narrow it.

        Args:
            view: `"scope"` by name scope, `"graph"` by what feeds what, `"op"` by op type, `"code"` by Python call stack.
            options: those of tfprof, see `TreeOptions`: `max_depth`, `min_micros` and other limits, `order_by`, `select`,
                `account_type_regexes` and those of names, `account_displayed_op_only`, `step`, `average`.

        Returns:
            One row per node, down first, row 0 the root with the totals: `name`, `depth`, `parent` (row; -1 of the root),
            `op`, then each figure of the node itself and, as `total_...`, with all below it; see `Tree.frame`. In the op
            view a row's `parent` is the one before it, and its totals are of all op types from it on. A profile without
            ops gives the root alone.

        Raises:
            TypeError, ValueError: a view or an option that means nothing; the message names it.
        """
        from ..analysis.tree.tree import build_tree
        from ..analysis.tree.tree_options import make_tree_options

        return build_tree(self.run.results.op_graph, view, make_tree_options(**options)).frame

    variables = table_at("run.results.variables", "See `compute_variables`. Empty where nobody noted them.")
    workers = table_at("run.results.workers.frame", "See `Workers.frame`. Empty without steps.")
    stragglers = table_at("run.results.stragglers", "Empty where hosts are even, and with fewer than two.")
    communication = table_at(
        "run.results.communication",
        "Hosts that train come first, then parameter servers and coordinators; see `compute_communication`. Empty where nothing "
        "was exchanged.",
    )

    tables = property_of("_exports", Exports.tables)
    sql = method_of("_exports", Exports.sql)
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
