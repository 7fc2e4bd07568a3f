"""The arguments of a session's hook -> `HookOptions`: what it is asked to profile, to keep and to write."""

from __future__ import annotations

import os
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path

from ..session.selection import StepRule, Steps, make_selection, require_positive

DEFAULT_MAX_STEPS = 100
DEFAULT_MAX_BYTES = 256 * 2**20


@dataclass(frozen=True, kw_only=True)
class HookOptions:
    """What a hook is asked to do.

    Raises:
        TypeError, ValueError: an argument that means nothing; the message says what to give.
    """

    save_steps: int | None = None
    save_secs: float | None = None
    steps: Steps | None = None
    output_dir: str | Path | None = None
    max_steps: int = DEFAULT_MAX_STEPS
    max_bytes: int = DEFAULT_MAX_BYTES

    def __post_init__(self) -> None:
        given = [name for name in ("save_steps", "save_secs", "steps") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} were given; give one of save_steps=, save_secs= and steps=.")
        for name in ("save_steps", "save_secs", "max_steps", "max_bytes"):
            kind = Real if name == "save_secs" else Integral
            if (value := getattr(self, name)) is not None:
                require_positive(name, value, kind, give="a number")
        if self.output_dir is not None and not isinstance(self.output_dir, (str, os.PathLike)):
            raise TypeError(f"output_dir={self.output_dir!r} is a {type(self.output_dir).__name__}; give a path.")
        self.rule()

    def rule(self) -> StepRule | None:
        """Which step numbers are wanted; None where no number is left out."""
        selection = make_selection(steps=self.steps)
        return None if selection is None else selection.rule
