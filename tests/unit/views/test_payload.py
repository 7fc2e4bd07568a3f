"""The payload: complete for a small trace, a truthful sample with detail in chunks for a large one."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from tests.builders import event, line, plane, trace
from tfprof_widgets.analysis.results import Results
from tfprof_widgets.store.trace import Trace
from tfprof_widgets.views import payload as payload_module
from tfprof_widgets.views.data import TraceData
from tfprof_widgets.views.payload import build_payload
from tfprof_widgets.views.sampling import sample_events
from tfprof_widgets.views.wire import unpack

N_STEPS = 200


@pytest.fixture(scope="module")
def drawn() -> Trace:
    """200 steps of 10 us on one thread, each with a MatMul that carries a stat, and one long event on another."""
    steps = [
        e
        for i in range(N_STEPS)
        for e in (event("train", 10 * i, 9, _r=1, step_num=i), event("a/foo:MatMul", 10 * i + 2, 4, flops=i))
    ]
    return trace(plane("/host:CPU", line("main", *steps, id=1), line("other", event("Long", 5, 1500), id=2)))


def test_a_small_trace_travels_whole(drawn: Trace) -> None:
    made = build_payload(Results(drawn), title="t", notices=["n"])
    meta, tables = unpack(made.overview)
    assert made.is_complete
    assert made.n_chunks == 0
    assert meta["n_events"] == len(tables["events"]["start_ps"]) == drawn.n_events
    np.testing.assert_array_equal(tables["events"]["start_ps"], drawn.start_ps)
    names = [meta["names"][i] for i in tables["events"]["name"]]
    assert names == [drawn.strings[i] for i in drawn.name_id]
    assert (meta["title"], meta["notices"]) == ("t", ["n"])
    assert len(tables["names"]["family"]) == len(meta["names"])


def test_every_event_is_followed_by_its_own_stats(drawn: Trace) -> None:
    meta, tables = unpack(build_payload(Results(drawn)).overview)
    events, stats = tables["events"], tables["stats"]
    offsets = np.concatenate([[0], np.cumsum(events["n_stats"], dtype=np.int64)])
    matmuls = [k for k, name in enumerate(events["name"]) if meta["names"][name] == "a/foo:MatMul"]
    assert len(matmuls) == N_STEPS
    for i, k in enumerate(matmuls[:20]):
        rows = slice(offsets[k], offsets[k + 1])
        found = {
            meta["names"][key]: int(bits) for key, bits in zip(stats["key"][rows], stats["bits"][rows], strict=True)
        }
        assert found == {"flops": i}


def test_op_step_and_family_of_an_event_agree_with_the_analyses(drawn: Trace) -> None:
    results = Results(drawn)
    meta, tables = unpack(build_payload(results).overview)
    k = next(k for k, name in enumerate(tables["events"]["name"]) if meta["names"][name] == "a/foo:MatMul")
    op = tables["events"]["op"][k]
    assert meta["names"][meta["op_name"][op]] == "a/foo"
    assert meta["names"][meta["op_type"][op]] == "MatMul"
    assert tables["events"]["step"][k] == results.steps.event_step[k] == 0


def test_a_large_trace_sends_a_sample_then_everything_in_chunks(drawn: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload_module, "_SAMPLED_EVENTS", 50)
    monkeypatch.setattr(payload_module, "_CHUNK_EVENTS", 60)
    made = build_payload(Results(drawn), max_events=100)
    _, tables = unpack(made.overview)
    assert not made.is_complete
    assert len(tables["events"]["start_ps"]) <= 50
    assert "stats" not in tables
    assert len(tables["occurrences"]["op"]) == N_STEPS
    chunks = [unpack(made.chunk(i))[1] for i in range(made.n_chunks)]
    np.testing.assert_array_equal(np.concatenate([c["events"]["start_ps"] for c in chunks]), drawn.start_ps)
    np.testing.assert_array_equal(np.concatenate([c["stats"]["bits"] for c in chunks]), drawn.stat_bits)
    for chunk in chunks:
        assert len(chunk["stats"]["bits"]) == chunk["events"]["n_stats"].sum()


def test_a_sample_keeps_every_track_and_the_longest_event(drawn: Trace) -> None:
    rows = sample_events(drawn, n_wanted=30)
    assert len(rows) <= 30
    assert (np.diff(rows) > 0).all()
    assert set(drawn.line_id[rows]) == set(drawn.line_id)
    assert int(np.argmax(drawn.duration_ps)) in rows


def test_a_sample_of_a_small_trace_is_the_trace(drawn: Trace) -> None:
    np.testing.assert_array_equal(sample_events(drawn, n_wanted=10_000), np.arange(drawn.n_events))


def test_an_empty_trace_has_a_payload_too() -> None:
    meta, tables = unpack(build_payload(Results(trace(plane("/host:CPU")))).overview)
    assert meta["n_events"] == 0
    assert len(tables["events"]["start_ps"]) == 0
    assert meta["overview"]["verdict"]


@pytest.mark.parametrize("encoding", ["binary", "base64"])
def test_the_browser_gets_the_chunks_it_asks_for(drawn: Trace, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setattr(payload_module, "_CHUNK_EVENTS", 100)
    made = build_payload(Results(drawn), max_events=10)
    model = TraceData(made)
    sent: list[tuple[dict[str, object], list[bytes] | None]] = []
    monkeypatch.setattr(model, "send", lambda content, buffers=None: sent.append((content, buffers)))
    model._handle_custom_msg({"kind": "detail?", "encoding": encoding, "from": 1}, [])
    assert [content["index"] for content, _ in sent] == list(range(1, made.n_chunks))
    content, buffers = sent[0]
    data = buffers[0] if encoding == "binary" else base64.b64decode(str(content["data"]))  # type: ignore[index]
    np.testing.assert_array_equal(unpack(data)[1]["events"]["start_ps"], drawn.start_ps[100:200])


def test_a_failure_while_sending_reaches_the_browser_as_a_message(
    drawn: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = TraceData(build_payload(Results(drawn), max_events=10))
    sent: list[dict[str, object]] = []
    monkeypatch.setattr(model, "send", lambda content, buffers=None: sent.append(content))
    monkeypatch.setattr(model._payload, "chunk", lambda index: 1 / 0)
    model._handle_custom_msg({"kind": "detail?"}, [])
    assert sent == [{"kind": "error", "message": "ZeroDivisionError: division by zero"}]
