"""Advice travels to the browser as JSON, the first part of a payload."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.browser.full_run import PLAIN, write_run
from tests.packs import unpack
from tests.unit.analysis.advice.gpu_drawings import gpu_run
from tests.unit.analysis.advice.test_device_rules import PLANTED
from tfprof_widgets.analysis import Fix, Highlight, advise
from tfprof_widgets.show import advice_list, build_payload, embed, embedding


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
    sections = prof.timeline().data.payload.contents.sections
    assert next(iter(sections)) == "advice"
    assert [one["title"] for one in sections["advice"].whole] == [one.title for one in prof.advice]


def test_the_first_pack_does_not_wait_for_advice() -> None:
    results = gpu_run(**PLANTED["collectives"][0])
    payload = build_payload(results)
    assert "advice" not in results.__dict__
    assert not {"advice", "next_steps", "advice_notices"} & payload.is_here
    assert payload.keys[:3] == ("advice:0", "next_steps:0", "advice_notices:0")
    assert unpack(payload.overview)[0]["advice"] == []
    told = unpack(payload.part("advice:0"))[0]["advice"]
    assert [one["title"] for one in told] == [one.title for one in results.advice]
    assert unpack(payload.part("next_steps:0"))[0]["next_steps"] == list(results.overview.next_steps)
    assert payload.part("advice:0") is payload.part("advice:0")


def test_what_a_saved_notebook_keeps_of_a_long_capture_has_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_MOST_EVENTS", 0)
    payload = build_payload(gpu_run(**PLANTED["collectives"][0]))
    assert "advice:0" in dict(embed(payload, "steps").parts)
    assert "advice:0" in dict(embed(payload, len(payload.overview) * 4).parts)
