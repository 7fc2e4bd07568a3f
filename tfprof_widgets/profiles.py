"""`Profile`: what a user has after a capture or a load; every table, view and export of one run."""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .analysis.common import plural
from .analysis.table import TABLES, TableProperty
from .display import WithoutWidgets, displayed, output_of, write_page
from .errors import TfProfError
from .profiled_run import ProfiledRun
from .progress import Progress
from .show.front_end import EachSession

if TYPE_CHECKING:
    import pandas as pd

    from .analysis.card import Advice
    from .analysis.graph.options import TreeView as Structure
    from .analysis.input.pipeline import InputPipeline
    from .analysis.many_hosts import ReducedHosts
    from .analysis.memory.memory import MemoryProfile, ReducedMemory
    from .analysis.out_of_memory.failure import MemoryFailure
    from .analysis.overview import Overview
    from .analysis.part import Selection
    from .analysis.roofline import RooflineRows
    from .analysis.steps.steps import CaptureSummary
    from .export.files import TableList
    from .profile_views import ProfileViews
    from .read.opening import Opened
    from .show.link import LinkModel
    from .show.payload import Amount
    from .show.widgets import (
        CopyTable,
        Dashboard,
        HloTable,
        InputGraph,
        KernelTable,
        LayerTable,
        MemoryTimeline,
        OpTable,
        OverviewPanel,
        RooflineChart,
        SourceView,
        StepChart,
        Timeline,
        TreeView,
        WorkerChart,
    )
    from .trace.capture_facts import CaptureCost
    from .trace.trace import Trace


MOST_OPEN_HOSTS = 4
"""With more the one that was asked for longest ago is opened anew."""


def _table(name: str) -> TableProperty:
    def read(profile: Profile) -> pd.DataFrame:
        table = TABLES[name]
        whole = table.of_executions
        return table.read(profile.run.whole(whole) if whole else profile.run.results)

    return TableProperty(name, read)


