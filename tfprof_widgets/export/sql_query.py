"""A query in SQL over the tables of a profile -> its rows, by DuckDB, which sees those tables and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ..analysis.columns.column import Column
from ..errors import TfProfError
from .table_list import TableList
from .tables import flat

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
    """The rows of one query.

    Args:
        statement: one `SELECT`, or what DuckDB takes as one, such as `FROM steps` and `DESCRIBE ops`.
        tables: what there is.
        make: gives each table; only those that the statement names are made.

    Raises:
        TfProfError: DuckDB is not installed, or it refuses the statement.
    """
    duckdb = _duckdb()
    with duckdb.connect(":memory:", config=_CLOSED) as connection:
        for name in tables.names:
            connection.execute(f"create table {_quoted(name)} ({_schema(tables.columns[name])})")
        try:
            _check_kind(connection.extract_statements(statement))
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


def _check_kind(statements: list[Any]) -> None:
    kinds = [one.type.name for one in statements]
    if len(kinds) != 1 or kinds[0] not in _ALLOWED:
        raise TfProfError(
            f"A query is one SELECT statement, and this is {' and '.join(kinds) or 'none'}: the tables of a profile can be "
            "read and not changed."
        )


def _schema(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{_quoted(one.name)} {_TYPES[one.kind]}" for one in columns) or "empty BOOLEAN"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _typed(table: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """The table with texts as texts also where it has no rows to tell from; without columns DuckDB knows no table."""
    if not len(table.columns):
        return pd.DataFrame({one.name: pd.Series(dtype=float) for one in columns} or {"empty": pd.Series(dtype=bool)})
    table = flat(table)
    # Pandas 3 has a type of text of its own, which DuckDB 1 does not know.
    texts = [str(name) for name in table.columns if table[name].dtype == object or str(table[name].dtype) == "str"]
    return table.astype(dict.fromkeys(texts, "string"))
