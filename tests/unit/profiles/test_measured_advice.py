"""A page that asks for a measurement while a cell runs: it waits for its turn, and is refused where that takes too long."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from tfprof_widgets.errors import TfProfError
from tfprof_widgets.profiles import measured_advice
from tfprof_widgets.profiles.measured_advice import MeasuredAdvice


def asked_during_a_cell(monkeypatch: pytest.MonkeyPatch, *, cell_s: float, patience_s: float) -> list[Any]:
    """What happened when another thread asked while the loop's own ran a cell: measurements, then answers."""
    happened: list[Any] = []

    def measure(_: MeasuredAdvice, rule: str) -> dict[str, Any]:
        happened.append(threading.current_thread())
        return {"rule": rule}

    monkeypatch.setattr(measured_advice, "PATIENCE_S", patience_s)
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
    assert MeasuredAdvice(None).rules() == []

    async def kernel() -> list[str]:
        return MeasuredAdvice(None).rules()

    assert asyncio.run(kernel()) == []
