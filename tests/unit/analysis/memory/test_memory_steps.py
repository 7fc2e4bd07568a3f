"""Memory by step: peaks and levels, lifetimes, what is not given back, and whether it grows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import EPOCH_NS, Event, line, plane, session, trace
from tests.unit.analysis.memory.test_memory import CPU, give, host, take
from tfprof_widgets.analysis import MemoryProfile, compute_memory
from tfprof_widgets.trace import Trace, merge_traces

STEP_US = 100


def spans(n: int, *, session_id: int = 0, start_us: int = 0) -> pd.DataFrame:
    """Steps of 100 us each, one after the other."""
    begin = (start_us + STEP_US * np.arange(n)) * 1_000_000
    return pd.DataFrame({"session": session_id, "start_ps": begin, "duration_ps": STEP_US * 1_000_000})


def profile_of(drawn: Trace, steps: pd.DataFrame) -> MemoryProfile:
    """The memory of a trace whose events belong to the steps they lie in."""
    begin = steps["start_ps"].to_numpy()
    step = np.searchsorted(begin, drawn.start_ps, side="right") - 1
    is_in = (step >= 0) & (drawn.start_ps < (begin + steps["duration_ps"].to_numpy())[np.maximum(step, 0)])
    return compute_memory(drawn, event_step=np.where(is_in, step, -1).astype(np.int32), steps=steps)


def drawn(*events: Event, n_steps: int) -> MemoryProfile:
    return profile_of(host(*events), spans(n_steps))


def leak(n_steps: int, *, lost: int, base: int = 1000, until: int | None = None) -> MemoryProfile:
    """Each step takes and gives back 500 bytes for one op and, up to step `until`, loses `lost` bytes of another."""
    events, heap = [], base
    for k in range(n_steps):
        at, keeps = k * STEP_US, until is None or k < until
        events += [take(at + 10, 1, 500, heap + 500, tf_op="work"), give(at + 50, 1, 500, heap)]
        if keeps:
            heap += lost
            events.append(take(at + 60, 1000 + k, lost, heap, tf_op="lost"))
    return drawn(*events, n_steps=n_steps)


def test_levels_of_one_session_say_nothing_about_the_next() -> None:
    windows = [
        trace(
            session(start_ns=EPOCH_NS + 1000 * k * 1000, duration_us=300),
            plane("/host:CPU", line("main", take(10, 1, 100, heap))),
        )
        for k, heap in enumerate((100, 700))
    ]
    merged = merge_traces(windows)
    steps = pd.concat([spans(1), spans(1, session_id=1, start_us=1000)], ignore_index=True)
    table = profile_of(merged, steps).steps(CPU)
    assert table["start_bytes"].tolist() == [0, 600]
    assert table["end_bytes"].tolist() == [100, 700]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 50), st.booleans()), min_size=1, max_size=60))
def test_step_tables_agree_with_a_walk_over_the_timeline(moves: list[tuple[int, int, bool]]) -> None:
    at, heap, live, events = 0, 100, [], []
    for address, (gap, size, is_free) in enumerate(moves):
        at += gap
        if is_free and live:
            freed, freed_size = live.pop()
            heap -= freed_size
            events.append(give(at, freed, freed_size, heap))
        else:
            heap += size
            live.append((address, size))
            events.append(take(at, address, size, heap))
    profile = drawn(*events, n_steps=at // STEP_US + 1)
    timeline, table = profile.timeline(CPU), profile.steps(CPU)
    for row in table.to_dict("records"):
        low, high = row["step"] * STEP_US / 1000, (row["step"] + 1) * STEP_US / 1000
        inside = timeline[(timeline["time_ms"] >= low - 1e-9) & (timeline["time_ms"] < high - 1e-9)]
        assert row["peak_bytes"] == max([row["start_bytes"], *inside["in_use_bytes"]])
        assert row["end_bytes"] == [row["start_bytes"], *inside["in_use_bytes"]][-1]
        assert row["n_allocations"] == (inside["event"] == "allocation").sum()
    assert (table["start_bytes"].to_numpy()[1:] == table["end_bytes"].to_numpy()[:-1]).all()


def test_a_negative_number_of_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="after_steps=-1"):
        leak(3, lost=1).unfreed(CPU, -1)


def test_a_leak_is_told_with_its_rate_and_its_op() -> None:
    growth = leak(20, lost=100).growth(CPU)
    assert growth.is_significant
    assert growth.bytes_per_step == 100
    assert "grows by 100 bytes a step over 20 steps" in growth.sentence
    assert "lost allocates 100 bytes a step that is never given back" in growth.sentence


def test_growth_is_a_step_of_its_own_host_whatever_other_hosts_run() -> None:
    events = [take(k * STEP_US + 60, 1000 + k, 100, 1000 + 100 * k, tf_op="lost") for k in range(20)]
    # The other host's steps lie between those of this one in the table.
    own, other = spans(20), spans(20, session_id=1, start_us=5)
    both = pd.concat([own, other]).sort_values("start_ps", ignore_index=True)
    event_step = np.arange(0, 40, 2, dtype=np.int32)
    growth = compute_memory(host(*events), event_step=event_step, steps=both).growth(CPU)
    assert growth.bytes_per_step == drawn(*events, n_steps=20).growth(CPU).bytes_per_step == 100


@pytest.mark.parametrize(
    ("profile", "why"),
    [
        (leak(20, lost=0), "nothing grows"),
        (leak(20, lost=100, until=3), "the first steps make variables"),
        (leak(20, lost=100, until=11), "it stopped growing"),
        (leak(20, lost=1, base=1_000_000), "it does not matter"),
        (leak(5, lost=100), "too few steps to tell"),
    ],
)
def test_what_is_no_leak_is_not_called_one(profile: MemoryProfile, why: str) -> None:
    growth = profile.growth(CPU)
    assert not growth.is_significant, why
    assert growth.sentence == ""


def test_a_leak_shows_through_noise_and_in_thousands_of_steps() -> None:
    random = np.random.default_rng(8)
    level = 10_000 + np.arange(3000) * 10 + random.integers(-300, 300, 3000)
    events = [take(k * STEP_US + 5, k, 1, int(heap)) for k, heap in enumerate(level)]
    growth = drawn(*events, n_steps=3000).growth(CPU)
    assert growth.is_significant
    assert growth.bytes_per_step == pytest.approx(10, rel=0.05)
