"""Names and numbers in words, step groups, and what the timeline draws beside events."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Event, Plane, U, event, line, plane, session, trace
from tests.packs import first_of
from tfprof_widgets.analysis import (
    KERAS,
    KERAS_LOSS,
    KERAS_OPTIMIZER,
    KINDS,
    TF_DATA,
    Analysis,
    Flows,
    FrameTable,
    Grouping,
    OpCategory,
    UserFiles,
    amount,
    bucket_of_file,
    by_stem,
    compute_flows,
    ends,
    frame_places,
    framework_op,
    group_events,
    head,
    milliseconds,
    moments_of,
    once,
    parse_op_names,
    parsed_names,
    tail_of_text,
)
from tfprof_widgets.show import Payload, sample_rows
from tfprof_widgets.trace import Trace, made_source_map, merge_traces, table_frame

_PARTS = (
    *("a/", "b", ":", "::", "MatMul", "relu", "MemcpyHToD", "Iterator", "[2]"),
    *("_", "_1", "_12", "3", "XlaCompile", "\u00b2"),
)


def drawn() -> Trace:
    return trace(
        plane("/host:CPU", line("main", event("a/MatMul:MatMul", 0, 9, s="told"), event("Run", 1, 2))),
        plane("/device:GPU:0", line("stream", event("kernel", 2, 2), event("kernel", 5, 2))),
    )


def test_what_is_kept_of_a_trace_is_found_once_for_each_trace() -> None:
    one, other = drawn(), drawn()
    assert parsed_names(one) is parsed_names(one)
    n_events = once(lambda trace: [trace.n_events])
    assert n_events(one) is n_events(one)
    assert n_events(one) is not n_events(other)


@given(st.lists(st.lists(st.sampled_from(_PARTS), min_size=1, max_size=6).map("".join), unique=True))
def test_a_name_means_the_same_whichever_others_differ_from_it_in_a_number_at_the_end(names: list[str]) -> None:
    one = trace(plane("/host:CPU", line("main", *(event(name, 2 * i, 1) for i, name in enumerate(names)))))
    found, alone = parsed_names(one), parse_op_names([one.strings[i] for i in one.used_names.tolist()])
    assert (found.category.tolist(), found.type, found.name) == (alone.category.tolist(), alone.type, alone.name)


def test_numbers_at_the_end_of_a_name_of_a_million_letters_are_read_in_one_go() -> None:
    name = "a" + "_1" * 500_000 + "__1"  # a pattern that begins anew at each number would not come to an end
    one = trace(plane("/device:GPU:0", line("stream", event(name, 0, 1))))
    assert by_stem(one, len, np.int64)[one.name_id].tolist() == [len(name) - 1]


@pytest.mark.parametrize(
    ("full", "category", "op_type", "name"),
    [
        ("model/dense/MatMul:MatMul", OpCategory.TENSORFLOW, "MatMul", "model/dense/MatMul"),
        ("scope/Add_12:", OpCategory.TENSORFLOW, "Add", "scope/Add_12"),
        ("Iterator::Root::Map", OpCategory.TFDATA, "Dataset", "Iterator::Root::Map"),
        ("jit(f)/dot_general:dot_general[x=1]", OpCategory.JAX, "dot_general", "jit(f)/dot_general"),
        ("jit(f)/add_3:", OpCategory.JAX, "add", "jit(f)/add_3"),
        ("MemcpyHtoD", OpCategory.MEMCPY_HTOD, "MemcpyHToD", "MemcpyHtoD"),
        ("MemcpyH2D", OpCategory.UNKNOWN, "", "MemcpyH2D"),
        ("EagerLocalExecute: MatMul", OpCategory.UNKNOWN, "", "EagerLocalExecute: MatMul"),
        ("a;b:MatMul", OpCategory.UNKNOWN, "", "a;b:MatMul"),
        ("", OpCategory.UNKNOWN, "", ""),
        ("a:B\n", OpCategory.UNKNOWN, "", "a:B\n"),
    ],
)
def test_a_full_name_splits_into_category_type_and_name(
    full: str, category: OpCategory, op_type: str, name: str
) -> None:
    parsed = parse_op_names([full])
    assert (parsed.category[0], parsed.type[0], parsed.name[0]) == (category, op_type, name)


@pytest.mark.parametrize(
    ("op_name", "op_type", "want"),
    [
        ("net/dense/MatMul", "MatMul", ("net/dense/MatMul", "MatMul")),
        ("jit(train)/jit(main)/dense/dot_general", "", ("dense/dot_general", "dot_general")),
        ("a_inference_one_step_on_data_1538__.14/net/Relu", "Relu", ("net/Relu", "Relu")),
        ("__inference_train_12/net/Relu", "Relu", ("net/Relu", "Relu")),
        ("net/Mul;net/Add", "Mul", ("net/Mul", "Mul")),
        ("net/Relu:", "Relu", ("net/Relu", "Relu")),
        ("jit(f)/", "", ("jit(f)/", "Unknown")),
        ("was <b>fett</b>", "Böse", ("was <b>fett</b>", "Böse")),
    ],
)
def test_framework_names_are_those_of_the_traced_graph(op_name: str, op_type: str, want: tuple[str, str]) -> None:
    assert framework_op(op_name, op_type) == want


LIB = "/venv/lib/python3.11/site-packages"
FIT = (f"{LIB}/keras/src/backend/tensorflow/trainer.py", "fit")
SEQUENTIAL = (f"{LIB}/keras/src/models/sequential.py", "call")
DENSE = (f"{LIB}/keras/src/layers/core/dense.py", "call")
ADAM = (f"{LIB}/keras/src/optimizers/adam.py", "update_step")
LOSS = (f"{LIB}/keras/src/losses/loss.py", "__call__")
METRIC = (f"{LIB}/keras/src/metrics/metric.py", "update_state")
MY_CELL, MY_LAYER = ("/tmp/ipykernel_1/2.py", "<module>"), ("/home/me/net.py", "call")


def standing_for(*stack: tuple[str, str]) -> tuple[str, str, bool]:
    """The user's file, the bucket and whether a layer stands for the innermost frame of a stack."""
    table = FrameTable(
        tuple(range(-1, len(stack) - 1)),
        tuple(path for path, _ in stack),
        (1,) * len(stack),
        tuple(function for _, function in stack),
        tuple(UserFiles({}, ()).has(path) for path, _ in stack),
    )
    places = frame_places(table)
    user = int(places.user_frame[-1])
    return table.path[user] if user >= 0 else "", places.bucket[-1], bool(places.is_of_layer[-1])


