"""A profile -> a snapshot of each of its tables, and what differs between two: columns, first rows, and sums over all rows.

`tests/data/CAPTURE.tables.json.gz` holds the snapshots of a capture; `make goldens` writes them anew.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import numpy as np
import pandas as pd

import tfprof_widgets as tfprof
from tests.captures import committed
from tests.cluster import Cluster, write_two_hosts

N_FIRST = 200
"""Rows of a table that a snapshot holds as they are; of more it holds sums."""
DIGITS, SUM_DIGITS = 7, 13
"""Significant ones of the numbers in snapshots."""
RATIO, SUM_RATIO = 1e-6, 1e-10
"""By how much numbers may differ, of sums as part of the sum of magnitudes."""
SMALLEST = 1e-9
"""Differences below this are none."""
MOST_SHOWN = 20
DRAWN = ("drawn_hosts", "drawn_hosts_reduced", "drawn_cluster", "drawn_cluster_reduced")
"""Runs of several hosts that are drawn, beside the captures."""
Snapshot = dict[str, Any]

ATTRIBUTES = (
    *(
        "events",
        "flows",
        "steps",
        "step_guide",
        "attribution",
        "idle",
        "kernel_launches",
        "ops",
        "kernels",
        "copies",
        "hlo_ops",
    ),
    *("program_memory", "layers", "source_lines", "scopes", "variables", "workers", "counters", "system"),
    *("system_findings", "hosts", "stragglers", "communication", "roofline"),
)
"""Tables that a profile has under their own names."""
VIEWS = ("scope", "graph", "op", "code")
"""Of the tree."""
ONLY_WHOLE = ("attribution", "program_memory", "roofline")
"""Those that a reduced profile refuses."""
OF_INPUT = ("categories", "ops", "steps", "hosts", "pipelines", "iterators")
OF_PART = ("ops", "kernels", "layers", "source_lines", "scopes", "hlo_ops", "steps", "events")


def tables_of(prof: tfprof.Profile) -> dict[str, Callable[[], pd.DataFrame]]:
    """Every public table by its name in `Profile.tables`, and those that hang on others, as `memory_steps`."""
    memory, data, overview = prof.memory, prof.input_pipeline, prof.overview
    attributes = [name for name in ATTRIBUTES if not (not prof.has_events and name in ONLY_WHOLE)]
    found: dict[str, Callable[[], pd.DataFrame]] = {
        "figures": lambda: figures(prof),
        **{name: partial(getattr, prof, name) for name in attributes},
        "hosts": lambda: prof.hosts.assign(path=[Path(path).name for path in prof.hosts["path"]]),
        "advice": lambda: prof.advice_table,
        **{f"tree_{view}": partial(prof.tree, view) for view in VIEWS},
        **{f"overview_{name}": partial(getattr, overview, name) for name in ("breakdown", "tf_functions")},
        **{f"input_{name}": partial(getattr, data, name) for name in OF_INPUT},
        "memory_summary": lambda: memory.summary,
        "memory_peak": lambda: by_allocator(prof, "peak"),
        "memory_held_at_peak": lambda: by_allocator(prof, "held_at_peak"),
        "memory_timeline": pd.DataFrame,
    }
    if prof.has_events:
        found |= {f"memory_{name}": partial(by_allocator, prof, name) for name in ("timeline", "steps", "lifetimes")}
        found["memory_unfreed"] = lambda: by_allocator(prof, "unfreed")
        found |= {f"roofline_by_{name}": partial(prof.roofline_by, name) for name in ("kernel", "layer", "step")}
        if len(data.pipelines):
            found["input_executions"], found["input_execution"] = lambda: data.executions(0), lambda: data.execution(0)
        found |= part_tables(prof)
    if (failure := prof.memory_failure) is not None:
        found |= {
            f"memory_failure_{name}": partial(getattr, failure, name) for name in ("by_op", "by_layer", "by_line")
        }
    return found


def by_allocator(prof: tfprof.Profile, name: str) -> pd.DataFrame:
    """One table of the memory for all allocators."""
    memory = prof.memory
    parts = [getattr(memory, name)(allocator).assign(allocator=allocator) for allocator in memory.allocators]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def part_tables(prof: tfprof.Profile) -> dict[str, Callable[[], pd.DataFrame]]:
    """The tables of a step in the middle, and of a time range that cuts events."""
    low, high = (int(bound) // 1000 for bound in (prof.trace.start_ps.min(), prof.trace.end_ps.max()))
    parts = {"range": prof.select(time_range=(low + (high - low) // 3, low + (high - low) // 2))}
    if len(prof.steps):
        parts["step"] = prof.select(step=len(prof.steps) // 2)
    prof.select()
    found: dict[str, Callable[[], pd.DataFrame]] = {}
    for of, part in parts.items():
        found |= {f"{of}_{name}": partial(getattr, part, name) for name in OF_PART}
        found[f"{of}_types"] = partial(part.op_statistics, by="type", idle=True)
        if prof.memory.allocators:
            found[f"{of}_memory"] = partial(part.memory, prof.memory.main_allocator)
    return found


def figures(prof: tfprof.Profile) -> pd.DataFrame:
    """What a profile says beside tables: the overview, the machine, the verdicts, notices."""
    about = {
        "overview": prof.overview,
        "environment": prof.overview.environment,
        "input": prof.input_pipeline,
        "memory": prof.memory,
        "failure": prof.memory_failure,
        "capture": prof.capture,
        "cost": prof.cost,
    }
    rows = [("notice", notice) for notice in prof.notices]
    for name, one in about.items():
        fields = dataclasses.fields(one) if dataclasses.is_dataclass(one) else ()
        for field in fields:
            value = getattr(one, field.name)
            if not field.name.startswith("_") and isinstance(
                value, (str, bool, int, float, tuple, np.ndarray, type(None))
            ):
                rows.append((f"{name}.{field.name}", value))
    return pd.DataFrame({"figure": [name for name, _ in rows], "value": pd.Series([v for _, v in rows], dtype=object)})


def snapshots(prof: tfprof.Profile) -> dict[str, Snapshot]:
    """The snapshot of each table."""
    return {name: snapshot(make()) for name, make in tables_of(prof).items()}


def snapshot(table: pd.DataFrame) -> Snapshot:
    """Columns with their types, the first rows, and sums over all rows where there are more."""
    return {
        "n_rows": len(table),
        "columns": {str(name): _column(table[name]) for name in table.columns},
    }


def _column(values: pd.Series[Any]) -> dict[str, Any]:
    kind = "text" if str(values.dtype) in ("object", "str") else str(values.dtype)
    found = {"type": kind, "first": [_plain(value) for value in values.iloc[:N_FIRST].tolist()]}
    if len(values) > N_FIRST:
        found["all"] = _sums(values) if pd.api.types.is_numeric_dtype(values) else _text_sums(values)
    return found


def _sums(values: pd.Series[Any]) -> dict[str, float]:
    """Sums that tell of a number that changed and, weighted by the row, of two that changed places."""
    numbers = values.to_numpy(np.float64)
    row = np.flatnonzero(~np.isnan(numbers))
    numbers = numbers[row]
    sums = {"count": float(len(row)), "sum": numbers.sum(), "sum by row": (numbers * (row + 1) / len(values)).sum()}
    return {name: _rounded(value, SUM_DIGITS) for name, value in (sums | {"scale": np.abs(numbers).sum()}).items()}


def _text_sums(values: pd.Series[Any]) -> dict[str, float]:
    texts = [one if isinstance(one, str) else json.dumps(_plain(one, digits=4)) for one in values.tolist()]
    return {
        "distinct": float(len(set(texts))),
        "text": float(crc32("\n".join(texts).encode("utf-8", "backslashreplace"))),
    }


def _plain(value: Any, digits: int = DIGITS) -> Any:
    """A cell as JSON holds it; NaN is None."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return _rounded(value, digits) if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one, digits) for key, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(one, digits) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item(), digits)
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name), digits) for field in dataclasses.fields(value)}
    return str(value)


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


