"""Functions of the input that run in Python, beside the steps -> how long the steps' own Python has to share its lock."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Float64
from ..base.data_threads import within_data
from ..base.event_names import by_ends
from ..base.iterator_names import base_name
from ..base.stretches import Stretches
from ..base.units import PS_PER_MS
from .code_text import named, remark
from .mapped_function import mapped_function

if TYPE_CHECKING:
    from .run import Run

_PYTHON = re.compile(r".*:(Eager)?PyFunc(Stateless)?\Z")


def input_python_ms(run: Run) -> Float64:
    """For each step how long any function of the input runs in Python meanwhile, for whatever batch."""
    trace = run.trace
    is_python = by_ends(trace, lambda names, _: [bool(_PYTHON.match(name)) for name in names], np.bool_)
    rows = np.flatnonzero(is_python[trace.name_id] & within_data(trace))
    spans = Stretches.of(trace.start_ps[rows], trace.ends(rows))
    return spans.within(run.steps.start_ps, run.steps.end_ps) / PS_PER_MS


def python_stage(run: Run) -> str:
    """Which stage of the input runs it: a generator, as Keras makes one of a PyDataset, or else a map."""
    names = run.results.tf_data.iterators["name"].map(base_name)
    return "generator" if (names == "Generator").any() else "python_map"


def without_python(run: Run) -> str:
    """A fix: what the input does in Python, done without."""
    if python_stage(run) == "generator":
        return (
            "# in place of a generator or a PyDataset: ops of TensorFlow need no lock\n"
            "dataset = tf.data.Dataset.from_tensor_slices(arrays).batch(batch_size).prefetch(tf.data.AUTOTUNE)"
        )
    costly = mapped_function(run)
    name = named(costly.name if costly else "", "f")
    return (
        (remark(f"the costly function: {costly.place}  {costly.code}") if costly else "")
        + "# in ops of TensorFlow, which need no lock; or once: cache what is not random\n"
        + f"dataset = dataset.map({name}, num_parallel_calls=tf.data.AUTOTUNE).cache()"
    )
