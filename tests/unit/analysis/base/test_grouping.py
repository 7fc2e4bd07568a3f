"""Step groups: what a root leads to, through nesting and links, and what it does not."""

from __future__ import annotations

from tests.builders import Event, Plane, U, event, line, plane, trace
from tfprof_widgets.analysis import Grouping, group_events
from tfprof_widgets.trace import Trace


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
