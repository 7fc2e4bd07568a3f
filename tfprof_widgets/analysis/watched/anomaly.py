"""anomaly: one thing that is odd in a training, in words."""

from __future__ import annotations

from dataclasses import dataclass

SEVERITIES = ("info", "low", "medium", "high")


@dataclass(frozen=True)
class Anomaly:
    """One thing that went wrong in a watched training: an element of `WatchedRun.anomalies`. What it tells changes while
    it goes on.
    """

    kind: str
    """What it is: `slower`, `wait_grows`, `outside_grows`, `gpu_idles`, `clocks_dropped`, `machine_busy`, `drift`,
    `slow_step`, `function_traced`, `slow_callback`, `periodic_wait`, `periodic_step`, `slow_after_validation`,
    `slow_after_checkpoint`, `memory_grows` or `gpu_memory_grows`.
    """
    title: str
    """What happened: one sentence with its numbers."""
    evidence: str
    """What was measured, in sentences."""
    first_step: int
    """The number of the step at which it began, as in the column `number` of `WatchedRun.steps`."""
    last_step: int | None = None
    """The number of the step at which it ended; None while it goes on."""
    severity: str = "info"
    """How much of the time it costs: `info`, `low`, `medium` or `high`."""
    window: int | None = None
    """Place in `WatchedRun.windows` of the profile that shows it; None for none."""
    wants_window: bool = False
    """Whether a profile of the next steps, or of `next_at`, would show the cause."""
    next_at: int | None = None
    """The number of the step at which it is expected again; None where that is not known."""
    number: int = 0
    """Its place among those of the training: one that goes on, or came again, keeps it."""


def severity_of(share: float) -> str:
    """How severe it is that so much of the time is lost."""
    return SEVERITIES[(share >= 0.02) + (share >= 0.15) + (share >= 0.3)]
