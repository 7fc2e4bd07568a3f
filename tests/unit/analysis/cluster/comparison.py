"""The results of a reduced profile beside those of all its files read whole."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tfprof_widgets.analysis import Advice, Analysis, merge_hosts, summarize_host
from tfprof_widgets.read import open_traces
from tfprof_widgets.trace import SourceMap, Trace, merge_traces, with_host


@dataclass(frozen=True)
class Both:
    """The same hosts read both ways."""

    reduced: Analysis
    whole: Analysis

    @classmethod
    def of_traces(cls, traces: Sequence[Trace], source_map: SourceMap | None = None) -> Both:
        """Of one trace per host, and what was noted of their program; what a worker sends goes through a pickle."""
        summaries = [
            pickle.loads(pickle.dumps(summarize_host(Analysis(trace), path=f"/run/{i}.xplane.pb")))
            for i, trace in enumerate(traces)
        ]
        return cls(merge_hosts(summaries, source_map=source_map), Analysis(merge_traces(traces), source_map))

    @classmethod
    def of_run(cls, directory: Path) -> Both:
        """Of the files of a run directory."""
        return cls.of_traces([open_traces(file).trace for file in sorted(directory.rglob("*.xplane.pb"))])


def copies(trace: Trace, hosts: Sequence[str]) -> list[Trace]:
    """One trace as if several hosts had recorded it."""
    return [with_host(trace, host) for host in hosts]


def assert_same(reduced: pd.DataFrame, whole: pd.DataFrame, keys: Sequence[str] = ()) -> None:
    """The same rows; in the same order, but for rows that differ in nothing that orders them, which `keys` sort."""
    assert list(reduced.columns) == list(whole.columns)
    if keys:
        reduced, whole = (one.sort_values(list(keys), kind="stable", ignore_index=True) for one in (reduced, whole))
    pd.testing.assert_frame_equal(reduced, whole, check_exact=False, rtol=1e-9, atol=1e-9)


def assert_fields(reduced: object, whole: object, names: Sequence[str]) -> None:
    """The same figures."""
    for name in names:
        mine, theirs = getattr(reduced, name), getattr(whole, name)
        if isinstance(theirs, float):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, err_msg=name)
        elif isinstance(theirs, np.ndarray):
            np.testing.assert_array_equal(mine, theirs, err_msg=name)
        else:
            assert mine == theirs, name


def gains(advice: tuple[Advice, ...]) -> dict[str, float]:
    """What each rule says could be won, of several findings the most."""
    return {one.rule: one.gain_ratio for one in reversed(advice)}
