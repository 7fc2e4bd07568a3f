"""Memory events drawn by hand -> summary, timeline, pairing, peak and live set, and memory by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import EPOCH_NS, Event, U, event, line, plane, session, trace
from tests.captures import committed
from tests.unit.analysis.failure.failure_drawings import failure
from tfprof_widgets.analysis import MOST_BYTES, Analysis, MemoryProfile, compute_memory, memory_by_op
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Failure, Trace, empty_source_map, merge_traces

CPU = "cpu_allocator"
FREE = 10_000


def memory_event(kind: str, at_us: float, address: int, size: int, heap: int, **stats: Any) -> Event:
    base: dict[str, Any] = {
        "allocator_name": CPU,
        "bytes_reserved": 0,
        "bytes_allocated": heap,
        "bytes_available": FREE - heap,
        "fragmentation": 0.25,
        "peak_bytes_in_use": heap,
        "requested_bytes": size - 1,
        "allocation_bytes": size,
        "addr": address,
    }
    return event(f"Memory{kind}", at_us, 0, stats=base | stats)


def take(at_us: float, address: int, size: int, heap: int, **stats: Any) -> Event:
    described: dict[str, Any] = {"tf_op": f"op{address}", "region_type": "output", "data_type": 1, "shape": "[2]"}
    return memory_event("Allocation", at_us, address, size, heap, **(described | stats))


def give(at_us: float, address: int, size: int, heap: int, **stats: Any) -> Event:
    return memory_event("Deallocation", at_us, address, size, heap, **({"data_type": 0} | stats))


def host(*events: Event) -> Trace:
    return trace(plane("/host:CPU", line("main", *events)))


def memory(*events: Event) -> MemoryProfile:
    return compute_memory(host(*events))


def live_ops(profile: MemoryProfile, at_ms: float) -> dict[str, int]:
    table = profile.live(CPU, at_ms)
    return dict(zip(table["op"], table["total_bytes"], strict=True))


def test_of_equal_maxima_the_peak_is_the_last_in_line_order() -> None:
    first = line("a", take(5, 1, 10, 50), give(6, 1, 10, 40))
    second = line("b", take(2, 2, 10, 50))
    profile = compute_memory(trace(plane("/host:CPU", first, second)))
    assert profile.summary["peak_at_ms"].tolist() == [0.002]


def test_a_second_allocation_of_a_live_address_keeps_the_first_description_and_counts_once() -> None:
    profile = memory(take(1, 7, 64, 64, tf_op="lost"), take(2, 7, 64, 64, tf_op="again"), give(3, 7, 64, 0))
    assert profile.timeline(CPU)["op"].tolist() == ["lost", "again", "lost"]
    assert live_ops(profile, 0.0025) == {"again": 64}


def test_two_capture_windows_do_not_pair_across_each_other() -> None:
    windows = [
        trace(
            session(start_ns=EPOCH_NS, duration_us=10),
            plane("/host:CPU", line("main", take(1, 7, 64, 64, tf_op="old"))),
        ),
        trace(
            session(start_ns=EPOCH_NS + 100_000, duration_us=10),
            plane("/host:CPU", line("main", give(1, 7, 64, 30, tf_op="new"))),
        ),
    ]
    profile = compute_memory(merge_traces(windows))
    assert profile.timeline(CPU)["freed_at"].tolist() == [-1, -1]
    assert profile.timeline(CPU)["op"].tolist() == ["old", "new"]
    assert live_ops(profile, 0.0015) == {"old": 64}
    assert live_ops(profile, 0.102) == {"allocated before the capture": 30}


def test_two_hosts_have_their_own_allocators() -> None:
    one = trace(session(), plane("/host:CPU", line("main", take(1, 7, 64, 64))), hostnames=["a"])
    two = trace(session(), plane("/host:CPU", line("main", give(2, 7, 64, 0))), hostnames=["b"])
    profile = compute_memory(merge_traces([one, two]))
    assert profile.allocators == (f"a: {CPU}", f"b: {CPU}")
    assert profile.timeline(f"a: {CPU}")["freed_at"].tolist() == [-1]


def test_the_fullest_device_is_told_by_the_share_of_its_own_capacity_and_never_a_host() -> None:
    def used(name: str, address: int, size: int, free: int) -> Event:
        return take(1, address, size, size, allocator_name=name, bytes_available=free)

    assert memory(used(CPU, 1, 900, 100)).fullest_device is None
    fullest = memory(
        used(CPU, 1, 900, 100), used("GPU_0_bfc", 2, 500, 500), used("GPU_1_bfc", 3, 600, 5400)
    ).fullest_device
    assert fullest is not None
    assert fullest[["allocator", "peak_bytes", "capacity_bytes"]].tolist() == ["GPU_0_bfc", 500, 1000]


def test_snapshots_without_group_belong_to_the_step_after_the_last() -> None:
    step = event("train", 10, 5, _r=1, step_num=0)
    profile = memory(take(1, 1, 1, 1), step, take(11, 2, 1, 2), take(20, 3, 1, 3), take(30, 4, 1, 4))
    assert profile.timeline(CPU)["step"].tolist() == [0, 0, 1, 1]


def test_an_unsigned_size_reads_as_zero_as_in_xprof() -> None:
    assert memory(take(1, 1, 10, 10, bytes_allocated=U(10))).summary["heap_bytes"].tolist() == [0]


def test_the_last_stat_that_names_the_allocator_wins() -> None:
    named = replace(take(1, 1, 10, 10), stats=(*take(1, 1, 10, 10).stats, ("index_on_host", 3)))
    assert memory(named).allocators == ("3",)


def test_memory_events_elsewhere_than_on_the_host_do_not_count() -> None:
    drawn = trace(plane("/device:GPU:0", line("stream", take(1, 1, 1, 1))))
    assert compute_memory(drawn).is_empty


def test_an_unknown_allocator_is_answered_with_those_there_are() -> None:
    with pytest.raises(KeyError, match=CPU):
        memory(take(1, 1, 1, 1)).peak("gpu")


def test_sizes_that_no_memory_has_are_cut_so_that_sums_stay_whole() -> None:
    profile = memory(*(take(i, i, 2**62, -(2**62)) for i in range(1, 6)))
    used = memory_by_op(profile)
    assert used.allocated_bytes.tolist() == [MOST_BYTES] * 5
    assert abs(used.before_capture_bytes) <= 6 * MOST_BYTES


GIB = 2**30
CLAIMED, MACHINE = 64 * GIB, 24 * GIB
LEAK = "What is free, 23.9 GiB, lasts about 2,448 steps more."


def leaking(name: str, *, claimed: int = CLAIMED) -> list[Event]:
    """Ten steps, each of which leaves 10 MiB behind."""
    size = 10 * 2**20
    steps: list[Event] = []
    for i in range(10):
        stats: dict[str, Any] = {
            "allocator_name": name,
            "bytes_available": claimed - (i + 1) * size,
            "fragmentation": 0.5,
        }
        steps += (
            event("train", 100 * i, 90, _r=1, step_num=i),
            take(100 * i + 10, i + 1, size, (i + 1) * size, tf_op="model/kept:MatMul", **stats),
        )
    return steps


def results_of(name: str, machine: int, *, claimed: int = CLAIMED, failure: Failure | None = None) -> Analysis:
    """Of a capture on a machine of so many bytes, 0 for not known."""
    facts = pd.DataFrame({"name": ["memory_bytes"], "value": [str(machine)]})
    drawn = trace(session(), plane("/host:CPU", line("main", *leaking(name, claimed=claimed))))
    return Analysis(drawn, replace(empty_source_map(), facts=facts), failure=failure)


@pytest.mark.parametrize("name", ["cpu", "mklcpu", "gpu_host_bfc", "GPU_0_host: cpu"])
def test_a_host_has_no_more_than_its_machine(name: str) -> None:
    row = results_of(name, MACHINE).memory.summary.iloc[0]
    assert row["capacity_bytes"] == MACHINE
    assert row["free_bytes"] == MACHINE - row["peak_bytes"]
    largest = row["free_bytes"] * (1 - row["fragmentation_ratio"])
    assert largest == pytest.approx(min(CLAIMED / 2, MACHINE), rel=0.01)


def test_a_leak_lasts_as_long_as_the_memory_of_the_machine() -> None:
    assert results_of("cpu", MACHINE).memory.growth("cpu").sentence.endswith(LEAK)
    assert "What is free" not in results_of("cpu", 0).memory.growth("cpu").sentence
    assert "What is free, 63.9 GiB" in results_of("GPU_0_bfc", MACHINE).memory.growth("GPU_0_bfc").sentence


@pytest.mark.parametrize(
    ("name", "claimed"), [("GPU_0_bfc", CLAIMED), ("worker-cpu1: GPU_0_bfc", CLAIMED), ("cpu", GIB)]
)
def test_a_limit_below_that_and_the_memory_of_a_device_stay(name: str, claimed: int) -> None:
    row = results_of(name, MACHINE, claimed=claimed).memory.summary.iloc[0]
    assert row["capacity_bytes"] == claimed
    assert row["fragmentation_ratio"] == 0.5


def failed_on_cpu(machine: int) -> str:
    text = (
        "OOM when allocating tensor with shape[100000,100000] and type float on "
        "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu"
    )
    told = results_of("cpu", machine, failure=failure(text, at_us=960)).memory_failure
    assert told is not None
    return told.sentence


def test_a_failed_allocation_tells_what_the_machine_has() -> None:
    assert "100 MiB of 24.0 GiB were in use" in failed_on_cpu(MACHINE)
    unknown = failed_on_cpu(0)
    assert "TensorFlow's tensors held 100 MiB." in unknown
    assert "GiB were" not in unknown


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
    assert "leak" not in growth.sentence


def test_a_leak_shows_through_noise_and_in_thousands_of_steps() -> None:
    random = np.random.default_rng(8)
    level = 10_000 + np.arange(3000) * 10 + random.integers(-300, 300, 3000)
    events = [take(k * STEP_US + 5, k, 1, int(heap)) for k, heap in enumerate(level)]
    growth = drawn(*events, n_steps=3000).growth(CPU)
    assert growth.is_significant
    assert growth.bytes_per_step == pytest.approx(10, rel=0.05)


def test_blocks_and_a_rest_that_stays_add_up_to_the_heap_at_any_time() -> None:
    profile = memory(
        give(1, 1, 100, 400),
        take(2, 2, 50, 450),
        take(3, 3, 30, 480),
        give(4, 2, 50, 430),
        give(6, 4, 200, 230),
        take(7, 2, 10, 240),
    )
    blocks = profile.lifetimes(CPU)
    assert blocks["address"].tolist() == [1, 4, 2, 3, 2]
    assert blocks["op"].tolist()[:2] == ["allocated before the capture"] * 2
    assert np.isnan(blocks["allocated_at_ms"]).tolist() == [True, True, False, False, False]
    assert_add_up(profile, CPU)


@pytest.mark.parametrize("kind", ["h100_cnn_input", "h100_eager", "h100_resnet_mixed", "h100_oom", "keras_fit"])
def test_blocks_of_a_capture_add_up_to_what_is_in_use_at_any_time(kind: str) -> None:
    profile = Analysis(read_xspace(committed.content(kind))).memory
    for allocator in profile.allocators:
        assert_add_up(profile, allocator)


def assert_add_up(profile: MemoryProfile, allocator: str) -> None:
    """What blocks and timeline say of each moment differs by the same bytes: those of before the capture that stay."""
    table, blocks = profile.timeline(allocator), profile.lifetimes(allocator)
    at = table["time_ms"].to_numpy()
    is_last = np.append(at[1:] != at[:-1], True)  # of events at one moment
    size = blocks["allocation_bytes"].to_numpy()
    made = blocks["allocated_at_ms"].fillna(-np.inf).to_numpy()
    freed = blocks["freed_at_ms"].fillna(np.inf).to_numpy()
    held = _summed(made, size, at) - _summed(freed, size, at)
    rest = (table["heap_bytes"].to_numpy() - held)[is_last]
    assert (rest == rest[0]).all()
    assert rest[0] >= 0


def _summed(when: Any, size: Any, at: Any) -> Any:
    order = np.argsort(when, kind="stable")
    return np.append(0, np.cumsum(size[order]))[np.searchsorted(when[order], at, side="right")]


def test_the_largest_free_piece_is_one_of_what_was_taken_from_the_device() -> None:
    """An allocator that may have 64 GiB has taken 4 GiB, of which 3 GiB lie in one piece."""
    taken, piece, most = 4 * GIB, 3 * GIB, 64 * GIB

    def small(k: int) -> Event:
        heap = (k % 7 + 1) * 100 * 2**20
        told = float(f"{1 - piece / (taken - heap):.6g}")
        return take(k, k, 100 * 2**20, heap, bytes_available=most - heap, fragmentation=told)

    few, many = (memory(*(small(k) for k in range(n))) for n in (3, 40))
    state = many.timeline(CPU)
    assert state["largest_free_bytes"].to_numpy() == pytest.approx(piece, rel=1e-4)
    assert (many.snapshots.taken_bytes == taken).all()
    # Of few events it cannot be told: then it is no more than this.
    assert np.isnan(few.snapshots.taken_bytes).all()
    assert (few.timeline(CPU)["largest_free_bytes"] > piece).all()


def test_what_captures_tell_of_the_memory_that_was_taken() -> None:
    """A GPU whose allocator grows by doubling from 2 MiB, and one that took all at once."""
    grown, whole = (
        Analysis(read_xspace(committed.content(f"h100_{kind}"))).memory for kind in ("resnet_mixed", "cnn_input")
    )
    rows = grown.snapshots.rows_of("GPU_0_bfc")
    assert set(grown.snapshots.taken_bytes[rows]) == {sum(2**k for k in range(1, 13)) * 2**20}
    assert grown.summary["largest_free_bytes"][0] == pytest.approx(3.52 * GIB, rel=0.01)
    rows = whole.snapshots.rows_of("GPU_0_bfc")
    assert (whole.snapshots.taken_bytes[rows] == whole.snapshots.capacity_bytes[rows]).all()
