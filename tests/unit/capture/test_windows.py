"""Windows: steps, every and every_seconds give short sessions around the selected steps; bounds end a capture early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario

pytestmark = pytest.mark.tensorflow


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
        out["every"] = fit(every=10)
        out["every_in_range"] = fit(every=10, steps=range(15, 40))
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
def run() -> dict[str, Any]:
    return run_scenario(PROGRAM)


def test_a_range_opens_one_window_over_the_border_of_epochs(run: dict[str, Any]) -> None:
    assert run["range"]["steps"] == [list(range(10, 25))]
    assert run["range"]["windows"] == [[10, 24, 15]]
    assert run["range"]["notices"] == []
    assert run["range"]["outcome"] == "complete"


def test_a_callable_is_asked_once_per_step_and_gives_a_window_per_group(run: dict[str, Any]) -> None:
    assert run["callable"]["steps"] == [[3, 4], [30]]
    assert run["asked"] == list(range(40))


def test_every_takes_the_multiples(run: dict[str, Any]) -> None:
    assert run["every"]["steps"] == [[0], [10], [20], [30]]


def test_conditions_add_up(run: dict[str, Any]) -> None:
    assert run["every_in_range"]["steps"] == [[20], [30]]


def test_every_seconds_takes_one_step_at_once_and_then_waits(run: dict[str, Any]) -> None:
    assert run["every_seconds"]["steps"] == [[0]]


def test_steps_after_the_window_are_counted_but_not_captured(run: dict[str, Any]) -> None:
    assert run["range"]["all"] == 40
    assert run["range"]["kept"] == 15


def test_a_selection_that_meets_no_step_says_so_and_names_the_steps_there_were(run: dict[str, Any]) -> None:
    (notice,) = run["beyond"]["notices"]
    assert run["beyond"]["steps"] == []
    assert "steps=range(100, 110)" in notice
    assert "number 39" in notice


def test_a_selection_in_a_program_without_steps_says_how_to_mark_them(run: dict[str, Any]) -> None:
    (notice,) = run["unmarked"]
    assert "marked no step" in notice
    assert "trace_steps" in notice


def test_a_selection_that_goes_on_past_the_end_closes_with_the_capture(run: dict[str, Any]) -> None:
    assert run["last"]["steps"] == [[38, 39]]


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


def test_memory_that_the_program_takes_is_not_mistaken_for_a_large_trace(run: dict[str, Any]) -> None:
    assert run["own_data"]["outcome"] == "complete"
    assert run["own_data"]["kept"] == 20
    assert run["own_data"]["windows"] == 1


def test_memory_that_the_program_takes_in_each_step_is_taken_for_the_profilers_once(run: dict[str, Any]) -> None:
    assert run["own_list"]["outcome"] == "complete"
    assert run["own_list"]["windows"] == 2, "the estimate was met, and the file showed that it was wrong"
    assert run["own_list"]["kept"] in (79, 80), "all but the one in which the windows changed"


def test_logdir_keeps_every_window_in_tensorboards_layout_and_nothing_else_is_written(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    run = run_scenario(
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
