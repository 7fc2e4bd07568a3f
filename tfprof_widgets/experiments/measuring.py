"""What all experiments share: their bounds, the progress that is shown meanwhile, and the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..profiles.progress import Progress
from .result import ExperimentResult

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.experiments.measure import Bounds, Measured


def make_bounds(n_steps: int, max_seconds: float, n_repeats: int) -> Bounds:
    """The bounds that a user gave.

    Raises:
        ValueError: one is not positive.
    """
    from ..capture.experiments.measure import Bounds

    return Bounds(n_steps=n_steps, max_seconds=max_seconds, n_repeats=n_repeats)


def progress_of(name: str, bounds: Bounds, *, n_variants: int) -> Progress:
    """The progress of all steps at most; what runs into its bound of time is done as well."""
    total = n_variants * bounds.n_repeats * bounds.n_steps
    return Progress(name, unit="step", total=total, is_scaled=False)


def result_of(name: str, measured: Measured, sentence: Callable[[pd.DataFrame], str]) -> ExperimentResult:
    """The result of measured runs, which `sentence` tells from the table of rates."""
    from ..analysis.experiments.rates import rate_table, run_frame

    runs = [(run.variant, run.repeat, run.n_steps, run.n_samples, run.seconds) for run in measured.runs]
    frame = run_frame(runs)
    table = rate_table(frame, measured.variants)
    return ExperimentResult(name, frame, table, sentence(table), measured.notices)
