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

if TYPE_CHECKING:
    from .run_facts import RunFacts

_PYTHON = re.compile(r".*:(Eager)?PyFunc(Stateless)?\Z")


def input_python_ms(run: RunFacts) -> Float64:
    """For each step how long any function of the input runs in Python meanwhile, for whatever batch."""
    trace = run.trace
    is_python = by_ends(trace, lambda names, _: [bool(_PYTHON.match(name)) for name in names], np.bool_)
    rows = np.flatnonzero(is_python[trace.name_id] & within_data(trace))
    spans = Stretches.of(trace.start_ps[rows], trace.ends(rows))
    return spans.within(run.steps.start_ps, run.steps.end_ps) / PS_PER_MS


def python_stage(run: RunFacts) -> str:
    """Which stage of the input runs it: a generator, as Keras makes one of a PyDataset, or else a map."""
    names = run.results.tf_data.iterators["name"].map(base_name)
    return "generator" if (names == "Generator").any() else "python_map"