def test_what_fit_calls_has_the_name_of_its_part() -> None:
    assert standing_for(MY_CELL, FIT, ADAM)[1] == KERAS_OPTIMIZER
    assert standing_for(MY_CELL, FIT, LOSS)[1] == KERAS_LOSS
    assert standing_for(MY_CELL, FIT, METRIC)[1] == KERAS_LOSS
    assert standing_for(MY_CELL, FIT)[1] == KERAS
    assert standing_for(MY_CELL, (FIT[0], "one_step_on_data")) == (MY_CELL[0], "", False), "of which fit is a caller"


def test_layers_that_keras_calls_stand_for_themselves() -> None:
    assert standing_for(MY_CELL, FIT, SEQUENTIAL, DENSE)[2]
    assert standing_for(MY_CELL, SEQUENTIAL, DENSE) == (MY_CELL[0], "", True)
    assert standing_for(MY_CELL, FIT, DENSE)[2]
    assert not standing_for(MY_CELL, DENSE)[2], "a layer that the user's line calls"


@pytest.mark.parametrize(
    ("path", "bucket"),
    [
        (f"{LIB}/tensorflow/python/data/ops/map_op.py", TF_DATA),
        (f"{LIB}/keras/src/trainers/compile_utils.py", KERAS_LOSS),
        (f"{LIB}/tf_keras/src/optimizers/adam.py", KERAS_OPTIMIZER),
        ("C:\\venv\\Lib\\site-packages\\keras\\src\\layers\\core.py", KERAS),
        ("/usr/lib/python3.11/threading.py", "Python library"),
    ],
)
def test_files_of_libraries_have_buckets(path: str, bucket: str) -> None:
    assert bucket_of_file(path) == bucket


