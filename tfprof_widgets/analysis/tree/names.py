"""Names and regular expressions -> which names match, and their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .tree_options import EVERYTHING, pattern

ROOT = "_TFProfRoot"
"""The name of the root of every view."""


def matches(names: Sequence[str], regexes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which of `names` one of `regexes` matches as a whole; none where there is no regular expression."""
    patterns = [pattern(regex) for regex in regexes]
    found = (any(compiled.fullmatch(name) for compiled in patterns) for name in names)
    return np.fromiter(found, np.bool_, len(names))


def lets_through(names: Sequence[str], regexes: tuple[str, ...]) -> NDArray[np.bool_]:
    """As `matches`, but `EVERYTHING` lets every name through, whatever is in it."""
    return np.ones(len(names), np.bool_) if regexes == EVERYTHING else matches(names, regexes)


def accounted(op_types: Sequence[tuple[str, ...]], regexes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which ops are counted: those with a type that one of `regexes` matches."""
    if regexes == EVERYTHING:
        return np.ones(len(op_types), np.bool_)
    types = sorted({text for texts in op_types for text in texts})
    counted = {text for text, is_match in zip(types, matches(types, regexes), strict=True) if is_match}
    return np.fromiter((not counted.isdisjoint(texts) for texts in op_types), np.bool_, len(op_types))


def name_ranks(names: Sequence[str]) -> NDArray[np.int64]:
    """The place of each name in the order of all different ones, by code point."""
    _, ranks = np.unique(np.asarray(pd.Series(names, dtype=object), dtype=object), return_inverse=True)
    return np.asarray(ranks, np.int64).reshape(-1)
