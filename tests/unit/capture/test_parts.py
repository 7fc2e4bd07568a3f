"""The parts of a capture that need no TensorFlow: the shield, the watch over bounds, scratch folders, the sampler."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tfprof_widgets.capture import (
    BFC_VARIABLE,
    BoundKind,
    BoundWatch,
    CaptureOptions,
    FileRate,
    active_capture,
    enable_cpu_memory_recording,
    folders,
    heap_reader,
    run_shielded,
    windows,
)


def interrupt(after_s: float, *, times: int = 1) -> None:
    def press() -> None:
        for _ in range(times):
            time.sleep(after_s)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def test_the_shield_returns_what_the_action_returns() -> None:
    assert run_shielded(lambda: 42) == 42


def test_the_shield_raises_what_the_action_raises() -> None:
    def fail() -> None:
        raise ValueError("from the action")

    with pytest.raises(ValueError, match="from the action"):
        run_shielded(fail)


def test_ctrl_c_is_delivered_after_the_action() -> None:
    finished = []

    def work() -> None:
        time.sleep(0.3)
        finished.append(True)

    interrupt(0.1, times=2)
    with pytest.raises(KeyboardInterrupt):
        run_shielded(work)
    assert finished


def test_however_often_ctrl_c_is_pressed_the_action_ends_and_it_is_delivered_once() -> None:
    finished = []

    def work() -> None:
        time.sleep(0.5)
        finished.append(True)

    interrupt(0.02, times=15)
    with pytest.raises(KeyboardInterrupt):
        run_shielded(work)
    assert finished
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_frees_the_user_from_an_action_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "PATIENCE_S", 0.2)
    release = threading.Event()
    interrupt(0.15, times=3)
    begin_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_shielded(lambda: release.wait(30))
    assert time.monotonic() - begin_s < 5
    release.set()


class Hits(list[BoundKind]):
    """What a watch has called, and a way to wait for it."""

    def wait(self, timeout_s: float = 5.0) -> Hits:
        deadline_s = time.monotonic() + timeout_s
        while not self and time.monotonic() < deadline_s:
            time.sleep(0.01)
        return self


def test_the_watch_calls_once_when_the_time_is_up() -> None:
    hits = Hits()
    watch = BoundWatch(hits.append, seconds=0.1, n_bytes=1e12, read_heap=lambda: 0)
    watch.start()
    assert hits.wait() == ["seconds"]


class GrowingHeap:
    """A heap that grows by a million bytes a second from the first reading on."""

    def __init__(self) -> None:
        self.begin_s = time.monotonic()

    def read(self) -> int:
        return int(1e6 * (time.monotonic() - self.begin_s))


def test_the_watch_estimates_the_file_from_the_growth_of_the_heap() -> None:
    hits, heap = Hits(), GrowingHeap()
    watch = BoundWatch(hits.append, seconds=60, n_bytes=200_000, read_heap=heap.read, building=lambda: "no")
    watch.start()
    assert hits.wait() == ["bytes"]
    assert 200_000 <= watch.estimated_bytes < 300_000
    assert 0.7 <= time.monotonic() - heap.begin_s < 3


def test_a_process_that_grows_in_each_step_beyond_the_bound_ends_the_window() -> None:
    hits, heap = Hits(), GrowingHeap()
    bounds: dict[str, Any] = {"read_heap": lambda: 0, "building": lambda: "no", "memory_bytes": 800_000}
    watch = BoundWatch(hits.append, seconds=60, n_bytes=1e12, read_rss=heap.read, **bounds)
    watch.start()
    assert hits.wait(10.0) == ["memory"]
    assert watch.held_bytes >= 800_000


def test_memory_that_the_program_takes_at_once_is_not_the_profilers() -> None:
    hits, begin_s = Hits(), time.monotonic()
    bounds: dict[str, Any] = {"read_heap": lambda: 0, "building": lambda: "no", "memory_bytes": 800_000}
    read = lambda: 10**9 if time.monotonic() - begin_s > 0.5 else 0  # noqa: E731
    watch = BoundWatch(hits.append, seconds=1.5, n_bytes=1e12, read_rss=read, **bounds)
    watch.start()
    assert hits.wait(10.0) == ["seconds"]


def test_the_watch_learns_from_a_file_that_was_smaller_than_estimated() -> None:
    hits, heap = Hits(), GrowingHeap()
    watch = BoundWatch(hits.append, seconds=60, n_bytes=100_000, read_heap=heap.read, building=lambda: "no")
    assert watch.learn(1_000) == FileRate(), "nothing was seen yet"
    watch.start()
    hits.wait()
    rate = watch.learn(1_000)
    assert 350 < rate.heap_bytes_per_byte < 2000
    assert rate.bytes_per_step == 0
    assert 100 < rate.bytes_per_second < 3000
    watch.cancel()
    by_time = watch.learn(1_000)
    time.sleep(0.05)
    assert watch.learn(1_000) == by_time, "while the file is written nothing is recorded"
    watch.count_step()
    assert watch.learn(1_000).bytes_per_step == 1_000


def test_the_watch_counts_by_steps_what_a_file_has_told_of_them() -> None:
    hits = Hits()
    watch = BoundWatch(
        hits.append,
        seconds=60,
        n_bytes=1000,
        rate=FileRate(bytes_per_step=10),
        read_heap=lambda: 0,
        building=lambda: "no",
    )
    watch.start()
    while not hits and watch.estimated_bytes < 2000:
        watch.count_step()
        time.sleep(0.01)
    assert hits.wait() == ["bytes"]
    assert 1000 <= watch.estimated_bytes <= 1200


def test_a_reading_that_had_to_wait_for_the_processor_does_not_blind_the_watch() -> None:
    heap = GrowingHeap()

    def read() -> int:
        time.sleep(0.03)
        return heap.read()

    hits = Hits()
    BoundWatch(hits.append, seconds=60, n_bytes=10, read_heap=read, building=lambda: "no").start()
    assert hits.wait(1.5) == ["bytes"]


def test_a_cancelled_watch_is_silent() -> None:
    hits = Hits()
    watch = BoundWatch(hits.append, seconds=0.1, n_bytes=1, read_heap=lambda: 0)
    watch.start()
    watch.cancel()
    assert hits.wait(0.3) == []


def test_the_heap_reader_sees_what_is_held() -> None:
    read = heap_reader()
    before = read()
    held = [bytes(5000) for _ in range(2000)]
    assert 9_000_000 < read() - before < 40_000_000
    assert len(held) == 2000


def test_runs_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    placed = []
    for content in ("a", "b"):
        run = tmp_path / content / "2026_11_20"
        run.mkdir(parents=True)
        (run / "host.xplane.pb").write_text(content)
        placed.append(folders.place_run(run, tmp_path / "logs"))
        assert not run.exists()
    assert [(path.name, (path / "host.xplane.pb").read_text()) for path in placed] == [
        ("2026_11_20", "a"),
        ("2026_11_20_2", "b"),
    ]


def test_a_run_is_moved_to_another_disk_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "host.xplane.pb").write_text("content")
    copytree = shutil.copytree
    monkeypatch.setattr(folders, "_share_a_disk", lambda *_: False)

    def fill(source: Path, target: Path) -> None:
        target.mkdir()
        (target / "host.xplane.pb").write_text("con")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders.shutil, "copytree", fill)
    with pytest.raises(OSError, match="No space"):
        folders.place_run(run, tmp_path / "logs")
    monkeypatch.setattr(folders.shutil, "copytree", copytree)
    runs = tmp_path / "logs" / "plugins" / "profile"
    assert list(runs.iterdir()) == []
    placed = folders.place_run(run, tmp_path / "logs", "X.w2")
    assert (placed / "host.xplane.pb").read_text() == "content"
    assert [path.name for path in runs.iterdir()] == ["X.w2"]
    assert not run.exists()


def test_the_free_space_of_a_place_with_a_name_too_long_is_told(tmp_path: Path) -> None:
    assert "iB" in folders.free_text(tmp_path / ("x" * 300) / "logs")


def test_cpu_memory_recording_is_asked_for_and_a_users_choice_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BFC_VARIABLE, "")  # so that it is undone what the function itself sets
    monkeypatch.delenv(BFC_VARIABLE)
    assert enable_cpu_memory_recording()
    assert os.environ[BFC_VARIABLE] == "true"
    monkeypatch.setenv(BFC_VARIABLE, "false")
    assert not enable_cpu_memory_recording()
    assert os.environ[BFC_VARIABLE] == "false"


@pytest.mark.parametrize("options", [{"max_seconds": 0}, {"max_bytes": -1}])
def test_bounds_must_be_positive(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        CaptureOptions(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [({"max_seconds": "x"}, "number"), ({"max_bytes": True}, "number"), ({"logdir": 5}, "path")],
)
def test_an_option_of_another_type_is_refused_before_the_capture(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        CaptureOptions(**options)


def test_no_capture_is_active_outside_one() -> None:
    assert active_capture() is None
