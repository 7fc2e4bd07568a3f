"""Waiting for data -> `input_bound`, with the stage of the pipeline that is slow and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ..base.iterator_names import base_name
from ..base.op_names import parse_op_names
from ..base.wording import number, percent
from ..input.iterator_calls import FILE_READERS
from ..input.iterator_table import slowest_below
from .advice import Advice, advise
from .code_text import named, remark
from .machine_load import mean_during
from .mapped_function import mapped_function

if TYPE_CHECKING:
    from .run import Run

HIDDEN_BY_PREFETCH = 0.5
"""A pipeline without any stage that works ahead, whose work takes up to this share of the step, would be wholly hidden behind
the rest of the step by a prefetch alone; of a larger share something else must become faster too."""

IDLE = 0.5
"""Of the wait for data: where the process computes less than this beside its ops, the pipeline waits itself."""
N_WAITING = 16
"""Calls at a time of a function that waits; AUTOTUNE takes one a core at most. Sleeping ones fit on few cores."""

_REMOTE = ("LMDB", "Spanner", "TFColumn", "DataService", "Courier", "ReverbDataset", "SyntheticDatasetOp")
_READERS = frozenset((*FILE_READERS, *_REMOTE))
_PARALLEL = frozenset(("ParallelMap", "MapAndBatch", "ParseExample"))
_HANDS_ON = frozenset(("Prefetch", "Root", "Model", "Repeat", "ForeverRepeat", "FiniteRepeat", "Take", "Options"))
_SLOW = {
    "slow_read": "reading the data is slow",
    "slow_map": "the mapped function is the cost",
    "no_prefetch": "no batch is prepared while the model computes",
    "no_parallel_map": "the map makes one element after another",
    "sequential_stage": "the stage works on one element after another",
    "generator": "Python makes one element after another",
}


def input_bound(run: Run) -> Iterator[Advice]:
    """The training waits for data.

    Gain: the share of the step time spent waiting. The best a pipeline can do is to have every batch ready when it is asked
    for; copies to a device that nothing hides are counted by `h2d_bound`.
    """
    steps, wait = run.steps, run.wait
    if not wait.is_told or _is_filling(run):
        return
    part = steps.part("input", float(wait.ms.mean()))
    pipeline = run.results.tf_data.bottleneck_pipeline
    stage = "generator" if pipeline is None else _stage(run, pipeline, part.ratio)
    name = "" if pipeline is None else str(pipeline["bottleneck_name"])
    short = "" if pipeline is None else _working(run, pipeline)
    by = f" in {short}" if short else ""
    who = f"The {steps.device if steps.has_device else 'model'}"
    yield advise(
        "input_bound",
        f"{who} waits {number(part.ms)} of {number(steps.mean_ms)} ms a step for data ({percent(part.ratio)}){by}: "
        f"{_SLOW[stage]}.",
        evidence=part.evidence | {"bottleneck": name} | _numbers(run, pipeline),
        fix=_fix(run, stage, short, pipeline),
        selection=steps.stretch(
            wait.ms,
            "input",
            view="timeline" if pipeline is None else "input_graph",
            op_names=_names(run, pipeline),
        ),
        gain_ratio=part.ratio,
        stage=stage,
    )


def _is_filling(run: Run) -> bool:
    """Whether shuffles fill their buffers in most of the time for which steps wait: `shuffle_fill` tells that."""
    fill = run.shuffle_fill
    return fill is not None and fill.ms >= IDLE * float(run.results.steps.frame["input_ms"].sum())


def works_ahead(run: Run) -> bool:
    """Whether the pipeline prepares batches while the model computes."""
    pipeline = run.results.tf_data.bottleneck_pipeline
    if pipeline is None:
        return False
    iterators = run.results.tf_data.iterators
    return bool(iterators["is_async"][iterators["pipeline"] == pipeline["id"]].any())


def _working(run: Run, pipeline: pd.Series) -> str:
    """The name of the bottleneck; where that only hands on, of the first iterator below it that does something."""
    iterators, row = run.results.tf_data.iterators, int(pipeline["bottleneck"])
    names: list[str] = iterators["name"].iloc[[row, *slowest_below(iterators, row)]].tolist()
    return next((name for name in names if base_name(name) not in _HANDS_ON), names[-1])


def _stage(run: Run, pipeline: pd.Series, gain: float) -> str:
    base, code = base_name(_working(run, pipeline)), str(pipeline["suggestion_code"])
    if base == "Generator":
        return "generator"
    if not works_ahead(run) and gain <= HIDDEN_BY_PREFETCH:
        return "no_prefetch"
    if base == "Map" or (base in _PARALLEL and code.startswith(".map(f, num_parallel_calls")):
        return "no_parallel_map"
    if base in _PARALLEL:
        return "slow_map"
    return "slow_read" if base in _READERS else "sequential_stage"


def _names(run: Run, pipeline: pd.Series | None) -> tuple[str, ...]:
    """Names of ops that are the bottleneck."""
    if pipeline is None:
        return run.known("IteratorGetNext")
    events = list(run.results.tf_data.iterators["event_names"].iloc[int(pipeline["bottleneck"])])
    return run.known(*parse_op_names(events).name, *events)


def _numbers(run: Run, pipeline: pd.Series | None) -> dict[str, float | str]:
    if pipeline is None:
        return {}
    row = run.results.tf_data.iterators.iloc[int(pipeline["bottleneck"])]
    numbers: dict[str, float | str] = {
        "bottleneck_time_ms": float(pipeline["bottleneck_time_ms"]),
        "bottleneck_self_time_ms": float(row["self_time_ms"]),
    }
    if row["settings"]:
        numbers["settings"] = str(row["settings"])
    return numbers


def waits_idly(run: Run) -> bool | None:
    """Whether the wait for data is one for a disk, a network or a clock rather than for a core; None where nobody sampled that.

    Of what this process computed in the meantime, the ops of the steps are taken off; were all of the rest the pipeline's, it
    would still fill less than half of the wait.
    """
    steps = run.steps
    busy = mean_during(run.results.system, steps, "process_cpu_pct")
    return None if busy is None else busy / 100 - steps.ratio("host_compute") < IDLE * run.wait.ratio


def _parallel(run: Run, mapped: str) -> str:
    """A map that makes several elements at a time, and the batches of it."""
    is_idle = waits_idly(run)
    if is_idle:
        return (
            f"dataset = dataset.map({mapped}, num_parallel_calls={N_WAITING})\n"
            "# it waits more than it computes: more calls at a time than cores, each with a thread of its own\n"
            "options = tf.data.Options()\n"
            f"options.threading.private_threadpool_size = {N_WAITING}\n"
            "dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE).with_options(options)"
        )
    hint = f"num_parallel_calls={N_WAITING} and options.threading.private_threadpool_size = {N_WAITING}"
    return (
        f"dataset = dataset.map({mapped}, num_parallel_calls=tf.data.AUTOTUNE)\n"
        + (f"# where it waits for a disk or a network: {hint}\n" if is_idle is None else "")
        + "dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)"
    )


def _fix(run: Run, stage: str, short: str, pipeline: pd.Series | None) -> str:
    costly = mapped_function(run) if stage in ("slow_map", "no_parallel_map", "no_prefetch") else None
    name = named(costly.name if costly else "", "f")
    where = remark(f"the costly function: {costly.place}  {costly.code}") if costly else ""
    match stage:
        case "no_parallel_map":
            return where + _parallel(run, name)
        case "no_prefetch":
            return f"{where}dataset = dataset.prefetch(tf.data.AUTOTUNE)  # the last step of the pipeline"
        case "slow_map":
            return (
                f"{where}# do it once: cache what is not random, after the map; or map whole batches\n"
                f"dataset = dataset.map({name}, num_parallel_calls=tf.data.AUTOTUNE).cache()\n"
                "dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)"
            )
        case "slow_read":
            return (
                "# several files at a time; more files than readers, near to the machine\n"
                "files = tf.data.Dataset.list_files(pattern)\n"
                f"dataset = files.interleave({_reader(short)}, num_parallel_calls=tf.data.AUTOTUNE)\n"
                "dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)"
            )
        case "generator":
            return (
                "# let Python give names or indices only, and load them in parallel\n"
                "def load_one(name):\n"
                "    return tf.numpy_function(load, [name], tf.float32)\n"
                "dataset = tf.data.Dataset.from_tensor_slices(names)\n" + _parallel(run, "load_one")
            )
    code = "" if pipeline is None else str(pipeline["suggestion_code"])
    if code.startswith("."):
        return f"{remark(short)}dataset = dataset{code}"
    return code or "dataset = dataset.prefetch(tf.data.AUTOTUNE)"


def _reader(short: str) -> str:
    known = {"TextLine": "tf.data.TextLineDataset", "FixedLengthRecord": "tf.data.FixedLengthRecordDataset"}
    return known.get(base_name(short), "tf.data.TFRecordDataset")
