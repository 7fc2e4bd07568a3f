"""A page that asks for a measurement while a cell runs: it waits for its turn, and is refused where that takes too long."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import Any

import pytest

from tests.unit.capture.experiments.programs import run_program
from tfprof_widgets import profile_views
from tfprof_widgets.capture import experiments as advised
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.profile_views import MeasuredAdvice


def asked_during_a_cell(monkeypatch: pytest.MonkeyPatch, *, cell_s: float, patience_s: float) -> list[Any]:
    """What happened when another thread asked while the loop's own ran a cell: measurements, then answers."""
    happened: list[Any] = []

    def measure(_: MeasuredAdvice, rule: str) -> dict[str, Any]:
        happened.append(threading.current_thread())
        return {"rule": rule}

    monkeypatch.setattr(profile_views, "PATIENCE_S", patience_s)
    monkeypatch.setattr(MeasuredAdvice, "_measure", measure)

    async def kernel() -> None:
        advice = MeasuredAdvice(None)

        def ask() -> None:
            try:
                happened.append(advice.reply({"rule": "input_bound"}))
            except TfProfError as error:
                happened.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(cell_s)  # a cell keeps the loop busy
        happened.append("the cell has ended")
        while thread.is_alive():
            await asyncio.sleep(0.01)

    asyncio.run(kernel())
    return happened


def test_it_measures_in_the_thread_of_the_cells_once_the_cell_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    happened = asked_during_a_cell(monkeypatch, cell_s=0.2, patience_s=20)
    assert happened == ["the cell has ended", threading.main_thread(), ({"rule": "input_bound"}, [])]


def test_it_never_begins_once_it_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    happened = asked_during_a_cell(monkeypatch, cell_s=0.5, patience_s=0.1)
    assert happened == ["A cell runs: measure when it has ended.", "the cell has ended"]


def test_nothing_can_be_measured_outside_a_kernel_and_of_a_loaded_trace() -> None:
    assert MeasuredAdvice(None).rules() == {}

    async def kernel() -> dict[str, str]:
        return MeasuredAdvice(None).rules()

    assert asyncio.run(kernel()) == {}


@pytest.mark.tensorflow
def test_every_measurable_advice_is_measured_and_leaves_everything_as_it_was() -> None:
    found = run_program("""
        from tfprof_widgets.capture import FitCall
        from tfprof_widgets.capture import experiments as advised
        from tfprof_widgets.profile_views import MeasuredAdvice

        advised.measure_rule.__defaults__ = (advised.Bounds(3, 2.0, 2),)
        begin()
        model, data = plain(jit_compile=False), dataset()
        model.fit(data, epochs=1, verbose=0)
        advice = MeasuredAdvice(FitCall({"self": model, "x": data}))
        before = state(model)
        for rule in ("unfused_optimizer", "small_batch"):
            out[rule] = advice.reply({"rule": rule})[0]
        out["same"] = state(model) == before
        out["rules"] = advised.measurable_rules(advice._fitted)
        compiled = plain(jit_compile=True)
        compiled.fit(data, epochs=1, verbose=0)
        out["of compiled"] = list(advised.measurable_rules(FitCall({"self": compiled, "x": data}).fitted()))
    """)
    assert re.match(r"Measured: [\d.,]+ ms a step, [\d.,]+ compiled by XLA", found["unfused_optimizer"]["words"])
    assert re.match(r"Measured: [\d.,]+ ms a sample, [\d.,]+ with twice the batch", found["small_batch"]["words"])
    assert found["same"]
    assert found["rules"]["launch_bound"] == "jit_compile=True"
    assert "host_callback" not in found["rules"]
    assert "launch_bound" not in found["of compiled"]


def test_a_training_that_fails_so_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("No registered kernel for XLA_GPU_JIT.\nRegistered: CPU")

    monkeypatch.setattr(MeasuredAdvice, "_fitted", object())
    monkeypatch.setattr(advised, "measurable_rules", lambda _: {"launch_bound": ""})
    monkeypatch.setattr(advised, "measure_rule", fail)
    said = "It does not train compiled by XLA: No registered kernel for XLA_GPU_JIT. Everything is as it was."
    with pytest.raises(TfProfError, match=re.escape(said) + "$"):
        MeasuredAdvice(None).reply({"rule": "launch_bound"})
