"""anomaly: one thing that is odd in a training, in words."""

from __future__ import annotations

from dataclasses import dataclass

SEVERITIES = ("info", "low", "medium", "high")


@dataclass(frozen=True)
class Anomaly:
    """One cause, told once; what is told of it changes while it goes on."""

    kind: str
    """`slower`, `wait_grows`, `outside_grows`, `gpu_idles`, `clocks_dropped`, `machine_busy`, `drift`, `slow_step`,
    `slow_callback`, `periodic_wait`, `periodic_step`, `slow_after_validation`, `slow_after_checkpoint`, `memory_grows`,
    `gpu_memory_grows`."""
    title: str
    """One sentence with its numbers."""
    evidence: str
    """What was measured, sentences."""
    first_step: int
    last_step: int | None = None
    """None: it goes on."""
    severity: str = "info"
    """Of `SEVERITIES`: how much of the time it costs."""
    window: int | None = None
    """Number of the profile window that shows it."""
    wants_window: bool = False
    """Whether a profile of the next steps, or of `next_at`, would show the cause."""
    next_at: int | None = None
    """The number of the step at which it is expected again."""
    number: int = 0
    """Its place among those of the training: one that goes on, or came again, keeps it."""


def severity_of(share: float) -> str:
    """How severe it is that so much of the time is lost."""
    return SEVERITIES[(share >= 0.02) + (share >= 0.15) + (share >= 0.3)]
