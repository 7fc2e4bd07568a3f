"""The figures of each size -> one table: a row a quantity, a column a size, each beside its peer's figure of the same run."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from bench_load import VIEWER, Loads
from bench_timeline import Shown

LONGEST_WORDS = 24
Value = float | str | None


@dataclass(frozen=True)
class Figures:
    """All that was measured of one capture."""

    n_wanted: int
    is_repeated: bool
    loads: Loads
    shown: Shown

    @property
    def n_events(self) -> int:
        return int(self.loads.ours.result.get("n_events", self.n_wanted))

    @property
    def size_text(self) -> str:
        return count_text(self.n_wanted)


@dataclass(frozen=True)
class Row:
    title: str
    words: Callable[[float], str]
    value: Callable[[Figures], Value]
    peer: str = ""
    peer_value: Callable[[Figures], Value] | None = None


def three_digits(value: float) -> str:
    return f"{value:.{max(0, 2 - _exponent(value))}f}"


def seconds_text(value: float) -> str:
    return f"{three_digits(value)} s" if value >= 1 else f"{three_digits(value * 1000)} ms"


def ms_text(value: float) -> str:
    return f"{value:.1f} ms"


def bytes_text(value: float) -> str:
    unit, size = next(((u, s) for u, s in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)) if value >= s), ("B", 1))
    return f"{three_digits(value / size)} {unit}"


def count_text(value: float) -> str:
    unit, size = next(((u, s) for u, s in ((" M", 1e6), (" k", 1e3)) if value >= s), ("", 1))
    return f"{float(three_digits(value / size)):g}{unit}"


def _exponent(value: float) -> int:
    return len(str(int(abs(value)))) - 1 if abs(value) >= 1 else (0 if abs(value) >= 0.1 else -1)


def _load(*path: str) -> Callable[[Figures], Value]:
    return lambda figures: figures.loads.ours.get(*path)


def _page(*path: str) -> Callable[[Figures], Value]:
    return lambda figures: figures.shown.ours.get(*path)


def _xprof(*path: str) -> Callable[[Figures], Value]:
    return lambda figures: figures.loads.theirs[VIEWER].get(*path)


def _speedscope(*path: str) -> Callable[[Figures], Value]:
    return lambda figures: figures.shown.speedscope.get(*path)


def problems(figures: Figures) -> list[str]:
    """What could not be measured, and why."""
    shown, viewer = figures.shown, figures.loads.theirs[VIEWER]
    outcomes = {"ours": figures.loads.ours, VIEWER: viewer, "page": shown.ours, "export": shown.export}
    outcomes["speedscope"] = shown.speedscope
    return [f"{figures.size_text}, {name}: {one.problem}" for name, one in outcomes.items() if one.problem]


def parts(by_size: dict[int, Figures], session: str) -> list[list[str]]:
    """The 95th percentiles of a session by what was done: frame time, and in brackets the page's own work in a frame."""
    sizes = sorted(by_size)
    pages = {size: by_size[size].shown.ours for size in sizes}
    told = {size: pages[size].get(session, "parts") for size in sizes}
    names = next((list(one) for one in told.values() if isinstance(one, dict)), [])
    rows = [[session.replace("_", " "), *map(count_text, sizes)]]
    for name in names:
        frames = [pages[size].get(session, "parts", name, "p95") for size in sizes]
        works = [pages[size].get(session, "work_parts", name, "p95") for size in sizes]
        pairs = zip(frames, works, strict=True)
        rows.append([name, *(f"{a:.1f} ({b:.1f}) ms" if isinstance(a, float | int) and b else "-" for a, b in pairs)])
    return rows if names else []


def _tables(figures: Figures) -> Value:
    seconds = figures.loads.ours.get("seconds")
    if not isinstance(seconds, dict):
        return seconds
    return sum(value for part, value in seconds.items() if part not in ("load", "first payload"))


def _per_event(figures: Figures) -> Value:
    now = figures.shown.ours.get("kernel", "now")
    return now if isinstance(now, str | None) else (now - 200e6) / figures.n_events


def _loaded_ratio(figures: Figures) -> Value:
    return figures.shown.ours.get("loaded")


_VIEW_S, _VIEW_BYTES, _XPROF_PEAK = _xprof("seconds", VIEWER), _xprof("n_bytes"), _xprof("peak_bytes")
_DRAWN_S, _ITS_P50, _ITS_P95 = (
    _speedscope("seconds"),
    _speedscope("session", "frame_ms", "p50"),
    _speedscope("session", "frame_ms", "p95"),
)
_REST_P95 = _page("when_loaded", "rest_ms", "p95")

