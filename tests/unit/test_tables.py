"""Every table of every capture is what it was, and what must add up does: tables among each other, and parts of the time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests import table_goldens
from tests.builders import Event, event, line, plane, trace
from tests.captures import committed
from tests.table_goldens import DRAWN
from tests.unit.analysis.advice.selected import why_gain_is_not_of_rows, why_nothing_is_seen
from tfprof_widgets.analysis import RULES, TABLES, Analysis, drawn_rows

COMPUTING = ("device_compute", "device_to_device", "device_collectives")
"""Categories of a step in which its device has work."""
N_MOMENTS = 20
TIMES = {
    "ops": "total_self_time_us",
    "hlo_ops": "total_self_time_us",
    "layers": "self_time_us",
    "scopes": "self_time_us",
    "source_lines": "self_time_us",
    "kernels": "total_time_us",
    "copies": "total_time_ms",
    "idle": "duration_us",
    "steps": "step_time_ms",
    "communication": "total_time_us",
}
"""Tables whose rows hold all the time of something, and the column that does."""
OF_A_PROFILE = (
    *("events", "flows", "steps", "workers", "ops", "kernels", "copies", "hlo_ops", "layers", "source_lines", "scopes"),
    *("variables", "hosts", "stragglers", "communication", "advice_table", "counters", "system", "system_findings"),
    *("overview.breakdown", "overview.tf_functions", "memory.summary"),
    *(f"input_pipeline.{name}" for name in ("categories", "ops", "steps", "hosts", "pipelines", "iterators")),
)
IS_OF_KIND: dict[str, Callable[[pd.Series], bool]] = {
    "int": pd.api.types.is_integer_dtype,
    "float": pd.api.types.is_float_dtype,
    "number": pd.api.types.is_numeric_dtype,
    "bool": pd.api.types.is_bool_dtype,
    "text": lambda column: all(isinstance(value, str) for value in column),
    "object": pd.api.types.is_object_dtype,
}
FEW_EVENTS = 20_000


@pytest.fixture(scope="module", params=(*committed.NAMES, *DRAWN))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def prof(name: str, capture_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> tfprof.Profile:
    if name in DRAWN:
        return table_goldens.open_drawn(name, tmp_path_factory.mktemp(name))
    return tfprof.load(capture_of(name).parents[3])


@pytest.fixture
def whole(prof: tfprof.Profile) -> tfprof.Profile:
    if not prof.has_events:
        pytest.skip("it has no single executions")
    return prof


def of_side(frame: pd.DataFrame, column: str) -> dict[str, float]:
    return {str(side): float(total) for side, total in frame.groupby("device")[column].sum().items()}


def test_every_table_is_what_it_was(name: str, prof: tfprof.Profile) -> None:
    was, now = table_goldens.read_golden(name), table_goldens.as_read(table_goldens.snapshots(prof))
    if found := table_goldens.told(name, list(table_goldens.differences(was, now))):
        pytest.fail(f"{found}\nIf that is right, `make goldens` renews them.", pytrace=False)


def test_every_table_of_the_list_is_compared(prof: tfprof.Profile) -> None:
    assert set(prof.tables.names) <= set(table_goldens.tables_of(prof))


def test_a_table_has_the_columns_that_are_declared_in_order_and_of_their_types(prof: tfprof.Profile) -> None:
    for name, frame in declared_tables(prof):
        table = TABLES[name]
        assert tuple(frame.columns) == table.names, name
        wrong = [one.name for one in table.columns if not IS_OF_KIND[one.kind](frame[one.name])]
        assert wrong == [], name


def declared_tables(prof: tfprof.Profile) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each table that a user reaches by name, under its name in `TABLES`."""
    for name in OF_A_PROFILE:
        holder, _, attribute = name.rpartition(".")
        frame = getattr(getattr(prof, holder) if holder else prof, attribute)
        if name != "system" or frame.empty:  # else it has a column for each core
            yield name, frame
    yield from (("tree(view)", prof.tree(view)) for view in ("scope", "graph", "op", "code"))
    yield 'select().op_statistics(by="type")', prof.select().op_statistics(by="type")
    if not prof.has_events:
        return
    for row in prof.input_pipeline.pipelines["id"].tolist():
        yield "input_pipeline.executions", prof.input_pipeline.executions(row)
        yield "input_pipeline.execution", prof.input_pipeline.execution(row)
    of_allocator = [name for name in TABLES if name.startswith("memory.") and name != "memory.summary"]
    for allocator in prof.memory.allocators:
        yield from ((name, getattr(prof.memory, name.removeprefix("memory."))(allocator)) for name in of_allocator)
    if len(prof.trace.start_ps) < FEW_EVENTS:  # two large captures take seconds to compare
        diff = tfprof.diff(prof, prof)
        of_diff = [name for name in TABLES if name.startswith("diff(a, b).")]
        yield from ((name, getattr(diff, name.rpartition(".")[2])) for name in of_diff)


