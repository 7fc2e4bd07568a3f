"""What is held of TensorFlow's runtime, whose functions come and go at any moment: holding and letting go never raise."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tfprof_widgets.capture import HeldFunctions, graphs

Counts = dict[tuple[int, bytes], int]


class Runtime:
    """TensorFlow's counts and context, which knows the functions of its counts and no others."""

    function_scope_id = 1

    def __init__(self, counts: Counts) -> None:
        self.counts, self.removed = counts, list[bytes]()

    def remove_function(self, name: bytes) -> None:
        if name == b"of before the reset":
            raise ValueError("Tried to remove non-existent function")
        self.removed.append(name)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    made = Runtime({(1, b"kept"): 1, (1, b"dropped"): 1})
    monkeypatch.setattr(graphs, "_counts", lambda: made.counts)
    monkeypatch.setattr(graphs, "_context", lambda: made)
    return made


def test_what_is_held_and_let_go_leaves_the_counts_as_they_were(runtime: Runtime) -> None:
    held = HeldFunctions()
    held.hold()
    assert runtime.counts == {(1, b"kept"): 2, (1, b"dropped"): 2}
    runtime.counts[1, b"new"] = 1
    runtime.counts[1, b"dropped"] -= 1
    held.hold()
    assert held.names == {"kept", "dropped", "new"}
    held.release()
    assert runtime.counts == {(1, b"kept"): 1, (1, b"new"): 1}
    assert runtime.removed == [b"dropped"]


def test_what_only_another_capture_holds_is_not_held_again(runtime: Runtime) -> None:
    first = HeldFunctions()
    first.hold()
    runtime.counts[1, b"dropped"] -= 1
    second = HeldFunctions()
    second.hold()
    assert second.names == {"kept"}
    runtime.counts[1, b"new"] = 1
    first.release()
    assert runtime.removed == [b"dropped"]
    second.hold()
    assert second.names == {"kept", "new"}, "although there are as many as before"


def test_a_function_that_goes_while_others_are_being_held_is_left_out(runtime: Runtime) -> None:
    class Collected(Counts):
        def __iter__(self) -> Iterator[tuple[int, bytes]]:
            yield from [*super().__iter__(), (1, b"gone by now")]

    runtime.counts = Collected(runtime.counts)
    held = HeldFunctions()
    held.hold()
    assert held.names == {"kept", "dropped"}


def test_letting_go_outlives_a_runtime_that_was_reset(runtime: Runtime) -> None:
    runtime.counts |= {(1, b"of before the reset"): 1, (2, b"of another context"): 1, (1, b"forgotten"): 1}
    held = HeldFunctions()
    held.hold()
    del runtime.counts[1, b"forgotten"]
    runtime.counts[1, b"of before the reset"] = runtime.counts[2, b"of another context"] = 1
    held.release()
    assert runtime.counts == {(1, b"kept"): 1, (1, b"dropped"): 1}
    assert not runtime.removed


def test_a_fork_holds_and_lets_go_of_nothing(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldFunctions()
    held.hold()
    before = dict(runtime.counts)
    monkeypatch.setattr(graphs, "os", SimpleNamespace(getpid=lambda: -1))
    held._lock.acquire()  # by a thread that the fork lacks
    runtime.counts[1, b"of the fork"] = 1
    held.hold()
    held.release()
    assert runtime.counts == before | {(1, b"of the fork"): 1}
