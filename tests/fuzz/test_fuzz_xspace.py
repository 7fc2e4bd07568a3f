"""Mutated and truncated traces give a Trace that can be used or a TraceError, in bounded time and memory."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from tests.fuzz.mutations import mutant
from tests.unit.formats.full_protobuf import actual_events
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import EventBytes, RawStrings, read_xspace, xspace, xspace_events
from tfprof_widgets.trace import Trace, merge_traces

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")

N_MUTANTS = 20_000
N_IN_EVERY_RUN = 100
MAX_BYTES = 2**30
MAX_SECONDS = 10
MAX_COMPARED_BYTES = 50_000
_CHUNK = 2_000
_ADVISED_EVERY = 10
"""All analyses of all mutants would take hours."""


@pytest.fixture
def _bounded() -> Iterator[None]:
    """This process may grow by so much and no more; beyond, Python raises MemoryError, which is a failure here."""
    mutant(0)  # seeds count as what was there before
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + MAX_BYTES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def use(trace: Trace) -> None:
    """Ask the trace for what every analysis asks."""
    nesting = trace.nesting
    assert (nesting.self_ps >= 0).all()
    assert (nesting.parent < trace.n_events).all()
    assert (trace.end_ps >= trace.start_ps).all()
    stats = trace.stats.all_stats()
    assert len(stats.n) == trace.n_events
    assert stats.n.sum() == len(stats.key)
    for row in range(0, trace.n_events, max(1, trace.n_events // 20)):
        trace.stats_of(row)
    trace.int_stat("a"), trace.string_stat("s"), trace.float_stat("f")
    json.dumps([trace.strings, [line.name for line in trace.lines], [plane.name for plane in trace.planes]])
    assert merge_traces([trace, trace]).n_events == 2 * trace.n_events


def advise(trace: Trace) -> None:
    """Ask for the advice, and with it for most analyses: no rule fails, and its fixes are Python."""
    results = Analysis(trace)
    for one in results.advice:
        compile(one.fix.code, one.rule, "exec")
    assert results.advice_notices == (), results.advice_notices


def read(data: bytes) -> Trace:
    """Read a mutant; of small ones the same must come where each event is written again, and what refuses them, too."""
    if len(data) > MAX_COMPARED_BYTES:
        return read_xspace(data)
    found = _outcome(data)
    with mock.patch.object(xspace, "event_columns", _all_plain):
        plain = _outcome(data)
    if isinstance(found, TraceError):
        assert isinstance(plain, TraceError), f"only as it is it is refused: {found}"
        raise found
    assert isinstance(plain, Trace), f"only written again it is refused: {plain}"
    assert actual_events(found) == actual_events(plain), "the two differ"
    return found


def _all_plain(events: EventBytes, strings: RawStrings) -> xspace_events.EventFields:
    return xspace_events.event_columns(xspace_events.plain(events, np.arange(len(events)), "Event"), strings)


def _outcome(data: bytes) -> Trace | TraceError:
    try:
        return read_xspace(data)
    except TraceError as error:
        return error


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("_bounded")
@pytest.mark.parametrize(
    ("first", "n"),
    [(0, N_IN_EVERY_RUN), *(pytest.param(n, _CHUNK, marks=pytest.mark.nightly) for n in range(0, N_MUTANTS, _CHUNK))],
)
def test_mutants_give_a_trace_or_a_trace_error(first: int, n: int) -> None:
    n_traces, failures = 0, []
    for number in range(first, first + n):
        begin_s = time.monotonic()
        try:
            trace = read(mutant(number))
            use(trace)
            if number % _ADVISED_EVERY == 0:
                advise(trace)
            n_traces += 1
        except TraceError:
            pass
        except Exception as error:
            failures.append(f"mutant({number}): {type(error).__name__}: {error}"[:300])
        if time.monotonic() - begin_s > MAX_SECONDS:
            failures.append(f"mutant({number}) takes more than {MAX_SECONDS} s")
    assert failures == []
    assert 0.05 * n < n_traces < 0.95 * n  # both outcomes are reached
