"""A kernel loads what the first display needs while it is idle, and nothing while something is captured."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.fake_shell import FakeShell
from tfprof_widgets.notebook import magics


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pieces that were loaded."""
    found: list[int] = []

    def load() -> Iterator[None]:
        for piece in range(3):
            found.append(piece)
            yield

    monkeypatch.setattr(magics, "load_for_display", load)
    monkeypatch.setattr(magics, "_CAPTURE_PAUSE_S", 0.01)
    return found


async def wait(turns: int = 10) -> None:
    for _ in range(turns):
        await asyncio.sleep(0.002)


def test_it_is_loaded_when_the_cell_has_ended(loaded: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)

    async def cell() -> None:
        magics.warm_when_idle()
        assert loaded == []
        await wait()

    asyncio.run(cell())
    assert loaded == [0, 1, 2]


def test_a_capture_is_left_alone(loaded: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)
    capture = [object()]
    monkeypatch.setattr(magics, "active_capture", lambda: capture[0] if capture else None)

    async def cell() -> None:
        magics.warm_when_idle()
        await wait()
        assert loaded == []
        capture.clear()
        await wait(20)

    asyncio.run(cell())
    assert loaded == [0, 1, 2]


def test_what_cannot_be_loaded_is_left_to_the_display(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)
    n_tries: list[int] = []

    def load() -> Iterator[None]:
        n_tries.append(1)
        raise ImportError("no bokeh here")
        yield

    monkeypatch.setattr(magics, "load_for_display", load)

    async def cell() -> None:
        magics.warm_when_idle()
        await wait()

    asyncio.run(cell())
    assert n_tries == [1]


def test_nothing_is_loaded_without_a_kernel_or_its_loop(loaded: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    async def program() -> None:
        magics.warm_when_idle()
        await wait()

    asyncio.run(program())
    FakeShell().install(monkeypatch)
    magics.warm_when_idle()
    assert loaded == []


def test_all_that_a_display_needs_can_be_loaded_in_pieces() -> None:
    from tfprof_widgets.loading import load_for_display

    assert len(list(load_for_display())) == 5
