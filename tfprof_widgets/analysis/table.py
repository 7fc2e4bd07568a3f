"""A table's declaration -> its columns, docstring, files and what of it the browser gets; `TABLES` has all of them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from operator import attrgetter
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["int", "float", "number", "bool", "text", "object", "texts"]
"""`number` is whole or not, as the numbers come; `object` is a list, a tuple or a dict."""

_TYPES: Mapping[Kind, type] = {
    "int": int,
    "float": float,
    "number": float,
    "bool": bool,
    "text": object,
    "object": object,
    "texts": object,
}
_UNITS = {
    "ps": "picoseconds",
    "ns": "nanoseconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "micros": "microseconds",
    "bytes": "bytes",
    "pct": "percent",
    "ratio": "ratio, 1 is all",
    "gflops": "GFLOP/s",
    "gibps": "GiB/s",
    "tflops": "TFLOP/s",
    "gbps": "GB/s",
}
"""By the last word of a column's name."""
_MODULES = (
    *("analysis.events", "analysis.timeline", "analysis.steps.steps", "analysis.attribution", "analysis.idle"),
    *("analysis.ops.ops", "analysis.ops.kernels", "analysis.ops.other", "analysis.source", "analysis.roofline"),
    *("analysis.layers.layers", "analysis.layers.scopes", "analysis.graph.op_graph", "analysis.graph.tree"),
    *("analysis.hosts.workers", "analysis.hosts.hosts", "analysis.memory.memory", "analysis.memory.moments"),
    *(
        "analysis.memory.growth",
        "analysis.out_of_memory.what_held",
        "analysis.input.pipeline",
        "analysis.input.iterators",
    ),
    *("analysis.input.tf_data", "analysis.input.usage", "analysis.overview", "analysis.advice.rules"),
    *("analysis.machine", "analysis.comparison.comparison", "analysis.experiments", "several_runs", "loading"),
    "notebook.doctor_report",
)
"""Those that declare tables, in the order in which files and the reference have these."""
_DECLARED: dict[str, Table] = {}


Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    """As the table has it."""
    kind: Kind
    """`int`, `float`, `number` (whole or not, as the numbers come), `bool`, `text`, or `object` (a list, a tuple or a
    dict).
    """
    meaning: str
    """What it tells."""
    unit: str
    """In words; "" for a count, a text, and what another column gives the unit of."""


@dataclass(frozen=True)
class Sent:
    """A column that the browser gets."""

    column: Column
    dtype: str
    """Of the typed array that it is there; "" where a row is an object."""
    is_sometimes: bool
    is_nullable: bool
    """Whether null stands for what is not known."""


@dataclass(frozen=True)
class Table:
    name: str
    """As a user reaches it from a profile: `ops`, `memory.peak`."""
    row: str
    """What one row is, and in which order they come."""
    columns: tuple[Column, ...]
    note: str = ""
    """What else a user has to know of it."""
    sent: tuple[Sent, ...] = ()
    """What the browser gets of it."""
    read: Callable[[Any], pd.DataFrame] = attrgetter("frame")
    files: Mapping[str, Callable[[Any], pd.DataFrame]] = field(default_factory=dict)
    """From the name of each file that holds it to what gives its rows."""
    file_columns: tuple[Column, ...] = ()
    """Those of the files: the same, or one more in front."""
    of_executions: str = ""
    """What a reduced profile does not have, in words; "" where it has the table."""
    of_facts: Callable[[Any], Any] | None = None
    """What computes it from other facts."""
    of_hosts: Callable[[Any], Any] | None = None
    """What gives it from the sums of hosts, where that is all that it takes."""
    module: str = ""
    """That declares it."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> dict[str, type]:
        """From each column to `int`, `float`, `bool` or, for text and all else, `object`."""
        return {column.name: _TYPES[column.kind] for column in self.columns}

    @property
    def docstring(self) -> str:
        return "\n\n".join(filter(None, (f"A table: a row is {self.row}.", self.note, self._listed)))

    @property
    def _listed(self) -> str:
        told = [(one, ", ".join(filter(None, (one.kind, one.unit)))) for one in self.columns]
        return "\n".join(["Columns:", *(f"    {one.name} ({kind}): {one.meaning}" for one, kind in told)])

    def given_by(self, method: Method) -> Method:
        """The method with what a row is, and the columns, below its docstring."""
        if method.__doc__ is not None:  # python -OO has no docstrings
            about = f"A table: a row is {self.row}."
            method.__doc__ = "\n\n".join([inspect.cleandoc(method.__doc__), about, self._listed])
        return method

    def in_browser(self, *, is_full: bool = True) -> list[str]:
        """The columns that the browser gets; without those that come sometimes where the rows are not `is_full`."""
        return [one.column.name for one in self.sent if is_full or not one.is_sometimes]

    @property
    def by_dtype(self) -> dict[str, str]:
        """The names of what it gets as typed arrays, as `show.pack.columns_of` takes them."""
        dtypes = dict.fromkeys(one.dtype for one in self.sent)
        return {dtype: " ".join(one.column.name for one in self.sent if one.dtype == dtype) for dtype in dtypes}


def unit_of(name: str) -> str:
    """The unit that the last word of a column's name tells; "" for none."""
    return _UNITS.get(name.rsplit("_", 1)[-1], "")


