"""Widgets: the link, bookmarks, the data model, live views, and who sees them."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ipywidgets
import numpy as np
import pytest
import traitlets

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, space, trace, write_steps
from tests.fake_shell import FakeShell
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.capture import Answer
from tfprof_widgets.comparing import diff
from tfprof_widgets.loading import load_profile as load
from tfprof_widgets.notebook import MOST_ROWS, code_line, counted, rows_html
from tfprof_widgets.profiles import Profile
from tfprof_widgets.show import (
    Bookmark,
    Library,
    LinkModel,
    LiveView,
    Payload,
    Timeline,
    TraceData,
    bookmarks_from_json,
    bookmarks_to_json,
    built,
    counters,
    library,
    referred,
    shared_by,
    snapshot,
)
from tfprof_widgets.show import payload as payload_module


def test_a_time_range_is_two_whole_nanoseconds_or_nothing() -> None:
    link = LinkModel()
    link.time_range = (1.2, 9.8)
    assert link.time_range == (1, 10)
    link.time_range = ()
    assert link.time_range == ()


@pytest.mark.parametrize("value", [(5, 1), (1,), (1, 2, 3)])
def test_a_time_range_that_is_none_is_refused(value: tuple[int, ...]) -> None:
    with pytest.raises(traitlets.TraitError, match="t0_ns <= t1_ns"):
        LinkModel().time_range = value


MARKED = {"time_range": [0, 100], "selection": ["Conv2D"], "stretches": [10, 20, 30, 40]}
"""What a front end sends at "Show"."""


@pytest.mark.parametrize(("field", "value"), [("time_range", (5, 9)), ("time_range", ()), ("selection", ("Relu",))])
def test_marks_of_evidence_go_when_python_sets_another_range_or_selection(field: str, value: tuple[object]) -> None:
    link = LinkModel()
    link.set_state(MARKED)
    assert link.stretches == (10, 20, 30, 40)
    setattr(link, field, value)
    assert (link.stretches, link.get_state("stretches")) == ((), {"stretches": ()})


def test_marks_of_evidence_stay_when_python_sets_what_is_set_or_something_else() -> None:
    link = LinkModel()
    link.set_state(MARKED)
    link.time_range, link.step = (0, 100), 1
    assert link.stretches == (10, 20, 30, 40)


def test_a_name_that_the_browser_has_cut_selects_the_op_of_the_whole_name(tmp_path: Path) -> None:
    long = [f"{'scope/' * 200}{end}:MatMul" for end in ("a", "b")]
    events = [event(name, 10 * i, 5) for i, name in enumerate(long)]
    (tmp_path / "h.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *events))))
    prof = tfprof.load(tmp_path)
    ops = sorted(set(prof.ops["name"]))
    assert len(ops) == 2
    assert min(map(len, ops)) > 1000
    payload = prof.timeline().data.payload
    cut = [name for name in payload.names.texts(0, 100) if name.endswith("characters)") and "MatMul" not in name]
    for name in ops:
        prof.select(ops=(name,))
        (sent,) = prof.link.get_state("selection")["selection"]
        assert sent in cut
        prof.select(ops=())
        prof.link.set_state({"selection": [sent]})
        assert prof.link.selection == (name,)


@pytest.fixture
def timeline(tmp_path: object) -> Timeline:
    """The timeline of a trace with one event."""
    import tfprof_widgets as tfprof

    path = tmp_path / "x.xplane.pb"  # type: ignore[operator]
    path.write_bytes(space(plane("/host:CPU", line("main", event("train", 0, 9)))))
    profile: Profile = tfprof.load(path)
    return profile.timeline()


def test_bookmarks_travel_as_text_and_come_back_the_same() -> None:
    notes = (Bookmark(5, 5, "here"), Bookmark(10, 20, 'a "range" </script>'))
    assert bookmarks_from_json(bookmarks_to_json(notes)) == notes


@pytest.mark.parametrize("text", ["", "null", "{}", "[1, null, {}]", "[", '[{"start_ns": "x", "end_ns": 1}]'])
def test_text_that_holds_no_bookmark_gives_none(text: str) -> None:
    assert bookmarks_from_json(text) == ()


def test_one_damaged_entry_does_not_lose_the_others() -> None:
    assert bookmarks_from_json('[{"start_ns": 1}, {"start_ns": 1, "end_ns": 2, "text": "kept"}]') == (
        Bookmark(1, 2, "kept"),
    )


def test_a_bookmark_cannot_end_before_it_starts() -> None:
    with pytest.raises(ValueError, match="cannot end"):
        Bookmark(2, 1)


def test_what_the_page_sets_is_read_in_the_order_of_time(timeline: Timeline) -> None:
    entries = [{"start_ns": 9, "end_ns": 9, "text": "late"}, {"start_ns": 1, "end_ns": 3, "text": "early"}]
    timeline.set_state({"bookmarks": json.dumps(entries)})
    assert timeline.bookmarks == (Bookmark(1, 3, "early"), Bookmark(9, 9, "late"))


def test_what_python_sets_is_state_of_a_saved_notebook_and_of_an_exported_page(timeline: Timeline) -> None:
    timeline.bookmarks = [Bookmark(7, 7, "look")]
    timeline.arrangement = '{"hidden": ["l0"]}'
    state = snapshot(timeline, {})[timeline.model_id]["state"]
    assert json.loads(state["bookmarks"]) == [{"start_ns": 7, "end_ns": 7, "text": "look"}]
    assert state["arrangement"] == '{"hidden": ["l0"]}'


def test_a_bookmark_can_be_given_as_its_fields(timeline: Timeline) -> None:
    timeline.bookmarks = [(5, 9, "range"), (2, 2)]
    assert timeline.bookmarks == (Bookmark(2, 2), Bookmark(5, 9, "range"))


def test_anything_but_bookmarks_is_refused(timeline: Timeline) -> None:
    for wrong in ("text", [1], None):
        with pytest.raises(traitlets.TraitError):
            timeline.bookmarks = wrong


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_steps(tmp_path)


def libraries(*shown: ipywidgets.Widget) -> set[Library]:
    return {each for widget in shown for each in referred(widget) if isinstance(each, Library)}


def test_two_visitors_of_one_process_share_no_model(folder: Path) -> None:
    """As `marimo run` serves them: what one page was told of, the other never hears of."""
    first, second = load(folder), load(folder)
    assert libraries(first.dashboard(), first.op_table()).isdisjoint(libraries(second.dashboard()))


def test_the_views_of_one_profile_share_their_scripts(folder: Path) -> None:
    prof = load(folder)
    found = libraries(prof.dashboard(), prof.op_table(), prof.step_chart(), prof.memory_timeline())
    assert sorted(each.name for each in found) == ["bokeh", "tfprof_widgets"]


def test_all_profiles_of_a_kernel_share_their_scripts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)
    profiles = [load(folder) for _ in range(2)]
    found = libraries(*(prof.dashboard() for prof in profiles), diff(*profiles).dashboard())
    assert sorted(each.name for each in found) == ["bokeh", "tfprof_widgets"]


def test_a_closed_script_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)
    before = libraries(load(folder).dashboard())
    for each in before:
        each.close()
    after = libraries(load(folder).dashboard())
    assert after.isdisjoint(before)
    assert all(each.comm is not None for each in after)


def test_a_view_that_was_not_built_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(library, "STATIC", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"page\.js is missing.*make js"):
        built("page.js")


Sent = list[tuple[dict[str, Any], list[bytes] | None]]


@pytest.fixture
def payload(monkeypatch: pytest.MonkeyPatch) -> Payload:
    """Five tiles, none of which is in the first pack."""
    monkeypatch.setattr(counters, "TILE_EVENTS", 100)
    monkeypatch.setattr("tfprof_widgets.show.payload._MOST_EVENTS", 10)
    events = [event("a/foo:MatMul", 10 * i, 4, flops=i) for i in range(500)]
    return Payload(Analysis(trace(plane("/host:CPU", line("main", *events)))))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What models send."""
    found: Sent = []
    monkeypatch.setattr(TraceData, "send", lambda _, content, buffers=None: found.append((content, buffers)))
    return found


