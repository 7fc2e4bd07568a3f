"""Tables: what one profile says in numbers, most of it as tables; computed when first asked for, and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.advice.advice import Advice
    from ..analysis.cluster.merged_memory import ReducedMemory
    from ..analysis.input.input_pipeline import InputPipeline
    from ..analysis.memory.memory import MemoryProfile
    from ..analysis.overview.overview import Overview
    from ..analysis.selection import OpRows
    from ..analysis.tree.tree_options import TreeView
    from ..trace.trace import Trace
    from .run import Run


class Tables:
    """The tables of a run. Each has its columns also where it has no rows."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def trace(self) -> Trace:
        """All events as one columnar table.

        Raises:
            TraceError: the captured file cannot be read.
            CaptureError: the capture has not ended yet.
        """
        return self._run.results.trace

    @property
    def events(self) -> pd.DataFrame:
        """One row per event: `plane, line, name, start_ns, duration_ns, self_ns, depth, step`; in the order of `trace`.

        Times are in ns, `start_ns` after the trace origin, with the ps behind the point; `step` is a row of `steps`, -1 for
        none. Empty where the trace holds no event.
        """
        return self._run.results.events

    @property
    def flows(self) -> pd.DataFrame:
        """One row per event that made another start: `kind, from_event, to_event, from_name, to_name, delay_ns`; the events
        are rows of `events`, the kinds `launch`, `producer`, `pool`, `tf_data` and `send_recv`. Empty where none did."""
        from ..analysis.timeline.flows import flow_table

        return flow_table(self.trace, self._run.results.flows)

    @property
    def steps(self) -> pd.DataFrame:
        """One row per training step, by start: `step, name, host, start_ms, step_time_ms`, a column in ms for each category
        (they add up to the step time), `source` (`marker` or `inferred`) and more, see `Steps.frame`; empty without steps."""
        return self._run.results.step_frame

    @property
    def ops(self) -> pd.DataFrame:
        """One row per op, those of devices before those of the host, most self time first; without idle time.

        Times are in us, over all threads and streams; the two ratios are of the self time of the
        side (`device` is `Device` or `Host`), in [0, 1]. Empty when no op ran.
        """
        return self._run.results.ops

    def op_statistics(self, *, by: OpRows = "op", idle: bool = False) -> pd.DataFrame:
        """The op statistics as a whole.

        Args:
            by: `"op"` for the columns of `ops`, `"type"` for one row per op type: `n_ops` in place of `name`.
            idle: add a row `IDLE` for the time in which threads and devices ran no op; ratios then include it.

        Raises:
            ValueError: `by` is neither.
        """
        from ..analysis.selection import Selection

        return Selection(self._run.results, None, ()).op_statistics(by=by, idle=idle)

    @property
    def kernels(self) -> pd.DataFrame:
        """One row per kernel, its launch configuration and the op that launched it, most total time first; times in us.
        Empty when nothing ran on a GPU."""
        return self._run.results.kernels.frame

    @property
    def hlo_ops(self) -> pd.DataFrame:
        """One row per op of an XLA program, most self time first; times in us, `source` is `file:line`. Empty
        when no compiled program ran."""
        return self._run.results.hlo_ops.frame

    @property
    def layers(self) -> pd.DataFrame:
        """Time (us) and memory (bytes) by Keras layer; loss, optimizer, input and all else have rows of their own, so the
        shares of a side add up to 1. See `Layers.frame`. Empty when no op ran."""
        return self._run.results.layers.frame

    @property
    def source_lines(self) -> pd.DataFrame:
        """Op time (us) by line of your code; what no line can be charged with has named rows, so the shares of a side add up
        to 1. See `SourceLines.frame`. Empty when no op ran."""
        return self._run.results.source_lines.frame

    @property
    def scopes(self) -> pd.DataFrame:
        """Op time (us) by name scope, as a tree: one row per scope, the root first. See `Scopes.frame`. Empty
        when no op ran."""
        return self._run.results.scopes.frame

    @property
    def memory(self) -> MemoryProfile | ReducedMemory:
        """Allocations by allocator: `.summary`, `.timeline(allocator)`, `.peak(allocator)`; `.allocators` is empty where none
        was recorded, as on a CPU without `TF_CPU_ALLOCATOR_USE_BFC=true`."""
        return self._run.results.memory

    @property
    def input_pipeline(self) -> InputPipeline:
        """What tf.data did: `.verdict`, `.bottleneck`, `.suggestion`, `.hosts`, `.pipelines`, `.iterators`, `.steps`, `.ops`,
        `.categories`, and `.execution(pipeline, rank)` for one call of a pipeline. Its tables are empty without tf.data."""
        return self._run.results.input_pipeline

    @property
    def overview(self) -> Overview:
        """Step time (ms), breakdown, verdict, environment and top ops; without steps its times are 0 and its verdict says why."""
        return self._run.results.overview

    @property
    def advice(self) -> list[Advice]:
        """What to change, the largest gain first, single slow steps of unknown cause last: each `Advice` has numbers, a fix to
        paste, what to select, and the share of the step time that it could win at most. Empty where nothing is wrong, or nothing
        can be judged.

        A reduced profile has the advice on each of its hosts that train, merged: what was found on several is said once, as it
        is on the host where it costs most, with the number of hosts; its share is of the step time of all of them, and below
        5 % of that it is left out. `prof.host(name).advice` is the advice on one host."""
        return list(self._run.results.advice)

    @property
    def advice_table(self) -> pd.DataFrame:
        """The same as a table, one row per advice in that order: `rule, severity, title, gain_ratio, fix, view`."""
        from ..analysis.advice.engine import advice_table

        return advice_table(self._run.results.advice)

    @property
    def counters(self) -> pd.DataFrame:
        """What rose and fell, one row per change: `counter, unit, time_ms, value`; by counter, then time.

        Bytes in use of each allocator, buffers of tf.data iterators, counters that a device recorded, and the samples of
        `system`, totals as rates. A value holds until the next one of its counter.
        """
        return self._run.results.counters.frame

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

        return build_tree(self._run.results.op_graph, view, make_tree_options(**options)).frame

    @property
    def variables(self) -> pd.DataFrame:
        """The variables of the program; see `compute_variables`."""
        return self._run.results.variables

    @property
    def workers(self) -> pd.DataFrame:
        """One row per step that all hosts share and per host, by step, with the columns of `steps` and two more, see
        `Workers.frame`; empty without steps."""
        return self._run.results.workers.frame

    @property
    def stragglers(self) -> pd.DataFrame:
        """One row per host that holds the others up, the costliest first: `host, category, n_steps, n_aligned, excess_ms,
        cost_ms, cost_ratio`; see `compute_stragglers`. Empty where hosts are even, and with fewer than two."""
        return self._run.results.stragglers

    @property
    def communication(self) -> pd.DataFrame:
        """One row per host, kind and name of what was exchanged: `host, kind, name, occurrences, total_time_us,
        exposed_time_us, overlap_ratio, time_ratio, bytes, type`; see `compute_communication`. Hosts that train come first,
        then parameter servers and coordinators; the most exposed time leads each part."""
        return self._run.results.communication