class Profile:
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
        TfProfError: a file cannot be written: what was at its path before is still there, and no part of a file. Or
            the profile is reduced (not `has_events`) and has no single executions: `prof.host(name)` has those of one host.

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
        self.run = ProfiledRun(open_files, title=title, notices=notices, reduced=hosts)
        self._open_hosts: OrderedDict[str, Profile] = OrderedDict()
        self._views_of = EachSession(self._make_views)

    @property
    def title(self) -> str:
        """What the profile is called in headings: the name of its folder, or what it was saved with. You may set it."""
        return self.run.title

    @title.setter
    def title(self, title: str) -> None:
        self.run.title = title

    # ---- numbers ----------------------------------------------------------------------------------------------------

    @property
    def overview(self) -> Overview:
        """The figures that you want first: step time in ms, what it is made of, what limits it, the machine. An
        `Overview`; without steps its times are 0, and its `verdict` says why.

        Examples:
            >>> prof.overview.step_time_avg_ms > 0
            True
        """
        return self.run.results.overview

    @property
    def advice(self) -> list[Advice]:
        """What to change, as a list of `Advice`, the largest gain first, a larger batch behind causes.

        Each has the reason with its numbers, what to do, what to select in the views, and the share of the step time
        that it could win. Empty where nothing is wrong, or where nothing can be judged. A reduced profile has that of its
        hosts that train, merged, from 5 % of the step time on; `prof.host(name).advice` has all of one host.

        Examples:
            >>> for one in prof.advice:
            ...     told = f"{one.severity}: {one.title}"
        """
        return list(self.run.results.advice)

    advice_table = _table("advice_table")

    @property
    def trace(self) -> Trace:
        """All events as arrays, for code that needs more than the table `events`, such as the stats of an event."""
        return self.run.results.trace

    events = _table("events")
    flows = _table("flows")
    steps = _table("steps")
    step_guide = _table("step_guide")
    attribution = _table("attribution")
    idle = _table("idle")
    kernel_launches = _table("kernel_launches")
    ops = _table("ops")
    kernels = _table("kernels")
    copies = _table("copies")
    roofline = _table("roofline")

    def roofline_by(self, by: RooflineRows) -> pd.DataFrame:
        """The table `roofline` for other rows than ops. Empty where that is.

        Args:
            by: `"op"` is `roofline` itself; `"kernel"` has the rows of `kernels`; `"layer"` has Keras layers; `"step"`
                has the rows of `steps`, with the float operations of a step over its whole time as `mfu_ratio`, which
                is NaN where they or the peaks for them are known of less than 90 % of its time on devices.
        """
        return self.run.whole("roofline").roofline.by(by)

    hlo_ops = _table("hlo_ops")

    def hlo_graph(self, name: str) -> pd.DataFrame:
        """What an op of a compiled XLA program is made of: the instructions of a fusion, or the neighbours of any other
        op.

        Parameters of a fusion stand under the names of the operands outside. Of another op the rows are its operands,
        its readers, and theirs.

        Args:
            name: as in `hlo_ops`. Where ops of several programs have it, the first of them there.

        Returns:
            An instruction a row, what is read first: `name`, `opcode`, `shape`, `op_name` (the TensorFlow op it was
            compiled from), `work_ratio` (its part of the estimated work of the fusion; NaN around an op), and `reads`,
            the names that it reads.
        """
        from .analysis.ops.other import hlo_op_graph

        results = self.run.whole("compiled programs")
        return hlo_op_graph(results.hlo_ops, results.units.hlo, name).frame

    program_memory = _table("program_memory")
    layers = _table("layers")
    source_lines = _table("source_lines")
    scopes = _table("scopes")

    def tree(self, /, view: Structure = "scope", **options: Any) -> pd.DataFrame:
        """The cost of the ops as a tree, with the nodes, numbers and order of tfprof, TensorFlow's first profiler.

        Times are microseconds (`micros` is accelerator and CPU together), sizes are bytes. They are sums of self times
        over the whole capture; of files of TensorFlow 1 they are averages over the steps in which an op ran. The tree
        is of the whole profile: `select` does not narrow it. A regular expression must match the whole name.

        Args:
            view: `"scope"` by name scope, `"graph"` by what feeds what, `"op"` by op type, `"code"` by Python call
                stack.
            options: any of `max_depth` (how many levels, the root counts); `min_micros`, `min_accelerator_micros`,
                `min_cpu_micros`, `min_bytes`, `min_peak_bytes`, `min_residual_bytes`, `min_output_bytes`, `min_params`,
                `min_float_ops`, `min_occurrence` (show nodes of at least this); `order_by` (`"name"` or a figure, the
                largest first); `select` (which figures to give; all by default); `account_type_regexes` (count ops of
                these types only); `start_name_regexes`, `trim_name_regexes`, `show_name_regexes`, `hide_name_regexes`
                (which nodes to show); `account_displayed_op_only` (totals of shown nodes only); `step` (of one step
                alone: a row of `steps`, or in files of TensorFlow 1 the step's own number; -1 is all); `average` (per
                step, rather than the sum).

        Returns:
            A node a row, down first, row 0 the root with the totals: `name`, `depth`, `parent` (a row, -1 of the root),
            `op`, then each figure of the node itself and, as `total_...`, with all below it. In the op view the
            `parent` of a row is the one before it, and its totals are of all op types from it on. A profile without ops
            gives the root alone.

        Examples:
            >>> tree = prof.tree("op", order_by="micros", max_depth=5)
            >>> list(tree.columns[:4])
            ['name', 'depth', 'parent', 'op']
        """
        from .analysis.graph.options import make_tree_options
        from .analysis.graph.tree import build_tree

        return build_tree(self.run.results.op_graph, view, make_tree_options(**options)).frame

    @property
    def memory(self) -> MemoryProfile | ReducedMemory:
        """The memory that TensorFlow's allocators gave, in bytes: a `MemoryProfile`.

        `.summary` has a row for each allocator, `.timeline(allocator)` every allocation, `.peak()` who held most at the
        peak, `.growth(allocator)` whether it leaks. All is empty where none was recorded, and `.remedy` says what to do.
        A reduced profile has a `ReducedMemory`, without single allocations.
        """
        return self.run.results.memory

    @property
    def input_pipeline(self) -> InputPipeline:
        """What tf.data did, and whether the training waited for it: an `InputPipeline`.

        `.verdict` is a sentence, `.input_ratio` the share of the step time spent waiting, `.bottleneck` the iterator
        that holds the training up, `.suggestion` what to change. Its tables are empty where tf.data did nothing.

        Examples:
            >>> prof.input_pipeline.bottleneck
            'Iterator::Root::Prefetch::MapAndBatch'
        """
        return self.run.results.judged_input

    counters = _table("counters")
    variables = _table("variables")

    @property
    def tables(self) -> TableList:
        """The tables that `sql` knows, with their columns, types and units: `print(prof.tables)`, or its `frame`.

        They are those that `to_csv` writes, under the names of its files: `events`, `steps`, `ops`, `memory_summary` and so
        on. To list them computes none of them.
        """
        from .export.files import list_tables

        return list_tables(self._table_makers(), self.run.system)

    def sql(self, query: str) -> pd.DataFrame:
        """The rows of an SQL query over all tables and events; needs DuckDB: `pip install "duckdb>=1.1"`.

        Only the tables that the query names are computed; they are kept, as all tables of a profile are. A list or a
        dict in a cell is the text of its JSON there. A query reads no file, no network and no variable of the program,
        and changes nothing.

        Args:
            query: one `SELECT` in the dialect of [DuckDB](https://duckdb.org/docs/stable/sql/introduction), also `FROM
                steps` or `DESCRIBE ops`; `tables` has the names.

        Returns:
            The rows, in the order that the query asks for; units are those of the columns.

        Examples:
            >>> busiest = prof.sql("select name, sum(self_ns) / 1e6 as self_ms from events group by name order by self_ms desc")
        """
        from .export.files import run_query

        return run_query(query, self.tables, self._table_makers())

    # ---- hosts ------------------------------------------------------------------------------------------------------

    hosts = TableProperty("hosts", lambda self: self.run.hosts)
    workers = _table("workers")
    stragglers = _table("stragglers")
    communication = _table("communication")

    @property
    def has_events(self) -> bool:
        """Whether every event of every host is here. A run of very many hosts is reduced where its files are read: tables
        are of the whole capture, the timeline has each host's steps and longest events, and `host(name)` opens one host
        in full.
        """
        return self.run.reduced is None

    def host(self, name: str) -> Profile:
        """One host of a profile of many, in full: a profile of its own, with all its events.

        It reads the file of that host once more. The four that you asked for last are kept.

        Args:
            name: as the `host` columns name it.

        Raises:
            ValueError: the profile has no such host; the message names some that it has.

        Examples:
            >>> name = prof.hosts["host"].iloc[0]
            >>> alone = prof.host(name)
        """
        from .analysis.many_hosts import whole_host

        one = self._open_hosts.pop(name, None)
        if one is None:
            opened = whole_host(self.run.opened, self.run.reduced, name)
            if opened is None:
                return self
            one = Profile(lambda: opened, title=name)
        self._open_hosts[name] = one
        if len(self._open_hosts) > MOST_OPEN_HOSTS:
            self._open_hosts.popitem(last=False)
        return one

    def aligned(self) -> Profile:
        """The same profile with the clocks of its hosts moved, so that the steps that they share end together.

        Hosts that train together end each step together, with the exchange of gradients. Where the ends of their steps
        are apart, their clocks are: the times of each host are moved by the median of that. Hosts without shared steps,
        such as parameter servers, stay where they are, and so do all where none waits for another. The files are not
        changed: `save` of the result writes them as captured. Without shared steps or exchanges times are as they were.
        """
        from .analysis.many_hosts import on_one_clock

        shift_ps = self.run.results.workers.clocks.shift_ps
        opened, hosts = on_one_clock(self.run.opened, self.run.reduced, shift_ps)
        return Profile(lambda: opened, title=self.title, notices=self.run.own_notices, hosts=hosts)

    # ---- the capture ------------------------------------------------------------------------------------------------

    @property
    def capture(self) -> CaptureSummary | None:
        """What the capture was and what it cost: a `CaptureSummary`, whose `.sentence` tells it in words.

        It has seconds, bytes and events, and by how much steps took longer while they were captured, with a 95 %
        interval. None for a trace that was loaded without it, and while the capture still runs.

        Examples:
            >>> prof.capture is None  # a trace that another program captured
            True
        """
        return self.run.capture

    @property
    def cost(self) -> CaptureCost | None:
        """What starting and stopping the profiler took: a `CaptureCost` with seconds, bytes and events; `capture` has
        more. None for a trace that was loaded without it.
        """
        return self.run.cost

    system = TableProperty("system", lambda self: self.run.system)
    system_findings = TableProperty("system_findings", lambda self: self.run.system_findings)

    @property
    def memory_failure(self) -> MemoryFailure | None:
        """What held the memory when an allocation failed and ended the profiled code: a `MemoryFailure`, which shows
        itself. It tells the holders by op, layer and line, what to do, and a batch size to start from. None where the
        code ended otherwise.
        """
        return self.run.memory_failure

    @property
    def notices(self) -> tuple[str, ...]:
        """What you must know before you read the numbers, such as a capture that was cut short: a sentence each, mostly
        none.
        """
        return self.run.notices

    # ---- views: one widget of each kind, the same however often you ask for it ---------------------------------------

    @property
    def _views(self) -> ProfileViews:
        return self._views_of()

    def _make_views(self) -> ProfileViews:
        from .profile_views import ProfileViews

        return ProfileViews(self.run, self._show_host, self._views_of.widgets)

    @property
    def link(self) -> LinkModel:
        """What all views of this profile have selected: a `LinkModel`. Set its fields to move every view; read them for
        what is selected on the screen.

        `time_range` is `(t0_ns, t1_ns)` after the trace origin, `()` for none. `step` is a row of `steps`, -1 for none.
        `selection` has names of ops, `hover` the name of one (`""` for none), `host` the name of a host (`""` for all).
        `whole_capture` says whether figures without a time range are of the whole capture; otherwise they are of the
        averaged steps.
        """
        return self._views.link

    def select(
        self,
        *,
        time_range: tuple[int, int] | None = None,
        step: int | str | None = None,
        ops: Iterable[str] | None = None,
        host: str | None = None,
    ) -> Selection:
        """Select a time range, a step, ops or a host in every view, and get the numbers of that part alone.

        Without arguments all is selected again. In the tables of the part times are the overlap with it.

        Args:
            time_range: `(t0_ns, t1_ns)`, nanoseconds after the trace origin.
            step: a step, whose time becomes the time range: its row of `steps` as a number, 0 the first that was
                captured, or its name, such as `"train 12"`.
            ops: names of ops to highlight; they restrict nothing.
            host: the only host that counts, as `hosts` names it.

        Returns:
            The part, with tables of its own: `.ops`, `.kernels`, `.layers`, `.source_lines`, `.scopes`, `.hlo_ops`,
            `.steps`, `.events`, `.memory(allocator)`.

        Raises:
            ValueError: both a time range and a step; a range that ends before it begins; a step or a host that is not
                there.

        Examples:
            >>> part = prof.select(step="train 1·2")
            >>> part.steps["name"].tolist()
            ['train 1·2']
            >>> everything = prof.select()
        """
        from .analysis.part import select, step_row

        results, link = self.run.results, self.link
        row = None if step is None else step_row(results, step, host)
        selection = select(results, time_range_ns=time_range, step=row, ops=ops, host=host)
        link.time_range = selection.time_range_ns or ()
        link.step = -1 if row is None else row
        link.selection = selection.op_names
        link.host = selection.host
        return selection

    def dashboard(self, *, compact: bool = False) -> Dashboard:
        """All views in one widget, linked: the overview on top, the timeline across, a tab for each other view.

        Args:
            compact: begin with the verdict, one typical step and the first advice, some 450 pixels high; a button opens the rest.
        """
        return self._views.dashboard(is_compact=compact)

    def _show_host(self, message: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        name = str(message.get("host"))
        self.dashboard().opened = self.host(name).dashboard()
        return {"host": name}, []

    def overview_panel(self) -> OverviewPanel:
        """The verdict, the step time, what a step is made of, the ops that cost most, and the advice."""
        return self._views.panel("overview_panel")

    def timeline(self) -> Timeline:
        """The trace as a timeline: the steps on top, below them threads and streams as tracks of nested slices. Drag over
        its ruler to select a time range, click a slice to select its op; `?` lists its keys.
        """
        return self._views.panel("timeline")

    def memory_timeline(self) -> MemoryTimeline:
        """Memory in use, free memory and fragmentation against time, and who held it at the peak of the selected range."""
        return self._views.panel("memory_timeline")

    def op_table(self) -> OpTable:
        """The ops by self time, on devices and on the CPU, as a table to sort, filter and copy."""
        return self._views.panel("op_table")

    def input_graph(self) -> InputGraph:
        """The tf.data pipelines as graphs: what the training waits for is bold, the bottleneck is outlined with its
        remedy.
        """
        return self._views.panel("input_graph")

    def step_chart(self) -> StepChart:
        """The time of every step as a bar, by what it went to; click a bar to select that step."""
        return self._views.panel("step_chart")

    def kernel_table(self) -> KernelTable:
        """The kernels of GPUs by time, by name, op, op type or unit, and whether they run on Tensor Cores."""
        return self._views.panel("kernel_table")

    def copy_table(self) -> CopyTable:
        """The copies between host and GPUs by what they cost: which tensor, which way, how fast. The table is `copies`."""
        return self._views.panel("copy_table")

    def roofline_chart(self) -> RooflineChart:
        """The ops of GPUs by float operations a byte and a second, under what their device could do."""
        return self._views.panel("roofline_chart")

    def hlo_table(self) -> HloTable:
        """The ops of compiled XLA programs by self time, with the TensorFlow op that each was made from."""
        return self._views.panel("hlo_table")

    def layer_table(self) -> LayerTable:
        """The Keras layers: forward, backward and optimizer time, parameters and memory of each."""
        return self._views.panel("layer_table")

    def source_view(self) -> SourceView:
        """Your cells and files with the forward and backward time of each line beside it."""
        return self._views.panel("source_view")

    def scope_icicle(self) -> TreeView:
        """The name scopes as an icicle, as wide as their time; click one to look into it: `tree_view("scope")`."""
        return self.tree_view("scope")

    def worker_chart(self) -> WorkerChart:
        """The same step on every host, a stacked bar for each; above 32 hosts a heat map."""
        return self._views.panel("worker_chart")

    def tree_view(self, view: Structure | Literal["hlo"] = "scope") -> TreeView:
        """The cost of the ops by structure: an icicle and a table, or the graph of ops drawn with its heat.

        Args:
            view: what to begin with, as for `tree`: `"scope"`, `"graph"`, `"op"` or `"code"`; or `"hlo"`, the graphs of
                XLA.
        """
        made: TreeView = self._views.panel("tree_view")
        made.begin_with(view)
        return made

    # ---- out --------------------------------------------------------------------------------------------------------

    def to_html(self, path: str | Path, *, embed: Amount = "steps") -> Path:
        """Write the dashboard as one page that needs no kernel and no network: all views and their links work in it.

        The page holds the text of the cells and files whose lines made ops: who gets the page gets that code.

        Args:
            path: of the page; its folder is made where it is not there.
            embed: how much of the trace the page holds, besides some 0.8 MB of scripts. `"steps"`: totals as far as
                they fit, every event of three typical steps and a sample of the others. `"full"`: everything. The page
                says what it leaves out.
        """
        return write_page(path, self._page, embed=embed)

    def _page(self, amount: Amount) -> str:
        return self._views.page(self.dashboard(), amount)

    def to_chrome_trace(self, path: str | Path) -> Path:
        """Write the trace as a file for Perfetto (https://ui.perfetto.dev), chrome://tracing, speedscope and `load`.

        It has all events with their stats, to the picosecond; names and order of processes and threads; flows as
        arrows; counters; a mark at the start of each step. Events that outlive the one they start in, which those
        viewers cannot nest, are asynchronous ones. `load` gives back the same trace, with the samples of the machine
        and the bookmarks of the timeline. The text of your code is not in it: `save` keeps that. Of a reduced profile
        it has what the timeline shows: the steps of each host, what they were made of, and its longest events.

        Args:
            path: of the file, such as `trace.json.gz`. With `.gz` at its end it is compressed, to about a tenth; all of
                these read that too.

        Examples:
            >>> path = prof.to_chrome_trace(folder / "trace.json.gz")
            >>> tfprof.load(path).trace.n_events == prof.trace.n_events
            True
        """
        from .export.chrome import write_chrome_trace

        target, results = Path(path).expanduser(), self.run.results
        with Progress(target.name, unit=" events", total=results.trace.n_events) as bar:
            write_chrome_trace(target, results, saved=self.run.saved_with_trace(), on_events=bar.tell)
        return target

    def to_csv(self, directory: str | Path) -> Path:
        """Write every table as a CSV file, and `index.json`, which names the columns, units and rows of each.

        Of a reduced profile the events are those of its timeline, and the table of single allocations is empty.

        Args:
            directory: where the files go; made where it is not there.
        """
        return self._write_tables(directory, "csv")

    def to_parquet(self, directory: str | Path) -> Path:
        """Write every table as a Parquet file, and `index.json`, as `to_csv` does; needs pyarrow.

        Args:
            directory: where the files go; made where it is not there.
        """
        return self._write_tables(directory, "parquet")

    def _write_tables(self, directory: str | Path, kind: str) -> Path:
        from .export.files import write_tables

        target = Path(directory).expanduser()
        found = {name: make() for name, make in self._table_makers().items()}
        with Progress(target.name, unit=" rows", total=sum(map(len, found.values()))) as bar:
            write_tables(target, found, kind=kind, on_rows=bar.tell)
        return target

    def _table_makers(self) -> dict[str, Callable[[], pd.DataFrame]]:
        from .export.files import table_makers

        return {**table_makers(self.run.results), "system_findings": lambda: self.system_findings}

    def to_pprof(self, /, path: str | Path, view: Structure = "code", **options: Any) -> Path:
        """Write the costs by call stack as a file for pprof, speedscope and other viewers of flame graphs.

        The format is pprof's `profile.proto`, compressed. Each sample is a node of `tree(view, ...)` with `micros`,
        `accelerator_micros` (both whole microseconds) and `bytes`, and what else `select` names; viewers show the first
        figure that it names, else `micros`. The sums are the totals of the tree's root: what options hide counts at
        what is shown around it. In the code view ops without a known call stack are at `<no call stack>`; of files of
        TensorFlow 1 they are left out, as in `tree`, and a comment in the file counts them.

        Args:
            path: of the file, such as `costs.pb.gz`; compressed whatever its name.
            view: what a stack is: `"code"` Python's, with file and line; `"scope"` the parts of the name scope;
                `"graph"` the ops that it feeds; `"op"` the op type alone.
            options: those of `tree`; but `max_depth` is 100 in the graph view and has no limit in the others.
                `select=("device", "op_types")` become labels of the samples.
        """
        from .export.pprof import write_pprof

        return write_pprof(self.run.results, path, view, options)

    def save(self, directory: str | Path) -> Path:
        """Keep the profile in a directory, which `load` opens and TensorBoard shows as a log directory.

        Each run of the profiler becomes `plugins/profile/<run>` with its `<host>.xplane.pb` files, unpacked, and what
        was noted of source lines, which holds the text of your cells and files. `tfprof.profile.json` beside `plugins`
        keeps the samples of the machine, the notices of the capture and the bookmarks of the timeline. A Chrome trace
        stays one, which `load` reads, TensorBoard does not, and a warning says so.

        Args:
            directory: where the profile goes; made where it is not there. Other runs in it stay.

        Examples:
            >>> kept = prof.save(folder / "kept")
            >>> tfprof.load(kept).steps.equals(prof.steps)
            True
        """
        from .export.files import save_runs

        self.run.write_program()
        return save_runs(Path(directory).expanduser(), self.run.opened, self.run.saved_now())

    def report(self, path: str | Path | None = None) -> str:
        """The profile as Markdown that a person or a language model can act on: verdict, evidence, fixes, tables, limits.

        What to change comes first, then the top of each table with the call that gives all of it, then what the capture
        cost, what it could not show, and how to record that. It has at most 20 kB, whatever the trace holds, and quotes
        lines of your code where they are known.

        Args:
            path: of a file to write as well; None for none.

        Returns:
            The Markdown.

        Examples:
            >>> text = prof.report(folder / "report.md")
            >>> text.startswith("# ")
            True
        """
        from .export.document_tables import write_report

        return write_report(self.run.subject(), path)

    def text(self) -> str:
        """The profile in some thirty lines of text, as a terminal shows it. `report()` says more, as Markdown.

        Examples:
            >>> "ms a step" in prof.text()
            True
        """
        from .export.text import summarize

        cost, run = self.cost, self.run
        spent = None if cost is None else (cost.start_s, cost.stop_s, cost.n_bytes)
        return summarize(run.results, title=run.title, notices=run.notices, spent=spent, since_last=run.since_last)

    def tree_text(self, /, view: Structure = "scope", **options: Any) -> str:
        """The table of `tree` as the text that tfprof printed: a legend, and a line for each node, indented by depth.

        Without `select` a line has the times: `dense/MatMul (12us/84.19ms, 0us/0us, 12us/84.19ms)`, of the node itself
        and with all below it: in all, on the accelerator, and on the CPU. Without `max_depth` it goes 100 levels deep,
        and its last line says of how many nodes it shows how many. `view`, `options` and errors are those of `tree`.
        """
        from .export.text import graph_text

        return graph_text(self.run.results.op_graph, view, options)

    def __reduce__(self) -> tuple[Callable[..., Profile], tuple[dict[str, bytes], str]]:
        """Pickle it as the files that `save` writes, from which the copy is read."""
        if not self.run.results.has_events:
            raise TfProfError("a reduced profile cannot be pickled: pickle the path of its files, and load that")
        with tempfile.TemporaryDirectory() as folder:
            files = [file for file in self.save(folder).rglob("*") if file.is_file()]
            return _from_files, ({file.relative_to(folder).as_posix(): file.read_bytes() for file in files}, self.title)

    def __repr__(self) -> str:
        if not self.run.has_ended:
            return "<Profile: capture still running>"
        try:
            n, average_ms = self.overview.n_steps, self.overview.step_time_avg_ms
            steps = f"{plural(n, 'step')}, {average_ms:.3g} ms a step" if n else "no steps"
            steps = steps if self.memory_failure is None else "out of memory"
            environment = self.overview.environment
            reduced = f"reduced, {plural(len(environment.hosts), 'host')}, " if not self.run.results.has_events else ""
            return f"<Profile {self.title}: {reduced}{steps}, {plural(environment.n_events, 'event')}>"
        except TfProfError as error:
            return f"<Profile {self.title}: {error}>"

    def _display_(self) -> object:
        """What marimo shows."""
        return displayed(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        if not self.run.has_ended:
            return {"text/plain": repr(self)}
        return output_of(self, WithoutWidgets(self.text, self._plain_html, self._page), name="dashboard")

    def _plain_html(self) -> str:
        """The verdict, a bar of the step and the top of some tables as HTML that needs no script."""
        from .export.document import Subject
        from .export.document_tables import profile_html

        run = self.run
        return profile_html(Subject(results=run.results, notices=run.notices, since_last=run.since_last))


def _from_files(files: Mapping[str, bytes], title: str) -> Profile:
    """The profile of what `Profile.save` wrote, by path in its folder; they stay on disk for the life of this process."""
    from .read.opening import open_traces
    from .trace.scratch import process_folder

    folder = Path(tempfile.mkdtemp(dir=process_folder(sum(map(len, files.values())))))
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return Profile(lambda: open_traces(folder), title=title)