ROOTS = ["/usr/lib/python3.12", "/usr/local/lib/python3.12/dist-packages", "/kit/keras"]
FILES = {
    "file": ["/kit/work.py", "/odd/generated.py"],
    "title": ["work.py", ""],
    "is_user": [True, False],
    "text": ["", ""],
}
KNOWN = UserFiles.of_map(
    made_source_map({"files": table_frame("files", FILES), "roots": table_frame("roots", {"root": ROOTS})}, (), ())
)


@pytest.mark.parametrize(
    ("path", "is_users"),
    [
        ("/kit/work.py", True),
        ("/kit/other.py", True),
        ("/usr/lib/python3.12/threading.py", False),
        ("/home/me/lib/python3.12/site-packages/mine.py", True),
        ("/odd/generated.py", False),
        ("<frozen runpy>", False),
        ("/tmp/__autograph_generated_file5x_a.py", False),
        ("<ipython-input-3-abc>", True),
        ("", False),
    ],
)
def test_the_roots_that_the_capture_noted_decide(path: str, is_users: bool) -> None:
    assert KNOWN.has(path) is is_users


@pytest.mark.parametrize(
    ("path", "is_users"),
    [
        ("/home/me/train.py", True),
        ("/home/me/site-packages-demo/train.py", True),
        ("/venv/lib/python3.11/site-packages/keras/src/layers/layer.py", False),
        ("/tmp/ipykernel_1/2.py", True),
        ("/tmp/__autograph_generated_file5x_a.py", False),
    ],
)
def test_without_them_the_path_tells_as_much_as_it_can(path: str, is_users: bool) -> None:
    assert UserFiles.of_map(None).has(path) is is_users


@pytest.mark.parametrize("latest", [40, 2**62], ids=["near", "too far apart for one number"])
def test_moments_are_ordered_by_owner_and_then_by_time_over_all_columns(latest: int) -> None:
    first = np.array([2, -1, 0, 7], np.int32), np.array([5, latest, 3, 0])
    second = np.array([0, 0, 2], np.int64), np.array([latest, 3, 5])

    numbers = np.concatenate(moments_of(first, second)).tolist()

    owners, times = (np.concatenate(columns).tolist() for columns in zip(first, second, strict=True))
    pairs = list(zip(owners, times, strict=True))
    assert sorted(range(7), key=lambda i: (numbers[i], i)) == sorted(range(7), key=lambda i: (pairs[i], i))
    assert len(set(numbers)) == len(set(pairs))


NAME = "replica_0/" + "x" * 50 + "/MatMul"


def test_each_keeps_its_part() -> None:
    assert head(NAME, 11) == "replica_0/…"
    assert tail_of_text(NAME, 8) == "…/MatMul"
    assert ends(NAME, 20) == "replic…xxxxxx/MatMul"


def test_times_have_the_unit_that_suits_them() -> None:
    assert [milliseconds(ms) for ms in (0, 0.0371, 0.9996, 21.34, 999.4, 1027)] == [
        *("0 ms", "37.1 µs", "1.00 ms", "21.3 ms", "999 ms", "1.03 s")
    ]


def test_means_of_counts_have_decimals_where_they_are_not_whole() -> None:
    assert [amount(count) for count in (18.0, 1 / 3, 8125)] == ["18", "0.333", "8,125"]


