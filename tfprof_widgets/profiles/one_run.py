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
from .numbers_of_run import Numbers
from .run import Run
from .widgets import Widgets

if TYPE_CHECKING:
    from ..opening.many_hosts import ReducedHosts
    from ..opening.opened import Opened


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
        self._numbers = Numbers(self.run)
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

    # ---- numbers ----------------------------------------------------------------------------------------------------

    trace = property_of("_numbers", Numbers.trace)
    events = table_at(
        "run.results.events",
        "Times are nanoseconds after the trace origin; `self_ns` is the duration without the events nested "
        "inside. Empty where the trace holds no event.",
    )
    flows = property_of("_numbers", Numbers.flows)
    steps = table_at(
        "run.results.step_frame",
        "The columns from `device_compute_ms` to `other_ms` add up to `step_time_ms`: each moment of a step "
        "counts once. `source` tells a step that was marked (by "
        "Keras, `trace_steps` or `step`) from one that was found by what repeats. The first step of a "
        "function traces and compiles: `overview` leaves such a step out of its averages. Empty where no step "
        "was marked or found.",
    )
    step_guide = table_at(
        "run.results.step_guide",
        "These are the categories of XProf's overview page, for who compares with it; `steps` tells more "
        "exactly where the time goes. Empty where `steps` is.",
    )
    idle = table_at(
        "run.results.idle",
        "Within a step the causes add up to what `steps` has of them, for each device. Empty where nothing "
        "ran on a device, and in a reduced profile (`is_reduced`): `prof.host(name).idle` has that of one "
        "host.",
    )
    kernel_launches = table_at(
        "run.results.kernel_launches",
        "Launching a kernel takes the host some microseconds. Where `starved_ratio` is high the device waits "
        "for that: kernels are too small, or too many. Empty where nothing ran on a GPU, and in a reduced "
        "profile.",
    )
    ops = table_at(
        "run.results.ops",
        "Times are microseconds over the whole capture; self time is without the ops that ran inside. Idle "
        "time has no row: `op_statistics(idle=True)` adds it. Empty where no op ran.",
    )
    op_statistics = method_of("_numbers", Numbers.op_statistics)
    kernels = table_at(
        "run.results.kernels.frame",
        "Times are microseconds on the device over the whole capture. Empty where nothing ran on a GPU.",
    )
    copies = table_at(
        "run.results.copies",
        "Hidden time runs beside a kernel of the same device, exposed time does not: only that makes the "
        "training longer. Empty where no GPU copied anything.",
    )
    roofline = property_of("_numbers", Numbers.roofline)
    roofline_by = method_of("_numbers", Numbers.roofline_by)
    hlo_ops = table_at(
        "run.results.hlo_ops.frame",
        "These are the ops that XLA compiled, as of `jit_compile=True`; times are microseconds over the whole "
        "capture. `hlo_graph(name)` has what a fusion is made of. Empty where no compiled program ran.",
    )
    program_memory = property_of("_numbers", Numbers.program_memory)
    hlo_graph = method_of("run", Run.hlo_graph)
    layers = table_at(
        "run.results.layers.frame",
        "Times are self times of the ops of a layer, in microseconds over the whole capture; gradients count "
        "as its backward time. Loss, optimizer, input and what belongs to no layer have rows of their own, so "
        "that the rows of a side add up to all ops of it. Empty where no op ran.",
    )
    source_lines = table_at(
        "run.results.source_lines.frame",
        "Times are self times of the ops that a line made, in microseconds over the whole capture; gradients "
        "count for their forward line. What no line can be charged with has a row with a name in `bucket`, so "
        "that the rows of a side add up to all ops of it. Empty where no op ran.",
    )
    scopes = table_at(
        "run.results.scopes.frame",
        "A gradient counts for the scope of its forward op, so that a layer is one scope. Times are "
        "microseconds over the whole capture. Empty where no op ran.",
    )
    memory = property_of("_numbers", Numbers.memory)
    input_pipeline = property_of("_numbers", Numbers.input_pipeline)
    overview = property_of("_numbers", Numbers.overview)
    advice = property_of("_numbers", Numbers.advice)
    advice_table = property_of("_numbers", Numbers.advice_table)
    counters = table_at(
        "run.results.counters.frame",
        "Counters are the bytes in use of allocators, the elements in buffers of tf.data, what devices "
        "recorded, and the samples of `system`, whose totals are told as rates. Empty where there are none.",
    )
    tree = method_of("_numbers", Numbers.tree)
    variables = table_at(
        "run.results.variables",
        "The weights of Keras models come in the order of their layers, then other variables. What an "
        "optimizer or a metric keeps for itself is left out, so that `n_params` adds up to "
        "`model.count_params()`. Empty where the capture did not note them, as in traces of other tools.",
    )
    workers = table_at(
        "run.results.workers.frame",
        "Steps of all hosts that train are lined up, so that one number in `step` is one step of the whole "
        "training. Parameter servers and coordinators have no rows. Empty where there are no steps.",
    )
    stragglers = table_at(
        "run.results.stragglers",
        "A host is one where its own time, without waiting for others, exceeds the median of the other hosts "
        "by more than chance explains, and that costs them 1 % of the step time or more. Of several, each "
        "costs what it would if it were alone. Empty where hosts are even, where none waits for an exchange, "
        "with fewer than two hosts, or fewer than three steps.",
    )
    communication = table_at(
        "run.results.communication",
        "Exposed time is the part in which nothing computed meanwhile: only that makes the training longer. "
        "Hosts that train come first, then parameter servers and coordinators. Empty where nothing was "
        "exchanged.",
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
