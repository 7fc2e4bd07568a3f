"""Analysis -> CSV and Parquet files with their `index.json`, SQL over the tables, and saved run directories."""

from __future__ import annotations

import base64
import contextlib
import gzip
import html
import io
import json
import math
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..analysis.analysis import Analysis
from ..analysis.table import TABLES, Column, Kind, Table, unit_of
from ..errors import TfProfError, TraceError, without_controls
from ..read.opening import Opened, stamp_of
from ..read.places import (
    CHROME_SUFFIXES,
    GRAPH_NAMES,
    OP_LOG_NAME,
    RUNS,
    SUFFIXES,
    companion_name,
    file_bytes,
    is_url,
    kind_of_file,
)
from ..read.protobuf import STEP_KINDS, FileKind
from ..read.saved import SAVED, SavedProfile, is_sidecar, sidecars_of
from ..trace.arrays import Int64, UInt8, UInt64
from ..trace.trace import StatKind, Trace

_LEVEL = 4
"""Of gzip: a trace becomes a tenth; level 9 takes three times as long for 5 % less."""


@contextlib.contextmanager
def replacing(path: Path, *, packs: bool = True) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` when the block ends well; with `packs` a name in `.gz` is compressed."""
    part: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, part = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)
        with os.fdopen(number, "wb") as raw:
            if packs and path.name.endswith(".gz"):
                # No name and time inside: the same profile gives the same bytes.
                with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=raw, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
        os.chmod(part, 0o666 & ~_umask())  # noqa: PTH101 - a name, not a Path; mkstemp gives 0o600
        os.replace(part, path)  # noqa: PTH105 - a name, not a Path
    except OSError as error:
        raise TfProfError(f"{path} cannot be written: {error.strerror or error}. Give another place.") from error
    finally:
        if part is not None:
            with contextlib.suppress(OSError):  # after the renaming it is gone
                os.unlink(part)  # noqa: PTH108 - a name, not a Path


def _umask() -> int:
    """The mask of this process, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


Texts = npt.NDArray[np.object_]

_PS_PER_US = 1_000_000
_PS_PER_NS = 1_000


def microseconds(time_ps: Int64) -> list[str]:
    """Times as decimals that give back every picosecond: `12.000345`, `12.5`, `12`; mostly three decimals, of CPU clocks."""
    whole, rest = np.divmod(np.abs(time_ps), _PS_PER_US)
    if not rest.any():
        texts = list(map(str, whole.tolist()))
    elif not (rest % _PS_PER_NS).any():
        texts = list(map("%d.%03d".__mod__, zip(whole.tolist(), (rest // _PS_PER_NS).tolist(), strict=True)))
    else:
        texts = list(map("%d.%06d".__mod__, zip(whole.tolist(), rest.tolist(), strict=True)))
    for row in np.flatnonzero(time_ps < 0).tolist():  # before the origin: of a few events, if any
        texts[row] = f"-{texts[row]}"
    return texts


def quoted(text: str) -> str:
    """A string of JSON. Beyond ASCII it stays UTF-8: Perfetto's reader of object members knows no `\\u` escapes."""
    return json.dumps(text, ensure_ascii=False)


def compact(value: object) -> str:
    """Any value as JSON without spaces; refuses what JSON has no word for."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def real(value: float) -> str:
    """A double that reads back the same; what JSON has no word for is an object that `store.chrome_stats` knows."""
    return repr(value) if math.isfinite(value) else f'{{"$double":"{value}"}}'


def plain(value: Any) -> Any:
    """A stat's value as something JSON can hold, in the same form as in the stats of events."""
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$double": str(value)}
    return value


class StatTexts:
    """Stats -> members of JSON objects such as `"group_id":7`; each string of the trace is quoted once."""

    def __init__(self, trace: Trace) -> None:
        self._strings = trace.strings
        self._blobs = trace.blobs
        self._quoted: Texts = np.empty(len(trace.strings), object)
        self._is_quoted = np.zeros(len(trace.strings), np.bool_)

    def strings(self, ids: npt.NDArray[np.integer[Any]]) -> Texts:
        """The quoted string of each index into `Trace.strings`."""
        new = np.unique(ids)
        new = new[~self._is_quoted[new]]
        for i in new.tolist():  # once for each string
            self._quoted[i] = quoted(self._strings[i])
        self._is_quoted[new] = True
        texts: Texts = self._quoted[ids]
        return texts

    def members(self, key: npt.NDArray[np.integer[Any]], kind: UInt8, bits: UInt64) -> list[str]:
        values: Texts = np.empty(len(key), object)
        for one in np.unique(kind).tolist():
            rows = np.flatnonzero(kind == one)
            values[rows] = self._values(one, bits[rows])
        return list(map("%s:%s".__mod__, zip(self.strings(key).tolist(), values.tolist(), strict=True)))

    def _values(self, kind: int, bits: UInt64) -> Any:
        if kind == StatKind.STRING:
            return self.strings(bits.astype(np.int64))
        if kind == StatKind.BYTES:
            return [compact(plain(self._blobs[i])) for i in bits.tolist()]
        if kind == StatKind.DOUBLE:
            return list(map(real, bits.view(np.float64).tolist()))
        return list(map(str, (bits.view(np.int64) if kind == StatKind.INT64 else bits).tolist()))


_CHUNK = 2**20
_KEPT_KINDS = (*STEP_KINDS, FileKind.GRAPH, FileKind.OP_LOG)
"""Files of TensorFlow's first profiler, whose names number their steps."""


def save_runs(directory: Path, opened: Opened, saved: SavedProfile) -> Path:
    """Copy the files of a profile, run by run, and write the sidecar; what is in the directory already stays."""
    files = opened.paths
    if len(opened.stamps) < len(files):
        raise TfProfError(
            f"The {len(files):,} hosts were read where their files are, behind URLs, and are not all fetched to be saved. "
            "prof.host(name).save(directory) saves one."
        )
    for file, stamp in zip(files, opened.stamps, strict=True):
        if not file.is_file():
            raise TfProfError(f"{file} cannot be read: it is no longer there. Load the profile again from where it is.")
        if stamp_of(file) != stamp:  # the copy would hold another trace than the one that is shown
            raise TfProfError(f"{file} was written again since this profile was loaded. Load it again to save it.")
    runs: dict[Path, list[Path]] = {}
    for file in files:
        runs.setdefault(file.parent, []).append(file)
    names = _run_names(directory, runs)
    for (run, own), name in zip(runs.items(), names, strict=True):
        for file in [*own, *filter(_is_within, sidecars_of(run))]:
            _copy(file, directory / RUNS / name / _file_name(file))
        for file in opened.companions:
            if file.is_file() and _is_within(file):
                _copy(file, directory / RUNS / name / companion_name(file))
    document = json.dumps(replace(saved, runs=tuple(names)).document(), allow_nan=False, indent=1)
    with replacing(directory / SAVED) as sidecar:
        sidecar.write(document.encode())
    _warn_of_other_formats(directory, files)
    return directory


def _is_within(file: Path) -> bool:
    """Whether a found file is no link out of its directory."""
    is_within = is_url(file) or not file.is_symlink() or file.resolve().is_relative_to(file.parent.resolve())
    if not is_within:
        warnings.warn(without_controls(f"{file} is a link out of its directory, so it was not saved."), stacklevel=5)
    return is_within


def _warn_of_other_formats(directory: Path, files: Sequence[Path]) -> None:
    if any(file.name.endswith(CHROME_SUFFIXES) for file in files):
        what, those = "a Chrome trace", "that JSON file"
    elif any(kind_of_file(file) in _KEPT_KINDS for file in files):
        what, those = "files of TensorFlow's first profiler", "those files"
    else:
        return
    warnings.warn(
        f"This profile was loaded from {what}, not from an XSpace. {directory} holds {those}: "
        "tfprof_widgets.load opens it, TensorBoard does not.",
        stacklevel=4,
    )


def _run_names(directory: Path, runs: Mapping[Path, Sequence[Path]]) -> list[str]:
    """A name for each run: its own, unless another run of the profile or of the directory has it."""
    names: list[str] = []
    for run, files in runs.items():
        base = run.absolute().name or "run"
        name, n = base, 1
        while name in names or _is_taken(directory / RUNS / name, files):
            n += 1
            name = f"{base}_{n}"
        names.append(name)
    return names


def _is_taken(place: Path, files: Sequence[Path]) -> bool:
    """Whether the traces of another run are there; those that an earlier call put there are not."""
    there = [
        file
        for file in place.glob("*")
        if file.is_file() and file.name not in (*GRAPH_NAMES, OP_LOG_NAME) and _is_trace(file)
    ]
    own = {_file_name(file): file for file in files}
    return any(file.name not in own or not _holds(file, own[file.name]) for file in there)


def _is_trace(file: Path) -> bool:
    return not is_sidecar(file.name) and (
        file.name.endswith(SUFFIXES + CHROME_SUFFIXES) or kind_of_file(file) in _KEPT_KINDS
    )


def _holds(copy: Path, source: Path) -> bool:
    """Whether a file is what `_copy` made of a source, byte by byte."""
    if copy.samefile(source):
        return True
    try:
        with copy.open("rb") as file:
            for part in _content(source, copy.name):
                if file.read(len(part)) != part:
                    return False
            return not file.read(1)
    except (OSError, TraceError):
        return False


def _file_name(file: Path) -> str:
    """The name under which TensorBoard finds a trace: it knows no compressed ones."""
    name = file.name
    if is_sidecar(name) or name.endswith(CHROME_SUFFIXES) or kind_of_file(file) in _KEPT_KINDS:
        return name
    stem = next((name.removesuffix(suffix) for suffix in reversed(SUFFIXES) if name.endswith(suffix)), name)
    return f"{stem}{SUFFIXES[0]}"


def _copy(source: Path, target: Path) -> None:
    if target.exists() and target.samefile(source):
        return
    parts = _content(source, target.name)
    try:
        first = next(parts, b"")
        with replacing(target, packs=False) as copy:
            for part in chain([first], parts):
                copy.write(part)
    except (OSError, TraceError) as error:
        raise TfProfError(f"{source} cannot be read: {error}. The profile keeps what was read before.") from error


def _content(source: Path, name: str) -> Iterator[bytes]:
    """The content of a file of this name, piece by piece: an XSpace is unpacked."""
    with source.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b" and name.endswith(SUFFIXES[0])
        file.seek(0)
        if not is_packed:
            yield from iter(lambda: file.read(_CHUNK), b"")
            return
    yield file_bytes(source)


INDEX = "index.json"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ROWS = 100_000
"""Written at once: some 10 MB of text."""


def tables(results: Analysis) -> dict[str, pd.DataFrame]:
    """Every table of a profile by the name of its file, empty ones too; a reduced one has no memory timeline."""
    return {name: make() for name, make in table_makers(results).items()}


def table_makers(results: Analysis) -> dict[str, Callable[[], pd.DataFrame]]:
    """The same, each table made when it is asked for."""
    is_whole = results.has_events
    return {
        name: partial(read, results)
        for table in TABLES.values()
        for name, read in table.files.items()
        if is_whole or not table.of_executions
    }


def write_tables(
    directory: Path, found: Mapping[str, pd.DataFrame], *, kind: str, on_rows: Callable[[int], object] = lambda _: None
) -> None:
    write = _write_csv if kind == "csv" else _parquet_writer()
    for name, table in found.items():
        with replacing(directory / f"{name}.{kind}") as file:
            write(file, flat(table), on_rows)
    index = {"tables": {name: _described(name, table, f"{name}.{kind}") for name, table in found.items()}}
    with replacing(directory / INDEX) as file:
        file.write(json.dumps(index, indent=1).encode())


def _described(name: str, table: pd.DataFrame, file: str) -> dict[str, Any]:
    known = {one.name: one for one in columns_of(name)}
    columns = []
    for column in map(str, table.columns):
        told = known.get(column) or Column(column, "text", "", unit_of(column))
        columns.append({"name": column, "type": type_of(table[column]), "unit": told.unit, "meaning": told.meaning})
    return {"file": file, "n_rows": len(table), "columns": columns}


def table_of(name: str) -> Table | None:
    """The table that a file holds; None where none is declared."""
    return next((table for table in TABLES.values() if name in table.files), TABLES.get(name))


def columns_of(name: str) -> tuple[Column, ...]:
    """The columns of such a table, as far as they are declared."""
    table = table_of(name)
    return () if table is None else table.file_columns


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
    """Texts that a spreadsheet would run as a formula, behind an apostrophe, its mark of text."""
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


_COLUMNS = ("table", "column", "type", "unit", "meaning")


@dataclass(frozen=True)
class TableList:
    """The tables of a profile by the names that `Profile.sql` knows; it prints and displays itself."""

    names: tuple[str, ...]
    """Of the tables."""
    columns: dict[str, tuple[Column, ...]]
    """Of each table."""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per column, in the order of the tables: `table, column, type, unit, meaning`, all of them text. The types
        are `int`, `float`, `number` (whole or not), `bool`, `text` and `object`, a list or a dict that a query sees as the
        text of its JSON; the unit is empty for a count and a text."""
        rows = [(name, one.name, one.kind, one.unit, one.meaning) for name in self.names for one in self.columns[name]]
        return pd.DataFrame(rows, columns=list(_COLUMNS), dtype=object)

    def __repr__(self) -> str:
        return f"<TableList: {len(self.names)} tables, {len(self.frame)} columns; print it, or see its frame>"

    def __str__(self) -> str:
        return "\n".join(line for name in self.names for line in self._lines(name))

    def _lines(self, name: str) -> Iterable[str]:
        columns = self.columns[name]
        yield f"{name}: {_row(name)}"
        width = max((len(one.name) for one in columns), default=0)
        for one in columns:
            unit = f" [{one.unit}]" if one.unit else ""
            yield f"  {one.name:<{width}}  {one.kind:<6}  {one.meaning}{unit}"

    def _repr_html_(self) -> str:
        parts = []
        for name in self.names:
            rows = "".join(
                f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in (one.name, one.kind, one.unit, one.meaning))}</tr>"
                for one in self.columns[name]
            )
            head = f"<summary><b>{html.escape(name)}</b>: {html.escape(_row(name))}</summary>"
            parts.append(f"<details>{head}<table>{rows}</table></details>")
        return "\n".join(parts)


def list_tables(names: Iterable[str], system: pd.DataFrame) -> TableList:
    known = {name: columns_of(name) for name in names}
    if "system" in known:
        listed = {one.name for one in known["system"]}
        more = [str(name) for name in system.columns if name not in listed]
        known["system"] += tuple(Column(name, _KINDS[type_of(system[name])], "", unit_of(name)) for name in more)
    return TableList(tuple(known), known)


_KINDS: dict[str, Kind] = {"boolean": "bool", "integer": "int", "number": "float", "text": "text"}


def _row(name: str) -> str:
    table = table_of(name)
    return "" if table is None else f"a row is {table.row}"


_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "number": "DOUBLE",
    "bool": "BOOLEAN",
    "text": "VARCHAR",
    "object": "VARCHAR",
}
_CLOSED = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "lock_configuration": True,
}
"""No file, no network, no variable of the program, and no way to ask for them."""
_ALLOWED = ("SELECT", "EXPLAIN")


def run_query(statement: str, tables: TableList, make: Mapping[str, Callable[[], pd.DataFrame]]) -> pd.DataFrame:
    duckdb = _duckdb()
    with duckdb.connect(":memory:", config=_CLOSED) as connection:
        for name in tables.names:
            connection.execute(f"create table {_quoted(name)} ({_schema(tables.columns[name])})")
        try:
            statements = connection.extract_statements(statement)
            kinds = [one.type.name for one in statements]
            if len(kinds) != 1 or kinds[0] not in _ALLOWED:
                raise TfProfError(
                    f"A query is one SELECT statement, and this is {' and '.join(kinds) or 'none'}: the tables of a profile "
                    "can be read and not changed."
                )
            words = set(re.findall(r"\w+", statement.lower()))  # DuckDB's get_table_names refuses a JOIN with USING
            for name in tables.names:
                if name in words:
                    connection.execute(f"drop table {_quoted(name)}")
                    connection.register(name, _typed(make[name](), tables.columns[name]))
            rows: pd.DataFrame = connection.execute(statement).df()
        except duckdb.Error as error:
            told = " ".join(str(error).partition("\n\n")[0].split())
            raise TfProfError(f"The query cannot be answered: {told}") from error
    return rows


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise TfProfError(
            f'Queries need DuckDB, which cannot be imported ({error}). `pip install -U "duckdb>=1.1"` installs it.'
        ) from error
    return duckdb


def _schema(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{_quoted(one.name)} {_TYPES[one.kind]}" for one in columns) or "empty BOOLEAN"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _typed(table: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """The table with texts as texts also without rows; without columns DuckDB knows no table."""
    if not len(table.columns):
        return pd.DataFrame({one.name: pd.Series(dtype=float) for one in columns} or {"empty": pd.Series(dtype=bool)})
    table = flat(table)
    # Pandas 3 has a type of text of its own, which DuckDB 1 does not know.
    texts = [str(name) for name in table.columns if table[name].dtype == object or str(table[name].dtype) == "str"]
    return table.astype(dict.fromkeys(texts, "string"))
