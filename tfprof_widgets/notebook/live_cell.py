"""Options of `%%tfprofile --live` -> the `Watch` of a cell."""

from __future__ import annotations

from argparse import Namespace

from ..watching import Watch, WatchOptions

_OTHERS = ("steps", "max_seconds", "max_bytes", "no_system", "system", "view", "compare")


def watch_of(arguments: Namespace, logdir: str | None) -> Watch:
    """The watch that the options ask for.

    Args:
        arguments: of the magic.
        logdir: with the names of variables in it replaced.

    Raises:
        ValueError: an option says nothing of a training that is watched.
    """
    given = [f"--{name.replace('_', '-')}" for name in _OTHERS if getattr(arguments, name) not in (None, False)]
    if given:
        raise ValueError(f"--live watches the whole cell and shows its own widget: leave out {' and '.join(given)}.")
    options = WatchOptions(
        every=arguments.every,
        every_seconds=arguments.every_seconds,
        logdir=logdir,
        detail=arguments.detail or "normal",
    )
    return Watch(options, title=arguments.out or "")
