"""Facts -> what every rule of the advice asks of the steps: how long, made of what, and which one shows it well."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ...trace.trace import Float64, Int64
from ..base.units import PS_PER_MS
from ..base.wording import number, percent
from ..facts.totals import Totals
from ..steps.categories import GUIDE_CATEGORIES
from ..steps.steps import guide_of, ran_on_device
from .advice import Highlight, ns_range, step_highlight

VISIBLE = 0.02
"""Of the step that the timeline shows: some twenty pixels."""


@dataclass(frozen=True, eq=False, repr=False)
class StepFacts:
    """The steps that averages are over; arrays have one entry for each of them, in order of time."""

    frame: pd.DataFrame
    """Their rows of `Steps.frame`, in the categories of the guide: what its thresholds are about."""
    pieces: pd.DataFrame
    """Their pieces in these categories, as `Steps.pieces`; `step` is a row of the whole table."""
    waits: pd.DataFrame
    """Their rows of `Steps.frame` in `STEP_CATEGORIES`."""
    wait_pieces: pd.DataFrame
    """Their pieces in these."""
    n_all: int
    """How many steps there are, those left out too."""
    has_device: bool
    """Whether they ran anything on a device, if only copies."""
    device: str
    """`GPU` or `TPU`, `CPU` where the steps ran nothing on a device."""

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def device_computes(self) -> bool:
        """Whether a device computed in any of them."""
        return bool((self.wait_ms("device_compute") > 0).any())

    @cached_property
    def row(self) -> Int64:
        """Of each its row in `steps`."""
        return self.frame["step"].to_numpy(np.int64)

    @cached_property
    def time_ms(self) -> Float64:
        """How long each took."""
        return self.frame["step_time_ms"].to_numpy(np.float64)

    @cached_property
    def start_ps(self) -> Int64:
        """When each began."""
        return self.frame["start_ps"].to_numpy(np.int64)

    @cached_property
    def end_ps(self) -> Int64:
        """When each ended."""
        end: Int64 = self.start_ps + self.frame["duration_ps"].to_numpy(np.int64)
        return end

    @cached_property
    def mean_ms(self) -> float:
        """Mean step time; 0 without steps."""
        return float(self.time_ms.mean()) if len(self) else 0.0

    @cached_property
    def median_ms(self) -> float:
        """Median step time; 0 without steps."""
        return float(np.median(self.time_ms)) if len(self) else 0.0

    def category_ms(self, name: str) -> Float64:
        """What each spent in one of `GUIDE_CATEGORIES`."""
        return self.frame[f"{name}_ms"].to_numpy(np.float64)

    def wait_ms(self, name: str) -> Float64:
        """What each spent in one of `STEP_CATEGORIES`."""
        return self.waits[f"{name}_ms"].to_numpy(np.float64)

    def ms(self, name: str) -> float:
        """The mean of that."""
        return float(self.category_ms(name).mean()) if len(self) else 0.0

    def ratio(self, name: str) -> float:
        """Its share of the step time."""
        return self.ms(name) / self.mean_ms if self.mean_ms else 0.0

    def longest_ms(self, name: str) -> Float64:
        """In each the longest stretch without a break of one category; 0 where it has none."""
        chosen = self.pieces[self.pieces["category"] == name]
        longest = np.zeros(int(self.row.max()) + 1 if len(self) else 0, np.float64)
        np.maximum.at(longest, chosen["step"].to_numpy(np.int64), chosen["duration_ps"].to_numpy(np.int64) / PS_PER_MS)
        return longest[self.row]

    def part(self, name: str, ms: float) -> StepPart:
        """Some time of the mean step."""
        return StepPart(name, ms, self.mean_ms)

    def typical(self, values: Float64) -> int:
        """The entry whose value is the median of the values, or next to it."""
        return int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])

    def usual(self, values: Float64, *, view: str, op_names: tuple[str, ...] = ()) -> Highlight:
        """Select the typical step by some values, and ops."""
        return step_highlight(self.frame, self.typical(values), view=view, op_names=op_names)

    def stretch(self, values: Float64, category: str, *, view: str, op_names: tuple[str, ...] = ()) -> Highlight:
        """Select the longest stretch of a category in the typical step; all of the step where it has none that can be seen."""
        step = self.usual(values, view=view, op_names=op_names)
        pieces = self.pieces if category in GUIDE_CATEGORIES else self.wait_pieces
        own = pieces[(pieces["step"] == step.step) & (pieces["category"] == category)]
        longest_ps = int(own["duration_ps"].max()) if len(own) else 0
        if longest_ps < max(VISIBLE * int(self.frame["duration_ps"].iloc[self.typical(values)]), 1):
            return step
        start_ps = int(own["start_ps"].iloc[int(own["duration_ps"].to_numpy().argmax())])
        return replace(step, time_range_ns=ns_range(start_ps, start_ps + longest_ps))


@dataclass(frozen=True)
class StepPart:
    """A part of the time of a step, and how advice tells of it: its text is `3.1 of 13.1 ms a step (24 %)`."""

    name: str
    """What it is spent for: the beginning of its names among the evidence."""
    ms: float
    step_ms: float

    @property
    def ratio(self) -> float:
        """Its share of the step; 0 without one."""
        return self.ms / self.step_ms if self.step_ms else 0.0

    @property
    def evidence(self) -> dict[str, float | str]:
        """Its numbers."""
        return {f"{self.name}_ms": self.ms, "step_time_ms": self.step_ms, f"{self.name}_ratio": self.ratio}

    def __str__(self) -> str:
        return f"{number(self.ms)} of {number(self.step_ms)} ms a step ({percent(self.ratio)})"


@dataclass(frozen=True)
class UsualStep:
    """A step that no stall lengthens, but with its share of what comes now and then."""

    own_ms: float
    """Median of what is a rule's own."""
    step_ms: float
    """With what others own, on average."""