@dataclass(frozen=True)
class Difference:
    """One cell of a table, or one property of a column, that is not what it was."""

    table: str
    row: str
    column: str
    was: Any
    now: Any


def differences(was: Mapping[str, Snapshot], now: Mapping[str, Snapshot]) -> Iterator[Difference]:
    """What differs, table by table."""
    for table in sorted(was.keys() | now.keys()):
        before, after = was.get(table), now.get(table)
        if before is None or after is None:
            yield Difference(table, "", "", *("missing" if one is None else "a table" for one in (before, after)))
            continue
        if before["n_rows"] != after["n_rows"]:
            yield Difference(table, "", "rows", before["n_rows"], after["n_rows"])
        columns, others = before["columns"], after["columns"]
        if list(columns) != list(others):
            yield Difference(table, "", "columns", list(columns), list(others))
        for column in columns.keys() & others.keys():
            yield from _column_differences(table, column, columns[column], others[column])


def _column_differences(table: str, column: str, was: dict[str, Any], now: dict[str, Any]) -> Iterator[Difference]:
    if was["type"] != now["type"]:
        yield Difference(table, "type", column, was["type"], now["type"])
    for row, (before, after) in enumerate(zip(was["first"], now["first"], strict=False)):
        if not _is_same(before, after):
            yield Difference(table, str(row), column, before, after)
    sums, others = was.get("all", {}), now.get("all", {})
    scale = SUM_RATIO * max(sums.get("scale", 0.0), others.get("scale", 0.0)) + SMALLEST
    for name in sums.keys() & others.keys():
        if abs(sums[name] - others[name]) > scale:
            yield Difference(table, f"all: {name}", column, sums[name], others[name])


