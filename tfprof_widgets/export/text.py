"""Analysis results -> a summary in some thirty lines of text, for terminals and logs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ..analysis.advice.advice import Advice
from ..analysis.base.units import US_PER_MS
from ..analysis.base.wording import amount, head, number, percent, size, tail
from ..analysis.overview.input_words import input_words
from ..analysis.results import AnyResults

_WIDTH = 96
_BAR = 24
_MOST_CHARACTERS = 300
_N_ADVICE = 3
_N_OPS = 6
_N_LINES = 5
_N_ALLOCATORS = 8


def summarize(
    results: AnyResults,
    *,
    title: str = "",
    notices: Sequence[str] = (),
    spent: tuple[float, float, int] | None = None,
    since_last: str = "",
) -> str:
    """Say how long a step takes, what limits it, what to change, which ops and lines cost most, what memory and input did.

    Args:
        results: the analyses.
        title: of the profile.
        notices: sentences that come first.
        since_last: how the run compares with the last one of its cell.
        spent: seconds to start and to stop the capture and bytes it wrote, where it was captured here.
    """
    failure = results.memory_failure
    overview = results.overview
    known = f"{overview.verdict} {overview.verdict_detail}".rstrip() if failure is None else failure.notice
    lines = [f"tfprof {title}".rstrip(), *(f"! {notice}" for notice in notices if notice != known), ""]
    if since_last and failure is None:
        lines += [since_last, ""]
    parts = (_head, _advice, _breakdown, _ops, _lines, _memory, _input)
    measured = (tell(results) for tell in parts)
    for part in measured if failure is None else (failure.text().splitlines(), [f"  {machine_words(results)}"]):
        told = [*part]
        lines += [*told, ""] if told else []
    if spent is not None:
        start_s, stop_s, n_bytes = spent
        lines.append(
            f"The capture cost {number(start_s * 1e3)} ms to start, {number(stop_s * 1e3)} ms to stop, {size(n_bytes)}."
        )
    return "\n".join(lines).rstrip() + "\n"


def step_words(results: AnyResults) -> str:
    """How long a step takes; "" without steps."""
    overview = results.overview
    if not overview.n_steps:
        return ""
    return (
        f"{number(overview.step_time_avg_ms)} ± {number(overview.step_time_std_ms)} ms a step"
        f"   ({f'{overview.batches}; ' if overview.batches else ''}{overview.n_steps_averaged} of {overview.n_steps} steps"
        f"{', inferred' if overview.is_inferred else ''}; "
        f"{number(overview.step_time_min_ms)} to {number(overview.step_time_max_ms)} ms)"
    )


def machine_words(results: AnyResults) -> str:
    """What it ran on, and how much was captured."""
    environment = results.overview.environment
    return (
        environment.device_type
        + (f" × {environment.n_devices}" if environment.n_devices > 1 else "")
        + f" · {environment.n_events:,} events of {environment.n_threads} threads in {number(environment.captured_ms)} ms"
    )


def _head(results: AnyResults) -> Iterator[str]:
    overview = results.overview
    if overview.n_steps:
        yield step_words(results)
    yield overview.verdict
    if overview.verdict_detail:
        yield f"  {overview.verdict_detail}"
    yield f"  {machine_words(results)}"


def _advice(results: AnyResults) -> Iterator[str]:
    advice = results.advice
    if not advice:
        return
    yield f"What to change: {min(_N_ADVICE, len(advice))} of {len(advice)}"
    for one in advice[:_N_ADVICE]:
        what = f"{one.headline}: " if one.headline else ""
        yield f"  {what}{_saving(one, results.overview.step_time_avg_ms)}, {one.severity}"
        yield from textwrap.wrap(
            head(one.title, _MOST_CHARACTERS), _WIDTH, initial_indent="    ", subsequent_indent="    "
        )


def _saving(advice: Advice, step_ms: float) -> str:
    if advice.gain_ratio <= 0:
        return advice.without_gain
    bound = "up to" if advice.bound == "at most" else "about"
    if advice.share_of != "step":
        time = f" of {'the time captured' if advice.share_of == 'time captured' else 'the time of a sample'}"
    else:
        time = f" ({number(advice.gain_ratio * step_ms)} ms a step)" if step_ms > 0 else ""
    return f"saves {bound} {percent(advice.gain_ratio)}{time}"


def _breakdown(results: AnyResults) -> Iterator[str]:
    overview = results.overview
    if not overview.n_steps:
        return
    yield "A step, on average           ms     %"
    for row in overview.breakdown.to_dict("records"):
        if row["ms"] > 0:
            label = str(row["category"]).replace("_", " ").capitalize()
            yield f"  {label:<20} {number(row['ms']):>9} {percent(row['ratio']):>6}  {_bar(row['ratio'])}"


def _ops(results: AnyResults) -> Iterator[str]:
    of_steps = not results.step_ops.empty
    ops = (
        results.step_ops if of_steps else results.ops.assign(self_time_ms=results.ops["total_self_time_us"] / US_PER_MS)
    )
    if ops.empty:
        return
    top = ops.sort_values("self_time_ms", ascending=False, kind="stable").head(_N_OPS)
    yield f"Ops by self time{' a step' if of_steps else ''}: {len(top)} of {len(ops)}"
    yield f"  {'ms':>9} {'%':>6} {'count':>8}  op"
    for row in top.to_dict("records"):
        op = tail(f"{row['name']} ({row['type']}, {str(row['device']).lower()})", _WIDTH - 30)
        ms, share = number(row["self_time_ms"]), percent(row["self_time_ratio"])
        yield f"  {ms:>9} {share:>6} {amount(row['occurrences']):>8}  {op}"


def _lines(results: AnyResults) -> Iterator[str]:
    frame = results.source_lines.frame
    code = frame[frame["bucket"] == ""]
    if code.empty:
        return
    top = code.sort_values("self_time_us", ascending=False, kind="stable").head(_N_LINES)
    share = code["self_time_us"].sum() / frame["self_time_us"].sum()
    yield f"Lines by self time of their ops: {len(top)} of {len(code)}, {percent(share)} of op time is charged to your code"
    for row in top.to_dict("records"):
        where = f"{PurePath(row['file']).name}:{row['line']}"
        text = f"{where:<16} {str(row['code']).strip()}"
        yield f"  {number(row['self_time_us'] / 1e3):>9} {percent(row['self_time_ratio']):>6}  {text[: _WIDTH - 20]}"


def _memory(results: AnyResults) -> Iterator[str]:
    memory = results.memory
    largest = memory.summary.sort_values("peak_bytes", ascending=False, kind="stable")
    for row in largest.head(_N_ALLOCATORS).to_dict("records"):
        limit = f" of {size(row['capacity_bytes'])}" if row["capacity_bytes"] > 0 else ""
        yield (
            f"Memory {row['allocator']}: peak {size(row['peak_bytes'])}{limit} "
            f"at {number(row['peak_at_ms'])} ms, {_largest_piece(row)}{row['n_allocations']:,} allocations"
        )
        growth = memory.growth(row["allocator"]).sentence
        if growth:
            yield f"  {growth}"
    if len(largest) > _N_ALLOCATORS:
        yield f"  ({_N_ALLOCATORS} of {len(largest)} allocators, those with the highest peaks)"
    if memory.remedy:
        yield from memory.remedy.splitlines()


def _input(results: AnyResults) -> Iterator[str]:
    pipeline = results.input_pipeline
    yield input_words(results.overview, pipeline.verdict)
    if pipeline.bottleneck:
        yield f"  Slowest part: {pipeline.bottleneck}"
    yield from (f"  {line}" for line in pipeline.suggestion.splitlines())


def _largest_piece(row: Mapping[Any, Any]) -> str:
    free, ratio = row["free_bytes"], row["fragmentation_ratio"]
    if math.isnan(ratio) or not free > 0:  # oneDNN's allocator does not tell
        return ""
    return f"largest free piece {size(free * (1 - ratio))} of {size(free)} free, "


def _bar(ratio: float) -> str:
    return "█" * round(min(max(ratio, 0.0), 1.0) * _BAR)