@pytest.mark.parametrize("encoding", ["binary", "base64"])
def test_the_browser_gets_the_parts_it_asks_for_in_that_order(payload: Payload, sent: Sent, encoding: str) -> None:
    model = TraceData(payload)
    model._handle_custom_msg({"kind": "parts?", "keys": ["stats:1", "events:4"], "encoding": encoding}, [])
    assert [(head["kind"], head["key"]) for head, _ in sent] == [("part", "stats:1"), ("part", "events:4")]
    for head, buffers in sent:
        if encoding == "binary":
            assert "data" not in head
            assert [*map(zlib.decompress, buffers)] == [zlib.decompress(payload.part(head["key"]))]
        else:
            assert buffers is None
            assert zlib.decompress(base64.b64decode(head["data"])) == zlib.decompress(payload.part(head["key"]))


def test_a_part_that_is_not_there_is_refused_and_the_others_still_come(payload: Payload, sent: Sent) -> None:
    model = TraceData(payload)
    model._handle_custom_msg({"kind": "parts?", "keys": ["events:9", None, {}, "events:0"]}, [])
    assert [(head["kind"], head["key"]) for head, _ in sent[::3]] == [("error", "events:9"), ("part", "events:0")]
    assert "no part 'events:9'" in sent[0][0]["message"]


