"""Calls of `tf.function`s -> one row per function: how often it was traced and what tracing and eager calls cost.

Source: semantics 10.4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...trace.nesting import nest
from ...trace.trace import Trace
from ..base.matching import sum_by
from ..base.table_types import table_of_arrays
from ..base.units import PS_PER_MS
from ..steps.step_spans import on_host

EXPENSIVE = 0.20
"""From this share of a function's time in traced or eager calls on, it is worth a word."""
_MODES = ("eager", "concrete", "traced", "not_traced")
_COMPILERS = ("", "xla", "other")


def compute_tf_functions(trace: Trace) -> pd.DataFrame:
    """What calls of functions cost.

    Returns:
        The columns of `overview.tf_functions`, the most expensive time first; empty where no call was recorded.
    """
    rows = np.flatnonzero(on_host(trace) & (trace.string_stat("tf_function_call") >= 0))
    own = nest(trace.line_id[rows], trace.start_ps[rows], trace.duration_ps[rows]).self_ps
    texts, code = np.unique(trace.string_stat("tf_function_call")[rows], return_inverse=True)
    modes = [_mode(trace.strings[text]) for text in texts.tolist()]
    mode = np.array([_MODES.index(name) for name, _ in modes], np.int64)[code]
    compiler = np.array([_COMPILERS.index(kind) for _, kind in modes], np.int64)[code]
    names, function = np.unique(trace.name_id[rows], return_inverse=True)
    n = len(names)
    is_compiled_by = np.zeros((n, len(_COMPILERS)), np.bool_)
    is_compiled_by[function, compiler] = True
    calls = np.bincount(function * len(_MODES) + mode, minlength=n * len(_MODES)).reshape(n, len(_MODES))
    costly = np.isin(mode, (_MODES.index("eager"), _MODES.index("traced")))
    whole, expensive = sum_by(function, own, n), sum_by(function[costly], own[costly], n)
    count = np.zeros(n, np.int64)
    np.maximum.at(count, function, trace.int_stat("tracing_count")[rows])
    columns = {
        "function": np.array([trace.strings[i] for i in names.tolist()], np.object_),
        "compiler": np.array([*map(_compiler, is_compiled_by.tolist())], np.object_),
        "tracing_count": count,
        **{f"{name}_calls": calls[:, i] for i, name in enumerate(_MODES)},
        "self_time_ms": whole / PS_PER_MS,
        "expensive_time_ms": expensive / PS_PER_MS,
        "expensive_ratio": expensive / np.maximum(whole, 1),
    }
    order = np.argsort(-expensive, kind="stable")
    return table_of_arrays({name: column[order] for name, column in columns.items()})


def _mode(text: str) -> tuple[str, str]:
    """`traced-nonXla` -> `traced`, `other`."""
    kind, _, compiler = text.partition("-")
    mode = {"traced": "traced", "notTraced": "not_traced", "concrete": "concrete"}.get(kind, "eager")
    return mode, {"xla": "xla", "nonXla": "other"}.get(compiler, "")


def _compiler(is_used: Sequence[bool]) -> str:
    found = [name for name, used in zip(_COMPILERS, is_used, strict=True) if name and used]
    return "mixed" if len(found) > 1 else "".join(found)