def test_each_piece_of_advice_selects_what_its_view_shows_and_its_code_compiles(whole: tfprof.Profile) -> None:
    for one in whole.advice:
        assert why_nothing_is_seen(whole.run.results, one) == "", one.rule
        compile(one.fix.code, one.rule, "exec")


def test_the_categories_of_a_step_add_up_to_it(prof: tfprof.Profile) -> None:
    overview = prof.overview
    categories = [f"{category}_ms" for category in overview.breakdown["category"]]
    for frame in (prof.steps, prof.workers):
        assert (frame[categories].sum(axis=1) * 1e9).round().tolist() == (frame["step_time_ms"] * 1e9).round().tolist()
    guide = prof.step_guide
    parts = guide.filter(regex="_ms$").drop(columns=["step_time_ms", "start_ms"], errors="ignore").sum(axis=1)
    np.testing.assert_allclose(parts, prof.steps["step_time_ms"], rtol=1e-9)
    assert overview.breakdown["ms"].sum() == pytest.approx(overview.step_time_avg_ms)
    assert overview.n_steps == len(prof.steps)
    assert overview.host_time_ratio + overview.device_time_ratio == pytest.approx(1 if len(prof.ops) else 0)


def test_all_time_of_steps_has_an_owner_and_parts_verdict_and_cards_are_sums_of_the_same_rows(
    whole: tfprof.Profile,
) -> None:
    rows, steps, overview = whole.attribution, whole.steps, whole.overview
    assert (rows["time_ms"] >= 0).all()
    own = rows[rows["step"] >= 0]
    by_step = own.groupby("step")["time_ms"].sum().reindex(steps["step"], fill_value=0.0)
    np.testing.assert_allclose(by_step, steps["step_time_ms"], rtol=1e-12)
    parts = own.groupby(["step", "category"])["time_ms"].sum()
    for category in overview.breakdown["category"]:
        found = [parts.get((step, category), 0.0) for step in steps["step"]]
        np.testing.assert_allclose(found, steps[f"{category}_ms"], atol=1e-9, err_msg=category)
    drawn = drawn_rows(whole.run.results, whole.run.results.claimed, overview.typical_steps)
    assert set(overview.typical_steps) <= set(drawn["step"])
    for name in ("category", "advice"):
        of_all = own.groupby(["step", name])["time_ms"].sum()
        of_drawn = drawn.groupby(["step", name])["time_ms"].sum()
        np.testing.assert_allclose(of_drawn, of_all.reindex(of_drawn.index), rtol=1e-9)
    if not overview.limiter:
        return
    ms = dict(zip(overview.breakdown["category"], overview.breakdown["ms"], strict=True))
    host = ms["dispatch"] + ms["kernel_launch"]
    largest = host if overview.limiter in ("dispatch", "kernel_launch") else ms[overview.limiter]
    assert largest >= max((*ms.values(), host)) - ms["other"] * (overview.limiter == "dispatch") - 1e-9
    claimed = [one.gain_ratio for one in whole.advice if one.share_of != "time captured" and RULES[one.rule].claims]
    assert sum(claimed) <= 1 + 1e-9


def test_a_card_is_about_rows_of_its_own_whose_time_its_gain_is_or_a_stated_part_of(whole: tfprof.Profile) -> None:
    rows = whole.attribution
    assert set(rows["advice"]) <= {-1, *range(len(whole.advice))}
    for at, one in enumerate(whole.advice):
        own, claims = rows[rows["advice"] == at], RULES[one.rule].claims
        assert set(own["category"]) <= set(claims)
        shown = own[own["step"] == one.selection.step]
        stretches = one.selection.stretches_ns
        assert len(stretches) <= one.selection.n_stretches
        assert bool(stretches) == bool(len(shown))
        for begin, end in stretches:
            inside = (shown["start_ms"] * 1e6 < end) & ((shown["start_ms"] + shown["duration_ms"]) * 1e6 > begin)
            assert inside.any()
        assert why_gain_is_not_of_rows(whole.run.results, at) == ""


def test_what_the_first_screen_says_are_the_figures_of_the_tables(prof: tfprof.Profile) -> None:
    overview = prof.overview
    ratio = dict(zip(overview.breakdown["category"], overview.breakdown["ratio"], strict=True))
    if overview.n_steps_averaged:
        assert overview.busy_ratio in (ratio["device_compute"], ratio["host_compute"])
    assert not overview.kind or f"{overview.kind}: " in overview.verdict
    headline, verdict = (re.findall(r"<?\d+ %", text) for text in (overview.headline, overview.verdict))
    assert headline[:1] == verdict[:1]
    assert set(verdict) <= set(headline)
    for text in (overview.verdict, *(one.title for one in prof.advice)):
        for part, whole, share in re.findall(r"([\d.,]+) of ([\d.,]+) ms a step[^.;(]*\(<?(\d+) %\)", text):
            part_ms, whole_ms = (float(one.replace(",", "")) for one in (part, whole))
            assert whole_ms == pytest.approx(overview.step_time_avg_ms, rel=0.006), text
            assert part_ms / whole_ms * 100 == pytest.approx(float(share), abs=1.1), text