def _is_same(was: Any, now: Any) -> bool:
    if isinstance(was, float) or isinstance(now, float):
        if not all(isinstance(one, (int, float)) for one in (was, now)):
            return False
        return abs(was - now) <= RATIO * max(abs(was), abs(now)) + SMALLEST
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(_is_same, was, now))
    if isinstance(was, dict) and isinstance(now, dict):
        return list(was) == list(now) and all(map(_is_same, was.values(), now.values()))
    return bool(was == now)


def told(capture: str, found: list[Difference]) -> str:
    """The differences as a table; "" where there are none."""
    if not found:
        return ""
    width = max(len(one.table) for one in found)
    lines = [
        f"{one.table:<{width}}  {one.row:>8}  {one.column}: was {one.was!r:.100}, is {one.now!r:.100}"
        for one in found[:MOST_SHOWN]
    ]
    more = f"\n... and {len(found) - MOST_SHOWN:,} more" if len(found) > MOST_SHOWN else ""
    return f"{capture}: {len(found):,} differences. table, row, column:\n" + "\n".join(lines) + more


def golden_path(capture: str) -> Path:
    """Where the snapshots of a capture are."""
    return committed.DATA / f"{capture}.tables.json.gz"


def read_golden(capture: str) -> dict[str, Snapshot]:
    """The snapshots that were written of a capture."""
    return cast(dict[str, Snapshot], json.loads(gzip.decompress(golden_path(capture).read_bytes())))


def as_read(now: Mapping[str, Snapshot]) -> dict[str, Snapshot]:
    """Snapshots as they come back from a file."""
    return cast(dict[str, Snapshot], json.loads(json.dumps(now)))


def open_drawn(name: str, directory: Path) -> tfprof.Profile:
    """A profile of `DRAWN`, its files below a directory."""
    if name.startswith("drawn_hosts"):
        write_two_hosts(directory)
    else:
        Cluster(4, slow_compute={2: 1.3}, slow_input={3: 2.0}).draw(directory)
    if not name.endswith("_reduced"):
        return tfprof.load(directory)
    with ThreadPoolExecutor(1) as executor:
        return tfprof.load(directory, executor=executor)


def write_goldens() -> None:
    """Snapshots of all captures and drawn runs anew."""
    for name in (*committed.NAMES, *DRAWN):
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch) / name
            if name in DRAWN:
                directory.mkdir()
                prof = open_drawn(name, directory)
            else:
                committed.unpack(name, directory)
                prof = tfprof.load(directory)
            text = json.dumps(snapshots(prof), separators=(",", ":"))
        golden_path(name).write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"wrote the tables of {name}")