def groups_by_name(whole: Trace) -> dict[str, int]:
    grouping = group_events(whole)
    return {whole.strings[name]: int(group) for name, group in zip(whole.name_id, grouping.group_id, strict=True)}


def group_names(grouping: Grouping) -> list[str]:
    return list(grouping.groups["name"])


def host(*threads: tuple[Event, ...]) -> Plane:
    return plane("/host:CPU", *(line(f"thread {i}", *events) for i, events in enumerate(threads)))


def train(start_us: float, duration_us: float, step: int, **stats: object) -> Event:
    return event("train", start_us, duration_us, _r=1, step_num=step, **stats)


def test_what_a_root_encloses_is_its_group_and_what_lies_outside_is_not() -> None:
    whole = trace(host((event("before", 0, 1), train(2, 6, 5), event("inside", 3, 2), event("after", 9, 1))))
    assert groups_by_name(whole) == {"before": -1, "train": 0, "inside": 0, "after": -1}
    assert group_names(group_events(whole)) == ["train 5"]


def test_a_group_follows_producers_and_consumers_across_threads_as_often_as_it_takes() -> None:
    whole = trace(
        host(
            (train(0, 9, 0), event("hand over", 1, 1, _pt=2, _p=11)),
            (event("take", 3, 3, _ct=2, _c=11), event("hand on", 4, 1, _pt=2, _p=12)),
            (event("take again", 6, 2, _ct=2, _c=12), event("work", 6.5, 1)),
            (event("of another kind", 6, 2, _ct=3, _c=12),),
        )
    )
    groups = groups_by_name(whole)
    assert {name for name, group in groups.items() if group < 0} == {"of another kind"}


def test_an_id_means_the_same_only_within_one_process() -> None:
    one = plane("/host:CPU", line("a", train(0, 9, 0), event("send", 1, 1, _pt=2, _p=11)), process_id=1)
    two = plane("/host:CPU [2]", line("b", event("same id", 3, 1, _ct=2, _c=11)), process_id=2)
    three = plane("/host:CPU [3]", line("c", event("addressed", 3, 1, _ct=2, _c=11, _pid=1)), process_id=3)
    groups = groups_by_name(trace(one, two, three))
    assert groups["same id"] == -1
    assert groups["addressed"] == 0


def test_a_context_with_a_crowd_on_both_sides_links_nothing() -> None:
    def linked(n_made: int, n_used: int) -> bool:
        made = tuple(event("made", 1 + i / 1000, 0, _pt=1, _p=5) for i in range(n_made))
        used = tuple(event("used", 20 + i, 0.5, _ct=1, _c=5) for i in range(n_used))
        return groups_by_name(trace(host((train(0, 9, 0), *made), used)))["used"] == 0

    assert linked(63, 64)
    assert linked(64, 63)
    assert not linked(64, 64)


def test_a_root_inside_a_root_of_the_same_level_is_part_of_it() -> None:
    whole = trace(
        host((train(0, 9, 0), event("FunctionRun", 1, 5, _r=1, id=3), event("FunctionRun", 10, 5, _r=1, id=3)))
    )
    grouping = group_events(whole)
    assert grouping.group_id.tolist() == [0, 0, 1]
    assert grouping.groups["is_implicit"].tolist() == [False, True]
    assert group_names(grouping) == ["train 0", ""]


def test_roots_of_a_higher_level_come_first() -> None:
    whole = trace(
        host((event("request", 0, 9, _r=1), event("batch", 1, 5, _r=2), event("inner", 2, 1), event("rest", 7, 1)))
    )
    assert groups_by_name(whole) == {"request": 1, "batch": 0, "inner": 0, "rest": 1}


def test_functions_that_tf_data_runs_are_no_roots() -> None:
    whole = trace(
        host(
            (event("InstantiatedCapturedFunction::Run", 0, 9, id=77), event("FunctionRun", 1, 5, _r=1, id=77)),
            (event("FunctionRun", 1, 5, _r=1, id=78),),
        )
    )
    assert group_events(whole).group_id.tolist() == [-1, -1, 0]


