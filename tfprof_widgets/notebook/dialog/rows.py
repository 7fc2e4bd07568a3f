"""What is known of each worker while a capture goes on -> the sentence and the table that the dialog shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

from ...analysis.base.wording import size

State: TypeAlias = Literal["asked", "answered", "failed", "dropped"]

MOST_ROWS = 100
"""Of workers in the table, those that failed first; the table says of how many."""
_WORDS: dict[State, str] = {"asked": "waiting", "answered": "answered", "failed": "failed", "dropped": "not waited for"}
_ORDER: tuple[State, ...] = ("failed", "asked", "dropped", "answered")


@dataclass(frozen=True)
class WorkerRow:
    """One worker of a capture."""

    address: str
    state: State = "asked"
    n_bytes: int = 0
    reason: str = ""
    """Why it sent no trace; empty unless it failed."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Where one attempt of a capture is."""

    attempt: int
    n_attempts: int
    delay_s: float
    """How long after all were asked they begin."""
    duration_s: float
    elapsed_s: float
    """Since all were asked."""

    @property
    def ratio(self) -> float:
        """The part of the attempt that is over, from 0 to 1; what workers take to send their traces is not in it."""
        return min(1.0, self.elapsed_s / (self.delay_s + self.duration_s))

    @property
    def words(self) -> str:
        """What goes on now, with the time left."""
        into_s = self.elapsed_s - self.delay_s
        again = f"Attempt {self.attempt} of {self.n_attempts}: " if self.attempt > 1 else ""
        if into_s < 0:
            text = f"all begin in {-into_s:.1f} s"
        elif into_s < self.duration_s:
            text = f"{into_s:.1f} of {self.duration_s:g} s captured"
        else:
            text = f"{self.duration_s:g} s captured, the traces are on their way"
        sentence = again + text
        return sentence[0].upper() + sentence[1:]


def counted(rows: Sequence[WorkerRow]) -> str:
    """How many workers answered, and how many of them failed."""
    n_failed = sum(row.state == "failed" for row in rows)
    n_answered = sum(row.state == "answered" for row in rows)
    failed = f", {n_failed:,} failed" if n_failed else ""
    return f"{n_answered:,} of {len(rows):,} workers answered{failed}"


def rows_html(rows: Sequence[WorkerRow]) -> str:
    """The table of workers in the order given, but where it is cut: then those that failed come first."""
    shown = list(rows)
    if len(rows) > MOST_ROWS:
        shown = sorted(rows, key=lambda row: _ORDER.index(row.state))[:MOST_ROWS]
    body = "".join(_row_html(row) for row in shown)
    cut = f"<p>{len(shown):,} of {len(rows):,} workers, those that failed first.</p>" if len(shown) < len(rows) else ""
    head = '<tr><th scope="col">Worker</th><th scope="col">State</th><th scope="col">Trace</th><th scope="col">Reason</th></tr>'
    return f'<div class="tfp-cap-rows"><table><thead>{head}</thead><tbody>{body}</tbody></table>{cut}</div>'


def _row_html(row: WorkerRow) -> str:
    return (
        f'<tr class="{row.state}"><td><code>{escape(row.address)}</code></td><td>{_WORDS[row.state]}</td>'
        f"<td>{size(row.n_bytes) if row.n_bytes else ''}</td><td>{escape(row.reason)}</td></tr>"
    )
