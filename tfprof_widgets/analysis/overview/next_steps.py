"""What the overview found, beside the advice -> what to look at next and what to change, in a few sentences.

The titles of the advice come first; then, each with the view that shows it, what no advice is about. Source: semantics 5.1,
5.2, 10.4 for the thresholds; the wording is this project's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from ..advice.advice import MEDIUM_GAIN, Advice
from ..advice.largest_part import NO_COMPUTE
from ..base.wording import number, percent, tail
from ..memory.memory_findings import FRAGMENTED_WORDS
from ..ops.tf_functions import EXPENSIVE
from .verdict import OTHER_HIGH

_COPIES = 0.05
_HOST = 0.05
_MUCH_COMPUTE = 0.50
_MUCH_EAGER = 0.10
_N_NAMED = 3
_MOST_CHARACTERS = 80
_COMPUTE_VIEWS = {
    "GPU": "the op table and the kernel table",
    "TPU": "the op table and the HLO table",
    "": "the op table",
}
SAYS_WHY_NOTHING_RUNS = frozenset(
    (
        *("host_callback", "slow_call", "device_idle", "small_batch", "eager_hot_loop", "retracing"),
        *("checkpoint_stall", "idle_border", "unfused_optimizer", "launch_bound"),
    )
)
"""Rules that explain time in which no op runs."""


@dataclass(frozen=True)
class Findings:
    """What the sentences are made from."""

    ratio: Mapping[str, float]
    """Share of the step time of each of the categories that `judge` takes; all 0 without steps."""
    device: str
    """`GPU` or `TPU` where the steps ran anything on one, else empty."""
    eager: Mapping[str, float]
    """Eager share of the op time within the steps, of `host` and `device`."""
    tf_functions: pd.DataFrame
    top_ops: pd.DataFrame
    memory: Sequence[str]
    """Sentences on the memory."""


def suggest_next_steps(found: Findings, advice: Sequence[Advice] = ()) -> tuple[str, ...]:
    """The sentences: the titles of the advice, then what it leaves out."""
    rules = frozenset(one.rule for one in advice)
    rest = (*_of_step(found, rules), *_of_compute(found), *_of_calls(found, rules), *_of_memory(found, rules))
    return (*(one.title for one in advice), *rest)


def _of_step(found: Findings, rules: frozenset[str]) -> Iterator[str]:
    names = ("device_to_device", "host_compute", "dispatch", "other")
    copies, host, dispatch, other = (found.ratio.get(name, 0.0) for name in names)
    if copies >= _COPIES:
        yield (
            f"Copies between devices ({percent(copies)} of a step): see the timeline for what is copied; keep the variables of "
            "one layer on one device."
        )
    if found.device and host >= _HOST and not rules & {"host_fallback", "low_utilisation"}:
        yield (
            f"Ops on the CPU ({percent(host)} of a step): see the op table, side host; ops without a {found.device} kernel, or "
            "placed on the CPU by hand, make the device wait."
        )
    if found.device and other >= OTHER_HIGH and not rules & SAYS_WHY_NOTHING_RUNS:
        yield (
            f"The {found.device} idles and nothing on the host tells why ({percent(other)} of a step): see the gaps in the "
            "timeline; streams that wait for each other do that."
        )
    python = dispatch if found.device else other
    if python >= OTHER_HIGH and not rules & SAYS_WHY_NOTHING_RUNS:
        what = f"The {found.device} waits for Python and dispatch" if found.device else "No op runs"
        yield (
            f"{what} ({percent(python)} of a step): see the gaps in the timeline; that is Python, a lock or waiting. Put the "
            "whole step into one tf.function and take logging and printing out of the loop."
        )


def _of_compute(found: Findings) -> Iterator[str]:
    share = found.ratio.get("device_compute" if found.device else "host_compute", 0.0)
    if share >= _MUCH_COMPUTE:
        # An iterator's time is waiting as much as work, and has a sentence of its own; so have copies.
        is_own = found.top_ops["device"] == ("Device" if found.device else "Host")
        is_own &= ~found.top_ops["type"].isin(NO_COMPUTE) & (found.top_ops["self_time_ratio"] >= MEDIUM_GAIN)
        own = found.top_ops[is_own]
        top = zip(own["name"].head(1).tolist(), own["self_time_ratio"].head(1).tolist(), strict=True)
        named = [f"; {_end_of(name)} alone takes {percent(ratio)} of the op time" for name, ratio in top]
        yield f"Computing ({percent(share)} of a step): see {_COMPUTE_VIEWS[found.device]}{''.join(named)}."


def _end_of(name: str) -> str:
    """The layer and the op of a path of name scopes."""
    parts = name.split("/")
    end = "/".join(parts[-2:])
    return f"…/{end}" if len(parts) > 2 and len(end) <= _MOST_CHARACTERS else tail(end, _MOST_CHARACTERS)


def _of_calls(found: Findings, rules: frozenset[str]) -> Iterator[str]:
    """Ops that run eagerly beside functions, and functions that traced without costing the steps much."""
    much = [f"{percent(share)} of {side} op time" for side, share in found.eager.items() if share > _MUCH_EAGER]
    if much and "eager_hot_loop" not in rules:
        yield (
            f"Eager ops take {' and '.join(much)}: see the op table, column eager; decorate the function that runs them with "
            "@tf.function."
        )
    costly = found.tf_functions[found.tf_functions["expensive_ratio"] >= EXPENSIVE]
    is_repeated = (costly["traced_calls"] > 1) | (costly["eager_calls"] > 0)
    if is_repeated.any() and not rules & {"retracing", "eager_hot_loop"}:
        yield (
            f"Traced again or run eagerly: {_named(costly[is_repeated])}; see the timeline. New shapes, dtypes or Python "
            "arguments make a tf.function trace again: give it an input_signature or reduce_retracing=True."
        )
    if not is_repeated.all() and "compilation" not in rules:
        yield (
            f"Traced once during the capture: {_named(costly[~is_repeated])}. Run a step before the capture to see "
            "only what later steps take."
        )


def _named(functions: pd.DataFrame) -> str:
    most = functions.head(_N_NAMED)
    rows = zip(*(most[column].tolist() for column in ("function", "expensive_ratio", "self_time_ms")), strict=True)
    named = [f"{function} ({percent(ratio)} of {number(ms)} ms)" for function, ratio, ms in rows]
    more = f" and {len(functions) - _N_NAMED} more" if len(functions) > _N_NAMED else ""
    return ", ".join(named) + more


def _of_memory(found: Findings, rules: frozenset[str]) -> Iterator[str]:
    for sentence in found.memory:
        if "memory_fragmentation" in rules and FRAGMENTED_WORDS in sentence:
            continue
        yield f"{sentence} See the memory timeline for what is live at the peak; a smaller batch or mixed precision needs less."