def read_tables(text: str, known: Mapping[str, Table] | None = None) -> dict[str, Table]:
    """Tables and groups of columns as they are written in this package; a group has no row."""
    found: dict[str, Table] = {}
    name = ""
    for line in dedent(text).strip().splitlines():
        if line.startswith(" "):
            more = _columns(line, {**(known or {}), **found})
            found[name] = replace(found[name], columns=(*found[name].columns, *more))
        else:
            name, _, row = line.partition(":")
            name = name.removeprefix("*")
            found[name] = Table(name, row.strip(), ())
    return found


def _columns(line: str, known: Mapping[str, Table]) -> Iterator[Column]:
    prefix, is_group, group = line.strip().partition("*")
    if is_group and " " not in prefix:
        columns = (known[group] if group in known else TABLES[group]).columns
        yield from (replace(one, name=f"{prefix}{one.name}") for one in columns)
        return
    name, kind, rest = line.split(maxsplit=2)
    meaning, _, unit = rest.partition(" [")
    yield Column(name, cast(Kind, kind), meaning, unit.removesuffix("]") or unit_of(name))


_GROUPS = read_tables("""
*numbers:
    metric  text   what is compared
    unit    text   of its numbers
    a       float  in a
    b       float  in b
    change  float  b - a
    ratio   float  b / a
    noise   float  by how much it changes without a reason; NaN where that is not known
*times:
    a_ms       float  own time in a, a step where both runs have steps
    b_ms       float  own time in b
    change_ms  float  b - a
    ratio      float  b / a
    a_count    float  executions in a, a step
    b_count    float  executions in b, a step
    noise_ms   float  by how much it changes without a reason; NaN where that is not known
    state      text   `added`, `removed`, `slower`, `faster`, `same` or `unknown`
*held:
    bytes        int     in use
    ratio        float   part of all bytes in use
    occurrences  int     allocations
    ops          object  names of ops to select
*state:
    stack_bytes          int    taken by the program's stack
    heap_bytes           int    allocated
    free_bytes           int    not in use
    fragmentation_ratio  float  1 - largest free block / free bytes, of what the allocator has taken from the device
    largest_free_bytes   float  at most so much of them lies in one piece
*tensor:
    region  text  what the memory is for: `output`, `temp`, `persist/dynamic`, ...
    dtype   text  of the tensor
    shape   text  of the tensor
*costs:
    self_time_us     float  time of its ops without what ran inside them
    self_time_ratio  float  part of the self time of all ops of the side
    n_ops            int    how many ops it is made of
    occurrences      int    executions of its ops
*figures:
    micros              number  execution time, on the accelerator and on the CPU
    accelerator_micros  number  execution time on the accelerator
    cpu_micros          number  execution time on the CPU
    bytes               int     memory that was asked for
    peak_bytes          int     the most held at some point
    residual_bytes      int     held when the op had ended
    output_bytes        int     of the outputs
    params              int     parameters of variables
    float_ops           int     float operations [float operations]
    occurrence          int     ops
    run_count           int     executions
*self_times:
    occurrences         int    how often it was executed
    total_time_us       float  time of all executions, with what ran inside
    avg_time_us         float  mean time of an execution
    total_self_time_us  float  time of all executions without what ran inside, over all threads and streams
    avg_self_time_us    float  the mean of that
    self_time_ratio     float  part of the self time of its side
    cumulative_ratio    float  the same of all rows of its side up to this one
*units:
    tensor_16bit_ratio  float  part of its kernel time on Tensor Cores in 16 bits or fewer; NaN where nothing is known
    tensor_tf32_ratio   float  the same on Tensor Cores in TF32
    vector_16bit_ratio  float  the same on ordinary cores in 16 bits
    vector_32bit_ratio  float  the same on ordinary cores in 32 bits or more
*allocator:
    allocator  text  its name, such as `GPU_0_bfc`
""")
"""Columns that several tables have."""


