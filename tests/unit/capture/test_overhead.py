"""Times of steps beside a capture: which phase each is in, how many are kept; what each level of detail records."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.unit.capture.drawn_step import a_step
from tests.unit.capture.scenario import Scenario
from tfprof_widgets.capture import MIN_PIECES, N_PIECES, Piece, StepRecorder, Stride, no_step_times
from tfprof_widgets.read import WatchWriter

COLUMNS = ["number", "name", "start_ns", "duration_ns", "phase"]


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[StepRecorder]:
    made = StepRecorder()
    with closing(WatchWriter(tmp_path)) as made.writer:
        yield made


def record(recorder: StepRecorder, *rows: tuple[int, int, int, Any]) -> None:
    """Steps by number, begin, time in ns and phase."""
    for number, start_ns, elapsed_ns, phase in rows:
        recorder.ended(a_step(number, start_ns=start_ns, elapsed_ns=elapsed_ns, phase=phase))


def test_steps_are_told_in_the_order_of_their_begins(recorder: StepRecorder) -> None:
    record(recorder, (1, 20, 5, "during"), (0, 10, 50, "before"), (2, 30, 5, "cut"))
    frame = recorder.frame()
    assert list(frame.columns) == list(no_step_times().columns) == COLUMNS
    assert frame.dtypes.to_dict() == no_step_times().dtypes.to_dict()
    assert frame["number"].tolist() == [0, 1, 2]
    assert frame["duration_ns"].tolist() == [50, 5, 5]
    assert frame["phase"].tolist() == ["before", "during", "cut"]


def test_a_step_has_the_name_of_its_marker(recorder: StepRecorder) -> None:
    for name in ("train", "test", "my loop", "another"):
        recorder.ended(a_step(0, name=name))
    assert recorder.frame()["name"].tolist() == ["train", "test", "my loop", "another"]


def test_of_a_long_training_an_even_spread_is_given_and_every_step_of_a_short_window(recorder: StepRecorder) -> None:
    phases = ("during" if 500 <= number < 505 else "before" for number in range(1000))
    record(recorder, *((number, number + 1, 1, phase) for number, phase in enumerate(phases)))
    frame = recorder.frame(20)
    assert len(frame) <= 20
    assert frame.loc[frame["phase"] == "during", "number"].tolist() == [500, 501, 502, 503, 504]
    assert frame.loc[frame["phase"] == "before", "number"].diff().dropna().between(100, 105).all()
    assert len(StepRecorder().frame()) == 0


@pytest.fixture(scope="module")
def windows(scenario: Scenario) -> dict[str, Any]:
    return scenario("""
        capture = started(steps=range(10, 20), system=20)
        x, y = arrays(30)
        model().fit(x, y, **FIT)
        record = capture.stop()
        times = record.step_times
        out["columns"] = list(times.columns)
        out["phases"] = times.groupby("phase", sort=False)["number"].apply(list).to_dict()
        out["shortest"] = int(times["duration_ns"].min())
        out["ordered"] = bool(times["start_ns"].is_monotonic_increasing)
        window, system = record.windows[0], record.system
        during = times[times["phase"] == "during"]
        out["inside"] = bool((during["start_ns"] >= window.start_ns).all()
                             and (during["start_ns"] + during["duration_ns"]).max() <= window.stop_ns + 10**6)
        out["first_sample"] = int(system["time_ns"].iloc[0] - window.start_ns)
        out["last_sample"] = int(system["time_ns"].iloc[-1] - (window.stop_ns + window.stop_s * 1e9))
        capture = started(system=20)
        with step(0):
            pass
        record = capture.stop()
        out["whole"] = [int(record.system["time_ns"].iloc[0] - record.windows[0].start_ns), len(record.system),
                        list(record.step_times["phase"])]
        capture = started(every=10, system=False)
        for batch in trace_steps(range(21)):
            pass
        out["every"] = capture.stop().step_times["phase"].tolist()
        capture = started(max_seconds=0.2, system=False)
        with step(0):
            while capture.control.open_id is not None:
                time.sleep(0.01)
        out["cut"] = capture.stop().step_times["phase"].tolist()
        from tensorflow.python.profiler import trace
        trace.enabled = False  # a value, as in TensorFlow 2.16 and 2.17
        sys.modules["tfprof_widgets.capture.steps"]._markers.cache_clear()
        capture = started(system=False)
        with step(0):
            pass
        out["value"] = len(capture.stop().step_times)
    """)


def test_steps_are_before_during_and_after_the_window(windows: dict[str, Any]) -> None:
    out = windows
    assert out["columns"] == COLUMNS
    assert out["phases"] == {"before": [*range(10)], "during": [*range(10, 20)], "after": [*range(20, 30)]}
    assert out["shortest"] > 0
    assert out["ordered"]
    assert out["inside"]


def test_samples_begin_before_the_first_session_and_go_on_until_its_files_are_written(windows: dict[str, Any]) -> None:
    out = windows
    assert out["first_sample"] < 0 < out["last_sample"]
    assert out["whole"][0] < 0
    assert out["whole"][1] >= 2
    assert out["whole"][2] == ["during"]


def test_steps_between_windows_come_after_one_and_a_step_cut_by_a_bound_is_neither(windows: dict[str, Any]) -> None:
    out = windows
    assert out["every"] == [*(["during"] + ["after"] * 9) * 2, "during"]
    assert out["cut"] == ["cut"]
    assert out["value"] == 1


@pytest.fixture(scope="module")
def details(scenario: Scenario) -> dict[str, Any]:
    return scenario(
        """
        import tfprof_widgets as tfprof
        import collections
        x, y = arrays(20)
        made = model()
        made.fit(x, y, **FIT)
        for detail in ("low", "normal", "high", "low"):
            capture = started(detail=detail, system=False)
            made.fit(x, y, **FIT)
            record = capture.stop()
            prof = tfprof.load(record.run_dirs[0])
            names = collections.Counter(prof.events["name"])
            out[detail] = {
                "detail": record.detail, "notices": record.notices, "steps": len(prof.steps),
                "ops": sorted(set(prof.ops["type"])),
                "events": prof.trace.n_events, "pool": sum(n for name, n in names.items() if name.startswith("ThreadpoolL")),
                "memory": list(prof.memory.allocators), "iterators": len(prof.input_pipeline.iterators),
                "queue": names["ExecutorState::ScheduleReady"], "layers": len(prof.layers),
                "sources": sorted(set(prof.steps["source"])),
            }
        """,
        TF_CPU_ALLOCATOR_USE_BFC="true",
    )


def test_every_level_of_detail_has_the_steps_ops_memory_layers_and_input(details: dict[str, Any]) -> None:
    for detail, out in details.items():
        assert (out["detail"], out["notices"]) == (detail, [])
        assert (out["steps"], out["sources"]) == (20, ["marker"])
        assert "MatMul" in " ".join(out["ops"])
        assert out["memory"]
        assert out["iterators"]
        assert out["layers"]


def test_low_leaves_out_the_thread_pools_and_high_adds_the_queues_of_the_executor(details: dict[str, Any]) -> None:
    low, normal, high = (details[detail] for detail in ("low", "normal", "high"))
    assert low["pool"] == 0 < normal["pool"]
    assert normal["queue"] == 0 < high["queue"]
    assert low["events"] < normal["events"] < high["events"]


def test_a_build_without_the_switch_records_as_normal_and_says_so(scenario: Scenario) -> None:
    out = scenario("""
        from tfprof_widgets.capture import record as detail
        detail._SET_COLLECTOR = "_no_such_symbol"
        capture = started(detail="low", system=False)
        with step(0):
            tf.ones(3) + 1
        out["notices"] = capture.stop().notices
        out["expected"] = detail.LOUD_NOTICE
    """)
    assert out["notices"] == [out["expected"]]


def grown(*growths: float, n_units: float = 1.0) -> float:
    """What counts of pieces of the same length."""
    stride = Stride()
    for growth in growths:
        stride.add(Piece(n_units, growth))
    return stride.growth


@pytest.mark.parametrize(
    ("growths", "low", "high"),
    [
        pytest.param([100.0, 90.0, 110.0] * 4 * N_PIECES, 1200 * N_PIECES, 1200 * N_PIECES, id="goes on"),
        pytest.param([100.0, 90.0, 110.0] * 5, 1500, 1500, id="few"),
        pytest.param([1e9, *[100.0] * 99], 9_900, 10_300, id="kept once, first"),
        pytest.param([*[100.0] * 10, 1e9, *[100.0] * 89], 9_900, 10_300, id="kept once, later"),
        pytest.param([*[100.0] * 9, -900.0] * 20, -math.inf, 900, id="comes and goes"),
        pytest.param([*[100.0] * 200, -1e9, *[100.0] * 200], 40_000 - 100 * (N_PIECES + 1), math.inf, id="freed once"),
        pytest.param([*[100.0] * 200, *[1000.0] * 200], 132_000, 220_000, id="steps of another kind"),
    ],
)
def test_growth_counts_as_far_as_it_goes_on_as_steps_do(growths: list[float], low: float, high: float) -> None:
    assert low <= grown(*growths) <= high


def test_pieces_of_other_lengths_are_compared_by_their_steps() -> None:
    stride = Stride()
    for n_steps in (1, 50, 2, 7) * 10:
        stride.add(Piece(n_steps, 100.0 * n_steps))
    assert stride.growth == 60_000


def test_a_piece_in_which_a_function_was_built_counts_as_its_steps_would() -> None:
    stride = Stride()
    stride.add(Piece(1, math.inf, is_spoilt=True))
    assert stride.growth == 0, "nothing is usual yet"
    for _ in range(MIN_PIECES):
        assert not stride.is_known
        stride.add(Piece(1, 100.0))
    assert stride.is_known
    usual = 100.0 * (MIN_PIECES + 1)  # with the spoilt one before them
    assert stride.growth == usual
    stride.add(Piece(2, 1e9, is_spoilt=True))
    assert stride.growth == usual + 200
    stride.add(Piece(0, 1e9, is_spoilt=True))
    assert stride.growth == usual + 200, "no step has ended, so nothing is known of it"
    stride.add(Piece(1, -1e9, is_spoilt=True))
    assert stride.growth == usual + 200, "what is freed after it was not the profiler's"


def test_growth_can_be_asked_for_while_pieces_are_added() -> None:
    errors: list[RuntimeError] = []
    stride, over = Stride(), threading.Event()

    def ask() -> None:
        try:
            while not over.is_set():
                _ = stride.growth, stride.is_known
        except RuntimeError as error:
            errors.append(error)

    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    asking = threading.Thread(target=ask)
    asking.start()
    for _ in range(3_000):
        stride.add(Piece(1, 100.0))
    over.set()
    asking.join()
    sys.setswitchinterval(interval_s)
    assert not errors
