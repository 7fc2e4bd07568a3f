"""A real capture of 277,012 events on an H100 -> what of it the browser gets; opened once, as that takes seconds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tfprof_widgets.show import Payload, layer_list

from .received import receive


@pytest.fixture(scope="module")
def prof(capture_of: Callable[[str], Path]) -> tfprof.Profile:
    return tfprof.load(capture_of("h100_resnet_mixed").parents[3])


def test_its_page_is_small_and_keeps_three_steps(prof: tfprof.Profile, tmp_path: Path) -> None:
    """8.1 MB of packs if they were not coded, 4.5 MB its page before."""
    page = prof.to_html(tmp_path / "page.html")
    assert page.stat().st_size <= 3_000_000
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