def table(
    text: str,
    *,
    browser: str = "",
    file: str = "",
    files: Mapping[str, Callable[[Any], pd.DataFrame]] | None = None,
    file_has: str = "",
    read: str | Callable[[Any], pd.DataFrame] = "",
    of_executions: str = "",
    of_facts: Callable[[Any], Any] | None = None,
    of_hosts: Callable[[Any], Any] | None = None,
) -> Table:
    """Declare a table.

    Args:
        text: `name: what a row is`, and below it a line a column: name, kind, meaning, and in brackets a unit that the name does
            not tell. `*group` is the columns of a group of `_GROUPS`, or of another table. Behind an empty line: what else a user
            has to know of it.
        browser: the columns that the browser gets; `*` is all. `name:f8` is a typed array, `name?` is left out of some rows,
            `name|null` may be null, as what may be NaN always may; `+name:kind` is one that it gets besides, of any kind.
        file: the name of the file that holds it, without its ending.
        files: several such, and what gives the rows of each.
        file_has: the group of columns that the files have in front.
        read: where the analyses of a run have it, such as `kernels.frame`, or what gives it from them; "" is its own name.
        of_executions: what a reduced profile does not have, in words; "" where it has the table.
        of_facts: what computes it, or what it is the `frame` of, from other facts of a run.
        of_hosts: what gives it from the `HostSums` of a reduced profile.
    """
    told, _, note = dedent(text).strip().partition("\n\n")
    (found,) = read_tables(told, _GROUPS).values()
    of_results = attrgetter(read or found.name) if isinstance(read, str) else read
    in_front = _GROUPS[file_has].columns if file_has else ()
    declared = replace(
        found,
        note=note,
        sent=tuple(_sent(browser, found.columns)),
        read=of_results,
        files=files or ({file: of_results} if file else {}),
        file_columns=(*in_front, *found.columns),
        of_executions=of_executions,
        of_facts=of_facts,
        of_hosts=of_hosts,
        module=sys._getframe(1).f_globals["__name__"],
    )
    _DECLARED[declared.name] = declared
    return declared


def _sent(browser: str, columns: tuple[Column, ...]) -> Iterator[Sent]:
    known = {one.name: one for one in columns}
    for word in browser.replace("*", " ".join(known)).split():
        word, _, null = word.partition("|")
        name, _, dtype = word.removesuffix("?").partition(":")
        if name.startswith("+"):
            column, dtype = Column(name[1:], cast(Kind, dtype), "", ""), ""
        else:
            column = known[name]
        yield Sent(column, dtype, word.endswith("?"), bool(null) or "NaN" in column.meaning)


class _Tables(Mapping[str, Table]):
    """Every table by its name; to look one up imports the module of that name, then the others up to the one that declares it."""

    def __getitem__(self, name: str) -> Table:
        for module in sorted(_MODULES, key=lambda module: not module.endswith(f".{name}")):
            if name in _DECLARED:
                break
            import_module(f"..{module}", __package__)
        return _DECLARED[name]

    def __iter__(self) -> Iterator[str]:
        modules = [import_module(f"..{one}", __package__).__name__ for one in _MODULES]
        tables = [*_DECLARED.values()]
        return (table.name for module in modules for table in tables if table.module == module)

    def __len__(self) -> int:
        return sum(1 for _ in self)


TABLES: Mapping[str, Table] = _Tables()


class TableProperty(property):
    def __init__(self, name: str, read: Callable[[Any], pd.DataFrame]) -> None:
        super().__init__(read)
        self._name = name

    @property
    def __doc__(self) -> str:
        return TABLES[self._name].docstring

    @__doc__.setter
    def __doc__(self, _: object) -> None:
        """Python sets the docstring of a getter, which has none."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type, /) -> TableProperty: ...
        @overload
        def __get__(self, instance: object, owner: type | None = None, /) -> pd.DataFrame: ...
        def __get__(self, instance: object, owner: type | None = None, /) -> TableProperty | pd.DataFrame: ...
