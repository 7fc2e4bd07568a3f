"""A property of event names, worked out once per name -> a table by string id, so that a column is one lookup.

by_name(trace, lambda names: [...], np.bool_)[trace.name_id]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...trace.trace import Bool, Trace


def by_name(
    trace: Trace, function: Callable[[list[str]], Sequence[Any] | npt.NDArray[Any]], dtype: type
) -> npt.NDArray[Any]:
    """`function` of all names of events, as a table with an entry for every string; those that name no event are 0."""
    used = trace.used_names
    table: npt.NDArray[Any] = np.zeros(max(len(trace.strings), 1), dtype)
    table[used] = function([trace.strings[i] for i in used.tolist()])
    return table


def named_like(trace: Trace, pattern: re.Pattern[str]) -> Bool:
    """For each event whether its name holds the pattern."""
    found: Bool = by_name(trace, lambda names: [bool(pattern.search(name)) for name in names], np.bool_)[trace.name_id]
    return found
