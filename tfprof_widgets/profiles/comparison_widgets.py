"""ComparisonWidgets: the widget of a comparison and its page; made when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from ..analysis.comparison.run_diff import RunDiff
    from ..views.widgets.data import TraceData
    from ..views.widgets.diff_panel import DiffPanel
    from ..views.widgets.timeline import Timeline
    from .one_run import Profile


class ComparisonWidgets:
    """What shows how two runs compare. What cannot be compared is shown with the reason."""

    def __init__(
        self,
        runs: RunDiff,
        *,
        titles: tuple[str, str],
        notices: tuple[str, ...],
        profiles: tuple[Profile | None, Profile | None],
    ) -> None:
        """Of `profiles` the timelines are shown; None where a run recorded nothing."""
        self._runs = runs
        self._titles = titles
        self._notices = notices
        self._profiles = profiles

    def dashboard(self) -> DiffPanel:
        """Verdict, step times, tables of what changed, and the timelines of both runs, linked, in one widget."""
        panel = self._panel
        self._timelines()
        if panel.comm is None:  # closed, as a cell that showed it was run again
            from ..views.widgets.cells import open_again

            open_again(panel.data)
        return panel

    def to_html(self, path: str | Path, *, embed: int | Literal["full"] = 4 * 2**20) -> Path:
        """Write the comparison as one self-contained page that needs no kernel and no network; returns its path.

        Args:
            path: of the page.
            embed: how many bytes of both traces together the page may hold, besides some 1 MB of scripts. Of larger traces it
                has every event around the typical steps and a sample of the others, and says so. `"full"` keeps everything.

        Raises:
            ValueError: `embed` is neither "full" nor a positive number.
            TfProfError: it cannot be written. What was at the path before is still there, and no part of a page.
        """
        from .display import write_page

        return write_page(path, self.page, embed=embed)

    @cached_property
    def _panel(self) -> DiffPanel:
        from ..views.payload.diff_payload import diff_content
        from ..views.widgets.diff_data import DiffData
        from ..views.widgets.diff_panel import DiffPanel

        first, second = (one.data.payload.contents.names.cut if one is not None else str for one in self._timelines())
        content = diff_content(self._runs, titles=self._titles, notices=self._notices, cut=(first, second))
        return DiffPanel(data=DiffData(content), timelines=self._timelines())

    def _timelines(self) -> tuple[Timeline | None, Timeline | None]:
        """Those of both runs, opened again where they were closed."""
        first, second = (None if one is None else one.timeline() for one in self._profiles)
        return first, second

    def page(self, max_bytes: int | None, *, events: bool = True) -> str:
        """A page with at most so many bytes of both traces together."""
        from ..views.page.pages import comparison_page
        from ..views.payload.embedding import embed

        shown: list[TraceData] = []
        for timeline in self._timelines():
            if timeline is not None and timeline.data not in shown:
                shown.append(timeline.data)
        most = None if max_bytes is None else max(max_bytes // max(len(shown), 1), 1)
        embedded = {data: embed(data.payload, max_bytes=most, events=events) for data in shown}
        return comparison_page(
            self.dashboard(), embedded, title=" compared with ".join(" ".join(one.split()) for one in self._titles)
        )
