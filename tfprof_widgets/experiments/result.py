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
    """What an experiment measured; it holds numbers and texts only, nothing of the model. In a notebook it shows itself as
    a chart.
    """

    name: str
    """Name of the function that made it."""
    frame: pd.DataFrame
    """A table: a row is a measured run, in the order in which they ran: `variant`, `repeat` (from 0), `n_steps` and
    `n_samples` (that were timed), `seconds` (that they took), `samples_per_second`, `step_time_ms` (mean).
    """
    table: pd.DataFrame
    """A table: a row is a variant: `variant`, `samples_per_second`, `low`, `high`, `step_time_ms`, `ratio`, `ratio_low`,
    `ratio_high`.

    They are medians over the repeats; `low` to `high` is the 95 % interval of the samples a second, NaN with one
    repeat. `ratio` is the rate divided by that of the first variant, repeat by repeat, and `ratio_low` to `ratio_high`
    its 95 % interval. The interval is Student's t on logarithms, widened for a median. All are NaN for a variant that
    did not fit into memory.
    """
    sentence: str
    """What was found; differences within noise are called so."""
    notices: tuple[str, ...]
    """What you must know first, such as a bound that was met; a sentence each, mostly empty."""

    @cached_property
    def _chart(self) -> ExperimentChart:
        from .chart import make_chart

        return make_chart(self.table, title=self.name, sentence=self.sentence, notices=self.notices)

    def chart(self) -> ExperimentChart:
        """A bar for each variant with its interval, as HTML without scripts: it stays in a saved notebook."""
        return self._chart

    def __repr__(self) -> str:
        return f"<ExperimentResult {self.name}: {self.sentence}>"

    def __str__(self) -> str:
        rows = self.table.to_string(index=False, float_format=lambda value: f"{value:,.4g}")
        return "\n".join([self.sentence, rows, *self.notices])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/plain": str(self), "text/html": self._chart.html}
