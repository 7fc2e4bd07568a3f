"""Two profiles -> `ProfileDiff`: what changed from one run to the other, and how much of it is noise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .analysis.table import TableProperty
from .display import WithoutWidgets, displayed, output_of, write_page
from .errors import EmptyTraceError, TfProfError
from .profiles import Profile
from .show.front_end import EachSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pandas as pd

    from .analysis.analysis import Analysis
    from .analysis.comparison.comparison import RunDiff
    from .export.document import Part, Row
    from .show.outputs import DiffPanel
    from .show.payload import Amount
    from .show.widgets import Timeline


if TYPE_CHECKING:
    Cell = str | Callable[[Row], str]
    """A column, or what writes it."""

_EMPTY_XSPACE = b"\n\x06\x12\x04none"
"""One plane that holds nothing."""
_KINDS = ("a", "b")
_MOST_SHOWN = 5
_MOST_CHARS = 60


def _table(name: str) -> TableProperty:
    return TableProperty(f"diff(a, b).{name}", lambda diff: getattr(diff._runs, name))


@dataclass(frozen=True, eq=False, repr=False)
class ProfileDiff:
    """What changed from run `a` to run `b`, and whether that is more than noise: what `diff` gives.

    In a notebook it shows itself as a view; `print` gives it as text. Every table is computed when you first ask for it
    and then kept.

    Each table has a row for each key of either run, the largest change first. Times are own times in ms a step, of the
    steps that `Profile.overview` averages: where a row occurs in nearly every step the mean of the middle half of the
    steps, so that a step which was interrupted does not count, else the plain mean; so rows do not add up exactly.
    Where a run has no steps they are ms of the whole captures. `change_ms` is b - a, `ratio` is b / a (NaN where a is
    0), and `state` is

    - `slower` or `faster` (of memory `larger` or `smaller`): it changed by more than `noise_ms` and differently from
      nearly all other rows. What slows all rows alike singles out none; the verdict tells it, and names other programs
      where the samples of the machine do;
    - `added` or `removed`: only one run has it, which chance does not explain;
    - `same`: proven the same: its change, with all that noise may hide, is less than a quarter of it or 2 % of a step;
    - `not sure`: none of these; also what changed where a run has fewer than 6 steps, or none, and no noise is known.

    `noise_ms`, for a change in its direction, allows for the differences between stretches of each run, for how much
    unchanged rows scatter between the two runs, and for the number of rows, and is 0.5 % of a step at least: of two
    runs of one program all tables together name a change in one case of 100 at most.
    """

    a: str
    """Title of the first run, the one to compare with."""
    b: str
    """Title of the second run, the one that is judged."""
    _runs: RunDiff = field(repr=False)
    _told: tuple[str, ...] = ()
    _profiles: tuple[Profile | None, Profile | None] = field(default=(None, None), repr=False)
    """The profiles with timelines; None where a run recorded nothing."""
    _panel: EachSession[DiffPanel] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Note the cell whose widgets will be shown."""
        object.__setattr__(self, "_panel", EachSession(self._make_panel))

    # ---- the whole runs ---------------------------------------------------------------------------------------------

    @property
    def step_time_ratio(self) -> float:
        """Median step time of b over that of a: 1.05 means that a step takes 5 % longer. NaN where a run has no steps.

        Examples:
            >>> tfprof.diff(before, after).step_time_ratio < 1.05
            True
        """
        return self._runs.step_times.ratio

    @property
    def step_time_interval(self) -> tuple[float, float]:
        """Lower and upper end of the 95 % interval of `step_time_ratio`; both NaN with fewer than 6 steps in a run. Drift
        within a run widens it.
        """
        return self._runs.step_times.interval

    @property
    def time_per_sample_ratio(self) -> float:
        """Mean time per sample of b over that of a, for runs with different batch sizes. NaN where a run has no steps, or
        where tf.data does not tell how large its batches are.
        """
        return self._runs.samples.ratio

    @property
    def time_per_sample_interval(self) -> tuple[float, float]:
        """Lower and upper end of the 95 % interval of `time_per_sample_ratio`; both NaN where that is, and with fewer than
        6 steps in a run.
        """
        return self._runs.samples.interval

    @property
    def common_ratio(self) -> float:
        """What nearly all ops of the CPU did alike, as b / a of the middle one: a busier machine slows all of them. 1.0
        where there are too few to tell.
        """
        return self._runs.common[0].ratio

    @property
    def busy_machine(self) -> str:
        """Which run other programs disturbed by taking the cores, such as `other programs used 1.20 of 2 cores during a`, from
        the samples of the machine; empty where none was, or nobody sampled it.
        """
        return self._runs.busy_machine

    @cached_property
    def is_within_noise(self) -> bool:
        """Whether nothing changed beyond noise: neither the step time nor a row of any table. False where noise is not
        known.
        """
        from .analysis.comparison.changes import UNCHANGED

        tables = (self.categories, self.layers, self.ops, self.kernels, self.source_lines, self.iterators, self.memory)
        return not self._runs.step_times.is_beyond_noise and all(one["state"].isin(UNCHANGED).all() for one in tables)

    @cached_property
    def verdict(self) -> str:
        """What changed, in a sentence or two."""
        from .analysis.comparison.words import verdict_of

        return verdict_of(self._runs)

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """What makes the runs hard to compare, a sentence each; mostly empty."""
        from .analysis.comparison.words import notices

        return self._told + notices(self._runs)

    # ---- tables -----------------------------------------------------------------------------------------------------

    summary = _table("summary")
    categories = _table("categories")
    ops = _table("ops")
    layers = _table("layers")
    source_lines = _table("source_lines")
    kernels = _table("kernels")
    iterators = _table("iterators")
    memory = _table("memory")

    # ---- shown ------------------------------------------------------------------------------------------------------

    def dashboard(self) -> DiffPanel:
        """The widget that shows it: verdict, step times, tables of what changed, and the timelines of both runs, linked."""
        panel = self._panel()
        self._timelines()
        if panel.comm is None:  # closed, as a cell that showed it was run again
            from .show.widgets import open_again

            open_again(panel)
        return panel

    def to_html(self, path: str | Path, *, embed: Amount = "steps") -> Path:
        """Write the comparison as one page that needs no kernel and no network.

        Args:
            path: of the page; its folder is made where it is not there.
            embed: how much of both traces the page holds, besides some 0.8 MB of scripts. `"steps"`: totals as far as
                they fit, every event of three typical steps of each and a sample of the others. `"full"`: everything.
                The page says what it leaves out.

        Returns:
            The path.

        Raises:
            ValueError: `embed` is neither "steps" nor "full".
            TfProfError: it cannot be written. What was at the path before is still there, and no part of a page.
        """
        return write_page(path, self._page, embed=embed)

    def _make_panel(self) -> DiffPanel:
        from .show.contents import diff_content
        from .show.outputs import DiffPanel

        first, second = (one.data.payload.names.cut if one is not None else str for one in self._timelines())
        content = diff_content(self._runs, titles=(self.a, self.b), notices=self.notices, cut=(first, second))
        with self._panel.widgets():
            return DiffPanel(content, *self._timelines())

    def _timelines(self) -> tuple[Timeline | None, Timeline | None]:
        """The timelines of both runs, opened again where they were closed."""
        first, second = (None if one is None else one.timeline() for one in self._profiles)
        return first, second

    def _page(self, amount: Amount) -> str:
        """A page with so much of both traces."""
        from .show.page import comparison_page

        title = " compared with ".join(" ".join(one.split()) for one in (self.a, self.b))
        return comparison_page(self.dashboard(), amount, title=title)

    def _display_(self) -> object:
        """What marimo shows."""
        return displayed(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        instead = WithoutWidgets(self.__str__, self._plain_html, self._page)
        return output_of(self, instead, name="comparison")

    def __repr__(self) -> str:
        from .analysis.common import number

        low, high = self.step_time_interval
        steps = (
            "no step times"
            if low != low
            else f"step time x{number(self.step_time_ratio)} ({number(low)} to {number(high)})"
        )
        return f"<ProfileDiff {_short(self.a)} -> {_short(self.b)}: {steps}>"

    def __str__(self) -> str:
        return "\n".join(
            [f"{_short(self.a)} (a) -> {_short(self.b)} (b)", self.verdict, *self.notices, *_changes_text(self._runs)]
        )

    def _plain_html(self) -> str:
        from .export.document_tables import sheet

        runs = f"{_short(self.a)} (a) → {_short(self.b)} (b)"
        return sheet(self.verdict, [runs, *self.notices], _changes_parts(self._runs))


def diff(a: Profile, b: Profile) -> ProfileDiff:
    """Compare two runs: what changed from `a` to `b`, and whether that is more than noise.

    Both may be captured or loaded, with different numbers of steps. Ops and layers whose names differ only by numbers
    that TensorFlow appends are found again. A test of a training's speed needs no more than the example.

    Args:
        a: the run to compare with.
        b: the run to judge.

    Returns:
        The comparison. Where a run has no events or no steps its `verdict` and `notices` say so.

    Raises:
        TypeError: one of them is no `Profile`.
        TfProfError: one of them is a reduced profile (not `Profile.has_events`): compare its hosts, `a.host(name)` and
            `b.host(name)`.
        CaptureError: one of them is still being captured.
        TraceError: the trace of one of them cannot be read.

    Examples:
        >>> changes = tfprof.diff(before, after)
        >>> assert changes.step_time_ratio < 1.05, changes.verdict
        >>> slower_ops = changes.ops[changes.ops["state"] == "slower"]
    """
    from .analysis.comparison.comparison import RunDiff

    for name, one in zip(_KINDS, (a, b), strict=True):
        if not isinstance(one, Profile):
            raise TypeError(
                f"tfprof.diff(a, b) compares two profiles, and {name} is a {type(one).__name__}: "
                "give what `with tfprof.profile() as prof` or `tfprof.load(path)` made"
            )
    told = ["a and b are the same profile: there is no difference."] if a is b else []
    runs = [_results_of(one, name, told) for name, one in zip(_KINDS, (a, b), strict=True)]
    shown = [one if found.trace.n_events else None for one, found in zip((a, b), runs, strict=True)]
    return ProfileDiff(a.title or "a", b.title or "b", RunDiff(*runs), tuple(told), (shown[0], shown[1]))


def _results_of(profile: Profile, name: str, told: list[str]) -> Analysis:
    """The analyses of a run; those of an empty trace, and why, where nothing was captured."""
    from .analysis.analysis import Analysis
    from .read.xspace import read_xspace

    try:
        found = profile.run.results
    except EmptyTraceError as error:
        told.append(f"Run {name}: {error}")
        return Analysis(read_xspace(_EMPTY_XSPACE))
    if found.has_events:
        return found
    raise TfProfError(
        f"{name} is a reduced profile, which has no single executions to compare: open one host of each run in full, "
        f"tfprof.diff(a.host(name), b.host(name)), or compare their tables, such as {name}.ops"
    )


def _changes_text(runs: RunDiff) -> Iterator[str]:
    from .analysis.common import number

    for title, frame, label, n_rows in _changed(runs):
        shown = frame.head(_MOST_SHOWN)
        yield f"\nChanges of {title}, beyond noise first ({len(shown)} of {n_rows}), {_unit(runs)}:"
        for _, row in shown.iterrows():
            noise = "" if row["noise_ms"] != row["noise_ms"] else f", noise {number(row['noise_ms'])}"
            times = f"{number(row['a_ms'])} -> {number(row['b_ms'])} ({row['change_ms']:+.3g}{noise})"
            yield f"  {row['state']:<8} {_short(str(row[label])):<{_MOST_CHARS}} {times}"


def _changes_parts(runs: RunDiff) -> Iterator[Part]:
    """The parts of a step of both, and the largest changes, as tables."""
    from .export.document import part_of
    from .export.document_tables import ROOM

    unit, made_of = _unit(runs), runs.categories
    times: dict[str, Cell] = {
        "change": lambda row: str(row["state"]),
        f"a ({unit})": "a_ms",
        f"b ({unit})": "b_ms",
        f"b - a ({unit})": lambda row: f"{row['change_ms']:+.3g}",
    }
    shown = made_of[(made_of["a_ms"] > 0) | (made_of["b_ms"] > 0)]
    columns: dict[str, Cell] = {"category": lambda row: str(row["category"]).replace("_", " "), **times}
    room = replace(ROOM, rows=len(made_of))
    yield from part_of("What a step is made of", "diff.categories", shown, columns, room=room)
    for title, frame, label, n_rows in _changed(runs):
        heading = f"Changes of {title}, beyond noise first"
        columns = {title.removesuffix("s"): label, **times}
        yield from part_of(heading, f"diff.{title}", frame, columns, room=ROOM, n_rows=n_rows)


def _short(text: str) -> str:
    text = " ".join(text.split())
    half = (_MOST_CHARS - 3) // 2
    return text if len(text) <= _MOST_CHARS else f"{text[:half]}...{text[-half:]}"


def _changed(runs: RunDiff) -> Iterator[tuple[str, pd.DataFrame, str, int]]:
    """The changes of layers and ops, beyond noise first: the table, its changed rows, its column of names, all its rows."""
    from .analysis.comparison.changes import UNCHANGED

    for title, frame, label in (("layers", runs.layers, "layer"), ("ops", runs.ops, "name")):
        moved = frame[frame["change_ms"] != 0]
        is_same = moved["state"].isin(UNCHANGED)
        if not moved.empty:
            yield title, moved.loc[is_same.sort_values(kind="stable").index], label, len(frame)


def _unit(runs: RunDiff) -> str:
    return "ms a step" if runs.is_per_step else "ms"