def usual_step(time_ms: Float64, owned_ms: Float64) -> UsualStep:
    """Find it; `owned_ms` is for each step what is not the rule's own."""
    if not len(time_ms):
        return UsualStep(0.0, 0.0)
    own_ms = float(np.median(time_ms - owned_ms))
    return UsualStep(own_ms, own_ms + float(owned_ms.mean()))


SERVERS = "ps"
"""The job of tasks that hold the variables of others: most of the time they wait to be asked, which is no fault."""


def job_of(host: str) -> str:
    """The job of a task: `worker` of `/job:worker/replica:0/task:1`; "" for a host that is no task."""
    return host.removeprefix("/job:").split("/")[0] if host.startswith("/job:") else ""


def trained(hosts: Iterable[str]) -> list[str]:
    """Those that train, rather than serve parameters to others; all, where none does."""
    every = list(dict.fromkeys(hosts))
    return [host for host in every if job_of(host) != SERVERS] or every


def step_facts(results: Totals, *, with_servers: bool = False, with_compiling: bool = False) -> StepFacts:
    """Collect them: of the steps that the averages of the overview are over; those of parameter servers, and those that
    compile although no loop begins with them, only if asked for."""
    frame, is_averaged = results.steps.frame, results.is_averaged
    if with_compiling:
        is_averaged = is_averaged | results.averaged_steps.compiles_again
    chosen = frame[is_averaged]
    if with_servers:
        is_server = np.array([job_of(host) == SERVERS for host in frame["host"]], np.bool_)
        chosen = frame[is_averaged | (is_server & frame["is_complete"].to_numpy(np.bool_))]
    else:
        chosen = chosen[chosen["host"].isin(trained(chosen["host"]))]
    numbers = chosen["step"].to_numpy()
    pieces, waits = (
        one[np.isin(one["step"].to_numpy(), numbers)].reset_index(drop=True)
        for one in (results.steps.guide_pieces, results.steps.pieces)
    )
    has_device = ran_on_device(chosen)
    kind = "TPU" if "TPU" in results.environment.device_type else "GPU"
    return StepFacts(
        frame=guide_of(chosen).reset_index(drop=True),
        pieces=pieces,
        waits=chosen.reset_index(drop=True),
        wait_pieces=waits,
        n_all=len(frame),
        has_device=has_device,
        device=kind if has_device else "CPU",
    )
