"""Windows: which steps they take, by number, time and session; how far they are, and what ends them early."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.captures import committed
from tests.unit.capture.scenario import Scenario
from tfprof_widgets.capture import (
    HookOptions,
    SessionCapture,
    SessionSteps,
    WindowPolicy,
    make_selection,
    note_session_times,
)
from tfprof_widgets.read import parse_space, read_xspace


def windows(selection: WindowPolicy, n_steps: int) -> list[list[int]]:
    """Play `n_steps` steps, as the capture does."""
    found: list[list[int]] = []
    is_open = False
    for number in range(n_steps):
        if not is_open and selection.opens(number):
            is_open = True
            found.append([])
        if is_open:
            found[-1].append(number)
            is_open = selection.continues(number + 1)
    return found


def made(**options: Any) -> WindowPolicy:
    selection = make_selection(**options)
    assert selection is not None
    return selection


def test_nothing_selected_means_no_selection() -> None:
    assert make_selection() is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"steps": range(2, 5)}, [[2, 3, 4]]),
        ({"steps": range(0, 9, 4)}, [[0], [4], [8]]),
        ({"steps": [7, 1, 2]}, [[1, 2], [7]]),
        ({"steps": (2, 5)}, [[2, 3, 4, 5]]),
        ({"steps": (3, 3)}, [[3]]),
        ({"steps": {2, 5}}, [[2], [5]]),
        ({"steps": [4, 5]}, [[4, 5]]),
        ({"steps": lambda n: n % 5 < 2}, [[0, 1], [5, 6]]),
        ({"every": 4}, [[0], [4], [8]]),
        ({"every": 1}, [list(range(10))]),
        ({"every": 2, "steps": range(3, 8)}, [[4], [6]]),
        ({"every": np.int64(4)}, [[0], [4], [8]]),
        ({"steps": np.array([2, 3, 5])}, [[2, 3], [5]]),
    ],
)
def test_neighbours_share_a_window(options: dict[str, Any], expected: list[list[int]]) -> None:
    assert windows(made(**options), 10) == expected


def test_every_seconds_opens_when_the_time_has_come() -> None:
    now = iter([0.0, 0.0, 4.0, 11.0, 12.0, 20.0, 21.5])
    selection = WindowPolicy(None, every_seconds=10.0, clock=lambda: next(now))
    assert windows(selection, 6) == [[0], [2], [5]]


def test_a_range_to_the_end_of_all_time_is_taken_as_it_is() -> None:
    selection = made(steps=range(2, 10**12))
    assert selection.ends == (2, 10**12 - 1)
    assert windows(selection, 4) == [[2, 3]]


def test_a_call_with_several_batches_is_selected_for_any_of_them() -> None:
    state = made(steps=range(6, 8))
    assert not state.opens(0, 4)
    assert state.opens(4, 4)
    assert not state.continues(8, 4)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"steps": range(5, 5)}, ValueError, "selects no step"),
        ({"steps": []}, ValueError, "selects no step"),
        ({"steps": range(-3, 5)}, ValueError, "negative"),
        ({"steps": 5}, TypeError, "range"),
        ({"steps": "10:20"}, TypeError, "range"),
        ({"steps": (20, 10)}, ValueError, r"give \(10, 20\)"),
        ({"steps": (-1, 4)}, ValueError, "negative"),
        ({"steps": [10, 20]}, ValueError, r"range\(10, 21\) for steps 10 to 20, or the set \{10, 20\}"),
        ({"steps": np.array([20, 10])}, ValueError, r"range\(10, 21\)"),
        ({"every": 0}, ValueError, "greater than 0"),
        ({"every": 2.5}, TypeError, "whole number"),
        ({"every": True}, TypeError, "whole number"),
        ({"every_seconds": 0}, ValueError, "greater than 0"),
        ({"every_seconds": "2"}, TypeError, "number of seconds"),
        ({"steps": ["a"]}, TypeError, "range"),
        ({"steps": [1.5]}, TypeError, "range"),
    ],
)
def test_a_senseless_argument_is_refused_with_a_remedy(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make_selection(**options)


def test_the_description_is_in_the_users_words() -> None:
    assert made(steps=range(10, 20), every=5).description == "steps=range(10, 20), every=5"
    assert made(steps=(10, 20)).description == "steps=(10, 20)"


PROGRAM = """
        x, y = arrays(20)
        trained = model()

        def fit(**options):
            capture = started(system=False, **options)
            trained.fit(x, y, epochs=2, **FIT)
            record = capture.stop()
            return {"steps": steps(record), "notices": record.notices, "outcome": record.outcome, "all": record.n_steps,
                    "kept": n_kept(record),
                    "windows": [(w.first_step, w.last_step, w.n_steps) for w in record.windows]}

        out["range"] = fit(steps=range(10, 25))
        asked = []
        def chosen(step):
            asked.append(step)
            return step in (3, 4, 30)
        out["callable"] = fit(steps=chosen)
        out["asked"] = asked
        out["every_seconds"] = fit(every_seconds=3600)
        out["beyond"] = fit(steps=range(100, 110))
        out["last"] = fit(steps=range(38, 100))
        capture = started(steps=range(0, 10))
        tf.constant(1.0) + 1
        out["unmarked"] = capture.stop().notices

        class SlowBatch(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                time.sleep(0.05)

        capture = started(max_seconds=1.5)
        trained.fit(x, y, epochs=2, callbacks=[SlowBatch()], **FIT)
        record = capture.stop()
        out["seconds"] = {"steps": steps(record), "notices": record.notices, "outcome": record.outcome,
                          "all": record.n_steps, "s": seconds(record.windows[0])}

        capture = started(max_seconds=0.2)
        with step(0):
            time.sleep(4)
        record = capture.stop()
        out["long_step"] = {"outcome": record.outcome, "s": seconds(record.windows[0])}

        capture = started(max_bytes=4_000_000)
        many = [arrays(4000), model()]
        many[1].fit(*many[0], **FIT)
        record = capture.stop()
        out["bytes"] = {"n_bytes": record.cost.n_bytes, "outcome": record.outcome, "notices": record.notices,
                        "all": record.n_steps, "kept": n_kept(record)}

        import ctypes
        malloc = ctypes.CDLL(None).malloc
        malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
        capture = started(max_bytes=2_000_000)
        held = [malloc(50_000) for _ in range(1000)]
        time.sleep(1)
        trained.fit(x, y, **FIT)
        record = capture.stop()
        out["own_data"] = {"outcome": record.outcome, "kept": n_kept(record), "windows": len(record.windows)}

        capture = started(max_bytes=2_000_000)
        for _ in trace_steps(range(80)):
            held += [malloc(50_000) for _ in range(20)]
            time.sleep(0.05)
        record = capture.stop()
        out["own_list"] = {"outcome": record.outcome, "kept": n_kept(record), "windows": len(record.windows)}
    """


@pytest.fixture(scope="module")
def run(scenario: Scenario) -> dict[str, Any]:
    return scenario(PROGRAM)


def test_each_group_of_steps_has_a_window_and_all_others_are_counted(run: dict[str, Any]) -> None:
    assert run["range"] == {
        "steps": [list(range(10, 25))], "windows": [[10, 24, 15]], "notices": [], "outcome": "complete", "all": 40, "kept": 15
    }  # fmt: skip
    assert run["callable"]["steps"] == [[3, 4], [30]]
    assert run["asked"] == list(range(40)), "once per step"
    assert run["every_seconds"]["steps"] == [[0]], "at once, and then it waits"
    assert run["last"]["steps"] == [[38, 39]], "it closes with the capture"


def test_a_selection_that_meets_no_step_names_those_there_were_or_how_to_mark_some(run: dict[str, Any]) -> None:
    (notice,), (unmarked,) = run["beyond"]["notices"], run["unmarked"]
    assert run["beyond"]["steps"] == []
    assert "steps=range(100, 110)" in notice
    assert "number 39" in notice
    assert "marked no step" in unmarked
    assert "trace_steps" in unmarked


def test_the_bound_in_seconds_ends_the_capture_between_steps_and_says_what_was_kept(run: dict[str, Any]) -> None:
    bounded = run["seconds"]
    (notice,) = bounded["notices"]
    (kept,) = bounded["steps"]
    assert bounded["outcome"] == "bounded"
    assert bounded["all"] == 40
    assert kept == list(range(len(kept)))
    assert 1 < len(kept) < 40
    assert f"{len(kept)} of 40 steps kept" in notice
    assert "max_seconds=1.5" in notice
    assert "steps=range(10, 40)" in notice
    assert bounded["s"] >= 1.5


def test_a_bound_does_not_wait_for_a_step_without_end(run: dict[str, Any]) -> None:
    assert run["long_step"]["outcome"] == "bounded"
    assert 1.0 < run["long_step"]["s"] < 3.9, "the step took 4 s"


def test_the_bound_in_bytes_ends_a_capture_near_its_size(run: dict[str, Any]) -> None:
    bounded = run["bytes"]
    assert bounded["outcome"] == "bounded"
    # What is written between two looks at the heap comes on top, and a busy machine looks late.
    assert 2_000_000 < bounded["n_bytes"] < 20_000_000
    assert bounded["kept"] < bounded["all"] == 4000
    assert "max_bytes=4000000" in bounded["notices"][0]


def test_memory_of_the_program_is_no_large_trace_or_for_once_where_each_step_takes_some(run: dict[str, Any]) -> None:
    assert run["own_data"] == {"outcome": "complete", "kept": 20, "windows": 1}
    assert run["own_list"]["outcome"] == "complete"
    assert run["own_list"]["windows"] == 2, "the estimate was met, and the file showed that it was wrong"
    assert run["own_list"]["kept"] in (79, 80), "all but the one in which the windows changed"


def test_logdir_keeps_every_window_in_tensorboards_layout_and_nothing_else_is_written(
    scenario: Scenario, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    run = scenario(
        f"""
        x, y = arrays(20)
        capture = started(steps=range(0, 40, 10), logdir={str(tmp_path / "logs")!r})
        model().fit(x, y, epochs=2, **FIT)
        record = capture.stop()
        out["dirs"] = [str(path) for path in record.run_dirs]
        out["steps"] = steps(record)
        """,
        cwd=here,
    )
    assert run["steps"] == [[0], [10], [20], [30]]
    assert len(set(run["dirs"])) == 4
    assert {Path(path).parent for path in run["dirs"]} == {tmp_path / "logs" / "plugins" / "profile"}
    assert all(list(Path(path).glob("*.xplane.pb")) for path in run["dirs"])
    assert list(here.iterdir()) == []


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
    return capture, session


@pytest.mark.parametrize("is_stale", [True, False])
@pytest.mark.parametrize("n_between", [0, 1, 3])
def test_numbers_do_not_drift_whatever_runs_between_the_training_steps(is_stale: bool, n_between: int) -> None:
    capture, _ = captured([1, *[0] * n_between] * 40, is_stale=is_stale, steps=range(20, 30))
    assert capture.runs == {number: f"{number}+1".encode() for number in range(20, 30)}
    assert capture.n_left_out == n_between * 10


@pytest.mark.parametrize(
    ("advances", "start", "options", "kept", "told"),
    [
        *(([0] * 50, start, {"steps": range(10, 13)}, [10, 11, 12], "") for start in (None, 0, 5000)),
        ([1] * 5, 5000, {"steps": {1, 5003}}, [5003], ""),
        ([0] * 5, 5000, {"steps": [5001]}, [], "5 of 5 profiled runs did not advance the global step"),
        ([1, 0] * 12, 0, {"save_steps": 4}, [5, 9], None),
        ([1, 0] * 12, 0, {"max_steps": 2}, [1, 2], "The profile has 2 steps, and no room"),
    ],
)
def test_steps_are_counted_by_the_global_step_or_by_runs_where_none_advances_it(
    advances: list[int], start: int | None, options: dict[str, Any], kept: list[int], told: str | None
) -> None:
    capture, _ = captured(advances, start, **options)
    assert list(capture.runs) == kept
    assert told is None or (any(text.startswith(told) for text in capture.notices) if told else not capture.notices)


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


@pytest.fixture(scope="module")
def standing(scenario: Scenario) -> dict[str, Any]:
    return scenario("""
        def standing(capture):
            found = capture.standing
            return [found.state, found.step, round(found.seconds, 3), found.n_bytes or 0]

        def played(n_steps, **options):
            capture = started(system=False, **options)
            told = [standing(capture)]
            for number in range(n_steps):
                with step(number):
                    tf.constant(1.0) + 1
                    time.sleep(0.01)
                told.append(standing(capture))
            capture.stop()
            return told

        out["all"] = played(2)
        out["range"] = played(6, steps=range(2, 4))
        out["two"] = played(6, steps={1, 4})
        out["callable"] = played(1, steps=lambda number: number > 5)
        out["every"] = played(1, every=2, steps=range(1, 9))
        out["not_met"] = played(0, steps=range(2, 4))

        capture = started(max_seconds=0.1)
        with step(0):
            time.sleep(0.3)
        out["bound"] = standing(capture)
        capture.stop()

        out["not_started"] = error_of(lambda: Capture().standing)
    """)


def test_without_a_selection_it_records_from_the_begin(standing: dict[str, Any]) -> None:
    states, steps, seconds, _ = zip(*standing["all"], strict=True)
    assert states == ("recording",) * 3
    assert steps == (None, 1, 2)
    assert 0.02 < seconds[2] - seconds[0] < 5
    assert list(seconds) == sorted(seconds)


def test_a_selection_is_waited_for_recorded_paused_and_over(standing: dict[str, Any]) -> None:
    found = {name: [state for state, *_ in told] for name, told in standing.items() if isinstance(told[0], list)}
    waits, over = "waiting for step 2", "no more steps selected"
    assert found["range"] == [waits, waits, waits, "recording", over, over, over]
    assert found["two"][2:] == ["paused"] * 3 + [over] * 2
    assert found["callable"][0] == "waiting (steps=<lambda>)"
    assert found["every"][0] == "waiting (steps=range(1, 9), every=2)", "the one of both is no step that is waited for"
    assert found["not_met"] == [waits]
    *_, seconds, n_bytes = standing["range"][-1]
    assert 0.02 < seconds < 5
    assert n_bytes > 0


def test_a_bound_that_was_met_and_a_capture_that_was_not_started_say_so(standing: dict[str, Any]) -> None:
    assert standing["bound"][0].startswith("stopped after 0.")
    assert "max_seconds=0.1" in standing["bound"][0]
    assert standing["not_started"][0] == "CaptureError"
