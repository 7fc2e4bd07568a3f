"""What the overview found -> what to look at next and what to change, in a few sentences.

    suggest_next_steps(Findings(...)) -> sentences, the most pressing first

Each names the view that shows the evidence. Source: semantics 5.1, 5.2, 10.4 for the thresholds; the wording is this
project's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from ..wording import number, percent
from .tf_functions import EXPENSIVE
from .verdict import INPUT_MODERATE, OTHER_HIGH

_MODERATE = 0.03
"""From this share of the step time on, kernel launches, collectives, compilation and idle time get a sentence."""
_COPIES = 0.05
_HOST = 0.05
_MUCH_COMPUTE = 0.50
_FEW_16BIT = 0.10
_MUCH_EAGER = 0.10
_N_NAMED = 3
_MOST_CHARACTERS = 80
_COMPUTE_VIEWS = {
    "GPU": "the op table and the kernel table",
    "TPU": "the op table and the HLO table",
    "": "the op table",
}


@dataclass(frozen=True)
class Findings:
    """What the sentences are made from."""

    ratio: Mapping[str, float]
    """Share of the step time of each of `STEP_CATEGORIES`; all 0 without steps."""
    limiter: str
    device: str
    """`GPU` or `TPU` where the steps ran anything on one, else empty."""
    uses_tf_data: bool
    compute_16bit_ratio: float
    """NaN where no device computed."""
    eager: Mapping[str, float]
    """Eager share of the op time within the steps, of `host` and `device`."""
    tf_functions: pd.DataFrame
    top_ops: pd.DataFrame
    memory: Sequence[str]
    """Sentences on the memory."""


def suggest_next_steps(found: Findings) -> tuple[str, ...]:
    """The sentences: that on what limits the steps, then others by the time they are about, then general ones."""
    by_time = sorted(_of_step(found), key=lambda item: (item[0] != found.limiter, -item[1]))
    general = [*_of_compute(found), *_of_eager(found), *_of_functions(found), *_of_memory(found)]
    return tuple([text for _, _, text in by_time] + general)


def _of_step(found: Findings) -> Iterator[tuple[str, float, str]]:
    """Category, its share and the sentence, for each part of a step that is worth one."""
    limits = {
        "input": INPUT_MODERATE,
        "kernel_launch": _MODERATE,
        "device_collectives": _MODERATE,
        "compile": _MODERATE,
        "output": _COPIES,
        "device_to_device": _COPIES,
        "other": _MODERATE if found.device else OTHER_HIGH,
    }
    if found.device:
        limits["host_compute"] = _HOST
    for category, limit in limits.items():
        share = found.ratio.get(category, 0.0)
        if share >= limit:
            yield category, share, f"{_heads(found)[category]} ({percent(share)} of a step): {_advice(category, found)}"


def _heads(found: Findings) -> Mapping[str, str]:
    return {
        "input": "Waiting for data",
        "kernel_launch": "Kernel launch",
        "device_collectives": "Collectives",
        "compile": "Tracing and compilation",
        "output": "Copies to the host",
        "device_to_device": "Copies between devices",
        "host_compute": "Ops on the CPU",
        "other": "Nothing runs, neither on the device nor on the host" if found.device else "No op runs",
    }


def _advice(category: str, found: Findings) -> str:
    match category:
        case "input" if found.uses_tf_data:
            return (
                "see the input graph for the iterator that holds the pipeline up; run its map with "
                "num_parallel_calls=tf.data.AUTOTUNE and end the pipeline with prefetch."
            )
        case "input":
            return "no tf.data pipeline was recorded; feed the model from tf.data, which prepares batches in the background."
        case "kernel_launch":
            private = " tf.data runs on the same CPU: try TF_GPU_THREAD_MODE=gpu_private." if found.uses_tf_data else ""
            return (
                "see the timeline for launches that kernels wait for; larger batches, jit_compile=True or steps_per_execution "
                f"need fewer.{private}"
            )
        case "device_collectives":
            return "see the worker chart for a host that the others wait for; larger batches exchange less often."
        case "compile":
            return (
                "see the timeline for what is traced again; give every batch one shape and pass tensors, not numbers."
            )
        case "output":
            return "see the timeline for what is copied; fetch losses and metrics every few steps, not at each."
        case "device_to_device":
            return "see the timeline for what is copied; keep the variables of one layer on one device."
        case "host_compute":
            return "see the op table, side host; ops without a GPU kernel, or placed on the CPU by hand, make the device wait."
    return (
        "see the gaps in the timeline; that is Python, a lock or waiting. Put the whole step into one tf.function and take "
        "logging and printing out of the loop."
    )


def _of_compute(found: Findings) -> Iterator[str]:
    share = found.ratio.get("device_compute" if found.device else "host_compute", 0.0)
    if share >= _MUCH_COMPUTE:
        # An iterator's time is waiting as much as work, and has a sentence of its own.
        is_own = found.top_ops["device"] == ("Device" if found.device else "Host")
        own = found.top_ops[is_own & (found.top_ops["type"] != "Dataset")]
        top = zip(own["name"].head(1).tolist(), own["self_time_ratio"].head(1).tolist(), strict=True)
        named = [f"; {_end_of(name)} alone takes {percent(ratio)} of the op time" for name, ratio in top]
        yield f"Computing ({percent(share)} of a step): see {_COMPUTE_VIEWS[found.device]}{''.join(named)}."
    if found.compute_16bit_ratio < _FEW_16BIT:  # False for NaN
        yield (
            f"Only {percent(found.compute_16bit_ratio)} of device compute is 16-bit: if accuracy allows, "
            "keras.mixed_precision.set_global_policy('mixed_float16') lets the device compute faster."
        )


def _end_of(name: str) -> str:
    """The layer and the op of a path of name scopes."""
    parts = name.split("/")
    end = "/".join(parts[-2:])
    if len(end) > _MOST_CHARACTERS:
        return f"…{end[1 - _MOST_CHARACTERS :]}"
    return f"…/{end}" if len(parts) > 2 else end


def _of_eager(found: Findings) -> Iterator[str]:
    much = [f"{percent(share)} of {side} op time" for side, share in found.eager.items() if share > _MUCH_EAGER]
    if much:
        yield (
            f"Eager ops take {' and '.join(much)}: see the op table, column eager; decorate the function that runs them with "
            "@tf.function."
        )


def _of_functions(found: Findings) -> Iterator[str]:
    costly = found.tf_functions[found.tf_functions["expensive_ratio"] >= EXPENSIVE]
    is_repeated = (costly["traced_calls"] > 1) | (costly["eager_calls"] > 0)
    if is_repeated.any():
        yield (
            f"Traced again or run eagerly: {_named(costly[is_repeated])}; see the timeline. New shapes, dtypes or Python "
            "arguments make a tf.function trace again: give it an input_signature or reduce_retracing=True."
        )
    if not is_repeated.all():
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


def _of_memory(found: Findings) -> Iterator[str]:
    for sentence in found.memory:
        yield f"{sentence} See the memory timeline for what is live at the peak; a smaller batch or mixed precision needs less."
