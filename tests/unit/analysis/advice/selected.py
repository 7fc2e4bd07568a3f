"""What an advice selects -> whether the view that it names has anything of it to show."""

from __future__ import annotations

import numpy as np

from tfprof_widgets.analysis import RULES, VISIBLE, Advice, Analysis, parse_op_names, select

OF_A_PART = frozenset(("graph_loop", "idle_border", "input_competes", "small_batch", "unknown_size"))
"""Rules whose gain is less than that: section 16 of `docs/semantics.md` says why."""


def why_gain_is_not_of_rows(results: Analysis, at: int) -> str:
    """Empty where the gain of an advice is what its fix wins of its rows in the mean or usual step, or less of `OF_A_PART`."""
    one, claimed = results.advice[at], results.claimed
    if claimed is None or not one.gain_ratio or RULES[one.rule].claims in ((), ("compile",)):
        return ""
    rows, own = claimed.rows, claimed.advice == at
    time_ps = results.steps.frame["duration_ps"].to_numpy(np.float64)
    had_ps = np.bincount(rows.step[own], rows.time_ps[own], len(time_ps))
    counts = results.is_averaged | (had_ps > 0)
    had_ps, time_ps = had_ps[counts], time_ps[counts]
    shares = one.claim.won * np.array([had_ps.sum() / time_ps.sum(), np.median(had_ps / time_ps)])
    if one.gain_ratio <= max(shares) + 1e-6 if one.rule in OF_A_PART else np.isclose(one.gain_ratio, shares).any():
        return ""
    return f"{one.gain_ratio} is not of {shares}"


def why_nothing_is_seen(results: Analysis, advice: Advice) -> str:
    """Empty where the view shows what is selected."""
    chosen = advice.selection
    if chosen.step is not None and chosen.step not in results.steps.frame["step"].tolist():
        return f"there is no step {chosen.step}"
    return _IN_VIEW[chosen.view](results, advice)


def _timeline(results: Analysis, advice: Advice) -> str:
    chosen = advice.selection
    unknown = set(chosen.op_names) - set(results.ops["name"]) - set(results.events["name"])
    if unknown or not chosen.time_range_ns:
        return f"no event is named {unknown}" if unknown else "no time is selected"
    low, high = chosen.time_range_ns
    # The timeline shows the step that is selected; without one, all of the capture.
    shown_ns = int(results.trace.end_ps.max()) / 1e3
    if chosen.step is not None:
        shown_ns = float(results.steps.frame["duration_ps"].iloc[chosen.step]) / 1e3
    return "" if high - low >= VISIBLE * shown_ns else f"{high - low} of {shown_ns} ns are not to be seen"


def _op_table(results: Analysis, advice: Advice) -> str:
    chosen = advice.selection
    within = select(results, time_range_ns=chosen.time_range_ns or None, step=None, ops=None).ops
    return "" if chosen.op_names and set(chosen.op_names) <= set(within["name"]) else "these ops have no rows"


def _kernel_table(results: Analysis, advice: Advice) -> str:
    chosen, trace, kernels = advice.selection, results.trace, results.kernels
    low, high = (1_000 * t for t in chosen.time_range_ns)
    runs = kernels.run_event[(trace.start_ps[kernels.run_event] < high) & (trace.ends(kernels.run_event) > low)]
    if not len(runs):
        return "no kernel ran then"
    unknown = set(chosen.op_names) - set(kernels.frame["op_name"])
    return f"no kernel is of {unknown}" if unknown else ""


def _input_graph(results: Analysis, advice: Advice) -> str:
    events = [name for names in results.tf_data.iterators["event_names"] for name in names]
    known = {*events, *parse_op_names(events).name}
    return "" if known & set(advice.selection.op_names) else "no iterator is selected"


def _step_chart(_results: Analysis, advice: Advice) -> str:
    return "" if advice.selection.step is not None else "no step is selected"


def _worker_chart(results: Analysis, advice: Advice) -> str:
    return "" if len(results.workers.hosts) > 1 else "there is one worker"


def _source_view(results: Analysis, advice: Advice) -> str:
    known = results.source_map is not None and len(results.source_map.samples) > 0
    return "" if known and advice.evidence.get("line") else "no line is known"


def _memory_timeline(results: Analysis, advice: Advice) -> str:
    chosen, snapshots = advice.selection, results.memory.snapshots
    low, high = (1_000 * t for t in chosen.time_range_ns or (0, 2**50))
    if not ((snapshots.time_ps >= low) & (snapshots.time_ps <= high)).any():
        return "no memory event is in the range"
    known = set(results.ops["name"]) | {results.memory.strings[i] for i in np.unique(snapshots.op[snapshots.op >= 0])}
    return "" if set(chosen.op_names) <= known else "these ops allocate nothing"


_IN_VIEW = {
    "timeline": _timeline,
    "op_table": _op_table,
    "kernel_table": _kernel_table,
    "input_graph": _input_graph,
    "step_chart": _step_chart,
    "worker_chart": _worker_chart,
    "source_view": _source_view,
    "memory_timeline": _memory_timeline,
}
