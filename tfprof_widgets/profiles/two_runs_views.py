"""ComparisonViews: the widget of a comparison and its page; made when first asked for."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from ..analysis.comparison.run_diff import RunDiff
    from ..views.widgets.data import TraceData
    from ..views.widgets.diff_panel import DiffPanel
    from ..views.widgets.timeline import Timeline
    from .one_run import Profile

logger = logging.getLogger(__name__)

_FRAME_PX = 1000


class ComparisonViews:
    """The part of a `ProfileDiff` that is shown. What cannot be compared is shown with the reason."""

    a: str
    b: str
    _runs: RunDiff
    _profiles: tuple[Profile | None, Profile | None]

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """What makes the runs hard to compare, one sentence each."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        from ..views.page.html import framed
        from ..views.payload.embedding import FALLBACK_BYTES
        from .display import in_notebook

        text = str(self)
        if not in_notebook():
            return {"text/plain": text}
        try:
            fallback = framed(self._page(FALLBACK_BYTES, events=False), height_px=_FRAME_PX)
            return {**self.dashboard()._repr_mimebundle_()[0], "text/plain": text, "text/html": fallback}
        except Exception as error:  # a display must not turn a finished cell into a failed one
            logger.exception("the comparison cannot be shown")
            reason = f"tfprof: the comparison cannot be shown: {type(error).__name__}: {error}"
            return {"text/plain": f"{text}\n{reason}"}

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

        return write_page(path, self._page, embed=embed)

    @cached_property
    def _panel(self) -> DiffPanel:
        from ..views.payload.diff_payload import diff_content
        from ..views.widgets.diff_data import DiffData
        from ..views.widgets.diff_panel import DiffPanel

        first, second = (one.data.payload.contents.names.cut if one is not None else str for one in self._timelines())
        content = diff_content(self._runs, titles=(self.a, self.b), notices=self.notices, cut=(first, second))
        return DiffPanel(data=DiffData(content), timelines=self._timelines())

    def _timelines(self) -> tuple[Timeline | None, Timeline | None]:
        """Those of both runs, opened again where they were closed."""
        first, second = (None if one is None else one.timeline() for one in self._profiles)
        return first, second

    def _page(self, max_bytes: int | None, *, events: bool = True) -> str:
        """A page with at most so many bytes of both traces together."""
        from ..views.payload.embedding import embed
        from .display import comparison_page

        shown: list[TraceData] = []
        for timeline in self._timelines():
            if timeline is not None and timeline.data not in shown:
                shown.append(timeline.data)
        most = None if max_bytes is None else max(max_bytes // max(len(shown), 1), 1)
        embedded = {data: embed(data.payload, max_bytes=most, events=events) for data in shown}
        return comparison_page(
            self.dashboard(), embedded, title=" compared with ".join(" ".join(one.split()) for one in (self.a, self.b))
        )
