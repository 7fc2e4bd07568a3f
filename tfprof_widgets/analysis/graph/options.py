"""What to show of a tree, how to order it and what to count -> `TreeOptions`, checked."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, get_args

TreeView = Literal["scope", "graph", "op", "code"]
VIEWS: tuple[TreeView, ...] = get_args(TreeView)


@dataclass(frozen=True)
class Selectable:
    """What `select` may name: a figure of a node, or a detail of its ops."""

    name: str
    kind: Literal["time", "memory", "count", "detail"]
    """Times are in microseconds, memory in bytes."""
    title: str
    """In the legend of a text."""
    meaning: str
    """In the explanation above a text, in the words of TensorFlow's first profiler."""
    units: tuple[str, str] = ("", "")
    """Behind a count in a text: of the scope, graph and code views, and of the op view."""


_ACCELERATOR = (
    "accelerator execution time: Time spent executing on the accelerator. This is normally measured by the actual hardware "
    "library."
)
_CPU = (
    "cpu execution time: The time from the start to the end of the operation. It's the sum of actual cpu run time plus the "
    "time that it spends waiting if part of computation is launched asynchronously."
)
_ALL = f"total execution time: Sum of accelerator execution time and cpu execution time.\n{_CPU}\n{_ACCELERATOR}"
_PEAK = "peak bytes: The peak amount of memory that the operation is holding at some point."
_OUTPUT = "output bytes: The memory that is output from the operation (not necessarily allocated by the operation)"
_FLOPS = "flops: Number of float operations. Note: Please read the implementation for the math behind it."
_TYPES = (
    "op_types: The attributes of the operation, includes the Kernel name device placed on and user-defined strings."
)
SELECTABLE = (
    Selectable("micros", "time", "total execution time", _ALL),
    Selectable("accelerator_micros", "time", "accelerator execution time", _ACCELERATOR),
    Selectable("cpu_micros", "time", "cpu execution time", _CPU),
    Selectable(
        "bytes", "memory", "requested bytes", "requested bytes: The memory requested by the operation, accumulatively."
    ),
    Selectable("peak_bytes", "memory", "peak bytes", _PEAK),
    Selectable(
        "residual_bytes",
        "memory",
        "residual bytes",
        "residual bytes: The memory not de-allocated after the operation finishes.",
    ),
    Selectable("output_bytes", "memory", "output bytes", _OUTPUT),
    Selectable(
        "params", "count", "# parameters", "param: Number of parameters (in the Variable).", ("params", "params")
    ),
    Selectable("float_ops", "count", "# float_ops", _FLOPS, ("flops", "float_ops")),
    Selectable("occurrence", "detail", "op count (run|defined)", "occurrence: The number of times it occurs"),
    Selectable("input_shapes", "detail", "input shapes", "input shape: The shape of input tensors"),
    Selectable("device", "detail", "assigned devices", "device: which device is placed on."),
    Selectable("op_types", "detail", "op types", _TYPES),
    Selectable("tensor_value", "detail", "", "tensor_value: Not supported now."),
)
FIGURES = tuple(one.name for one in SELECTABLE if one.kind != "detail")
"""The figures of a node; each has a column of its own value and one, `total_...`, of the node with all below it."""
DETAILS = tuple(one.name for one in SELECTABLE if one.kind == "detail")
ORDERS = ("name", "depth", *FIGURES, "occurrence")
UNLIMITED = 2**31 - 1
"""A `max_depth` that no tree reaches."""
EVERYTHING = (".*",)
"""The regular expressions that let all through, names with line breaks, too."""


