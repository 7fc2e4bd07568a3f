"""A training that really runs out of memory: the error reaches the user unchanged, and the profile tells what held the memory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario

pytestmark = pytest.mark.tensorflow

MIB = 2**20
LIMIT_MIB = 32
BATCH, UNITS = 8192, 256
FIELDS = (
    "kind", "requested_bytes", "shape", "dtype", "op", "layer", "line", "code", "allocator", "device", "step",
    "in_use_bytes", "capacity_bytes", "largest_free_bytes", "fragmentation_ratio", "sentence", "batch_size",
    "batch_size_that_fits", "estimate",
)  # fmt: skip

TRAINING = f"""
        import traceback
        import tfprof_widgets as tfprof

        FIELDS = {FIELDS!r}
        x, y = np.zeros(({BATCH} * 2, 64), "f4"), np.zeros(({BATCH} * 2, 1), "f4")

        def wide():
            keras.utils.set_random_seed(0)
            model = keras.Sequential([keras.Input((64,))])
            for i in range(5):
                model.add(keras.layers.Dense({UNITS}, activation="relu", name=f"hidden{{i}}"))
            model.add(keras.layers.Dense(1, name="head"))
            model.compile("adam", "mse")
            return model

        def told(profile):
            failure = profile.memory_failure
            return {{name: getattr(failure, name) for name in FIELDS}} | {{
                "by_op": failure.by_op.drop(columns="ops").to_dict("list"),
                "by_layer": failure.by_layer.drop(columns="ops").to_dict("list"),
                "by_line": failure.by_line.drop(columns="ops").to_dict("list"),
                "notices": list(profile.notices), "summary": profile.text(), "outcome": profile.capture.outcome,
            }}

        trained = wide()
        error = None
        try:
            with tfprof.profile() as profile:
                trained.fit(x, y, batch_size={BATCH}, verbose=0)
        except tf.errors.ResourceExhaustedError as caught:
            error = caught
        last = traceback.extract_tb(error.__traceback__)
        out["error"] = [type(error).__name__, "OOM when allocating" in str(error)]
        out["frames"] = [frame.name for frame in last]
        out["fit"] = told(profile)
        out["is_embedded"] = "Out of memory" in pathlib.Path(profile.to_html("page.html")).read_text()
        profile.save("saved")
        out["loaded"] = told(tfprof.load("saved"))
        del error, last
        trained = None
        gc.collect()

        fits = profile.memory_failure.batch_size_that_fits
        out["estimate_fits"] = error_of(lambda: wide().fit(x, y, batch_size=fits, verbose=0))
"""

OTHERS = """
        import tfprof_widgets as tfprof

        own = MemoryError("77 bytes")
        try:
            with tfprof.profile() as profile:
                tf.constant(1.0) + 1
                raise own
        except MemoryError as caught:
            out["is_same"] = caught is own
            out["context"] = [caught.__cause__ is None, caught.__context__ is None]
        out["own"] = profile.memory_failure.sentence

        try:
            with tfprof.profile(system=True) as profile:
                tf.zeros([1024]) + 1
                np.empty(2**60, "u1")
        except MemoryError as caught:
            out["array"] = type(caught).__name__
        out["array_told"] = [profile.memory_failure.sentence, profile.memory_failure.device]

        x, y = np.zeros((40000, 64), "f4"), np.zeros((40000, 1), "f4")
        data = tf.data.Dataset.from_tensor_slices((x, y)).batch(20000)
        wide = keras.Sequential([keras.Input((64,)), keras.layers.Dense(4096, name="wide"), keras.layers.Dense(1)])
        wide.compile("sgd", "mse")
        callback = tfprof.ProfileCallback()
        out["callback_error"] = error_of(lambda: wide.fit(data, verbose=0, callbacks=[callback]))[0]
        failure = callback.profile.memory_failure
        out["callback"] = [failure.layer, failure.batch_size, failure.requested_bytes, callback.profile.capture.outcome]

        with tfprof.profile() as profile:
            out["handled"] = error_of(lambda: tf.zeros([1 << 45]) + 1)[0]
        out["handled_told"] = profile.memory_failure is None
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_scenario(
        TRAINING,
        cwd=tmp_path_factory.mktemp("oom"),
        TF_CPU_ALLOCATOR_USE_BFC="true",
        TF_CPU_BFC_MEM_LIMIT_IN_MB=str(LIMIT_MIB),
    )


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_scenario(
        OTHERS,
        cwd=tmp_path_factory.mktemp("oom"),
        TF_CPU_ALLOCATOR_USE_BFC="true",
        TF_CPU_BFC_MEM_LIMIT_IN_MB=str(LIMIT_MIB),
    )