def test_an_asynchronous_event_takes_no_part_in_nesting() -> None:
    whole = trace(host((train(0, 9, 0), event("async", 1, 5, _a=1), event("inside", 2, 1))))
    assert groups_by_name(whole) == {"train": 0, "async": -1, "inside": 0}


def test_a_kernel_joins_the_group_of_its_launch_and_a_copy_that_of_the_kernel_before_it() -> None:
    cpu = host((train(0, 9, 3), event("cuLaunchKernel", 1, 1, correlation_id=U(4))))
    gpu = plane(
        "/device:GPU:0", line("Stream #1", event("kernel", 5, 1, correlation_id=U(4)), event("MemcpyD2H", 7, 1))
    )
    assert groups_by_name(trace(cpu, gpu)) == {"train": 0, "cuLaunchKernel": 0, "kernel": 0, "MemcpyD2H": 0}


def test_the_iterator_kernel_joins_the_executor_that_runs_it() -> None:
    executor = event("ExecutorState::Process", 1, 1, id=9, iter_num=0)
    fetch = event("IteratorGetNextOp::DoCompute", 5, 1, id=9, iter_num=0)
    other = event("IteratorGetNextOp::DoCompute", 7, 1, id=9, iter_num=1)
    grouping = group_events(trace(host((train(0, 4, 0), executor), (fetch, other))))
    assert grouping.group_id.tolist() == [0, 0, 0, -1]


def test_a_file_that_came_grouped_keeps_its_groups() -> None:
    whole = trace(host((event("train", 0, 9, _r=1, group_id=7, step_name="train 30"), event("left alone", 1, 1))))
    grouping = group_events(whole)
    assert grouping.group_id.tolist() == [0, -1]
    assert grouping.groups[["number", "name"]].to_numpy().tolist() == [[7, "train 30"]]


def _memory(at: float, name: str, heap: int, size: int, allocator: str = "GPU_0_bfc") -> object:
    return event(
        name, at, 0, allocator_name=allocator, bytes_allocated=heap, bytes_reserved=0, bytes_available=0,
        allocation_bytes=size, requested_bytes=size, addr=heap, peak_bytes_in_use=0, fragmentation=0.0, id=1,
    )  # fmt: skip


def _iterator(at: float, name: str, *, id: int, **stats: object) -> object:
    return event(f"Iterator::Root{name}", at, 1, id=id, **stats)


def _results(*events: object, system: pd.DataFrame | None = None, planes: tuple[object, ...] = ()) -> Analysis:
    return Analysis(trace(plane("/host:CPU", line("main", *events)), *planes), None, system)


def test_counters_of_a_device_are_found_by_their_value() -> None:
    device = plane(
        "/device:GPU:0",
        line("_counters_", event("SM active", 0, 0, counter_value=0.5), event("SM active", 5, 0, counter_value=U(1))),
    )
    (counter,) = _results(event("train", 0, 9), planes=(device,)).counters.counters
    assert counter.name == "GPU:0 SM active"
    assert counter.value.tolist() == [0.5, 1.0]


def test_samples_of_the_machine_become_loads_and_rates_over_the_time_they_cover() -> None:
    system = pd.DataFrame(
        {"time_ms": [0.0, 100.0, 300.0], "cpu_pct": [0.0, 50.0, 70.0], "process_cpu_pct": [0, 150, 50],
         "rss_bytes": [1e9, 2e9, 3e9],
         "disk_read_bytes": [0, 1000, 5000]}
    )  # fmt: skip
    results = _results(event("train", 0, 9), system=system)
    got = {counter.name: (counter.time_ps.tolist(), counter.value.tolist()) for counter in results.counters.counters}
    ms = 10**9
    assert got["CPU, all cores"] == ([0, 100 * ms], [50.0, 70.0])
    assert got["CPU of this process"] == ([0, 100 * ms], [1.5, 0.5])
    assert got["Memory of this process"] == ([0, 100 * ms, 300 * ms], [1e9, 2e9, 3e9])
    assert got["Disk read"] == ([0, 100 * ms], [10_000.0, 20_000.0])