@dataclass(frozen=True, kw_only=True)
class TreeOptions:
    """tfprof's options in Python form. Differs from tfprof: unlimited depth, everything selected, `average`, Python's regular
    expressions, and an error for an invalid one."""

    max_depth: int = UNLIMITED
    """How many levels, the root being the first of scope, graph and code; how many op types behind the first of op."""
    min_bytes: int = 0
    """Show nodes of at least this; of totals in every view (also the next six)."""
    min_peak_bytes: int = 0
    min_residual_bytes: int = 0
    min_output_bytes: int = 0
    min_micros: int = 0
    min_accelerator_micros: int = 0
    min_cpu_micros: int = 0
    min_params: int = 0
    """Of a node's own value in scope and graph, of its total in op and code; also the next."""
    min_float_ops: int = 0
    min_occurrence: int = 0
    """Of the runs of a node's own op in scope and graph, of the number of ops in op; nothing in code."""
    step: int = -1
    """The number of one step; -1 for all, see `average`."""
    order_by: str = "name"
    """Names ascend, figures descend by totals (in op own values); only op and code know `"occurrence"`; `"depth"` is `"name"`."""
    account_type_regexes: tuple[str, ...] = EVERYTHING
    """Count ops of which one of the `op_types` matches one of these."""
    start_name_regexes: tuple[str, ...] = EVERYTHING
    """Begin at the nodes that match; the root stays, with the totals of all."""
    trim_name_regexes: tuple[str, ...] = ()
    """Show nothing below a node that matches; in op nothing from it on, in code the node neither."""
    show_name_regexes: tuple[str, ...] = EVERYTHING
    hide_name_regexes: tuple[str, ...] = ()
    account_displayed_op_only: bool = False
    """Whether totals are of shown nodes only; code has no such thing."""
    select: tuple[str, ...] | None = None
    """Names of `FIGURES` and `DETAILS` to give; None for all of them in a table, and for the time in a text."""
    average: bool | None = None
    """With `step=-1`, whether an op's figures are rounded down averages over its steps rather than sums; None for what
    `OpGraph.counts_steps` says."""

    def has(self, name: str) -> bool:
        """Whether a figure or a detail is to be given in a table."""
        return self.select is None or name in self.select


def make_tree_options(**options: Any) -> TreeOptions:
    """Check options as a user gives them: any iterable of texts for a tuple, one text for a tuple of one."""
    kinds = {field.name: str(field.type) for field in fields(TreeOptions)}
    for name in options:
        if name not in kinds:
            raise TypeError(f"{name!r} is no option of a tree{_hint(name, kinds)} The options: {', '.join(kinds)}.")
    return TreeOptions(**{name: _CHECKS[kinds[name]](name, value) for name, value in options.items()})


def check_view(view: str, views: Sequence[str] = VIEWS) -> None:
    if view not in views:
        raise ValueError(f"{view!r} is no view of a tree{_hint(view, views)} The views: {', '.join(views)}.")


def pattern(regex: str) -> re.Pattern[str]:
    """The compiled form of one regular expression; classes such as `\\w` are ASCII, as in RE2."""
    return re.compile(regex, re.ASCII)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    raise TypeError(f"{name} is {value!r}, not a whole number.")


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise TypeError(f"{name} is {value!r}, not True or False.")


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    found = tuple(value) if isinstance(value, Iterable) else (value,)
    for text in found:
        if not isinstance(text, str):
            raise TypeError(f"{name} has {text!r}: give texts, or one text.")
    return found


def _checked_regex(name: str, regex: str) -> str:
    try:
        pattern(regex)
    except (re.error, OverflowError, RecursionError, ValueError) as error:  # the last of flags that exclude each other
        raise ValueError(
            f"{name} has {regex!r}, which is no regular expression of Python: {error}. Put a backslash before a "
            "character that stands for itself."
        ) from None
    return regex


def _known(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{name} has {value!r}{_hint(value, allowed)} It may have: {', '.join(allowed)}.")
    return str(value)


def _hint(value: Any, allowed: Iterable[str]) -> str:
    close = get_close_matches(str(value), list(allowed), n=1)
    return f" (is {close[0]!r} meant?)." if close else "."


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "int": _whole,
    "bool": _truth,
    "bool | None": lambda name, value: None if value is None else _truth(name, value),
    "str": lambda name, value: _known(name, value, ORDERS),
    "tuple[str, ...]": lambda name, value: tuple(_checked_regex(name, regex) for regex in _texts(name, value)),
    "tuple[str, ...] | None": lambda name, value: (
        None if value is None else tuple(_known(name, key, (*FIGURES, *DETAILS)) for key in _texts(name, value))
    ),
}
"""From a field's type, unique for the order, regular expressions and selection of `TreeOptions`, to what checks a value."""
