"""watch([addresses]): the steps of processes elsewhere, side by side, from one that trains nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.unit.capture.remote.test_steps_client import stepping
from tests.unit.capture.remote.training import free_port

pytestmark = pytest.mark.tensorflow


def until(is_true: Callable[[], Any], seconds: float = 60.0) -> None:
    end_s = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_workers_are_shown_side_by_side_and_one_that_is_not_there_is_told(tmp_path: Path) -> None:
    with stepping("loop", "fit") as (one, other):
        nobody = f"127.0.0.1:{free_port()}"
        with tfprof.watch([one.address, other.address, nobody], logdir=tmp_path) as watch:
            view = watch.dashboard()
            until(lambda: watch.states.state.tolist() == ["running", "running", "lost"])
            until(lambda: (watch.states.n_steps[:2] > 50).all())
            begun = json.loads(view.head)["n_steps"]
            until(lambda: json.loads(view.head)["n_steps"] > begun)
            head, columns = json.loads(view.head), json.loads(view.columns)
        steps = watch.steps
    assert [worker["state"] for worker in head["workers"]] == ["running", "running", "lost"]
    assert {f"mean_ms@{i}" for i in range(3)} <= set(columns)
    assert any("127.0.0.1" in notice for notice in head["notices"])
    assert json.loads(view.head)["state"] == "ended"
    assert set(steps.worker) == {one.address, other.address}
    assert (steps.step_time_ms > 5).mean() > 0.9
    kept = tfprof.load(watch.folder / "worker-0")
    assert len(kept.steps) == (steps.worker == one.address).sum()


@pytest.mark.parametrize("workers", ["127.0.0.1:6009", []])
def test_what_is_no_list_of_addresses_is_refused(workers: Any) -> None:
    with pytest.raises(ValueError, match="list of addresses"):
        tfprof.watch(workers)
