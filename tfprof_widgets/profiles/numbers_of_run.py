"""Numbers: what one run tells in numbers, as tables that take a choice and as results that hold several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.advice.advice import Advice
    from ..analysis.cluster.merged_memory import ReducedMemory
    from ..analysis.graph.options import TreeView
    from ..analysis.input.input_pipeline import InputPipeline
    from ..analysis.memory.memory import MemoryProfile
    from ..analysis.overview.overview import Overview
    from ..analysis.roofline.roofline import RooflineRows
    from ..analysis.selection import OpRows
    from ..trace.trace import Trace
    from .run import Run


class Numbers:
    """The numbers of a run that are no plain table of its results."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def trace(self) -> Trace:
        """All events as arrays, for code that needs more than the table `events`, such as the stats of an event.

        Raises:
            CaptureError: the capture has not ended yet.
            TraceError: the captured file cannot be read.
        """
        return self._run.results.trace

    @property
    def flows(self) -> pd.DataFrame:
        """Empty where no event made another start. The kinds: `launch` leads from the call that enqueued a kernel or
        a copy to its run on the device, `producer` and `pool` from who handed work on to the thread that did it, `tf_data`
        from a stage that made an element to the stage that took it, `send_recv` from the device that sent a tensor to the
        one that got it.
        """
        from ..analysis.timeline.flows import flow_table

        return flow_table(self._run.results.trace, self._run.results.flows)

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

        return Selection(self._run.results, None, ()).op_statistics(by=by, idle=idle)

    @property
    def roofline(self) -> pd.DataFrame:
        """How close each GPU op comes to what its device could do: `roof_ratio` is the part of the peak that it reaches.
        Float operations and bytes come from the compiler where it tells them, else from shapes, or from the graph where
        the capture noted it. Empty without a GPU, and where the trace names no op.

        Raises:
            TfProfError: the profile is reduced (`is_reduced`): it has no single executions. `prof.host(name).roofline`
                has those of one host.
        """
        return self._run.whole("roofline").roofline.frame

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
        return self._run.whole("roofline").roofline.by(by)

    @property
    def program_memory(self) -> pd.DataFrame:
        """What XLA planned to keep in the memory of each compiled program. TensorFlow's allocator sees such a program as
        one buffer of an unknown op; here are the buffers inside, at the moment when the program holds most. Empty where
        no compiled program ran, or where the trace does not hold its buffers.

        Raises:
            TfProfError: the profile is reduced (`is_reduced`). `prof.host(name).program_memory` has that of one host.
        """
        return self._run.whole("memory of compiled programs").program_memory

    @property
    def memory(self) -> MemoryProfile | ReducedMemory:
        """The memory that TensorFlow's allocators gave, in bytes: a `MemoryProfile`.

        `.summary` has a row for each allocator, `.timeline(allocator)` every allocation, `.peak()` who held the memory
        at the peak of the main one, `.growth(allocator)` whether it leaks. All is empty where none was recorded, as on a
        CPU without `TF_CPU_ALLOCATOR_USE_BFC=true`; `.remedy` then says what to do. A reduced profile (`is_reduced`) has a
        `ReducedMemory`, without single allocations.

        Examples:
            >>> who = prof.memory.peak()
        """
        return self._run.results.memory

    @property
    def input_pipeline(self) -> InputPipeline:
        """What tf.data did, and whether the training waited for it: an `InputPipeline`.

        `.verdict` is a sentence, `.input_ratio` the share of the step time spent waiting, `.bottleneck` the iterator
        that holds the training up, `.suggestion` what to change. Its tables are empty where tf.data did nothing.

        Examples:
            >>> prof.input_pipeline.bottleneck
            'Iterator::Root::Prefetch::MapAndBatch'
        """
        return self._run.results.input_pipeline

    @property
    def overview(self) -> Overview:
        """The figures that you want first: step time in ms, what it is made of, what limits it, the machine. An
        `Overview`.

        Without steps its times are 0, and its `verdict` says why.

        Examples:
            >>> prof.overview.step_time_avg_ms > 0
            True
        """
        return self._run.results.overview

    @property
    def advice(self) -> list[Advice]:
        """What to change, as a list of `Advice`, the largest gain first.

        Each has the reason with its numbers, what to do, what to select in the views, and the share of the step time
        that it could win. A single slow step whose cause is not known comes last. Empty where nothing is wrong, or
        where nothing can be judged.

        A reduced profile has the advice on each of its hosts that train, merged: what was found on several is told
        once, as it is on the host where it costs most, with the number of hosts. Its share is then of the step time of
        all hosts, and what is below 5 % of that is left out; `prof.host(name).advice` has all of one host.

        Examples:
            >>> for one in prof.advice:
            ...     told = f"{one.severity}: {one.title}"
        """
        return list(self._run.results.advice)

    @property
    def advice_table(self) -> pd.DataFrame:
        """The list `advice` as a table, in the same order. Empty where that is."""
        from ..analysis.advice.engine import advice_table

        return advice_table(self._run.results.advice)

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
        from ..analysis.graph.options import make_tree_options
        from ..analysis.graph.tree import build_tree

        return build_tree(self._run.results.op_graph, view, make_tree_options(**options)).frame
