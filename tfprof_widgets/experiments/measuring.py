"""What all experiments share: the progress that is shown while they run, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.experiments.rates import rate_table, run_frame
from ..capture.experiments.kept import Kept
from ..capture.experiments.measure import Bounds
from ..capture.experiments.setups import Plan, measure_planned
from ..progress import Progress
from .result import ExperimentResult

if TYPE_CHECKING:
    import pandas as pd

_TITLES = {"input_only": "input", "without_callbacks": "callbacks", "ablate": "ablation"}
"""What to call experiments other than by their names."""


def progress_of(title: str, bounds: Bounds, *, n_variants: int) -> Progress:
    """The progress of all steps at most; what runs into its bound of time is done as well."""
    total = n_variants * bounds.n_repeats * bounds.n_steps
    return Progress(title, unit="step", total=total, is_scaled=False)


def measured(
    name: str,
    plan: Callable[[Kept], Plan],
    bounds: Bounds,
    roots: Sequence[Any],
    n_variants: int,
    sentence: Callable[[pd.DataFrame], str],
) -> ExperimentResult:
    """Measure what is planned.

    Args:
        name: of the experiment.
        plan: makes the variants.
        bounds: of each.
        roots: models, data sets and callbacks, which are put back as they were.
        n_variants: how many there are at most.
        sentence: tells the result from the table of rates.
    """
    with progress_of(_TITLES.get(name, name.replace("_", " ")), bounds, n_variants=n_variants) as bar:
        found = measure_planned(plan, bounds, bar.tell, *roots)
    frame = run_frame([(run.variant, run.repeat, run.n_steps, run.n_samples, run.seconds) for run in found.runs])
    table = rate_table(frame, found.variants)
    return ExperimentResult(name, frame, table, sentence(table), found.notices)
