"""ExperimentResult: what a measured what-if found, as tables, one sentence and a chart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from .chart import ExperimentChart


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """What an experiment measured; it holds numbers and texts only, nothing of the model."""

    name: str
    """Of the function that made it."""
    frame: pd.DataFrame
    """One row per measured run: `variant, repeat, n_steps, n_samples, seconds, samples_per_second, step_time_ms`."""
    table: pd.DataFrame
    """One row per variant: `variant, samples_per_second, low, high, step_time_ms, ratio, ratio_low, ratio_high`.

    Medians over the repeats; `low` to `high` is the 95 % interval of the rate, nan with one repeat. `ratio` is the rate
    divided by that of the first variant, repeat by repeat, and `ratio_low` to `ratio_high` its 95 % interval. The
    interval is Student's t on logarithms, widened for a median; all are nan for a variant that did not fit into memory.
    """
    sentence: str
    """What was found; differences within noise are called so."""
    notices: tuple[str, ...]
    """What a reader must know first, such as a bound that was met; one sentence each."""

    @cached_property
    def _chart(self) -> ExperimentChart:
        from .chart import make_chart

        return make_chart(self.table, title=self.name, sentence=self.sentence, notices=self.notices)

    def chart(self) -> ExperimentChart:
        """A bar per variant with its interval, as HTML without scripts: it stays in a saved notebook."""
        return self._chart

    def __repr__(self) -> str:
        return f"<ExperimentResult {self.name}: {self.sentence}>"

    def __str__(self) -> str:
        rows = self.table.to_string(index=False, float_format=lambda value: f"{value:,.4g}")
        return "\n".join([self.sentence, rows, *self.notices])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/plain": str(self), "text/html": self._chart.html}
