"""The bar of an experiment: it ends complete, whether the steps or the seconds ran out first."""

from __future__ import annotations

import io
from typing import Any

import pytest
import tqdm.auto
import tqdm.std

from tfprof_widgets import experiments
from tfprof_widgets.profiles import display


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Steps done and steps in all of each bar when it was closed."""
    bars: list[tuple[int, int]] = []

    class Bar(tqdm.std.tqdm):  # type: ignore[type-arg, misc]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options | {"file": io.StringIO()})

        def close(self) -> None:
            if not self.disable:
                bars.append((self.n, self.total))
            super().close()

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    monkeypatch.setattr(display, "in_notebook", lambda: True)
    return bars


@pytest.mark.parametrize("n_done", [0, 11, 12])
def test_what_met_its_bound_of_time_ends_complete(closed: list[tuple[int, int]], n_done: int) -> None:
    bounds = experiments._bounds(2, 10, 3)
    with experiments._progress("input", bounds, n_variants=2) as advance:
        for _ in range(n_done):
            advance(1)
    assert closed[0] == (n_done, n_done)


def test_what_failed_ends_where_it_failed(closed: list[tuple[int, int]]) -> None:
    bounds = experiments._bounds(2, 10, 3)
    with pytest.raises(KeyError), experiments._progress("input", bounds, n_variants=2) as advance:
        advance(5)
        raise KeyError
    assert closed[0] == (5, 12)
