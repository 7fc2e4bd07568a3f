"""Some framework ops -> what a step spends in them, their line, and an advice that tells so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Bool
from ..layers.scope_words import VENDOR
from .advice import Advice, advise
from .code_places import place_of
from .fix import Fix

if TYPE_CHECKING:
    from .run import Run
    from .step_facts import StepPart


@dataclass(frozen=True, eq=False, repr=False)
class SpentOps:
    """Some framework ops, of which those of the side that computes count."""

    run: Run
    name: str
    """What their time is called among the evidence."""
    chosen: Bool
    """For each framework op whether it is one of them."""

    @cached_property
    def own(self) -> Bool:
        """Those that count."""
        own: Bool = self.chosen & self.run.side.side
        return own

    @cached_property
    def part(self) -> StepPart:
        """Of the mean step what they take; on the host no more than they ran themselves, with nothing around them."""
        ops, steps = self.run.side, self.run.steps
        ms = ops.ratio(self.chosen) * steps.mean_ms
        if not steps.device_computes:
            whole_ms = float(self.run.results.steps.frame["step_time_ms"].sum())
            ran_ms = float(ops.us[self.own].sum()) / 1e3
            ms = min(ms, ran_ms / whole_ms * steps.mean_ms if whole_ms else 0.0)
        return steps.part(self.name, ms)

    @cached_property
    def top(self) -> int:
        """The costliest."""
        return int(np.where(self.own, self.run.side.us, -1.0).argmax())

    @property
    def type(self) -> str:
        """The type of the costliest, as TensorFlow calls it."""
        return VENDOR.sub("", self.run.results.op_shares.type[self.top])

    @cached_property
    def place(self) -> str:
        """`file:line` of the user's that the costliest is charged to, empty where it is charged to none."""
        return op_line(self.run, self.top)

    @property
    def where(self) -> str:
        """The same behind a name in a sentence: ` (train.py:3)`."""
        return f" ({self.place})" if self.place else ""

    @property
    def n_per_step(self) -> float:
        """How many of them run a step; those of a host that takes samples."""
        return float(self.run.work.per_step[self.own[self.run.results.op_shares.dominant]].sum())

    def advise(self, rule: str, title: str, *, fix: Fix, gain_ratio: float, **evidence: float | str) -> Advice:
        """Advice on them: it shows them in the step that takes as long as most do."""
        steps = self.run.steps
        return advise(
            rule,
            title,
            evidence=self.part.evidence | evidence | ({"line": self.place} if self.place else {}),
            fix=fix,
            selection=steps.usual(steps.time_ms, view="op_table", op_names=costliest(self.run, self.own)),
            gain_ratio=gain_ratio,
        )


def costliest(run: Run, chosen: Bool) -> tuple[str, ...]:
    """Names of the five costliest of some framework ops."""
    us = np.where(chosen, run.results.op_totals.self_us, 0.0)
    order = np.argsort(-us, kind="stable")[:5]
    least = float(us.max(initial=0.0)) / 100
    return run.known(*(run.results.op_shares.name[i] for i in order.tolist() if us[i] > least))


def op_line(run: Run, op: int) -> str:
    """`file:line` of the user's that a framework op is charged to, empty where it is charged to none."""
    lines = run.results.source_lines
    row = lines.entries.iloc[int(lines.op_entry[op])]
    return "" if row["bucket"] else place_of(run.results.source_map, str(row["file"]), int(row["line"]))
