"""The shared data model: parts and answers for whoever asks, in either encoding, and what a saved notebook keeps."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import pytest

from tests.builders import event, line, plane, trace
from tests.fake_shell import FakeShell
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.show import Payload, TraceData, counters
from tfprof_widgets.show import payload as payload_module
from tfprof_widgets.show import widgets as data_module

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
    assert (model.n_left_out, model.is_offline) == (0, False)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> FakeShell:
    return FakeShell().install(monkeypatch)


def test_what_a_notebook_keeps_is_put_in_once_after_the_output_of_the_cell(payload: Payload, shell: FakeShell) -> None:
    model = TraceData(payload)
    changes: list[Any] = []
    model.observe(lambda change: changes.append(change["new"]), "parts")
    assert ([key for key, _ in model.parts], model.n_left_out) == ([*payload.first], -1)
    shell.end_cell()
    assert {key for key, _ in model.parts} == {*payload.first, *payload.keys}
    assert model.n_left_out == 0
    shell.end_cell()
    assert (len(changes), shell.waiting) == (1, [])


def test_what_takes_long_to_find_is_sent_unasked_before_what_a_notebook_keeps_is_made(
    payload: Payload, sent: Sent, shell: FakeShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = TraceData(payload)
    n_sent: list[int] = []
    monkeypatch.setattr(data_module, "embed", lambda *_, **__: n_sent.append(len(sent)) or 1 / 0)
    assert sent == []
    shell.end_cell()
    assert {"advice:0", "source_lines:0", "layers:0", "op_places:0"} <= set(payload.late_keys)
    assert [(head["kind"], head["key"]) for head, _ in sent] == [("part", key) for key in payload.late_keys]
    assert [buffers for _, buffers in sent] == [[payload.part(key)] for key in payload.late_keys]
    assert (n_sent, len(model.parts)) == ([len(sent)], len(payload.first))


def test_a_failure_to_embed_does_not_fail_the_cell(
    payload: Payload, shell: FakeShell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(data_module, "embed", lambda *_, **__: 1 / 0)
    model = TraceData(payload)
    shell.end_cell()
    assert ([key for key, _ in model.parts], model.n_left_out) == ([*payload.first], -1)
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
    assert 0 < model.n_left_out < len(made.keys)
    assert any(key.startswith("events:") for key, _ in model.parts)
