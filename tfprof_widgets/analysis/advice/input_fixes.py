"""A slow stage of the input -> the code to write instead, for elements of any structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..base.iterator_names import base_name
from ..base.wording import percent
from .code_text import named, remark
from .input_stages import kept_ratio, runs_python, waits_idly
from .mapped_function import mapped_function

if TYPE_CHECKING:
    from .run import Run

N_WAITING = 16
"""Calls at a time of a function that waits; AUTOTUNE takes one a core at most. Sleeping ones fit on few cores."""
_LAST = "# then batched as before\n"
_FREE = "options = tf.data.Options()\noptions.threading.private_threadpool_size = "
_DTYPES = {"float": "float32", "double": "float64", "half": "float16"}
"""What a trace calls types of which TensorFlow has another name."""


def input_fix(run: Run, stage: str, short: str, pipeline: pd.Series | None) -> str:
    """What to write.

    Args:
        run: the run.
        stage: one of `STAGES`.
        short: the name of the iterator that is slow.
        pipeline: its row of `pipelines`; None where no pipeline was seen.
    """
    costly = mapped_function(run) if stage in _OF_FUNCTIONS else None
    name = named(costly.name if costly else "", "f")
    where = remark(f"the costly function: {costly.place}  {costly.code}") if costly else ""
    if stage == "generator":
        return _generator(run, pipeline)
    if stage == "slow_read":
        return (
            "# several files at a time; more files than readers, near to the machine\n"
            "files = tf.data.Dataset.list_files(pattern)\n"
            f"dataset = files.interleave({_reader(short)}, num_parallel_calls=tf.data.AUTOTUNE)\n"
            f"{_LAST}dataset = dataset.prefetch(tf.data.AUTOTUNE)"
        )
    if stage in _OF_FUNCTIONS:
        return where + _of_function(run, stage, name)
    code = "" if pipeline is None else str(pipeline["suggestion_code"])
    if code.startswith("."):
        return f"{remark(short)}dataset = dataset{code}"
    return code or "dataset = dataset.prefetch(tf.data.AUTOTUNE)"


_OF_FUNCTIONS = frozenset(
    ("slow_map", "no_parallel_map", "no_prefetch", "python_map", "element_map", "filter_after", "few_threads")
)


def _of_function(run: Run, stage: str, name: str) -> str:
    """What to do about the function that a stage calls."""
    once = f"dataset = dataset.map({name}, num_parallel_calls=tf.data.AUTOTUNE).cache()"
    match stage:
        case "no_parallel_map":
            return _parallel(run, name)
        case "no_prefetch":
            return "dataset = dataset.prefetch(tf.data.AUTOTUNE)  # the last step of the pipeline"
        case "python_map":
            return (
                "# write it in ops of TensorFlow: Python runs one call at a time, however many are made in parallel\n"
                f"# or do it once: cache what is not random\n{once}"
            )
        case "element_map":
            return (
                "# for whole batches, such as tf.io.parse_example in place of tf.io.parse_single_example\n"
                f"dataset = dataset.batch(batch_size).map({name}, num_parallel_calls=tf.data.AUTOTUNE)"
            )
        case "filter_after":
            return (
                f"# {percent(1 - kept_ratio(run))} of what it prepares is thrown away: judge first, by what is there before\n"
                f"dataset = dataset.filter(keep).map({name}, num_parallel_calls=tf.data.AUTOTUNE)"
            )
        case "few_threads":
            return f"{_FREE}0  # one for each core\ndataset = dataset.with_options(options)"
    if waits_idly(run):
        return _parallel(run, name)
    return f"# do it once: cache what is not random, after the map; or map whole batches\n{once}"


_ONE_AT_A_TIME = "# where it computes in Python, which runs one call at a time, write it in ops of TensorFlow instead"


def _parallel(run: Run, mapped: str) -> str:
    """A map that makes several elements at a time."""
    is_idle = waits_idly(run)
    if is_idle:
        return (
            f"dataset = dataset.map({mapped}, num_parallel_calls={N_WAITING})\n"
            "# it waits more than it computes: more calls at a time than cores, each with a thread of its own\n"
            f"{_FREE}{N_WAITING}\n"
            f"{_LAST}dataset = dataset.prefetch(tf.data.AUTOTUNE).with_options(options)"
        )
    hint = f"num_parallel_calls={N_WAITING} and options.threading.private_threadpool_size = {N_WAITING}"
    return (
        f"dataset = dataset.map({mapped}, num_parallel_calls=tf.data.AUTOTUNE)\n"
        + (f"# where it waits for a disk or a network: {hint}\n" if is_idle is None else "")
        + (f"{_ONE_AT_A_TIME}\n" if runs_python(run) else "")
        + f"{_LAST}dataset = dataset.prefetch(tf.data.AUTOTUNE)"
    )


def _generator(run: Run, pipeline: pd.Series | None) -> str:
    """Python that loads one element by its number, with the types and shapes of the generator's."""
    params = {} if pipeline is None else run.results.tf_data.iterators["params"].iloc[int(pipeline["bottleneck"])]
    types, shapes = (str(params.get(key, "")).split() for key in ("types", "shapes"))
    known = len(types) == len(shapes) > 0 and all(one.isidentifier() for one in types)
    parts = [f"x{k}" for k in range(len(types))] if known else ["x"]
    dtypes = ", ".join(f"tf.{_DTYPES.get(one, one)}" for one in (types if known else ["float"]))
    set_shape = (
        [f"tf.ensure_shape({x}, {_shape(one)})" for x, one in zip(parts, shapes, strict=False)] if known else parts
    )
    busy = "# where Python itself computes, one call runs at a time: dataset.cache() behind the generator helps then\n"
    return (
        f"{busy if waits_idly(run) is False else ''}"
        "# let Python load one element by its number, several at a time\n"
        "def load_one(i):\n"
        f"    {', '.join(parts)}{',' * (len(parts) == 1)} = tf.numpy_function(load, [i], [{dtypes}])\n"
        f"    return {', '.join(set_shape)}\n"
        "dataset = tf.data.Dataset.range(n_elements)\n" + _parallel(run, "load_one")
    )


def _shape(text: str) -> str:
    """`(None, 28, 1)` of `[?,28,1]`; None, for any, of what tells nothing."""
    sizes = text.strip("[]").split(",") if text not in ("[]", "") else []
    if not text.startswith("[") or not all(one == "?" or one.isdigit() for one in sizes):
        return "None"
    return f"[{', '.join('None' if one == '?' else one for one in sizes)}]"


def _reader(short: str) -> str:
    known = {"TextLine": "tf.data.TextLineDataset", "FixedLengthRecord": "tf.data.FixedLengthRecordDataset"}
    return known.get(base_name(short), "tf.data.TFRecordDataset")
