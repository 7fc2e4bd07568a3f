"""standing: a running capture -> how far it is, in the words and numbers that a person is shown meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from .control import WindowControl
from .windows import WindowKeeper


@dataclass(frozen=True)
class Standing:
    """How far a running capture is."""

    state: str
    """`"recording"`, `"waiting for step 10"`, `"paused"`, or why nothing is recorded any more."""
    step: int | None
    """Number of the step that runs or comes next; None before the first was marked."""
    seconds: float
    """How long the profiler has run, in all windows."""
    n_bytes: float
    """Size of what it has recorded, an estimate while a window is open; 0 while nothing is known of it."""


def standing_of(control: WindowControl, next_number: int) -> Standing:
    """Look at a capture whose next step has this number; changes nothing, so any thread may do it."""
    return Standing(
        state=_state(control, next_number),
        step=next_number if control.n_steps else None,
        seconds=control.keeper.open_seconds,
        n_bytes=_size(control.keeper),
    )


def _state(control: WindowControl, next_number: int) -> str:
    keeper, selection = control.keeper, control.selection
    if control.bound is not None:
        return f"stopped {control.bound}" if control.bound else "stopped, as the profiler failed"
    if keeper.open_id is not None or selection is None:
        return "recording"
    if selection.ends is not None and next_number > selection.ends[1]:
        return "no more steps selected"
    if keeper.n_opened:
        return "paused"
    if selection.ends is not None and selection.rule is not None and selection.rule(selection.ends[0]):
        return f"waiting for step {selection.ends[0]:,}"
    return f"waiting ({selection.description})"


def _size(keeper: WindowKeeper) -> float:
    watch = keeper.watch  # another thread may close the window meanwhile
    return keeper.n_bytes + (0 if watch is None else watch.estimated_bytes)
