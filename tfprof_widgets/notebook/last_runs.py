"""Cells of a notebook -> how fast the last run of each was, and how the next one compares."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..errors import TfProfError
from ..profiles.one_run import Profile
from ..views.widgets.shell import kernel_shell

if TYPE_CHECKING:
    from ..analysis.comparison.changes import Pace

logger = logging.getLogger(__name__)

_MOST_CELLS = 1_000


class LastRuns:
    """Keeps of each cell the step times of its last run, some kilobytes; no profile."""

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}

    def take(self, cell: str, profile: Profile) -> None:
        """Tell a profile how its run compares with the last one of its cell, and keep its own pace in that one's place.

        A run without steps, or that cannot be read, changes nothing.
        """
        from ..analysis.comparison.changes import pace_of
        from ..analysis.comparison.words import since_last
        from ..analysis.results import Results

        try:
            results = profile.run.results
            if not isinstance(results, Results) or not results.is_averaged.any():
                return
            pace, before = pace_of(results), self._paces.pop(cell, None)
            if before is not None:
                profile.run.since_last = since_last(before, pace)
        except Exception as error:  # the user's cell has run
            if not isinstance(error, TfProfError):  # which the profile tells itself
                logger.exception("the run cannot be compared with the last one")
            return
        self._paces[cell] = pace
        if len(self._paces) > _MOST_CELLS:
            del self._paces[next(iter(self._paces))]


def cell_of(source: str, *, is_cell: bool) -> str:
    """What stays the same when a cell is changed and run again: its id where the front end sends one, else its text.

    Args:
        source: the code to profile.
        is_cell: whether it is all of the cell, and not one of several statements.
    """
    shell = kernel_shell()
    cell = shell.kernel.get_parent().get("metadata", {}).get("cellId") if shell is not None else None
    return f"{cell}\n{'' if is_cell else source}" if cell else source
