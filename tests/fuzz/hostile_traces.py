"""A number -> one trace that means harm or is absurd, with a sane track beside; the same every time.

The first traces are the worst of each kind; the others are smaller ones of the same kinds with other choices.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.builders import event, line, plane, session, space
from tests.fuzz import hostile_shapes as shapes
from tests.fuzz import hostile_values as values

N_TRACES = 200
SANE_OP = "sane/dense/MatMul"
SANE_EVENT = f"{SANE_OP}:MatMul"
SANE_LINE = "sane thread"
N_STEPS = 8
STEP_US = 10_000

KINDS: dict[str, Callable[[random.Random, float], bytes]] = {
    "markup everywhere": values.markup_everywhere,
    "absurd times": values.absurd_times,
    "many lines": shapes.many_lines,
    "long strings": shapes.long_strings,
    "deep nesting": shapes.deep_nesting,
    "identical events": shapes.identical_events,
    "stats that are no numbers": values.stats_of_no_number,
    "duplicate ids": values.duplicate_ids,
    "overlapping events": shapes.overlapping_events,
    "empty planes": shapes.empty_planes,
    "thousands of steps": shapes.thousands_of_steps,
    "broken flows": shapes.broken_flows,
    "many names": shapes.many_names,
    "many stats": shapes.many_stats,
    "absurd memory": values.absurd_memory,
    "tangled iterators": values.tangled_iterators,
    "many kernels": values.many_kernels,
    "deep scopes": values.deep_scopes,
    "compiled programs": values.compiled_programs,
    "random fields": values.random_fields,
}
"""By kind what makes its bytes, of random choices and a size from 0 to 1."""


@dataclass(frozen=True)
class HostileTrace:
    number: int
    kind: str
    data: bytes

    @property
    def title(self) -> str:
        return f"{self.number} ({self.kind})"


def hostile_trace(number: int) -> HostileTrace:
    """The trace of this number, 0 to `N_TRACES` - 1."""
    kind = list(KINDS)[number % len(KINDS)]
    rng = random.Random(number)
    size = 1.0 if number < len(KINDS) else rng.random() ** 3
    # Bytes of two messages one after the other are the bytes of both together.
    return HostileTrace(number, kind, KINDS[kind](rng, size) + sane())


def sane() -> bytes:
    """Eight steps of one op, as any capture has them."""
    events = []
    for i in range(N_STEPS):
        at = i * STEP_US
        events += [event("train", at, STEP_US - 500, _r=1, step_num=i), event(SANE_EVENT, at + 2000, 5000)]
    return space(session(duration_us=N_STEPS * STEP_US), plane("/host:CPU", line(SANE_LINE, *events, id=77_777)))