@pytest.mark.parametrize("number", [*range(60), *(pytest.param(i, marks=pytest.mark.nightly) for i in range(60, 200))])
def test_time_of_random_traces_has_an_owner(number: int) -> None:
    rng = np.random.default_rng(number)

    def some(names: list[str], end_us: float) -> Iterator[Event]:
        for start in rng.uniform(0, end_us, int(rng.integers(0, 25))):
            name = names[int(rng.integers(len(names)))]
            stats = {"correlation_id": int(rng.integers(50))} if name == "k" else {}
            yield event(name, float(start), float(rng.exponential(60)), **stats)

    host = ["m/a:MatMul", "m/b:Conv2D", "Iterator::Root::Map", "EagerLocalExecute: SaveV2", "MemcpyH2D", "Cast:Cast"]
    starts = np.cumsum(rng.uniform(50, 300, 6))
    marks = [event("train", float(at), float(rng.uniform(20, 400)), _r=1, step_num=i) for i, at in enumerate(starts)]
    planes = [plane("/host:CPU", line("main", *marks, *some(host, 2_000)), line("pool", *some(host[:2], 2_000)))]
    if number % 2:
        streams = [line(f"Stream #{i}", *some(["k", "MemcpyD2H"], 2_000)) for i in range(2)]
        planes.append(plane("/device:GPU:0", *streams))
    results = Analysis(trace(*planes))
    rows, frame = results.attribution, results.steps.frame
    total = np.bincount(rows.step[rows.step >= 0], rows.time_ps[rows.step >= 0], len(frame))
    assert total.astype(np.int64).tolist() == frame["duration_ps"].tolist()
    assert (rows.time_ps > 0).all()
    assert (rows.time_ps <= rows.end_ps - rows.start_ps + 1).all()  # shares are whole picoseconds


def test_layers_lines_and_scopes_hold_all_time_and_all_ops(prof: tfprof.Profile) -> None:
    ops, scopes = prof.ops, prof.scopes
    own, n_ops = of_side(ops, "total_self_time_us"), of_side(ops.assign(n=1), "n")
    for frame in (prof.layers, prof.source_lines, scopes):
        assert of_side(frame, "self_time_us") == pytest.approx(own, rel=1e-12)
    for frame in (prof.layers, prof.source_lines):
        assert of_side(frame, "n_ops") == n_ops
        assert of_side(frame, "occurrences") == of_side(ops, "occurrences")
        phases = [f"{phase}_time_us" for phase in ("forward", "backward", "optimizer", "other")]
        parts = frame[[phase for phase in phases if phase in frame]].sum(axis=1)
        np.testing.assert_allclose(parts, frame["self_time_us"], rtol=1e-12)
        assert all(total == pytest.approx(1) for total in of_side(frame, "self_time_ratio").values())
    roots = scopes[scopes["depth"] == 0]
    assert of_side(roots, "total_time_us") == pytest.approx(own, rel=1e-12)
    assert of_side(roots, "n_ops") == n_ops


def test_ops_kernels_and_programs_hold_the_same_busy_time(whole: tfprof.Profile) -> None:
    occurrences = whole.run.results.occurrences
    assert whole.ops["total_self_time_us"].sum() == pytest.approx(occurrences.self_ps.sum() / 1e6, rel=1e-12)
    own = occurrences.self_ps[occurrences.op >= occurrences.n_ops].sum() / 1e6
    assert whole.hlo_ops["total_self_time_us"].sum() == pytest.approx(own, rel=1e-12)


