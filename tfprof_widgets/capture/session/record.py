"""Record: the frozen account of one capture, from which files, windows and costs are read."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Literal

import pandas as pd

from ...trace.capture_facts import CaptureCost, CaptureFacts
from ..machine.sampler import DEFAULT_HZ, MAX_HZ, MIN_HZ
from ..source.captured_program import CapturedProgram
from .detail import DETAILS, Detail
from .overhead import no_step_times
from .selection import Selection, Steps, make_selection, require_positive

Outcome = Literal["complete", "bounded", "exception", "interrupted"]
"""How a capture ended: by leaving its block, by a bound, by an exception in the block, or by Ctrl-C."""

DEFAULT_MAX_SECONDS = 60.0
DEFAULT_MAX_BYTES = 32 * 2**20
"""About a million events: TensorFlow needs 6 s to write them, and a browser some seconds to take them."""


@dataclass(frozen=True, kw_only=True)
class CaptureOptions:
    """What a capture is asked to do; all fields are optional.

    Raises:
        TypeError, ValueError: an argument that means nothing; the message says what to give.
    """

    steps: Steps | None = None
    """Step numbers to capture: a range, an iterable of ints, or a callable of the step number. None: all."""
    every: int | None = None
    """Capture every step whose number is a multiple of this."""
    every_seconds: float | None = None
    """Capture one step at once, then one whenever so many seconds have passed."""
    system: bool | float = True
    """Whether the machine is sampled beside the trace, or how often: 5 to 20 Hz. True: 10 Hz."""
    detail: Detail = "normal"
    """How much the profiler records of each step; `detail.py` has the measured cost of each level."""
    logdir: str | Path | None = None
    """Where the files are kept, in TensorBoard's layout (`plugins/profile/<run>`). None: a private temporary folder."""
    max_seconds: float | None = None
    """The capture stops itself after so many seconds of open windows. None: 60."""
    max_bytes: int | None = None
    """The capture stops itself at about this size of its files. None: 32 MiB."""
    command: str = "profile"
    """How the user started it, `profile` or `%%tfprofile`: messages speak the same language."""

    def __post_init__(self) -> None:
        for name in ("max_seconds", "max_bytes"):
            if (value := getattr(self, name)) is not None:
                require_positive(name, value, Real, give="a number, or leave it out for the default")
        self._check_system()
        if self.detail not in DETAILS:
            choices = ", ".join(f'"{detail}"' for detail in DETAILS)
            raise ValueError(f"detail={self.detail!r} is no level of detail; give one of {choices}.")
        if self.logdir is not None and not isinstance(self.logdir, (str, os.PathLike)):
            raise TypeError(f"logdir={self.logdir!r} is a {type(self.logdir).__name__}; give a path.")
        self.selection()

    def _check_system(self) -> None:
        rate = self.system
        if isinstance(rate, bool):
            return
        if not isinstance(rate, Real):
            raise TypeError(f"system={rate!r} is a {type(rate).__name__}; give True, False or a rate in Hz.")
        if not MIN_HZ <= float(rate) <= MAX_HZ:
            raise ValueError(
                f"system={rate!r} Hz cannot be sampled: give a rate from {MIN_HZ:g} to {MAX_HZ:g} Hz, True for "
                f"{DEFAULT_HZ:g} Hz, or False to sample nothing."
            )

    @property
    def sample_hz(self) -> float:
        """How often the machine is sampled, in Hz; 0 where it is not."""
        if isinstance(self.system, bool):
            return DEFAULT_HZ if self.system else 0.0
        return float(self.system)

    def selection(self) -> Selection | None:
        """Return which steps are wanted; None means everything from start to stop."""
        return make_selection(steps=self.steps, every=self.every, every_seconds=self.every_seconds)

    @property
    def seconds_bound(self) -> float:
        """`max_seconds`, or its default."""
        return DEFAULT_MAX_SECONDS if self.max_seconds is None else float(self.max_seconds)

    @property
    def bytes_bound(self) -> int:
        """`max_bytes`, or its default."""
        return DEFAULT_MAX_BYTES if self.max_bytes is None else int(self.max_bytes)


@dataclass(frozen=True, kw_only=True)
class Window:
    """One session of TensorFlow's profiler and the run directory it wrote."""

    run_dir: Path
    """Holds `<host>.xplane.pb`."""
    first_step: int | None
    """Number of the first step that lies whole in the window; None where the program marked none."""
    last_step: int | None
    n_steps: int
    """How many marked steps lie whole in the window."""
    start_ns: int
    """Unix time at which the session ran, in ns."""
    stop_ns: int
    """Unix time at which the session was asked to stop, in ns."""
    start_s: float
    """What starting the session cost, in s."""
    stop_s: float
    """What stopping it and writing its files cost, in s."""
    n_bytes: int
    """Size of its files."""

    @property
    def pause_ns(self) -> tuple[int, int]:
        """Unix times between which the program waited for the files."""
        return self.stop_ns, self.stop_ns + round(self.stop_s * 1e9)


@dataclass(frozen=True, kw_only=True)
class CaptureRecord(CaptureFacts):
    """All that is known of one capture. Without `logdir=` its files live as long as this object."""

    run_dirs: tuple[Path, ...]
    """One per window, in time order; empty when nothing could be captured (`notices` then says why)."""
    windows: tuple[Window, ...]
    notices: tuple[str, ...]
    """What the user has to know, one plain sentence or two each; empty when all went as asked."""
    cost: CaptureCost
    system: pd.DataFrame = field(repr=False)
    """System samples with `time_ns` in Unix time; `sampler.on_trace_clock` puts them on a trace's clock.

    The columns are those of `SystemSampler`, from before the first window to the end of the capture. No rows with
    `system=False`.
    """
    step_times: pd.DataFrame = field(default_factory=no_step_times, repr=False)
    """How long each of them took: `number, name, start_ns` (Unix time), `duration_ns, phase`; in the order of their begins.

    `phase` is `before` the first window, `during` one, `after` one, or `cut` where a window opened or closed within the
    step. Steps of validation are among them, and steps of several batches (`steps_per_execution`) are one row. At most
    100,000 rows; of more steps they are an even spread, and `notices` say so.
    """
    program: CapturedProgram | None = field(default=None, repr=False)
    """What is held of the program until its lines and layers are asked for."""
