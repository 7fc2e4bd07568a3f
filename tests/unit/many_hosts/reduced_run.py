"""What tests of many hosts have in common: how many there are, and when two profiles are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import tfprof_widgets as tfprof

MOST_WHOLE, N_HOSTS = 5, 8
"""So many hosts are read whole in these tests, and so many are in the run of many."""
FRAMES = ("events", "steps", "ops", "kernels", "hlo_ops", "layers", "source_lines", "scopes", "workers", "counters")
MORE_FRAMES = ("stragglers", "communication", "hosts")


def parts(prof: tfprof.Profile) -> dict[str, Any]:
    """Everything public of a profile that is data."""
    found: dict[str, Any] = {name: getattr(prof, name) for name in FRAMES}
    found |= {name: getattr(prof, name) for name in MORE_FRAMES if hasattr(prof, name)}
    found["memory"] = prof.memory.summary
    for name in ("pipelines", "iterators", "ops", "steps"):
        found[f"input {name}"] = getattr(prof.input_pipeline, name)
    found["overview"] = repr(prof.overview)
    found["advice"] = prof.advice_table
    found["notices"] = prof.notices
    for column in ("start_ps", "duration_ps", "name_id", "line_id"):
        found[f"trace {column}"] = getattr(prof.trace, column)
    found["strings"] = prof.trace.strings
    return found


def assert_equal(first: tfprof.Profile, second: tfprof.Profile) -> None:
    """The data of two profiles is the same, bit by bit."""
    one, other = parts(first), parts(second)
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(value, other[name], check_exact=True, obj=name)
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, other[name], name)
        else:
            assert value == other[name], name
