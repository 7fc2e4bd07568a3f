"""Advice travels to the browser as JSON, the first part of a payload."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.browser.full_run import PLAIN, write_run
from tfprof_widgets.analysis.advice.advice import Highlight, advise
from tfprof_widgets.views.advice_list import advice_list


def test_an_advice_becomes_json_with_null_for_what_is_no_number() -> None:
    advice = advise(
        "input_bound",
        "The model waits.",
        evidence={"input_ms": np.float64(13.1), "gap_ms": float("nan"), "settings": "2 at once"},
        fix="dataset.prefetch(2)",
        selection=Highlight(op_names=("a",) * 500, time_range_ns=(np.int64(1), np.int64(2)), view="input_graph"),
        gain_ratio=0.33,
    )
    (told,) = json.loads(json.dumps(advice_list((advice,), slice(0, 1))))
    assert told["evidence"] == [["input_ms", 13.1], ["gap_ms", None], ["settings", "2 at once"]]
    assert (told["time_range_ns"], told["step"], told["view"]) == ([1, 2], -1, "input_graph")
    assert (told["severity"], told["gain_ratio"]) == ("high", 0.33)
    assert len(told["op_names"]) == 100


def test_a_payload_names_its_advice_first(tmp_path: Path) -> None:
    import tfprof_widgets as tfprof

    prof = tfprof.load(write_run(tmp_path / "run", PLAIN))
    sections = prof._data.payload.contents.sections
    assert next(iter(sections)) == "advice"
    assert [one["title"] for one in sections["advice"].whole] == [one.title for one in prof.advice]