def tiling(prof: tfprof.Profile) -> Iterator[tuple[int, int]]:
    """The steps' times and those between, before and after, as one cover of the trace."""
    steps = prof.steps
    starts = np.round(steps["start_ms"] * 1e6)
    cuts = {int(prof.trace.start_ps.min()) // 1000, int(prof.trace.end_ps.max()) // 1000 + 1}
    cuts |= set(starts.astype(int).tolist()) | set(
        (starts + np.round(steps["step_time_ms"] * 1e6)).astype(int).tolist()
    )
    yield from pairwise(sorted(cuts))


def test_ops_of_all_steps_and_of_the_time_between_are_the_ops_of_the_trace(whole: tfprof.Profile) -> None:
    found: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    columns = ["device", "name", "total_time_us", "total_self_time_us"]
    for time_range in tiling(whole):
        for device, op, total, own in whole.select(time_range=time_range).ops[columns].to_numpy():
            found[device, op][0] += total
            found[device, op][1] += own
    whole.select()
    for device, op, total, own in whole.ops[columns].to_numpy():
        assert found[device, op] == pytest.approx([total, own], rel=1e-9, abs=1e-6), op


def test_of_any_step_layers_lines_and_scopes_hold_the_time_of_its_ops(whole: tfprof.Profile) -> None:
    for step in {0, len(whole.steps) // 2} if len(whole.steps) else ():
        part = whole.select(step=step)
        own = part.ops["total_self_time_us"].sum()
        for frame in (part.layers, part.source_lines, part.scopes):
            assert frame["self_time_us"].sum() == pytest.approx(own, rel=1e-12)
        types = part.op_statistics(by="type")
        assert types["total_self_time_us"].sum() == pytest.approx(own, rel=1e-12)
        assert types["n_ops"].sum() == len(part.ops)
    whole.select()


def test_what_the_hosts_ran_adds_up_to_the_whole(prof: tfprof.Profile) -> None:
    if len(prof.hosts) < 2:
        pytest.skip("one host is the whole")
    hosts = [prof.host(host) for host in prof.hosts["host"]]
    for table, column in TIMES.items():
        if table == "idle" and not prof.has_events:  # it has none of them
            continue
        parts = [getattr(one, table) for one in hosts]
        told = sum(part[column].sum() for part in parts if len(part))
        assert told == pytest.approx(getattr(prof, table)[column].sum(), rel=1e-9), table


def test_the_causes_of_idle_time_add_up_to_gaps_and_those_of_one_device_to_steps(prof: tfprof.Profile) -> None:
    frame, steps = prof.idle, prof.steps
    gaps = frame.groupby("gap")["duration_us"].sum()
    np.testing.assert_allclose(gaps, frame.drop_duplicates("gap").set_index("gap").loc[gaps.index, "gap_us"], rtol=1e-6)
    if frame["device"].nunique() != 1 or len(prof.hosts) > 1:
        return
    told = frame[frame["step"] >= 0].groupby(["step", "cause"])["duration_us"].sum()
    for category in prof.overview.breakdown["category"]:
        expected = steps[f"{category}_ms"] * 1000 * (category not in COMPUTING)
        own = [told.get((step, category), 0.0) for step in steps["step"]]
        np.testing.assert_allclose(own, expected, atol=1e-5, err_msg=category)


def test_one_host_has_its_own_steps_as_workers(prof: tfprof.Profile) -> None:
    if len(prof.hosts) == 1:
        pd.testing.assert_frame_equal(prof.workers[list(prof.steps)], prof.steps)


def test_at_any_moment_the_live_memory_adds_up_and_steps_tell_what_the_timeline_does(whole: tfprof.Profile) -> None:
    memory, spans = whole.memory, whole.steps
    random = np.random.default_rng(0)
    for allocator in memory.allocators:
        timeline = memory.timeline(allocator)
        time_ms, in_use = timeline["time_ms"].to_numpy(), timeline["in_use_bytes"].to_numpy()
        for at_ms in random.uniform(time_ms[0], time_ms[-1], N_MOMENTS):
            now = in_use[np.searchsorted(time_ms, at_ms, side="right") - 1]
            assert memory.live(allocator, at_ms)["total_bytes"].sum() == now
        for row in memory.steps(allocator).to_dict("records"):
            start, duration = spans[["start_ms", "step_time_ms"]].to_numpy()[row["step"]]
            first, last = np.searchsorted(time_ms, [start, start + duration])
            inside = timeline.iloc[first:last]
            assert row["peak_bytes"] == max([row["start_bytes"], *inside["in_use_bytes"]])
            assert row["end_bytes"] == [row["start_bytes"], *inside["in_use_bytes"]][-1]
            made = inside[inside["event"] == "allocation"]
            assert (row["n_allocations"], row["allocated_bytes"]) == (len(made), made["allocation_bytes"].sum())


def test_layers_hold_all_bytes_allocated_and_all_in_use_at_the_largest_peak(whole: tfprof.Profile) -> None:
    memory, layers = whole.memory, whole.layers
    of_device = [one for one in memory.allocators if "GPU_" in one] or memory.allocators
    timelines = [memory.timeline(allocator) for allocator in of_device]
    made = sum(one.loc[one["event"] == "allocation", "allocation_bytes"].sum() for one in timelines)
    assert layers["allocated_bytes"].sum() == made
    own = memory.summary[memory.summary["allocator"].isin(of_device)]
    if len(own):
        assert layers["peak_bytes"].sum() == own["peak_bytes"].max()
