"""Notices: how a capture went -> the sentences that the user has to read."""

from __future__ import annotations

from .bounds import BoundKind
from .record import CaptureOptions
from .windows import WindowKeeper


def bound_text(kind: BoundKind, options: CaptureOptions, keeper: WindowKeeper) -> str:
    """Say when and why a bound ended the capture: `after 2.0 s (max_seconds=2)`."""
    after = f"after {keeper.open_seconds:.1f} s"
    if kind == "seconds":
        default = ", the default" if options.max_seconds is None else ""
        return f"{after} (max_seconds={options.seconds_bound:g}{default})"
    default = ", the default" if options.max_bytes is None else ""
    return f"{after} at {keeper.n_bytes / 2**20:.1f} MiB (max_bytes={options.bytes_bound}{default})"


def closing_notices(options: CaptureOptions, keeper: WindowKeeper, bound: str | None, n_steps: int) -> list[str]:
    """Return what is to be said when all is over.

    Args:
        options: what was asked for.
        keeper: the windows, all closed.
        bound: the text of the bound that ended the capture; empty for a failure, None when none did.
        n_steps: how many steps the program marked.
    """
    notices = []
    if bound:
        kept = f"{keeper.n_steps} of {n_steps} steps kept" if n_steps else "what came later is not in it"
        notices.append(f"The capture stopped itself {bound}: {kept}. {_how_to_choose(options, n_steps)}")
    selection = options.selection()
    if selection is not None and not keeper.windows and keeper.failure is None:
        notices.append(f"No step met {selection.description}: {_marked(n_steps)}")
    return notices


def _how_to_choose(options: CaptureOptions, n_steps: int) -> str:
    if options.selection() is not None:
        return "Select fewer steps, or raise the bound."
    if not n_steps:
        return "Raise the bound, or capture a shorter piece."
    first, stop = min(10, n_steps // 2), min(50, n_steps)
    if options.command == "%%tfprofile":
        return f"To choose them: `%%tfprofile --steps {first}:{stop}`."
    return f"To choose them: `profile(steps=range({first}, {stop}))`."


def _marked(n_steps: int) -> str:
    if n_steps:
        return f"the program marked steps up to number {n_steps - 1}. Choose among these."
    return (
        "the program marked no step. Steps are marked by Keras' fit, evaluate and predict, by `trace_steps(dataset)` "
        "and by `step(i)`; without them leave the selection out."
    )