def test_a_failure_while_sending_reaches_the_browser_as_a_message(
    payload: Payload, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = TraceData(payload)
    model.parts = []
    monkeypatch.setattr(payload, "part", lambda key: 1 / 0)
    model._handle_custom_msg({"kind": "parts?", "keys": ["events:0"]}, [])
    assert sent == [({"kind": "error", "key": "events:0", "message": "ZeroDivisionError: division by zero"}, None)]


def test_a_part_that_a_notebook_keeps_is_not_packed_again(
    payload: Payload, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, part = TraceData(payload), payload.part("events:2")
    monkeypatch.setattr(payload, "part", lambda key: 1 / 0)
    model._handle_custom_msg({"kind": "parts?", "keys": ["events:2"]}, [])
    [(head, [kept])] = [(head, [*map(zlib.decompress, buffers or ())]) for head, buffers in sent]
    assert (head, kept) == ({"kind": "part", "key": "events:2"}, zlib.decompress(part))


@pytest.mark.parametrize("encoding", ["binary", "base64"])
def test_a_call_is_answered_with_its_id(payload: Payload, sent: Sent, encoding: str) -> None:
    model = TraceData(payload)
    model.calls["double"] = lambda message: ({"value": 2 * message["value"], "id": "x"}, [b"one", b"two"])
    model._handle_custom_msg({"kind": "call", "id": 7, "name": "double", "value": 21, "encoding": encoding}, [])
    [(head, buffers)] = sent
    assert (head["kind"], head["id"], head["value"]) == ("reply", 7, 42)
    if encoding == "binary":
        assert buffers == [b"one", b"two"]
    else:
        assert [base64.b64decode(text) for text in head["data"]] == [b"one", b"two"]


def test_a_call_that_nobody_knows_or_that_fails_is_answered_too(payload: Payload, sent: Sent) -> None:
    model = TraceData(payload)
    model.calls["bad"] = lambda message: message["nothing"]
    for name in ("unknown", "bad"):
        model._handle_custom_msg({"kind": "call", "id": name, "name": name}, [])
    assert [(head["kind"], head["id"]) for head, _ in sent] == [("error", "unknown"), ("error", "bad")]
    assert "no call 'unknown'; there are: bad" in sent[0][0]["message"]


def test_other_messages_are_left_alone(payload: Payload, sent: Sent) -> None:
    model = TraceData(payload)
    for message in ({}, {"kind": "hello"}, {"kind": "parts?"}):
        model._handle_custom_msg(message, [])
    assert sent == []


def test_outside_ipython_everything_that_is_kept_is_there_at_once(payload: Payload) -> None:
    model = TraceData(payload)
    assert {key for key, _ in model.parts} == {*payload.first, *payload.keys}
    assert not model.is_offline


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> FakeShell:
    return FakeShell().install(monkeypatch)


def test_what_a_notebook_keeps_is_put_in_once_after_the_output_of_the_cell(payload: Payload, shell: FakeShell) -> None:
    model = TraceData(payload)
    changes: list[Any] = []
    model.observe(lambda change: changes.append(change["new"]), "parts")
    assert [key for key, _ in model.parts] == [*payload.first]
    shell.end_cell()
    assert {key for key, _ in model.parts} == {*payload.first, *payload.keys}
    shell.end_cell()
    assert (len(changes), shell.waiting) == (1, [])


def test_what_takes_long_to_find_is_sent_unasked_before_what_a_notebook_keeps_is_made(
    payload: Payload, sent: Sent, shell: FakeShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = TraceData(payload)
    n_sent: list[int] = []
    monkeypatch.setattr(Payload, "of_steps", property(lambda _: n_sent.append(len(sent)) or 1 / 0))
    assert sent == []
    shell.end_cell()
    assert {"advice:0", "source_lines:0", "layers:0", "op_places:0"} <= set(payload.late_keys)
    assert [(head["kind"], head["key"]) for head, _ in sent] == [("part", key) for key in payload.late_keys]
    assert [buffers for _, buffers in sent] == [[payload.part(key)] for key in payload.late_keys]
    assert (n_sent, len(model.parts)) == ([len(sent)], len(payload.first))


def test_a_failure_to_embed_does_not_fail_the_cell(
    payload: Payload, shell: FakeShell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Payload, "of_steps", property(lambda _: 1 / 0))
    model = TraceData(payload)
    shell.end_cell()
    assert [key for key, _ in model.parts] == [*payload.first]
    assert "could not put parts" in caplog.text


def test_the_saved_state_of_a_large_trace_keeps_within_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "TILE_EVENTS", 800)
    monkeypatch.setattr("tfprof_widgets.show.payload._MOST_EVENTS", 10)
    monkeypatch.setattr(payload_module, "_WHOLE_BYTES", 0)
    monkeypatch.setattr(payload_module, "STEPS_BYTES", 250_000)
    events = (event(f"op{i % 50}:MatMul", 2 * i, 1 + (i * 7919 % 997) / 1000, flops=i * 7919) for i in range(22_000))
    made = Payload(Analysis(trace(plane("/host:CPU", line("main", *events)))))
    model = TraceData(made)
    state = model.get_state()
    assert sum(len(key) + len(text) for key, text in state["parts"]) <= 250_000 + 1000
    assert 0 < len(state["parts"]) - len(made.first) < len(made.keys)
    assert any(key.startswith("events:") for key, _ in model.parts)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """States that live views have sent."""
    sent: list[dict[str, Any]] = []
    send = LiveView._send

    def record(view: LiveView, message: dict[str, Any], buffers: Any = None) -> None:
        if message.get("method") == "update":
            sent.append(message["state"])
        send(view, message, buffers)

    monkeypatch.setattr(LiveView, "_send", record)
    return sent


@pytest.fixture
def window(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return load(write_steps(tmp_path_factory.mktemp("window")))


def in_cell(shell: FakeShell, cell: str, message_id: str, view: Any) -> None:
    header = {"msg_type": "execute_request", "msg_id": message_id}
    shell.message = {"header": header, "metadata": {"cellId": cell}}
    view._repr_mimebundle_()
    shell.end_cell()


def columns(view: LiveView, names: str = "columns", text: str = "bins") -> dict[str, list[float]]:
    values = np.frombuffer(base64.b64decode(getattr(view, text)), "<f4")
    found = json.loads(getattr(view, names))
    return dict(zip(found, values.reshape(len(found), -1).tolist(), strict=True))


def test_a_push_is_one_message_with_all_of_it(messages: list[dict[str, Any]]) -> None:
    view = LiveView()
    messages.clear()
    view.push({"n_steps": 2, "loss": float("nan")}, bins={"n": [1, 1]}, samples={"time_s": [0.5]})
    (state,) = messages
    assert state.keys() == {"head", "columns", "bins", "sample_columns", "samples"}
    head = json.loads(state["head"])
    assert (head["n_steps"], head["loss"], head["marks"], head["state"]) == (2, None, [], "running")
    assert columns(view) == {"n": [1, 1]}
    assert columns(view, "sample_columns", "samples") == {"time_s": [0.5]}


def test_windows_are_referred_to_and_closed_with_the_view(messages: list[dict[str, Any]], window: Profile) -> None:
    view = LiveView()
    dashboard = window.dashboard()
    view.push({}, bins={}, samples={}, opened=[dashboard])
    assert messages[-1]["opened"] == [f"anywidget:{dashboard.model_id}"]
    view.close()
    assert dashboard.comm is None


def test_a_window_that_a_cell_shows_outlives_the_view(monkeypatch: pytest.MonkeyPatch, window: Profile) -> None:
    shell = FakeShell().install(monkeypatch)
    view, dashboard = LiveView(), window.dashboard()
    view.push({}, bins={}, samples={}, opened=[dashboard])
    in_cell(shell, "other", "1", dashboard)
    view.close()
    assert dashboard.comm is not None


def test_a_cell_that_is_run_again_ends_the_view_of_its_last_run(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = FakeShell().install(monkeypatch)
    first, second = LiveView(), LiveView()
    in_cell(shell, "training", "1", first)
    in_cell(shell, "training", "2", second)
    assert first.comm is None
    assert second.comm is not None


def test_workers_are_counted_with_those_that_failed() -> None:
    answers = {"a:1": Answer("a:1", b"trace"), "b:1": None, "c:1": Answer("c:1", failure="gone")}
    assert counted(answers) == "1 of 3 workers answered, 1 failed"
    assert counted({"a:1": answers["a:1"], "b:1": None}) == "1 of 2 workers answered"


def test_a_row_of_a_worker_is_text_not_markup_and_has_the_size_of_its_trace() -> None:
    html = rows_html({"<b>:1": Answer("<b>:1", failure="<img src=x onerror=alert(1)>")})
    assert "<img" not in html
    assert "<b>" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "<td>76.5 KiB</td>" in rows_html({"a:1": Answer("a:1", bytes(78_336))})
    assert "<td></td>" in rows_html({"a:1": None})


def test_of_a_thousand_workers_those_that_failed_are_shown_first() -> None:
    names = [f"host{n}:1" for n in range(1000)]
    html = rows_html({name: Answer(name, b"1", failure="gone" if name == names[-1] else "") for name in names})
    assert html.count("<tr class=") == MOST_ROWS
    assert html.index("host999") < html.index("host0:")
    assert "100 of 1,000 workers" in html


def test_the_line_of_code_has_what_is_not_the_default() -> None:
    arguments = {"addresses": ("a:1", 'b"\\:2'), "duration_ms": 2000, "host_tracer_level": 3, "logdir": "C:\\runs"}
    line = code_line(arguments)
    assert line == (
        'tfprof.capture_remote(["a:1", "b\\"\\\\:2"], duration_ms=2000, host_tracer_level=3, logdir="C:\\\\runs")'
    )


class Visit:
    """What marimo knows of a visitor, and of the cell that runs for them."""

    def __init__(self) -> None:
        self.stream, self.cell_id = Visit.Stream(), "first"
        self.made_in: list[str] = []

    class Stream:
        """To a visitor's page."""

    @contextlib.contextmanager
    def with_cell_id(self, cell: str) -> Iterator[None]:
        before, self.cell_id = self.cell_id, cell
        self.made_in.append(cell)
        yield
        self.cell_id = before


@pytest.fixture
def marimo(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A marimo that serves `visit`."""
    server = SimpleNamespace(visit=Visit())
    module = SimpleNamespace(safe_get_context=lambda: server.visit)
    monkeypatch.setitem(sys.modules, "marimo._runtime.context", module)  # type: ignore[arg-type]
    return server


def test_each_visitor_has_a_link_data_and_scripts_of_their_own(folder: Path, marimo: SimpleNamespace) -> None:
    prof = load(folder)
    first, mine = prof.dashboard(), prof.link
    assert prof.dashboard() is first
    visit, marimo.visit = marimo.visit, Visit()
    other = prof.dashboard()
    assert other is not first
    assert not {*shared_by(first)} & {*shared_by(other)}
    prof.link.step = 1
    assert (mine.step, first.link.step, other.link.step) == (-1, -1, 1)
    marimo.visit = visit
    assert prof.dashboard() is first


def test_in_solara_views_are_of_the_visitor_whose_shell_is_another_one_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = [FakeShell(), FakeShell()]
    solara = SimpleNamespace(get_ipython=lambda: SimpleNamespace(**vars(visits[0])))
    monkeypatch.setitem(sys.modules, "IPython", solara)  # type: ignore[arg-type]
    prof = load(folder)
    first = prof.dashboard()
    assert prof.dashboard() is first
    assert prof.op_table().script is first.script
    visits.reverse()
    assert prof.dashboard() is not first
    assert prof.op_table().script is not first.script


def test_each_visitor_has_a_comparison_of_their_own(folder: Path, marimo: SimpleNamespace) -> None:
    prof = load(folder)
    compared = diff(prof, prof)
    first = compared.dashboard()
    assert compared.dashboard() is first
    marimo.visit = Visit()
    assert compared.dashboard() is not first


def test_widgets_are_of_the_cell_that_made_the_profile_whichever_shows_it(
    folder: Path, marimo: SimpleNamespace
) -> None:
    prof = load(folder)
    marimo.visit.cell_id = "second"
    assert prof._display_() is prof.dashboard()
    assert {*marimo.visit.made_in} == {"first"}
    marimo.visit = Visit()
    prof.op_table()
    assert {*marimo.visit.made_in} == {"tfprof_widgets"}, "another visitor's cell of that name made nothing"


def test_what_cannot_be_shown_in_marimo_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfprof_widgets.errors import TfProfError

    def refuse(*_: Any) -> None:
        raise TfProfError("there is nothing to show")

    prof = load(folder)
    monkeypatch.setattr(prof, "dashboard", refuse)
    assert prof._display_() == f"{prof!r}\ntfprof: there is nothing to show"


def show(shell: FakeShell, number: int, code: str, prof: Profile) -> None:
    """Run a cell in a front end that sends no id of it."""
    shell.message = {"header": {"msg_type": "execute_request", "msg_id": str(number)}, "content": {"code": code}}
    prof.op_table()._repr_mimebundle_()
    shell.end_cell()


@pytest.mark.parametrize(
    ("code", "is_open"),
    [
        ("prof = load('run')\nprof", False),
        ("%%tfprofile\nfit()", False),
        ("with profile() as p: fit()\np", False),
        ("prof", True),
        ("prof.dashboard(compact=True)", True),
    ],
)
def test_a_cell_without_an_id_is_known_by_what_it_makes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, is_open: bool
) -> None:
    shell = FakeShell().install(monkeypatch)
    before, after = load(folder), load(folder)
    show(shell, 1, code, before)
    show(shell, 2, "other = load('run')\nother", load(folder))
    assert before.op_table().comm is not None
    views = [before.link, before.op_table()]
    show(shell, 3, code, after)
    assert [view.comm is not None for view in views] == [is_open, is_open]
    assert after.op_table().comm is not None
