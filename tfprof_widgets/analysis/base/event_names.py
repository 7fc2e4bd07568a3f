"""A property of event names, worked out once per name -> a table by string id, so that a column is one lookup.

by_name(trace, lambda names: [...], np.bool_)[trace.name_id]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ...trace.trace import Bool, Int64, Trace
from .matching import dense_codes, first_of
from .op_names import OpCategory, OpNames, parse_op_names

_DIGITS = "0123456789"
_NUMBERS = f"_{_DIGITS}"
_Values = Sequence[Any] | npt.NDArray[Any]
_Result = TypeVar("_Result")


def once(function: Callable[[Trace], _Result]) -> Callable[[Trace], _Result]:
    """Keep what a function finds of each trace for as long as the trace is there: several analyses ask for it."""
    found: WeakKeyDictionary[Trace, _Result] = WeakKeyDictionary()

    @wraps(function)
    def kept(trace: Trace) -> _Result:
        if trace not in found:
            found[trace] = function(trace)
        return found[trace]

    return kept


def by_name(
    trace: Trace, function: Callable[[list[str]], _Values], dtype: type, *, among: Bool | Int64 | None = None
) -> npt.NDArray[Any]:
    """`function` of the names of events, as a table with an entry for every string; those that name no event are 0.

    Args:
        trace: the trace.
        function: gives as many values as it gets names.
        dtype: type of the values.
        among: events, as flags or rows; names that no other event has are left out. All by default.
    """
    used = _used(trace, among)
    return _table(trace, used, function([trace.strings[i] for i in used.tolist()]), dtype)


def by_stem(
    trace: Trace, function: Callable[[list[str]], _Values], dtype: type, *, among: Bool | Int64 | None = None
) -> npt.NDArray[Any]:
    """As `by_name` of a function that no number at the end of a name means anything to: names that differ in it are one.

    Compilers number the kernels that they make (`loop_add_fusion_12`), so these may be as many as executions.
    """
    stems, number = _stems(trace)
    used = np.flatnonzero(np.bincount(number[trace.name_id if among is None else trace.name_id[among]]))
    values: npt.NDArray[Any] = np.zeros(len(stems) + 1, dtype)
    values[used] = function([stems[i] for i in used.tolist()])
    return values[number]


@once
def _stems(trace: Trace) -> tuple[list[str], Int64]:
    """The distinct stems of the names of events, and for each string which; one more for those that name no event."""
    numbers: dict[str, int] = {}
    of_used = [numbers.setdefault(_stem(trace.strings[i]), len(numbers)) for i in trace.used_names.tolist()]
    number = np.full(len(trace.strings), len(numbers), np.int64)
    number[trace.used_names] = of_used
    return list(numbers), number


def _stem(name: str) -> str:
    """The name up to its last numbers, with the underscore, by which patterns know the end of a word."""
    if name[-1:] not in _DIGITS:
        return name
    end = len(name.rstrip(_NUMBERS))
    doubled = name.rfind("__", end)
    begin = name.find("_", end) if doubled < 0 else doubled + 1
    return name[: begin + 1] if end and begin >= 0 else name


def by_op_name(
    trace: Trace, function: Callable[[list[str], OpNames], _Values], dtype: type, *, among: Bool | Int64 | None = None
) -> npt.NDArray[Any]:
    """The same of a function that is given what the names mean, too."""
    used, parsed = _used(trace, among), parsed_names(trace)
    if len(used) < len(trace.used_names):
        parsed = parsed.of(np.searchsorted(trace.used_names, used))
    return _table(trace, used, function([trace.strings[i] for i in used.tolist()], parsed), dtype)


def by_ends(trace: Trace, function: Callable[[list[str], OpNames], _Values], dtype: type) -> npt.NDArray[Any]:
    """As `by_op_name` of a function that looks at the category, at what is in front of the first slash and behind the last
    colon of a name, and there at no number at the end: `lstm/step_12/mul_3:Mul` and `lstm/step_7/mul_1:Mul` are one. Of a
    name without a slash the number in front of the colon means nothing to it, either: `AddN_1:AddN` and `AddN_2:AddN`.

    A network unrolled over time has as many names as it runs ops, but few such ends.
    """
    first, number = _ends(trace)
    values: npt.NDArray[Any] = np.zeros(len(first) + 1, dtype)
    values[:-1] = function([trace.strings[i] for i in trace.used_names[first].tolist()], parsed_names(trace).of(first))
    return values[number]


@once
def _ends(trace: Trace) -> tuple[Int64, Int64]:
    """The first of the names of events with each pair of ends, as a row of `trace.used_names`, and for each string which pair;
    one more for those that name no event."""
    stems, of_string = _stems(trace)
    numbers: dict[str, int] = {}
    end = np.array([numbers.setdefault(_end(stem), len(numbers)) for stem in stems], np.int64)
    of_used, n = dense_codes(end[of_string[trace.used_names]], parsed_names(trace).category)
    number = np.full(max(len(trace.strings), 1), n, np.int64)
    number[trace.used_names] = of_used
    return first_of(of_used, n), number


def _end(stem: str) -> str:
    """A name without what is between its first slash and its last colon, or without the number in front of that."""
    slash, colon = stem.find("/") + 1, stem.rfind(":")
    if 0 < slash <= colon:
        return stem[:slash] + stem[colon:]
    return _stem(stem[:colon]) + stem[colon:] if colon > 0 and not slash else stem


@once
def parsed_names(trace: Trace) -> OpNames:
    """What the names of events mean, in the order of `trace.used_names`.

    Whether a name is an op's no number at its end tells: of kernels that are numbered by a compiler one is parsed.
    """
    names = np.array([trace.strings[i] for i in trace.used_names.tolist()], np.object_)
    stems, number = _stems(trace)
    stem = number[trace.used_names]
    parsed, is_cut = parse_op_names(stems), np.array(stems, np.object_)[stem] != names
    category, types = parsed.category[stem], np.array(parsed.type, np.object_)[stem]
    op_names = np.where(category == OpCategory.UNKNOWN, names, np.array(parsed.name, np.object_)[stem])
    numbered = np.flatnonzero(is_cut & (category != OpCategory.UNKNOWN))
    own = parse_op_names(names[numbered].tolist())
    types[numbered], op_names[numbered] = own.type, own.name
    return OpNames(category, tuple(types), tuple(op_names))


def _used(trace: Trace, among: Bool | Int64 | None) -> Int64:
    if among is None:
        return trace.used_names
    return np.flatnonzero(np.bincount(trace.name_id[among], minlength=len(trace.strings)))


def _table(trace: Trace, used: Int64, values: _Values, dtype: type) -> npt.NDArray[Any]:
    table: npt.NDArray[Any] = np.zeros(max(len(trace.strings), 1), dtype)
    table[used] = values
    return table


def named_like(trace: Trace, rows: Int64, pattern: re.Pattern[str]) -> Bool:
    """For some events whether their name holds the pattern, to which no number at its end means anything."""
    held = by_stem(trace, lambda names: [bool(pattern.search(name)) for name in names], np.bool_, among=rows)
    found: Bool = held[trace.name_id[rows]]
    return found
