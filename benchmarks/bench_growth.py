"""Captures in which one quantity is ten times another's -> what an event costs us in each, and by how much that grows.

Of each capture the best of some rounds, each in a process of its own, as in `measure.py`: the processor's time of all
threads (what else runs on the machine adds less to it than to the clock's), the clock's time in all, and the peak of memory
above what imports take; each divided by the number of events. Except for the events themselves, what is done in all is the
same on both sides (`make_foreign.py`), so that a quantity without a cost of its own has a ratio of 1; below 1, its fixed
costs are spread over more events. What has a cost of its own, as names do, has a ratio above 1 where most events bring a new
one: of it the table tells what each one more costs, as many as the capture really holds, and by how much that grows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import bench_load
import captures
from table import bytes_text, count_text, three_digits

EVENTS = (10_000, 100_000, 1_000_000, 10_000_000)
GROWN = {
    "pipelines": (17, 174),
    "tiny_steps": (500, 5_000),
    "python_stacks": (50, 500),
    "op_names": (1_000, 10_000, 100_000),
    "hlo_instructions": (5_000, 50_000),
    "kernels": (3_000, 30_000, 300_000),
    "lines": (100, 1_000),
}
"""The sizes of each kind, each ten times another."""
COUNTED = {
    "op_names": "n_names",
    "kernels": "n_names",
    "hlo_instructions": "n_instructions",
    "lines": "n_lines",
}
"""What of a result tells how many a capture really holds; elsewhere it is the size."""
TITLES = {"tiny_steps": "steps", "python_stacks": "nested frames", "lines": "threads", "op_names": "op names"}
HEAD = [
    "quantity",
    "size",
    "there",
    "events",
    "load",
    "tables",
    "payload",
    "all three",
    "each one more",
    "on the clock",
    "memory",
]
_N_SMALL = 1_000_000
"""Of captures of fewer events the best of several rounds counts: they are over in a moment."""
_NOISE = 1.05
"""Times do not differ by less than this from one run to the next."""


@dataclass(frozen=True)
class Cost:
    """What one event costs, in microseconds and bytes."""

    n_items: int
    """How many of a quantity the capture holds."""
    n_events: int
    load_us: float
    tables_us: float
    payload_us: float
    clock_us: float
    memory_bytes: float

    @property
    def figures(self) -> tuple[float, ...]:
        """In the order of the table."""
        return (self.load_us, self.tables_us, self.payload_us, self.all_us, self.clock_us, self.memory_bytes)

    @property
    def all_us(self) -> float:
        """Load, tables and payload."""
        return self.load_us + self.tables_us + self.payload_us


def table(*, n_rounds: int = 1, most_events: int = EVENTS[-1]) -> list[list[str]]:
    """Header and a row a capture; in brackets how many times as much as that of the capture above it."""
    rows = [HEAD]
    for kind, sizes in _quantities(most_events):
        title = TITLES.get(kind, kind.replace("_", " "))
        before: Cost | None = None
        more_us = 0.0
        for size, capture in sizes.items():
            print(f"{title}, {size:,} ...", file=sys.stderr, flush=True)
            try:
                cost = _cost(capture(), n_rounds, kind, size)
            except (RuntimeError, FileNotFoundError) as error:
                print(f"{title}, {size:,}: {error}", file=sys.stderr)
                continue
            cells = _cells(cost, before)
            was_us, more_us = more_us, _one_more_us(cost, before) if before else 0.0
            cells.insert(-2, _told(f"{three_digits(more_us)} us", more_us, was_us) if more_us else "")
            rows.append([title, *map(count_text, (size, cost.n_items, cost.n_events)), *cells])
            before = cost
    return rows


def _quantities(most_events: int) -> Iterator[tuple[str, dict[int, Callable[[], Path]]]]:
    yield "events", {n: partial(_capture_of, n) for n in EVENTS if n <= most_events}
    for kind, sizes in GROWN.items():
        yield kind, {size: partial(captures.foreign_capture, kind, size) for size in sizes}


def _capture_of(n_events: int) -> Path:
    return captures.capture_of(n_events).file


def _cost(file: Path, n_rounds: int, kind: str, size: int) -> Cost:
    result = _best(file, 1)
    if result["n_events"] < _N_SMALL and n_rounds > 1:
        result = _best(file, n_rounds)
    n_events, seconds = result["n_events"], dict(result["cpu_seconds"])
    load, payload = seconds.pop("load"), seconds.pop("first payload")
    return Cost(
        n_items=result[COUNTED[kind]] if kind in COUNTED else size,
        n_events=n_events,
        load_us=1e6 * load / n_events,
        tables_us=1e6 * sum(seconds.values()) / n_events,
        payload_us=1e6 * payload / n_events,
        clock_us=1e6 * sum(result["seconds"].values()) / n_events,
        memory_bytes=(result["peak_bytes"] - result["imports_bytes"]) / n_events,
    )


def _best(file: Path, n_rounds: int) -> dict[str, Any]:
    best = bench_load.best([bench_load.measured("ours", file) for _ in range(n_rounds)])
    if best.problem:
        raise RuntimeError(best.problem)
    return best.result


def _cells(cost: Cost, before: Cost | None) -> list[str]:
    words = [*[lambda value: f"{three_digits(value)} us"] * (len(cost.figures) - 1), bytes_text]
    old = before.figures if before else [None] * len(words)
    return [_told(word(value), value, was) for word, value, was in zip(words, cost.figures, old, strict=True)]


def _told(text: str, value: float, was: float | None) -> str:
    """A figure, and how many times as much as before it is."""
    return f"{text} ({value / was:.2g})" if was else text


def _one_more_us(cost: Cost, before: Cost) -> float:
    """What one more of a quantity costs, where events are as many; 0 where it costs less than noise."""
    if abs(cost.n_events - before.n_events) > 0.05 * cost.n_events or cost.all_us < _NOISE * before.all_us:
        return 0.0
    return (cost.all_us - before.all_us) * cost.n_events / (cost.n_items - before.n_items)
