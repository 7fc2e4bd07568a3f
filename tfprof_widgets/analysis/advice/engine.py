"""All rules -> the advice on one run, what wins most first, and as a table.

compute_advice(results) -> advice
advice_table(advice) -> DataFrame
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ..table_types import Types, typed_table
from .advice import Advice, ranked
from .device_rules import (
    collective_bound,
    device_idle,
    h2d_bound,
    launch_bound,
    low_precision_unused,
    tensor_core_unused,
)
from .function_rules import compilation, eager_hot_loop, retracing
from .host_rules import checkpoint_stall, host_callback, output_bound, small_batch, straggler_step
from .input_rules import input_bound
from .memory_rules import memory_fragmentation, memory_growth, memory_headroom
from .op_rules import host_fallback, inefficient_op
from .run import Run

if TYPE_CHECKING:
    from ..results import Results

RULES: tuple[Callable[[Run], Iterator[Advice]], ...] = (
    input_bound,
    host_callback,
    output_bound,
    checkpoint_stall,
    straggler_step,
    small_batch,
    retracing,
    eager_hot_loop,
    compilation,
    inefficient_op,
    host_fallback,
    device_idle,
    launch_bound,
    h2d_bound,
    low_precision_unused,
    tensor_core_unused,
    collective_bound,
    memory_fragmentation,
    memory_headroom,
    memory_growth,
)
TABLE_TYPES: Types = {
    "rule": object,
    "severity": object,
    "title": object,
    "gain_ratio": float,
    "fix": object,
    "view": object,
}


def compute_advice(results: Results) -> tuple[Advice, ...]:
    """What to change, the largest gain first; empty where nothing is wrong or nothing can be judged.

    A rule that cannot be judged (no device, no memory events, too few steps) says nothing. The gains are upper bounds, each by
    itself: two fixes together need not win their sum.
    """
    run = Run(results)
    return ranked(advice for rule in RULES for advice in rule(run))


def advice_table(advice: tuple[Advice, ...]) -> pd.DataFrame:
    """The same as a table: `rule, severity, title, gain_ratio, fix, view`, in the same order."""
    rows = [
        {
            "rule": one.rule,
            "severity": one.severity,
            "title": one.title,
            "gain_ratio": one.gain_ratio,
            "fix": one.fix,
            "view": one.selection.view,
        }
        for one in advice
    ]
    return typed_table(rows, TABLE_TYPES)
