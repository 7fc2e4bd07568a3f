"""Progress: a bar of what is done, where a person watches and it takes long."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from ..views.widgets.shell import kernel_shell

_SLOW_S = 1.0
_shows_bars = ContextVar("shows_bars", default=True)


@contextlib.contextmanager
def without_bars() -> Iterator[None]:
    """Within the block nothing is shown of what is done."""
    before = _shows_bars.set(False)
    try:
        yield
    finally:
        _shows_bars.reset(before)


def is_watched() -> bool:
    """Whether a person sees a progress bar: in a notebook, or at a terminal."""
    try:
        return kernel_shell() is not None or sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is no standard error, or it is closed
        return False


class Progress:
    """A bar within a `with` block. It is not there before it is due, so what is quick does not load the library of bars."""

    def __init__(
        self, what: str, *, unit: str, total: int = 0, is_scaled: bool = True, after_s: float | None = None
    ) -> None:
        """Count towards `total`, which may grow.

        Args:
            what: is done, such as the name of the file that is written.
            unit: of what is counted, such as `"events"`, or `"B"` for bytes.
            total: how many there are, as far as is known.
            is_scaled: whether large numbers are told as 1.2M.
            after_s: how long nothing is shown; a second where none is given.
        """
        self._options = {"desc": what, "unit": unit if unit == "B" else f" {unit}", "unit_scale": is_scaled}
        self._n_done, self._n_all = 0, total
        self._after_s = _SLOW_S if after_s is None else after_s
        self._since_s = time.monotonic()
        self._bar: Any = None

    def tell(self, n_done: int, n_more: int = 0) -> None:
        """So many were done since it was last told, and `n_more` turned out to be there."""
        self._n_done, self._n_all = self._n_done + n_done, self._n_all + n_more
        if (
            self._bar is None
            and time.monotonic() - self._since_s >= self._after_s
            and _shows_bars.get()
            and is_watched()
        ):
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._n_all, leave=False, **self._options)
            self._bar.start_t -= time.monotonic() - self._since_s
        if self._bar is not None:
            self._bar.total = self._n_all
            self._bar.update(min(self._n_done, self._n_all) - self._bar.n)

    def __enter__(self) -> Progress:
        self.tell(0)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is None:
            return
        if kind is None:  # a bar closed before its total is drawn as one that failed
            self._bar.total = self._bar.n
        self._bar.close()
