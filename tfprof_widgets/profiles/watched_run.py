"""WatchedRun: what a user holds of a training that was watched: a row for each step, profiles of some, what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.columns.docstrings import tell_columns
from .display import WithoutWidgets, output_of, write_page
from .watch_table import steps_table

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.watched.anomaly import Anomaly
    from ..trace.watched import WatchLog
    from ..views.payload.embedding import Amount
    from ..views.widgets.live import LiveView
    from .one_run import Profile


class WatchedRun:
    """A training that was watched: a row for each step, profiles of some, and what went wrong.

    `load` of its folder makes it, also while the training still runs; `watch()` gives one that is live. It shows itself
    as the widget.

    Raises:
        TraceError: whatever needs data raises it where a file of the folder cannot be read.
    """

    def __init__(self, read: Callable[[], WatchLog]) -> None:
        self._read = read
        self._loaded: dict[Path, Profile] = {}

    @property
    def log(self) -> WatchLog:
        """What the folder holds until now, as its files have it."""
        return self._read()

    @property
    def folder(self) -> Path:
        """The folder of its files; `tfprof.load(folder)` opens it in another process, also while the training runs."""
        return self.log.folder

    @property
    def steps(self) -> pd.DataFrame:
        """Validation is included. NaN stands for what is not known. Rows are read from the file each time: 10 million
        steps take some 600 MB. Empty before the first step.
        """
        return steps_table(self.log.steps)

    @property
    def samples(self) -> pd.DataFrame:
        """About one a second. NaN stands for what is not known, such as figures of a GPU where there is none. Empty before
        the first sample.
        """
        return self.log.samples

    @property
    def windows(self) -> list[Profile]:
        """The profiles of the windows that have closed, oldest first; empty where nothing was profiled."""
        return [self._window(run_dir) for run_dir in self.log.windows]

    @property
    def anomalies(self) -> list[Anomaly]:
        """What was beyond the run's own noise, as it was told while it ran: a list of `Anomaly`, oldest first."""
        from ..analysis.watched.told import anomalies_of

        return anomalies_of(self.log)

    def report(self) -> str:
        """What came out, as Markdown: step times, waits, anomalies, windows."""
        from ..export.report.watched import watch_report

        return watch_report(self.log)

    def to_html(self, path: str | Path) -> Path:
        """Write the widget as one page that needs no kernel and no network, without the dashboards of the windows.

        Args:
            path: of the page; its folder is made where it is not there.

        Returns:
            The path.

        Raises:
            TfProfError: it cannot be written. What was at the path before is still there.
        """
        return write_page(path, self._page, embed="steps")

    def dashboard(self) -> LiveView:
        """The widget that shows it."""
        from .watch_state import view_of

        return view_of(self.log, self.windows)

    def __repr__(self) -> str:
        return self._summary().partition("\n")[0]

    def __str__(self) -> str:
        return self._summary()

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        instead = WithoutWidgets(
            text=self._summary, plain=lambda: f"<pre>{escape(self._summary())}</pre>", page=self._page
        )
        return output_of(self, instead, name="watched training")

    def _summary(self) -> str:
        from ..export.report.watched import watch_summary

        return watch_summary(self.log)

    def _page(self, amount: Amount) -> str:  # noqa: ARG002 -- it is small, and whole in any case
        from ..views.page.pages import live_page

        return live_page(self.dashboard(), title=self.folder.name)

    def _window(self, run_dir: Path) -> Profile:
        from .loading import load_profile

        if run_dir not in self._loaded:
            self._loaded[run_dir] = load_profile(run_dir)
        return self._loaded[run_dir]


tell_columns(WatchedRun, "watch.")