def _machine(*loads: float, **columns: float) -> pd.DataFrame:
    """Two samples of a machine whose cores have these loads, and with these columns."""
    cores = {f"cpu{i}_pct": load for i, load in enumerate(loads)}
    return pd.DataFrame({name: [value, value] for name, value in (cores | columns).items()}).assign(
        time_ms=[0.0, 100.0]
    )


def test_cores_and_gpus_of_their_own_follow_the_sums_of_the_machine() -> None:
    gpus = {"gpu_pct": 50.0, "gpu_memory_bytes": 3e9, "gpu0_pct": 20.0, "gpu0_memory_bytes": 1e9}
    system = _machine(10, 90, cpu_pct=50, n_threads=9, memory_available_bytes=1e9, **gpus, gpu1_pct=80.0)
    counters = _results(event("train", 0, 9), system=system).counters.counters
    assert [(counter.name, counter.unit) for counter in counters] == [
        ("CPU, all cores", "%"), ("Threads of this process", "threads"), ("Memory available", "bytes"),
        ("GPU load", "%"), ("GPU memory in use", "bytes"),
        ("GPU 0 load", "%"), ("GPU 0 memory in use", "bytes"), ("GPU 1 load", "%"),
        ("CPU core 0", "%"), ("CPU core 1", "%"),
    ]  # fmt: skip
    assert counters[-1].time_ps.tolist() == [0]
    assert counters[-1].value.tolist() == [90]


def test_of_many_cores_the_busiest_are_shown_and_their_names_say_of_how_many() -> None:
    loads = [float(i % 7) for i in range(64)]
    loads[40] = 99
    counters = _results(event("train", 0, 9), system=_machine(*loads)).counters.counters
    assert len(counters) == 16
    assert "CPU core 40 (16 of 64 cores)" in [counter.name for counter in counters]
    assert min(counter.value[0] for counter in counters) >= 5


