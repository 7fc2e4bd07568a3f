"""What a reader sees of a trace: first of all, of a hostile one, and of a large one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.builders import EPOCH_NS, Event, Plane, U, aggregated, event, line, plane, session, space, trace
from tests.fake_shell import FakeShell
from tests.packs import first_of, is_here, unpack
from tests.unit.analysis.advice.gpu_drawings import gpu_run
from tests.unit.analysis.advice.test_device_rules import PLANTED
from tests.unit.views.received import receive
from tfprof_widgets.analysis import Analysis, Fix, GraphsSwitchedOff, Highlight, advise
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import (
    Payload,
    activity,
    advice_list,
    bounds_of,
    compute_positions,
    first_view,
    layer_list,
    limits_of,
    typical_steps,
    view_of,
)
from tfprof_widgets.show import payload as payload_module
from tfprof_widgets.trace import SourceMap, empty_source_map, files_in_part, lines_known, merge_traces

CPU = "/host:CPU"


def steps(n: int) -> list[Event]:
    return [event("train", 10 * i, 9, _r=1, step_num=i) for i in range(n)]


def test_the_first_view_is_the_typical_step_with_a_margin_and_a_page_keeps_its_neighbours() -> None:
    results = Analysis(trace(plane(CPU, line("main", *steps(100)))))
    frame, usual = results.steps.frame, np.flatnonzero(results.overview.is_averaged)
    (typical,) = results.overview.typical_steps
    assert abs(typical - usual[len(usual) // 2]) <= 1
    payload = Payload(results)
    for shown, first, last, margin in (
        (first_of(payload)[0]["home"], typical, typical, 0.05),
        (payload.kept_ps, typical - 1, typical + 1, 0),
    ):
        start, end = frame["start_ps"].iloc[first], frame["start_ps"].iloc[last] + frame["duration_ps"].iloc[last]
        pad = margin * (end - start)
        assert shown == pytest.approx([start - pad, end + pad])


def test_steps_that_are_not_usual_or_of_another_session_are_not_among_the_typical_ones() -> None:
    session_of = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    usual = np.array([0, 1, 1, 1, 1, 1, 0, 1, 1, 1], np.bool_)
    assert typical_steps(usual, session_of) == (1, 3)
    assert typical_steps(np.zeros(5, np.bool_), np.zeros(5)) is None
    assert typical_steps(np.ones(3, np.bool_), np.zeros(3)) == (0, 2)
    assert typical_steps(usual, session_of, 3, around=2) == (1, 3)
    assert typical_steps(usual, session_of, 3, around=4) == (4, 5)


@pytest.mark.parametrize("events", [steps(2), [event("a", 5, 90)]], ids=["few steps", "no steps"])
def test_a_short_capture_is_shown_whole(events: list[Event]) -> None:
    results = Analysis(trace(plane(CPU, line("main", *events))))
    bounds = bounds_of(results, int(results.trace.end_ps.max()))
    assert first_view(results, bounds) == bounds


def test_of_sessions_far_apart_the_first_is_shown() -> None:
    parts = [
        space(session(start_ns=10**18 + k * 10**12, duration_us=100), plane(CPU, line("m", event("a", 1, 90))))
        for k in range(2)
    ]
    results = Analysis(merge_traces([read_xspace(part, host="h") for part in parts]))
    bounds = bounds_of(results, int(results.trace.end_ps.max()))
    first = results.trace.sessions[0]
    assert first_view(results, bounds) == pytest.approx((max(0, first.start_ps - 5e6), first.stop_ps + 5e6), abs=1e7)


def test_activity_is_the_share_of_each_bin_in_which_lines_are_busy() -> None:
    busy = line("busy", event("a", 0, 256), event("inner", 3, 5))
    idle = line("idle", event("a", 128, 128))
    derived = line("Steps", event("1", 0, 512), id=-559038737)
    drawing = trace(
        plane(CPU, busy, idle, derived, line("none")), plane("/device:GPU:0", line("s", event("k", 511, 1)))
    )
    found = activity(drawing, compute_positions(drawing), (0.0, 512e6))
    assert [found["host"][k] for k in (0, 100, 128, 255, 256, 511)] == [0.5, 0.5, 1, 1, 0, 0]
    assert [found["device"][k] for k in (0, 510, 511)] == [0, 0, 1]
    assert len(found["host"]) == len(found["device"]) == 512


def test_a_device_is_busy_while_any_of_its_streams_is_and_devices_that_do_nothing_do_not_count() -> None:
    compute = line("compute", event("k", 0, 10), event("k", 20, 10), event("long", 100, 100))
    copies = line("copies", event("memcpy", 5, 10), event("memcpy", 110, 20))
    drawing = trace(plane("/device:GPU:0", compute, copies), plane("/device:GPU:1", line("none")))
    found = activity(drawing, compute_positions(drawing), (0.0, 512e6))["device"]
    assert [found[k] for k in (0, 7, 14, 15, 25, 115, 150, 199, 200)] == [1, 1, 1, 0, 1, 1, 1, 1, 0]


def test_without_devices_there_is_no_activity_of_devices() -> None:
    drawing = trace(plane(CPU, line("m", event("a", 0, 1))))
    assert activity(drawing, compute_positions(drawing), (0.0, 1e6))["device"] == []


def test_of_several_hosts_the_first_view_is_a_step_of_one() -> None:
    files = [space(session(duration_us=1000), plane(CPU, line("main", *steps(100)))) for _ in range(4)]
    results = Analysis(merge_traces([read_xspace(part, host=f"h{k}") for k, part in enumerate(files)]))
    start, end = first_view(results, bounds_of(results, int(results.trace.end_ps.max())))
    assert (end - start) / 1e6 == pytest.approx(9 * 1.1)


WIDGET = "application/vnd.jupyter.widget-view+json"
NOT_YET = {"advice", "source_lines", "source_samples", "source_files", "layers", "op_places", "structure"}


class Unread:
    """A program whose source map nobody has read yet."""

    def __init__(self) -> None:
        self.n_reads = 0
        self.facts = empty_source_map().facts

    def read(self) -> SourceMap:
        self.n_reads += 1
        return empty_source_map()


@pytest.fixture
def program() -> Unread:
    return Unread()


@pytest.mark.parametrize("kind", ["keras_fit", "h100_cnn_input"])
def test_the_first_pack_is_made_without_it(capture_of: Callable[[str], Path], program: Unread, kind: str) -> None:
    results = Analysis(tfprof.load(capture_of(kind)).trace, program)
    payload = Payload(results, title="run")
    assert program.n_reads == 0
    overview = first_of(payload)[0]["overview"]
    assert overview["verdict"] == results.overview.verdict
    assert {"steps", "ops"} <= is_here(payload)
    assert not NOT_YET & is_here(payload)
    assert {f"{name}:0" for name in NOT_YET} <= set(payload.late_keys)


@pytest.fixture
def profile(keras_xplane: Path, program: Unread) -> tfprof.Profile:
    profile = tfprof.load(keras_xplane)
    profile.run.results = Analysis(profile.trace, program)
    return profile


def test_a_cell_shows_the_views_without_it_and_what_needs_it_when_it_ends(
    profile: tfprof.Profile, program: Unread, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = FakeShell().install(monkeypatch)
    shown = profile._repr_mimebundle_()
    assert program.n_reads == 0
    assert set(shown) == {WIDGET, "text/plain"}
    assert shown["text/plain"] == repr(profile)
    shell.end_cell()
    assert program.n_reads == 1
    (fallback,) = (one for one in shell.published if one["text/plain"])
    assert set(fallback) == {"text/html", "text/plain"}
    assert profile.overview.verdict in fallback["text/html"]
    assert fallback["text/plain"] == profile.text()


def test_what_a_cell_captures_goes_where_its_view_went(
    profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = FakeShell().install(monkeypatch)
    captured = shell.published
    profile._repr_mimebundle_()
    shell.display_pub = FakeShell().display_pub  # `%%capture` is over
    shell.end_cell()
    assert any(one["text/plain"] for one in captured)


def test_what_no_cell_shows_has_all_at_once(profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch).message = {"header": {"msg_type": "comm_msg"}}
    shown = profile._repr_mimebundle_()
    assert set(shown) == {WIDGET, "text/html", "text/plain"}
    assert shown["text/plain"] == profile.text()


def test_a_fallback_that_fails_leaves_the_views(
    profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shell = FakeShell().install(monkeypatch)
    monkeypatch.setattr("tfprof_widgets.show.page.html_page", lambda *_, **__: 1 / 0)
    assert WIDGET in profile._repr_mimebundle_()
    shell.end_cell()
    assert not any(one["text/plain"] for one in shell.published)
    assert "what stands for a view" in caplog.text


def test_views_that_cannot_be_made_leave_the_text(profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)
    monkeypatch.setattr(profile, "dashboard", lambda: 1 / 0)
    shown = profile._repr_mimebundle_()
    assert set(shown) == {"text/plain"}
    assert shown["text/plain"].startswith(profile.text().rstrip())
    assert "the dashboard cannot be shown: ZeroDivisionError" in shown["text/plain"]


@pytest.mark.parametrize(
    ("notice", "view"),
    [
        (lines_known(1, 2), "source_view"),
        (files_in_part(1, 2, 2**18, 2**22), "source_view"),
        ("3 of 4 functions are gone from TensorFlow's runtime: their lines are not known.", "source_view"),
        ("No FLOP counts of graph ops that XLA did not compile: counting ran out of time.", "op_table"),
        ("Of the edges between graph ops the first 3 of 9 were read.", "tree_view"),
        (GraphsSwitchedOff(3, 5, 9).notice, "kernel_table"),
        ("The capture stopped itself after 2.0 s (max_seconds=2): 4 of 9 steps kept.", ""),
        ("the device was lost", ""),
    ],
)
def test_a_notice_is_about_a_view_or_about_everything(notice: str, view: str) -> None:
    assert view_of(notice) == view
    (limit,) = limits_of([notice])
    assert (limit["text"], limit["view"]) == (notice, view)


def test_an_advice_becomes_json_with_null_for_what_is_no_number() -> None:
    advice = advise(
        "input_bound",
        "The model waits.",
        evidence={"input_ms": np.float64(13.1), "gap_ms": float("nan"), "settings": "2 at once"},
        fix=Fix("Prefetch.", "data = data.prefetch(2)", frozenset(("data",))),
        selection=Highlight(op_names=("a",) * 500, time_range_ns=(np.int64(1), np.int64(2)), view="input_graph"),
        gain_ratio=0.33,
    )
    (told,) = json.loads(json.dumps(advice_list((advice,))))
    assert told["evidence"] == [["input_ms", 13.1], ["gap_ms", None], ["settings", "2 at once"]]
    assert (told["time_range_ns"], told["step"], told["view"]) == ([1, 2], -1, "input_graph")
    assert (told["severity"], told["gain_ratio"]) == ("high", 0.33)
    assert len(told["op_names"]) == 100


def test_a_payload_names_its_advice_first(tmp_path: Path) -> None:
    prof = tfprof.load(write_run(tmp_path / "run", PLAIN))
    sections = prof.timeline().data.payload.sections
    assert next(iter(sections)) == "advice"
    assert [one["title"] for one in unpack(sections["advice"].part(0))[0]["advice"]] == [
        one.title for one in prof.advice
    ]


def test_the_first_pack_does_not_wait_for_advice() -> None:
    results = gpu_run(**PLANTED["collectives"][0])
    payload = Payload(results)
    assert "advice" not in results.__dict__
    assert not {"advice", "advice_notices"} & is_here(payload)
    assert payload.keys[:2] == ("advice:0", "advice_notices:0")
    assert first_of(payload)[0]["advice"] == []
    told = unpack(payload.part("advice:0"))[0]["advice"]
    assert [one["title"] for one in told] == [one.title for one in results.advice]
    assert payload.part("advice:0") is payload.part("advice:0")


def test_what_a_saved_notebook_keeps_of_a_long_capture_has_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload_module, "_MOST_EVENTS", 0)
    payload = Payload(gpu_run(**PLANTED["collectives"][0]))
    monkeypatch.setattr(payload_module, "_WHOLE_BYTES", 0)
    assert "advice:0" in payload.of_steps


GPU = "/device:GPU:0"
N_MANY = 70_000
"""More than 16 bits can count."""
THREE_HOURS_PS = 10**16
"""Beyond 2^53, from where on a double does not hold every picosecond."""


def at(start_ps: int, duration_ps: int, name: str = "a:MatMul", **stats: object) -> Event:
    return Event(name, start_ps, duration_ps, tuple(stats.items()))


def nested() -> list[Plane]:
    return [plane(CPU, line("main", *(at(i, 3 * N_MANY - 2 * i) for i in range(N_MANY))))]


def many_stats() -> list[Plane]:
    return [plane(CPU, line("main", Event("x", 0, 5, (("k", 1),) * N_MANY), event("y", 9, 1, last=7)))]


def many_allocators() -> list[Plane]:
    made = [event("MemoryAllocation", i, 0, allocator_name=f"a{i:03}", bytes_allocated=i, addr=i) for i in range(300)]
    return [plane(CPU, line("main", *made))]


def late() -> list[Plane]:
    steps = [at(THREE_HOURS_PS + 10**9 * i + 1, 10**9 - 1, "train", _r=1, step_num=i) for i in range(4)]
    allocation = at(
        *(THREE_HOURS_PS + 3, 0, "MemoryAllocation"),
        allocator_name="bfc",
        bytes_allocated=2**62 + 1,
        bytes_reserved=2**62,
        bytes_available=2**62,
        requested_bytes=-(2**63),
        peak_bytes_in_use=2**63 - 1,
        fragmentation=float("nan"),
    )
    return [
        session(duration_us=2e10),
        plane(CPU, line("main", *steps, at(THREE_HOURS_PS + 5, 7), allocation)),
    ]


def beyond_the_end() -> list[Plane]:
    return [plane(CPU, line("m", at(2**62, 2**62), at(2**60 - 1, 2**60 - 1), at(5, -5), at(-(2**62), 1)))]


def odd_clocks() -> list[Plane]:
    clock = plane("Task Environment", profile_start_time=U(EPOCH_NS), profile_stop_time=U(2**64 - 1))
    lines = [line("a", event("x:A", 1, 1), timestamp_ns=2**63 - 1), line("b", event("y", 1, 1), timestamp_ns=-(2**63))]
    return [clock, plane(CPU, *lines, process_id=U(2**64 - 1))]


def names() -> list[Plane]:
    raw = [
        "\0",
        "</script>",
        "a" * 10**5,
        b"\xed\xa0\x80 half a pair",
        b"\xff:MatMul",
        ":",
        "Iterator::",
        "\u2028",
        "{}",
        "",
    ]
    events = [event(one, 9 * i, 5, stats={"\0": "\0", "": "", "tf_op": "\0:A", "id": i}) for i, one in enumerate(raw)]
    return [plane(CPU, line("\0\u202e", *events))]


def devices_alone() -> list[Plane]:
    kernels = [event("k", 9 * i, 5, correlation_id=i, tf_op="a/b:MatMul") for i in range(5)]
    return [plane(GPU, line("s", *kernels), memory_size=2**63 - 1), plane("/device:TPU:0", line("t", event("k", 1, 2)))]


def other_kinds() -> list[Plane]:
    stats = {
        "_r": "x",
        "step_num": 1.5,
        "id": "q",
        "group_id": b"g",
        "tf_op": 5,
        "allocator_name": 5,
        "_p": float("inf"),
    }
    seen = ("train", "Iterator::Root", "MemoryAllocation", "a:B", "EagerExecute", "TraceContext")
    return [plane(CPU, line("main", *(event(name, 9 * i, 5, stats=stats) for i, name in enumerate(seen))))]


def nothing() -> list[Plane]:
    return [plane(CPU, line("empty")), plane("")]


def counted() -> list[Plane]:
    return [
        plane(
            CPU,
            line("m", aggregated("a:B", 2**31 + 5, 1e6), aggregated("train", 5, 7, _r=1), event("c:D", 1, 2)),
        )
    ]


HOSTILE = (
    *(nested, many_stats, many_allocators, late, beyond_the_end, odd_clocks),
    *(names, devices_alone, other_kinds, nothing, counted),
)


def reject(constant: str) -> float:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize("drawn", HOSTILE, ids=lambda drawn: drawn.__name__)
def test_a_trace_that_loads_is_shown(drawn: Callable[[], list[Plane]], tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(space(*drawn()))
    prof = tfprof.load(tmp_path)
    payload = Payload(prof.run.results)
    got = receive(payload)
    json.loads(json.dumps(got.meta), parse_constant=reject)
    assert got.n_events == payload.positions.n_events <= prof.trace.n_events
    for name, columns in (first_of(payload)[1] | got.tables).items():
        for column, values in columns.items():
            if values.dtype.kind == "f":
                assert np.isfinite(values).all(), (name, column)
    assert "\n" not in repr(prof)
    summary = prof.text()
    summary.encode("utf-8")
    assert summary.count("\n") < 60
    for part in (prof.memory, prof.overview, prof.input_pipeline, prof.select(time_range=(0, 1000))):
        assert len(repr(part)) < 500
    assert prof.to_html(tmp_path / "out.html").stat().st_size > 10_000


def test_a_trace_without_planes_is_shown(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(space(hostnames=["box"], errors=["the device was lost"]))
    prof = tfprof.load(tmp_path)
    meta, _ = first_of(Payload(prof.run.results))
    assert (meta["n_events"], meta["planes"]) == (0, [])
    limits = json.loads(prof.dashboard().options)["limits"]
    assert [(limit["text"], limit["view"]) for limit in limits] == [("the device was lost", "")]
    assert "the device was lost" in prof.text()


def test_every_allocator_beyond_the_255th_keeps_its_own_memory() -> None:
    meta, tables = first_of(Payload(Analysis(trace(*many_allocators()))))
    assert tables["memory"]["allocator"].tolist() == list(range(300))
    assert meta["allocators"][299] == "a299"


def test_times_beyond_2_hours_arrive_as_the_nearest_double() -> None:
    read = trace(*late())
    got = receive(Payload(Analysis(read)))
    assert float(read.start_ps[0]) != int(read.start_ps[0])  # there is something to round
    assert sorted(got.events["start_ps"].tolist()) == sorted(float(start) for start in read.start_ps.tolist())


def test_of_many_allocators_a_summary_names_the_largest_and_how_many_there_are(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(space(*many_allocators()))
    summary = tfprof.load(tmp_path).text()
    assert "Memory a299: peak 299 bytes" in summary
    assert "8 of 300 allocators" in summary


@pytest.fixture(scope="module")
def prof(capture_of: Callable[[str], Path]) -> tfprof.Profile:
    return tfprof.load(capture_of("h100_resnet_mixed").parents[3])


def test_its_page_is_small_and_keeps_three_steps(prof: tfprof.Profile, tmp_path: Path) -> None:
    page = prof.to_html(tmp_path / "page.html")
    assert page.stat().st_size <= 2_300_000
    assert "this page holds 82,873 of 277,012 events in full" in page.read_text(encoding="utf-8")


def test_a_dashboard_says_how_the_capture_ended_and_its_limits_in_the_words_of_today(prof: tfprof.Profile) -> None:
    options = json.loads(prof.dashboard().options)
    assert options["outcome"] == "complete"
    assert [limit["view"] for limit in options["limits"]] == ["source_view", "op_table"]
    assert [limit["is_told"] for limit in options["limits"]] == [True, False], (
        "the view tells how much of the time it is"
    )
    assert (
        options["limits"][1]["text"]
        == "No FLOP counts of graph ops that XLA did not compile: counting ran out of time."
    )
    assert "(a bound)" not in prof.text() + prof.report()


def test_runs_of_copies_say_when_each_ran_what_it_cost_and_whether_steps_are_averaged(prof: tfprof.Profile) -> None:
    results = prof.run.results
    got = receive(Payload(results))
    runs, copies = got.tables["copy_runs"], results.copies
    exposed = np.bincount(runs["copy"], weights=runs["exposed_ps"], minlength=len(copies))
    assert (exposed / 1e9).tolist() == pytest.approx(copies["exposed_time_ms"].tolist())
    step = results.steps.event_step[results.copy_runs["event"]]
    averaged = np.flatnonzero(results.is_averaged)
    assert 0 < len(averaged) < len(results.is_averaged)
    assert (runs["is_steady"] == 1).tolist() == np.isin(step, averaged).tolist()


def test_layers_come_with_the_parameters_of_their_own_weights(prof: tfprof.Profile) -> None:
    results = prof.run.results
    layers = {layer["layer"]: layer["n_params"] for layer in layer_list(results.layers, results.variables, slice(None))}
    assert layers["resnet50/conv1_conv"] == 7 * 7 * 3 * 64 + 64
    assert layers["tf.data"] is None
    assert sum(n or 0 for n in layers.values()) <= results.variables["n_params"].sum()