ROWS = (
    Row("events", count_text, lambda figures: figures.n_events),
    Row("load", seconds_text, _load("seconds", "load"), "XProf viewer", _VIEW_S),
    Row("all tables", seconds_text, _tables, "XProf viewer", _VIEW_S),
    Row("first payload", seconds_text, _load("seconds", "first payload"), "XProf viewer", _VIEW_S),
    Row("these three", seconds_text, lambda figures: figures.loads.our_seconds, "XProf viewer", _VIEW_S),
    Row("first payload, size", bytes_text, _load("n_bytes"), "XProf viewer", _VIEW_BYTES),
    Row("first paint after the cell", seconds_text, _page("first_paint", "seconds"), "speedscope", _DRAWN_S),
    Row("... of the dashboard", seconds_text, _page("dashboard_first_paint", "seconds"), "speedscope", _DRAWN_S),
    Row("cell, until its output", seconds_text, _page("first_paint", "cell_s"), "XProf viewer", _VIEW_S),
    Row("kernel idle after the output", seconds_text, _page("first_paint", "until_idle_s")),
    Row("all loaded after", seconds_text, _page("loaded_s"), "speedscope", _DRAWN_S),
    Row("in the browser then", str, _loaded_ratio),
    Row("bytes streamed", bytes_text, _page("n_streamed_bytes"), "XProf viewer", _VIEW_BYTES),
    Row("frame while loading, p50", ms_text, _page("while_loading", "frame_ms", "p50"), "speedscope", _ITS_P50),
    Row("frame while loading, p95", ms_text, _page("while_loading", "frame_ms", "p95"), "speedscope", _ITS_P95),
    Row("... long tasks (over 50 ms)", str, _page("while_loading", "n_long_tasks")),
    Row("... longest of them", ms_text, _page("while_loading", "longest_task_ms")),
    Row("frame when loaded, p50", ms_text, _page("when_loaded", "frame_ms", "p50"), "speedscope", _ITS_P50),
    Row("frame when loaded, p95", ms_text, _page("when_loaded", "frame_ms", "p95"), "speedscope", _ITS_P95),
    Row("... and at rest, p95", ms_text, _REST_P95),
    Row("... work of a frame, p95", ms_text, _page("when_loaded", "work_ms", "p95"), "frame at rest", _REST_P95),
    Row("... long tasks (over 50 ms)", str, _page("when_loaded", "n_long_tasks")),
    Row("... longest of them", ms_text, _page("when_loaded", "longest_task_ms")),
    Row("kernel before the load", bytes_text, _page("kernel_empty", "now"), "XProf's process", _XPROF_PEAK),
    Row("kernel at rest", bytes_text, _page("kernel", "now"), "XProf's process", _XPROF_PEAK),
    Row("... over 200 MB, per event", bytes_text, _per_event),
    Row("kernel at its peak", bytes_text, _page("kernel", "peak"), "XProf's process", _XPROF_PEAK),
    Row("page, heap and buffers", bytes_text, _page("page", "total"), "speedscope", _speedscope("page", "total")),
    Row("page before the cell", bytes_text, _page("page_empty", "total")),
    Row("page process at rest", bytes_text, _page("renderer", "now"), "speedscope", _speedscope("renderer", "now")),
    Row(
        "page process at its peak", bytes_text, _page("renderer", "peak"), "speedscope", _speedscope("renderer", "peak")
    ),
    Row("XProf viewer, server side", seconds_text, _VIEW_S),
    Row("XProf viewer, its answer", bytes_text, _VIEW_BYTES),
    Row("XProf viewer, peak memory", bytes_text, _XPROF_PEAK),
    Row("Chrome trace, export", seconds_text, lambda figures: figures.shown.export.get("seconds")),
    Row("Chrome trace, size", bytes_text, lambda figures: figures.shown.export.get("n_bytes")),
    Row("speedscope, drawn after", seconds_text, _DRAWN_S),
    Row("speedscope, frame p95", ms_text, _ITS_P95),
    Row("speedscope, page", bytes_text, _speedscope("page", "total")),
)


def table(by_size: dict[int, Figures]) -> list[list[str]]:
    """Header and rows; the last columns tell by how much a quantity grows from one size to the next."""
    sizes = sorted(by_size)
    steps = list(itertools.pairwise(sizes))
    head = ["", *map(count_text, sizes), *(f"{count_text(a)} > {count_text(b)}" for a, b in steps), "peer"]
    events = [by_size[b].n_events / by_size[a].n_events for a, b in steps]
    rows = [head, ["growth of the events", *[""] * len(sizes), *(f"x {one:.1f}" for one in events), ""]]
    for row in ROWS:
        values = [row.value(by_size[size]) for size in sizes]
        if all(value is None for value in values):
            continue
        peers = [row.peer_value(by_size[size]) if row.peer_value else None for size in sizes]
        cells = [_cell(row, value, peer) for value, peer in zip(values, peers, strict=True)]
        growth = [_growth(a, b) for a, b in itertools.pairwise(values)]
        rows.append([row.title, *cells, *growth, row.peer])
    return rows


def _cell(row: Row, value: Value, peer: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value if len(value) <= LONGEST_WORDS else value[: LONGEST_WORDS - 2] + " …"
    ratio = f" ({value / peer:.2g})" if isinstance(peer, int | float) and peer else ""
    return row.words(value) + ratio


def _growth(before: Value, after: Value) -> str:
    if isinstance(before, int | float) and isinstance(after, int | float) and before > 0:
        return f"x {after / before:.1f}"
    return ""


def aligned(rows: list[list[str]]) -> str:
    """For a terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def markdown(rows: list[list[str]]) -> str:
    """For a file."""
    head, *body = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|---|" + "---:|" * (len(rows[0]) - 1), *body])
