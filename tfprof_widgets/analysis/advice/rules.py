"""All rules -> the advice on one run, largest gain first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from ..card import Advice, FoundAdvice, fitting, ranked, without_explained
from ..common import typed_table
from ..facts import Facts
from ..tables import table
from .busy import busy
from .calls import argument_conversion, compilation, eager_hot_loop, eager_ops, many_calls, retracing, step_overhead
from .device import (
    collective_bound,
    device_idle,
    few_blocks,
    h2d_bound,
    idle_border,
    launch_bound,
    low_utilisation,
    uneven_devices,
    unfused_optimizer,
)
from .host import checkpoint_stall, output_bound, repeated_work, small_batch, straggler_step
from .input_rules import few_threads, input_bound, input_competes, new_iterator, shuffle_fill
from .loops import graph_loop
from .model import (
    all_pairs,
    dense_update,
    flattened_features,
    frozen_layers,
    low_precision_unused,
    many_variables,
    memory_fragmentation,
    memory_growth,
    memory_headroom,
    tensor_core_unused,
    unused_results,
)
from .ops import (
    double_precision,
    half_precision,
    host_fallback,
    inefficient_op,
    layout_conversion,
    number_checks,
    one_hot_product,
    text_of_numbers,
    turned_images,
    unfused_attention,
    unfused_norm,
    useless_bias,
)
from .python import host_callback, outside_steps, slow_call, validation
from .run import Run
from .workers import host_communication, straggler, task_communication, uneven_tasks

ADVICE = table(
    """
    advice_table: a piece of advice, the largest gain first
        rule        text   the rule that gave it
        severity    text   `high`, `medium` or `low`
        title       text   what to change, in a sentence
        gain_ratio  float  part of the step time that it could win at most
        fix         text   what to do: words, and code that can be pasted
        view        text   the view that shows it

    The list `advice` as a table, in the same order. Empty where that is.
    """,
    file="advice",
    read=lambda results: advice_table(results.advice),
)


logger = logging.getLogger(__name__)

Rule = Callable[[Run], Iterator[Advice]]

CLUSTER_RULES: tuple[Rule, ...] = (*(straggler, host_communication, collective_bound, memory_headroom),)
"""Those that need neither events nor all ops and kernels: the tables of all hosts are enough."""
HOST_RULES: tuple[Rule, ...] = (
    *(new_iterator, input_bound, host_callback, slow_call, output_bound, checkpoint_stall, straggler_step, small_batch),
    *(retracing, eager_hot_loop, eager_ops, compilation, inefficient_op, host_fallback),
    *(repeated_work, few_threads, double_precision, half_precision, one_hot_product, number_checks, turned_images),
    *(frozen_layers, flattened_features, unused_results, all_pairs, text_of_numbers),
    *(argument_conversion, many_calls, step_overhead, graph_loop, dense_update, many_variables),
    *(idle_border, unfused_optimizer, launch_bound, few_blocks),
    *(low_precision_unused, tensor_core_unused, layout_conversion, unfused_norm, useless_bias, unfused_attention),
    *(device_idle, h2d_bound, low_utilisation, uneven_devices, memory_fragmentation, memory_growth),
    busy,
)
"""Those that a host's own events answer, or its ops and kernels, of which not all travel."""
RULES: tuple[Rule, ...] = (
    *(
        *HOST_RULES,
        *CLUSTER_RULES,
        task_communication,
        uneven_tasks,
        outside_steps,
        validation,
        shuffle_fill,
        input_competes,
    ),
)
"""All; the last four need one program alone: its lines, its machine, all the time that it was captured for."""


def find_advice(results: Facts, rules: Sequence[Rule] | None = None) -> FoundAdvice:
    """Ask rules what to change; gains are upper bounds, each by itself. A rule that fails takes no other along; none is asked
    where memory ran out or what computed the steps is missing."""
    if results.failure is not None or results.environment.unrecorded:
        return FoundAdvice(())
    run = Run(results)
    found: list[Advice] = []
    failed: dict[str, list[str]] = {}
    for rule in RULES if rules is None else rules:
        try:
            found += list(rule(run))
        except Exception as error:
            logger.exception("the advice rule %s failed", rule.__name__)
            failed.setdefault(f"{type(error).__name__}: {error}", []).append(rule.__name__)
    return FoundAdvice(
        ranked(fitting(without_explained(found), results.environment.framework), covered=results.coverage.ratio),
        tuple(_failure(rules, why) for why, rules in failed.items()),
    )


def _failure(rules: list[str], why: str) -> str:
    named = " and ".join([", ".join(rules[:-1])] * (len(rules) > 1) + rules[-1:])
    return f"The advice rule{'s' if len(rules) > 1 else ''} {named} failed: {why}. The other advice is not affected."


def advice_table(advice: tuple[Advice, ...]) -> pd.DataFrame:
    """The same as a table: `rule, severity, title, gain_ratio, fix, view`, in the same order."""
    return typed_table([vars(one) | {"fix": str(one.fix), "view": one.selection.view} for one in advice], ADVICE.types)