def test_the_outline_keeps_the_extremes_of_every_bin_and_both_ends() -> None:
    rng = np.random.default_rng(4)
    heap = rng.integers(0, 10**6, 3000)
    results = _results(*[_memory(float(k), "MemoryAllocation", int(h), 0) for k, h in enumerate(heap)])
    rows = sample_rows(results.counters, n_wanted=400)
    assert len(rows) <= 420
    time, value = results.counters.counters[0].time_ps, results.counters.counters[0].value
    assert rows[0] == 0 and rows[-1] == len(value) - 1
    width = -(-(int(time[-1] - time[0]) + 1) // 100)
    bins = (time - time[0]) // width
    for k in range(100):
        of_bin, kept = np.flatnonzero(bins == k), rows[bins[rows] == k]
        assert value[of_bin].min() == value[kept].min()
        assert value[of_bin].max() == value[kept].max()


def test_a_memory_beyond_any_number_is_no_value_and_the_page_still_opens() -> None:
    results = _results(
        _iterator(1, "Prefetch", id=1, ram_usage_megabytes=f"{'9' * 400} out of 1 (1%)"),
        _iterator(3, "Prefetch", id=1, ram_usage_megabytes="2473 out of 25276 (9.78%)"),
    )
    (counter,) = results.counters.counters
    assert counter.value.tolist() == [2473]
    assert first_of(Payload(results))[0]["counters"][0]["max"] == 2473


def host_plane(*threads: tuple[Event, ...], **stats: object) -> Plane:
    return plane("/host:CPU", *(line(f"thread {i}", *events) for i, events in enumerate(threads)), **stats)


def named(whole: Trace, flows: Flows | None = None) -> list[tuple[str, str, str]]:
    flows = flows or compute_flows(whole)
    text = [whole.strings[name] for name in whole.name_id]
    return [
        (KINDS[kind], text[source], text[target])
        for kind, source, target in zip(flows.kind, flows.from_event, flows.to_event, strict=True)
    ]


def launched() -> tuple[Plane, Plane]:
    cpu = host_plane(
        (event("cuLaunchKernel", 1, 1, correlation_id=U(4)), event("cuLaunchKernel", 3, 1, correlation_id=U(5)))
    )
    stream = line("Stream #1", event("a", 5, 1, correlation_id=U(4)), event("b", 7, 1, correlation_id=U(5)))
    return cpu, plane("/device:GPU:0", stream)


def test_ids_mean_nothing_beyond_one_session() -> None:
    first = trace(session(), *launched())
    later = trace(session(start_ns=1_700_000_000_000_000_000 + 10**9), *launched())
    whole = merge_traces([first, later])
    flows = compute_flows(whole)
    assert len(flows.kind) == 4
    assert (whole.session_id[flows.from_event] == whole.session_id[flows.to_event]).all()


def test_work_handed_on_and_work_given_to_a_pool_are_told_apart() -> None:
    whole = trace(
        host_plane(
            (event("run", 1, 9, _pt=2, _p=7), event("record", 2, 0, _pt=15, _p=7)),
            (event("process", 3, 1, _ct=2, _c=7), event("region", 5, 0, _ct=15, _c=7)),
        )
    )
    assert named(whole) == [("producer", "run", "process"), ("pool", "record", "region")]


def test_where_an_id_is_used_again_each_consumer_belongs_to_the_producer_before_it() -> None:
    made = tuple(event("made", 4 * i, 0.5, _pt=2, _p=7) for i in range(3))
    used = tuple(event("used", 4 * i + k, 0.5, _ct=2, _c=7) for i in range(3) for k in (1, 2))
    flows = compute_flows(trace(host_plane(made, used)))
    assert flows.from_event.tolist() == [0, 0, 1, 1, 2, 2]
    assert flows.to_event.tolist() == [3, 4, 5, 6, 7, 8]


def fetched(element: int, at_us: float, *, stage: int = 9) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    background = (
        event("PrefetchProduce", at_us, 4, element_id=element),
        event("Iterator::Root::Prefetch::Map", at_us + 1, 2, id=5, parent_id=stage),
    )
    consumer = (
        event("Iterator::Root::Prefetch", at_us + 6, 3, id=stage, parent_id=1),
        event("PrefetchConsume", at_us + 7, 1, element_id=element),
    )
    return background, consumer


def test_elements_of_another_stage_do_not_mix() -> None:
    made, _ = fetched(1, 0, stage=9)
    _, used = fetched(1, 0, stage=8)
    assert named(trace(host_plane(made, used))) == []


def test_a_tensor_flows_from_the_device_that_sent_it_to_the_one_that_received_it() -> None:
    ends = {"from": "a", "to": "b"}
    whole = trace(
        host_plane(
            (event("a/_1:_Send", 1, 1, stats=ends), event("a/_1:_Send", 11, 1, stats=ends)),
            (event("a/_2:_HostRecv", 0.5, 2, stats=ends), event("a/_2:_HostRecv", 13, 1, stats=ends)),
            (event("_send_x_0:_Send", 1, 1), event("c/_4:_Recv", 2, 1, stats={"from": "c", "to": "d"})),
            (event("_recv_x_0:_Recv", 4, 1),),
        )
    )
    flows = compute_flows(whole)
    assert sorted(named(whole, flows)) == [
        ("send_recv", "_send_x_0:_Send", "_recv_x_0:_Recv"),
        ("send_recv", "a/_1:_Send", "a/_2:_HostRecv"),
        ("send_recv", "a/_1:_Send", "a/_2:_HostRecv"),
    ]
    assert (whole.start_ps[flows.to_event] - whole.start_ps[flows.from_event]).max() == 3e6
