"""What a reader sees first: typical steps, advice and notices, before any event or source map has come."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.builders import Event, event, line, plane, session, space, trace
from tests.fake_shell import FakeShell
from tests.packs import first_of, is_here, unpack
from tests.unit.analysis.advice.gpu_drawings import gpu_run
from tests.unit.analysis.advice.test_device_rules import PLANTED
from tfprof_widgets.analysis import Analysis, Fix, GraphsSwitchedOff, Highlight, advise
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import (
    Payload,
    activity,
    advice_list,
    bounds_of,
    compute_positions,
    embed,
    first_view,
    limits_of,
    typical_steps,
    view_of,
)
from tfprof_widgets.show import payload as payload_module
from tfprof_widgets.trace import SourceMap, empty_source_map, files_in_part, lines_known, merge_traces

CPU = "/host:CPU"


def steps(n: int) -> list[Event]:
    return [event("train", 10 * i, 9, _r=1, step_num=i) for i in range(n)]


def test_the_first_view_is_eight_steps_in_the_middle_with_a_margin() -> None:
    results = Analysis(trace(plane(CPU, line("main", *steps(100)))))
    frame, usual = results.steps.frame, np.flatnonzero(results.overview.is_averaged)
    first, last = typical_steps(results.overview.is_averaged, frame["session"].to_numpy()) or (0, 0)
    assert last - first + 1 == 8
    assert abs((first + last) / 2 - usual[len(usual) // 2]) <= 1
    start, end = frame["start_ps"].iloc[first], frame["start_ps"].iloc[last] + frame["duration_ps"].iloc[last]
    home = first_of(Payload(results))[0]["home"]
    assert home == pytest.approx([start - 0.05 * (end - start), end + 0.05 * (end - start)])


def test_steps_that_are_not_usual_or_of_another_session_are_not_among_the_typical_ones() -> None:
    session_of = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    usual = np.array([0, 1, 1, 1, 1, 1, 0, 1, 1, 1], np.bool_)
    assert typical_steps(usual, session_of) == (1, 3)
    assert typical_steps(np.zeros(5, np.bool_), np.zeros(5)) is None
    assert typical_steps(np.ones(3, np.bool_), np.zeros(3)) == (0, 2)


@pytest.mark.parametrize("events", [steps(10), [event("a", 5, 90)]], ids=["few steps", "no steps"])
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


def test_of_several_hosts_the_first_view_is_eight_steps_of_one_not_eight_of_all() -> None:
    files = [space(session(duration_us=1000), plane(CPU, line("main", *steps(100)))) for _ in range(4)]
    results = Analysis(merge_traces([read_xspace(part, host=f"h{k}") for k, part in enumerate(files)]))
    start, end = first_view(results, bounds_of(results, int(results.trace.end_ps.max())))
    assert (end - start) / 1e6 == pytest.approx(79 * 1.1)


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
    import tfprof_widgets as tfprof

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
    assert "advice:0" in dict(embed(payload, "steps").parts)
    assert "advice:0" in dict(embed(payload, 4 * sum(map(len, payload.first.values()))).parts)
