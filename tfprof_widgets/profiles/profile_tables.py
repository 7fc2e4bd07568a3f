"""ProfileTables: the numbers of one run, each a table or a result that holds some, computed when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .forwarding import method_of, table_at
from .run import Run

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
    from ..trace.trace import Trace


class ProfileTables:
    """What a `Profile` tells in numbers, read from its `run`."""

    run: Run

    @property
    def trace(self) -> Trace:
        """All events as arrays, for code that needs more than the table `events`, such as the stats of an event.

        Raises:
            CaptureError: the capture has not ended yet.
            TraceError: the captured file cannot be read.
        """
        return self.run.results.trace

    events = table_at(
        "run.results.events",
        "Times are nanoseconds after the trace origin; `self_ns` is the duration without the events nested "
        "inside. Empty where the trace holds no event.",
    )

    @property
    def flows(self) -> pd.DataFrame:
        """Empty where no event made another start. The kinds: `launch` leads from the call that enqueued a kernel or
        a copy to its run on the device, `producer` and `pool` from who handed work on to the thread that did it, `tf_data`
        from a stage that made an element to the stage that took it, `send_recv` from the device that sent a tensor to the
        one that got it.
        """
        from ..analysis.timeline.flows import flow_table

        return flow_table(self.trace, self.run.results.flows)

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

    def op_statistics(self, *, by: OpRows = "op", idle: bool = False) -> pd.DataFrame:
        """The table `ops`, for op types instead of ops, or with idle time.

        Args:
            by: `"op"` has the columns of `ops`; `"type"` has one row for each op type, such as `MatMul`, with `n_ops`
                in place of `name`.
            idle: add rows of type `IDLE`: the time in which threads or devices ran no op. All ratios then include it.

        Returns:
            Times are microseconds over the whole capture. Empty where no op ran.

        Raises:
            ValueError: `by` is neither.

        Examples:
            >>> prof.op_statistics(by="type")["type"].iloc[0]
            'Dataset'
        """
        from ..analysis.selection import Selection

        return Selection(self.run.results, None, ()).op_statistics(by=by, idle=idle)

    kernels = table_at(
        "run.results.kernels.frame",
        "Times are microseconds on the device over the whole capture. Empty where nothing ran on a GPU.",
    )
    copies = table_at(
        "run.results.copies",
        "Hidden time runs beside a kernel of the same device, exposed time does not: only that makes the "
        "training longer. Empty where no GPU copied anything.",
    )

    @property
    def roofline(self) -> pd.DataFrame:
        """How close each GPU op comes to what its device could do: `roof_ratio` is the part of the peak that it reaches.
        Float operations and bytes come from the compiler where it tells them, else from shapes, or from the graph where
        the capture noted it. Empty without a GPU, and where the trace names no op.

        Raises:
            TfProfError: the profile is reduced (`is_reduced`): it has no single executions. `prof.host(name).roofline`
                has those of one host.
        """
        return self.run.whole("roofline").roofline.frame

    def roofline_by(self, by: RooflineRows) -> pd.DataFrame:
        """The table `roofline` for other rows than ops.

        Args:
            by: `"op"` is `roofline` itself; `"kernel"` has the rows of `kernels`; `"layer"` has Keras layers; `"step"`
                has the rows of `steps`, with the float operations of a step over its whole time as `mfu_ratio`, which
                is NaN where they or the peaks for them are known of less than 90 % of its time on devices.

        Returns:
            Empty where `roofline` is.

        Raises:
            ValueError: `by` is none of them.
            TfProfError: the profile is reduced, as of `roofline`.
        """
        return self.run.whole("roofline").roofline.by(by)

    hlo_ops = table_at(
        "run.results.hlo_ops.frame",
        "These are the ops that XLA compiled, as of `jit_compile=True`; times are microseconds over the whole "
        "capture. `hlo_graph(name)` has what a fusion is made of. Empty where no compiled program ran.",
    )

    @property
    def program_memory(self) -> pd.DataFrame:
        """What XLA planned to keep in the memory of each compiled program. TensorFlow's allocator sees such a program as
        one buffer of an unknown op; here are the buffers inside, at the moment when the program holds most. Empty where
        no compiled program ran, or where the trace does not hold its buffers.

        Raises:
            TfProfError: the profile is reduced (`is_reduced`). `prof.host(name).program_memory` has that of one host.
        """
        return self.run.whole("memory of compiled programs").program_memory

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

    @property
    def memory(self) -> MemoryProfile | ReducedMemory:
        """The memory that TensorFlow's allocators gave, in bytes: a `MemoryProfile`.

        `.summary` has a row for each allocator, `.timeline(allocator)` every allocation, `.peak(allocator)` who held
        the memory at the peak, `.growth(allocator)` whether it leaks. `.allocators` is empty where none was recorded,
        as on a CPU without `TF_CPU_ALLOCATOR_USE_BFC=true`; `.remedy` then says what to do. A reduced profile
        (`is_reduced`) has a `ReducedMemory`, without single allocations.

        Examples:
            >>> for allocator in prof.memory.allocators:
            ...     who = prof.memory.peak(allocator)
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
        return self.run.results.input_pipeline

    @property
    def overview(self) -> Overview:
        """The figures that you want first: step time in ms, what it is made of, what limits it, the machine. An
        `Overview`.

        Without steps its times are 0, and its `verdict` says why.

        Examples:
            >>> prof.overview.step_time_avg_ms > 0
            True
        """
        return self.run.results.overview

    @property
    def advice(self) -> list[Advice]:
        """What to change, as a list of `Advice`, the largest gain first.

        Each has the reason with its numbers, code to paste, what to select in the views, and the share of the step time
        that it could win. A single slow step whose cause is not known comes last. Empty where nothing is wrong, or
        where nothing can be judged.

        A reduced profile has the advice on each of its hosts that train, merged: what was found on several is told
        once, as it is on the host where it costs most, with the number of hosts. Its share is then of the step time of
        all hosts, and what is below 5 % of that is left out; `prof.host(name).advice` has all of one host.

        Examples:
            >>> for one in prof.advice:
            ...     told = f"{one.severity}: {one.title}"
        """
        return list(self.run.results.advice)

    @property
    def advice_table(self) -> pd.DataFrame:
        """The list `advice` as a table, in the same order. Empty where that is."""
        from ..analysis.advice.engine import advice_table

        return advice_table(self.run.results.advice)

    counters = table_at(
        "run.results.counters.frame",
        "Counters are the bytes in use of allocators, the elements in buffers of tf.data, what devices "
        "recorded, and the samples of `system`, whose totals are told as rates. Empty where there are none.",
    )

    def tree(self, /, view: TreeView = "scope", **options: Any) -> pd.DataFrame:
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

        Raises:
            TypeError: an option that does not exist, or of the wrong type; the message names it.
            ValueError: a view, an order or a figure that does not exist, or a regular expression that is none.

        Examples:
            >>> tree = prof.tree("op", order_by="micros", max_depth=5)
            >>> list(tree.columns[:4])
            ['name', 'depth', 'parent', 'op']
        """
        from ..analysis.tree.tree import build_tree
        from ..analysis.tree.tree_options import make_tree_options

        return build_tree(self.run.results.op_graph, view, make_tree_options(**options)).frame

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