def test_the_error_of_tensorflow_reaches_the_user_as_it_is(run: dict[str, Any]) -> None:
    assert run["error"] == ["ResourceExhaustedError", True]
    assert run["frames"][0] == "<module>", "nothing of the profiler stands above the user's code"
    assert run["fit"]["outcome"] == "exception"


def test_the_request_that_failed_is_told_with_its_layer(run: dict[str, Any]) -> None:
    told = run["fit"]
    assert (told["kind"], told["dtype"], told["shape"]) == ("ResourceExhaustedError", "float", [BATCH, UNITS])
    assert told["requested_bytes"] == BATCH * UNITS * 4
    assert told["layer"].startswith("sequential/hidden")
    assert (told["device"], told["step"], told["allocator"]) == ("CPU:0", 0, "bfc_cpu_allocator_for_gpu")
    assert told["capacity_bytes"] == LIMIT_MIB * MIB
    assert told["capacity_bytes"] - told["in_use_bytes"] < told["requested_bytes"], "the moment is that of the failure"
    assert told["largest_free_bytes"] < told["requested_bytes"]
    assert 0 <= told["fragmentation_ratio"] <= 1


def test_what_lived_then_is_told_by_op_and_by_layer(run: dict[str, Any]) -> None:
    told = run["fit"]
    for name in ("by_op", "by_layer", "by_line"):
        assert sum(told[name]["bytes"]) == told["in_use_bytes"]
    layers = dict(zip(told["by_layer"]["layer"], told["by_layer"]["bytes"], strict=True))
    assert layers["sequential/hidden0"] >= BATCH * UNITS * 4, "an activation waits for the backward pass"


def test_the_profile_says_so_at_its_top_and_its_page_holds_it(run: dict[str, Any]) -> None:
    assert run["fit"]["notices"][0].startswith("Out of memory: ")
    assert "asked for 8.00 MiB on CPU:0" in run["fit"]["sentence"]
    assert "Held by layer" in run["fit"]["summary"]
    assert run["is_embedded"]


def test_a_saved_profile_tells_the_same(run: dict[str, Any]) -> None:
    ours, theirs = run["fit"], run["loaded"]
    assert {name: theirs[name] for name in FIELDS} == {name: ours[name] for name in FIELDS}
    assert theirs["by_op"] == ours["by_op"]
    assert theirs["notices"][0] == ours["notices"][0]


def test_the_batch_size_that_is_said_to_fit_fits(run: dict[str, Any]) -> None:
    assert run["fit"]["batch_size"] == BATCH
    assert 0 < run["fit"]["batch_size_that_fits"] < BATCH
    assert run["estimate_fits"] is None


def test_a_memory_error_is_raised_again_as_the_same_object(others: dict[str, Any]) -> None:
    assert others["is_same"]
    assert others["context"] == [True, True]
    assert others["own"].startswith("MemoryError: 77 bytes")


def test_an_array_that_the_machine_has_no_room_for_is_told_with_its_line(others: dict[str, Any]) -> None:
    sentence, device = others["array_told"]
    assert others["array"].endswith("MemoryError")
    assert device == "host"
    assert "asked for 1.00 EiB of the machine's memory for an array of uint8" in sentence
    assert "The process held" in sentence


def test_a_callback_learns_of_a_failure_that_keras_does_not_tell_it(others: dict[str, Any]) -> None:
    assert others["callback_error"] == "ResourceExhaustedError"
    assert others["callback"] == ["sequential/wide", 20000, 20000 * 4096 * 4, "exception"]


def test_a_failure_that_the_user_handles_is_none_of_the_profile(others: dict[str, Any]) -> None:
    assert others["handled"] == "ResourceExhaustedError"
    assert others["handled_told"]
