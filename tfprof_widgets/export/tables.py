"""Results -> one CSV or Parquet file per table, and `index.json`, which says what is in each."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, get_args

import pandas as pd

from ..analysis.advice.engine import advice_table
from ..analysis.columns.column import Column, Table, unit_of
from ..analysis.columns.memory import ALLOCATOR
from ..analysis.columns.registry import TABLES
from ..analysis.graph.options import TreeView, make_tree_options
from ..analysis.graph.tree import build_tree
from ..analysis.results import AnyResults, Results
from ..analysis.timeline.flows import flow_table
from ..errors import TfProfError
from .atomic import replacing

INDEX = "index.json"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ROWS = 100_000
"""Written at once: some 10 MB of text."""
_OF_THE_REGISTRY = {
    **{f"tree_{view}": "tree(view)" for view in get_args(TreeView)},
    **{f"memory_{name}": f"memory.{name}" for name in ("summary", "timeline", "peak")},
    **{f"input_{name}": f"input_pipeline.{name}" for name in ("categories", "ops", "pipelines", "iterators")},
    "advice": "advice_table",
}
"""What files of other names than their table hold."""


def tables(results: AnyResults) -> dict[str, pd.DataFrame]:
    """Every table of a profile by the name of its file; tables without rows are among them.

    Of a reduced profile the events are those of its timeline, and the timeline of the memory is empty.
    """
    return {name: make() for name, make in table_makers(results).items()}


def table_makers(results: AnyResults) -> dict[str, Callable[[], pd.DataFrame]]:
    """The same, each table made when it is asked for."""
    is_whole = isinstance(results, Results)
    return {
        "events": lambda: results.events,
        "flows": lambda: flow_table(results.trace, results.flows),
        "steps": lambda: results.step_frame,
        "step_guide": lambda: results.step_guide,
        "idle": lambda: results.idle,
        "kernel_launches": lambda: results.kernel_launches,
        "ops": lambda: results.ops,
        "kernels": lambda: results.kernels.frame,
        "copies": lambda: results.copies,
        "hlo_ops": lambda: results.hlo_ops.frame,
        **({"program_memory": lambda: results.program_memory} if isinstance(results, Results) else {}),
        "layers": lambda: results.layers.frame,
        "source_lines": lambda: results.source_lines.frame,
        "scopes": lambda: results.scopes.frame,
        "variables": lambda: results.variables,
        **{f"tree_{view}": partial(_tree, results, view) for view in get_args(TreeView)},
        "workers": lambda: results.workers.frame,
        "memory_summary": lambda: results.memory.summary,
        "memory_timeline": lambda: _by_allocator(
            results.memory.allocators if is_whole else (), results.memory.timeline
        ),
        "memory_peak": lambda: _by_allocator(results.memory.allocators, results.memory.peak),
        "input_categories": lambda: results.input_pipeline.categories,
        "input_ops": lambda: results.input_pipeline.ops,
        "input_pipelines": lambda: results.input_pipeline.pipelines,
        "input_iterators": lambda: results.input_pipeline.iterators,
        "advice": lambda: advice_table(results.advice),
        "counters": lambda: results.counters.frame,
        "system": lambda: pd.DataFrame() if results.system is None else results.system,
    }


def _tree(results: AnyResults, view: TreeView) -> pd.DataFrame:
    """The costs by structure, all nodes."""
    return build_tree(results.op_graph, view, make_tree_options()).frame


def write_tables(
    directory: Path, found: Mapping[str, pd.DataFrame], *, kind: str, on_rows: Callable[[int], object] = lambda _: None
) -> None:
    """Write the tables.

    Args:
        directory: made where it is not there; files of the same names are replaced.
        found: tables by name.
        kind: `"csv"` (UTF-8 with a header, numbers that read back the same, empty where a value is missing) or
            `"parquet"`.
        on_rows: is told how many more rows were written.

    Raises:
        TfProfError: pyarrow is missing for Parquet, or a file cannot be written.
    """
    write = _write_csv if kind == "csv" else _parquet_writer()
    for name, table in found.items():
        with replacing(directory / f"{name}.{kind}") as file:
            write(file, flat(table), on_rows)
    index = {"tables": {name: _described(name, table, f"{name}.{kind}") for name, table in found.items()}}
    with replacing(directory / INDEX) as file:
        file.write(json.dumps(index, indent=1).encode())


def _by_allocator(allocators: Iterable[str], table: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    parts = [table(allocator) for allocator in allocators]
    if not parts:
        return pd.DataFrame()
    labels = [part.assign(allocator=allocator) for part, allocator in zip(parts, allocators, strict=True)]
    joined = pd.concat(labels, ignore_index=True)
    return joined[["allocator", *joined.columns.drop("allocator")]]


def _described(name: str, table: pd.DataFrame, file: str) -> dict[str, Any]:
    known = {one.name: one for one in columns_of(name)}
    columns = []
    for column in map(str, table.columns):
        told = known.get(column) or Column(column, "text", "", unit_of(column))
        columns.append({"name": column, "type": type_of(table[column]), "unit": told.unit, "meaning": told.meaning})
    return {"file": file, "n_rows": len(table), "columns": columns}


def table_of(name: str) -> Table | None:
    """What the registry says of the table that a file holds; None where it has none of it."""
    return TABLES.get(_OF_THE_REGISTRY.get(name, name))


def columns_of(name: str) -> tuple[Column, ...]:
    """The columns of such a table, as far as the registry has them."""
    table = table_of(name)
    own = () if table is None else table.columns
    return (ALLOCATOR, *own) if name in ("memory_timeline", "memory_peak") else own


def type_of(column: pd.Series[Any]) -> str:
    """`boolean`, `integer`, `number` or `text`, as `index.json` says it."""
    if pd.api.types.is_bool_dtype(column):
        return "boolean"
    if pd.api.types.is_integer_dtype(column):
        return "integer"
    return "number" if pd.api.types.is_float_dtype(column) else "text"


def flat(table: pd.DataFrame) -> pd.DataFrame:
    """The table with lists and objects in cells as JSON, which one column of a file can hold."""
    nested = [name for name in table.columns if table[name].dtype == object and not _is_text(table[name])]
    cells: dict[str, Any] = {name: [_cell(value) for value in table[name]] for name in nested}
    return table.assign(**cells)


def _is_text(column: pd.Series[Any]) -> bool:
    return pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty")


def _cell(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and value != value):
        return None
    return json.dumps(value, default=str, ensure_ascii=False)


def _write_csv(file: BinaryIO, table: pd.DataFrame, on_rows: Callable[[int], object]) -> None:
    text = io.TextIOWrapper(file, "utf-8", errors="backslashreplace", newline="", write_through=True)
    try:
        for low in range(0, max(len(table), 1), _ROWS):
            part = table.iloc[low : low + _ROWS]
            part = part.assign(**{str(name): _no_formulas(part[name]) for name in part.columns})
            part.to_csv(text, index=False, header=low == 0)
            on_rows(len(part))
    finally:
        text.detach()


def _no_formulas(column: pd.Series[Any]) -> pd.Series[Any]:
    """Texts of the trace that a spreadsheet would run as a formula, behind an apostrophe, which it takes for a mark of text."""
    if pd.api.types.infer_dtype(column, skipna=True) != "string":
        return column
    risky = [text for text in column.dropna().unique().tolist() if text.startswith(_FORMULA)]
    return column.replace({text: f"'{text}" for text in risky}) if risky else column


def _parquet_writer() -> Callable[[BinaryIO, pd.DataFrame, Callable[[int], object]], None]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise TfProfError(
            f"Parquet files need pyarrow, which cannot be imported: {str(error).rstrip('.')}. "
            "`pip install pyarrow` installs it; to_csv writes the same tables without it."
        ) from error

    def write(file: BinaryIO, table: pd.DataFrame, on_rows: Callable[[int], object]) -> None:
        schema = pa.Schema.from_pandas(table, preserve_index=False)
        with pq.ParquetWriter(file, schema) as writer:
            for low in range(0, max(len(table), 1), _ROWS):
                part = table.iloc[low : low + _ROWS]
                writer.write_table(pa.Table.from_pandas(part, schema=schema, preserve_index=False))
                on_rows(len(part))

    return write
