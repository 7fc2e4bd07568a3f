"""Which runs of a session are steps, and when it ran where its trace does not say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.captures import committed
from tfprof_widgets.capture import HookOptions, SessionCapture, SessionSteps, note_session_times
from tfprof_widgets.read import parse_space, read_xspace


class CountingSession:
    """A global step, and how often it was read; `is_stale` says what a run that fetches it sees."""

    def __init__(self, start: int | None, *, is_stale: bool) -> None:
        self.step, self.is_stale, self.n_reads = start, is_stale, 0

    def read(self) -> int:
        assert self.step is not None
        self.n_reads += 1
        return self.step

    def run(self, steps: SessionSteps, advance: int) -> None:
        is_profiled, before = steps.before_run(self.read), self.step
        if self.step is not None:
            self.step += advance
        content = f"{self.step}+{advance}".encode() if is_profiled else b""
        steps.after_run(self.read, before if self.is_stale else self.step, lambda: content)


def captured(
    advances: Iterable[int], start: int | None = 0, *, is_stale: bool = True, **options: Any
) -> tuple[SessionCapture, CountingSession]:
    capture = SessionCapture(HookOptions(**options))
    steps, session = SessionSteps(capture), CountingSession(start, is_stale=is_stale)
    steps.begin(start)
    for advance in advances:
        session.run(steps, advance)
    steps.end(session.read)
    return capture, session


@pytest.mark.parametrize("is_stale", [True, False])
@pytest.mark.parametrize("n_between", [0, 1, 3])
def test_numbers_do_not_drift_whatever_runs_between_the_training_steps(is_stale: bool, n_between: int) -> None:
    capture, _ = captured([1, *[0] * n_between] * 40, is_stale=is_stale, steps=range(20, 30))
    assert capture.runs == {number: f"{number}+1".encode() for number in range(20, 30)}
    assert capture.n_left_out == n_between * 10


@pytest.mark.parametrize("start", [None, 0, 5000])
def test_a_session_that_never_advances_counts_its_runs(start: int | None) -> None:
    capture, _ = captured([0] * 50, start, steps=range(10, 13))
    assert list(capture.runs) == [10, 11, 12]
    assert capture.notices == ()


def test_a_session_that_goes_on_from_5000_does_not_keep_its_first_run_as_step_1() -> None:
    capture, _ = captured([1] * 5, 5000, steps={1, 5003})
    assert list(capture.runs) == [5003]
    assert capture.notices == ()


def test_steps_that_were_asked_for_by_global_step_where_none_advances_are_told_of() -> None:
    capture, _ = captured([0] * 5, 5000, steps=[5001])
    assert capture.runs == {}
    assert capture.notices[0].startswith("5 of 5 profiled runs did not advance the global step")


def test_every_so_many_steps_counts_training_steps_only() -> None:
    capture, _ = captured([1, 0] * 12, save_steps=4)
    assert list(capture.runs) == [5, 9]


def test_what_no_longer_fits_is_counted_by_training_steps() -> None:
    capture, _ = captured([1, 0] * 12, max_steps=2)
    assert list(capture.runs) == [1, 2]
    assert capture.notices[-1].startswith("The profile has 2 of 12 steps")


def test_the_global_step_is_read_only_around_the_first_run_and_wanted_ones() -> None:
    _, session = captured([1] * 1000, steps=range(500, 502))
    assert session.n_reads < 10


def test_a_step_that_is_run_again_takes_the_place_of_the_earlier_one(tmp_path: Path) -> None:
    capture = SessionCapture(HookOptions(output_dir=tmp_path))
    capture.keep(3, b"first")
    capture.keep(3, b"again!")
    assert (capture.runs, capture.n_bytes) == ({3: b"again!"}, 6)
    assert (tmp_path / "run_metadata-3.pb").read_bytes() == b"again!"


def test_a_rule_is_asked_once_per_number_and_may_fail() -> None:
    asked: list[int] = []

    def rule(number: int) -> bool:
        asked.append(number)
        return 1 // (number - 4) >= 0

    capture, _ = captured([1, 0] * 8, steps=rule)
    assert list(capture.runs) == [5, 6, 7, 8]
    assert asked == sorted(set(asked))
    assert [text for text in capture.notices if "ZeroDivisionError" in text]


def test_files_that_cannot_be_removed_are_a_notice_and_the_steps_are_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    capture, _ = captured([0, 0, 1, 1], output_dir=tmp_path / "file" / "below")
    assert list(capture.runs) == [1, 2]
    assert any("are left in" in text for text in capture.notices)


def test_a_step_that_could_not_be_read_does_not_shift_those_after_it() -> None:
    capture = SessionCapture(HookOptions(steps=range(3, 7)))
    steps, session = SessionSteps(capture), CountingSession(0, is_stale=True)
    steps.begin(0)
    for _ in range(3):
        session.run(steps, 1)
    assert steps.before_run(session.read)
    session.step = 4  # the run advanced it and failed: nobody calls after_run
    for _ in range(4):
        session.run(steps, 1)
    assert list(capture.runs) == [3, 5, 6]


START_NS, STOP_NS = 1_700_000_000_000_000_000, 1_700_000_001_500_000_000


def test_a_trace_without_the_times_of_its_session_gets_them(tmp_path: Path) -> None:
    space = parse_space(committed.content("keras_fit"))
    named = [plane for plane in space.planes if plane.name != b"Task Environment"]
    assert len(named) < len(space.planes)
    del space.planes[:]
    space.planes.extend(named)
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(space.SerializeToString())
    before = read_xspace(path.read_bytes())
    assert before.origin_ns == 0
    note_session_times(path, start_ns=START_NS, stop_ns=STOP_NS)
    after = read_xspace(path.read_bytes())
    assert after.origin_ns == START_NS
    assert [session.stop_ps for session in after.sessions] == [(STOP_NS - START_NS) * 1000]
    assert np.array_equal(after.start_ps, before.start_ps)
    written = path.read_bytes()
    note_session_times(path, start_ns=1, stop_ns=2)
    assert path.read_bytes() == written


def test_a_trace_that_has_them_stays_as_it_is(tmp_path: Path, capture_of: Callable[[str], Path]) -> None:
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(capture_of("keras_fit").read_bytes())
    note_session_times(path, start_ns=START_NS, stop_ns=STOP_NS)
    assert path.read_bytes() == capture_of("keras_fit").read_bytes()
