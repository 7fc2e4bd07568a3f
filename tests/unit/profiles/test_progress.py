"""The bar of what takes long: it counts, and ends complete, whether the count or the seconds ran out first."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
import tqdm.auto
import tqdm.std

from tfprof_widgets import experiments, progress
from tfprof_widgets.capture import Bounds
from tfprof_widgets.progress import Progress


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How much was done and how much there was of each bar when it was closed, in a process that somebody watches."""
    bars: list[tuple[int, int]] = []

    class Bar(tqdm.std.tqdm):  # type: ignore[type-arg, misc]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options | {"file": io.StringIO()})

        def close(self) -> None:
            if not self.disable:
                bars.append((self.n, self.total))
            super().close()

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    monkeypatch.setattr(progress, "_SLOW_S", 0.0)
    return bars


@pytest.mark.parametrize("n_done", [0, 11, 12])
def test_an_experiment_that_met_its_bound_of_time_ends_complete(closed: list[tuple[int, int]], n_done: int) -> None:
    with experiments.progress_of("input", Bounds(2, 10, 3), n_variants=2) as bar:
        for _ in range(n_done):
            bar.tell(1)
    assert closed == [(n_done, n_done)]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("ablate", "ablation"),
        ("without_callbacks", "callbacks"),
        ("input_only", "input"),
        ("batch_sizes", "batch sizes"),
    ],
)
def test_the_bar_of_an_experiment_says_what_is_measured(name: str, title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def bar(what: str, **_: Any) -> Progress:
        raise KeyError(what)

    monkeypatch.setattr(experiments, "Progress", bar)
    with pytest.raises(KeyError, match=f"^'{title}'$"):
        experiments.measured(name, lambda _: [], Bounds(2, 10, 3), (), 1, lambda _: "")


def test_what_failed_ends_where_it_failed(closed: list[tuple[int, int]]) -> None:
    with pytest.raises(KeyError), experiments.progress_of("input", Bounds(2, 10, 3), n_variants=2) as bar:
        bar.tell(5)
        raise KeyError
    assert closed == [(5, 12)]


def test_what_turns_out_to_be_there_is_added(closed: list[tuple[int, int]]) -> None:
    with pytest.raises(KeyError), Progress("Reading", unit="B") as bar:
        bar.tell(0, 100)
        bar.tell(40, 20)
        raise KeyError
    assert closed == [(40, 120)]


def test_what_is_quick_or_seen_by_nobody_has_no_bar(
    closed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress("quick", unit="rows", total=1, after_s=60) as bar:
        bar.tell(1)
    monkeypatch.setattr(progress, "is_watched", lambda: False)
    with Progress("unseen", unit="rows", total=1) as bar:
        bar.tell(1)
    assert closed == []


def test_a_terminal_is_watched_and_a_file_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "kernel_shell", lambda: None)
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal, raising=False)
        assert progress.is_watched() is is_terminal
