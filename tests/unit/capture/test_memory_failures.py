"""Memory that ran out: the error reaches the user unchanged, whatever its kind, and the profile tells what held the memory."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.unit.capture.scenario import Scenario
from tfprof_widgets.capture import batch_size_of, read_failure
from tfprof_widgets.trace import Failure

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
def limited(scenario: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Runs a program with little memory."""
    limits = {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(LIMIT_MIB)}
    return partial(scenario, cwd=tmp_path_factory.mktemp("oom"), **limits)


@pytest.fixture(scope="module")
def run(limited: Scenario) -> dict[str, Any]:
    return limited(TRAINING)


@pytest.fixture(scope="module")
def others(limited: Scenario) -> dict[str, Any]:
    return limited(OTHERS)


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


def test_the_profile_says_so_at_its_top_and_its_page_and_a_saved_one_tell_the_same(run: dict[str, Any]) -> None:
    ours, theirs = run["fit"], run["loaded"]
    assert ours["notices"][0].startswith("Out of memory: ")
    assert "asked for 8.00 MiB on CPU:0" in ours["sentence"]
    assert "Held by layer" in ours["summary"]
    assert run["is_embedded"]
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


def test_a_callback_learns_of_a_failure_that_keras_does_not_tell_it_and_no_profile_of_a_handled_one(
    others: dict[str, Any],
) -> None:
    assert others["callback_error"] == others["handled"] == "ResourceExhaustedError"
    assert others["callback"] == ["sequential/wide", 20000, 20000 * 4096 * 4, "exception"]
    assert others["handled_told"]


OOM = "OOM when allocating tensor with shape[8,2] and type float on /job:x/device:GPU:0 by allocator GPU_0_bfc"
DETECTED = 'Graph execution error:\n\nDetected at node a/b defined at:\n  File "x.py", line 3, in f\n\n'


class ResourceExhaustedError(Exception):
    """Named as TensorFlow's: this process has not imported it."""


class InternalError(Exception):
    """The same."""


def caught(action: object) -> BaseException:
    try:
        action()  # type: ignore[operator]
    except BaseException as error:
        return error
    raise AssertionError("it did not raise")


def read(error: BaseException) -> Failure:
    found = read_failure(error)
    assert found is not None
    return found


def test_the_lines_that_tell_of_the_allocation_are_kept_without_the_traceback_of_the_graph() -> None:
    found = read(
        ResourceExhaustedError(f"{DETECTED}{OOM}\n\t [[{{{{node a/b}}}}]]\nHint: add report_tensor_allocations\n")
    )
    assert found.kind == "ResourceExhaustedError"
    assert found.text.splitlines() == [OOM, "[[{{node a/b}}]]"]


def test_a_folder_of_the_traceback_may_be_called_oom() -> None:
    frames = "\n".join(['  File "/home/me/oom/train.py", line 21, in <module>'] * 30)
    assert read(ResourceExhaustedError(f"Detected at node a/b\n{frames}\n{OOM}")).text == OOM


def test_an_unknown_message_keeps_its_first_line() -> None:
    assert read(ResourceExhaustedError("\nsomething is full\nand more")).text == "something is full"


def test_a_large_array_of_numpy_tells_shape_type_and_the_line_that_asked() -> None:
    found = read(caught(lambda: np.empty(2**60, np.uint8)))
    assert "(1152921504606846976,) and data type uint8" in found.text
    assert "np.empty(2**60, np.uint8)" in found.code
    assert found.file.endswith("test_memory_failures.py")
    assert found.line > 0


def test_what_a_chain_hides_is_found() -> None:
    def hidden() -> None:
        try:
            raise ResourceExhaustedError(OOM)
        except ResourceExhaustedError:
            raise RuntimeError("training failed") from None

    def caused() -> None:
        raise ValueError("no batch") from MemoryError("77 bytes")

    assert read(caught(hidden)).text == OOM
    assert read(caught(caused)).text == "77 bytes"
    first = RuntimeError("a circle")
    first.__cause__ = RuntimeError("of errors")
    first.__cause__.__cause__ = first
    assert read_failure(first) is None


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(OOM),
        KeyboardInterrupt(),
        ResourceExhaustedError("/data/x.tfrecord; No space left on device"),
        InternalError("something else"),
        None,
    ],
)
def test_other_exceptions_are_not_about_memory(error: BaseException | None) -> None:
    assert read_failure(error) is None


def test_a_device_without_room_for_an_input_says_so_in_an_internal_error() -> None:
    text = "Failed copying input tensor from a/CPU:0 to b/GPU:0 in order to run Add: Dst tensor is not initialized."
    assert read(InternalError(text)).text == text


def test_an_exception_that_fails_when_read_does_not_reach_the_user() -> None:
    class BrokenError(MemoryError):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert read_failure(BrokenError()) is None


def test_long_messages_are_bounded() -> None:
    found = read(ResourceExhaustedError("\n".join([OOM + "x" * 10_000] * 1_000)))
    assert len(found.text) < 20_000


def test_the_exception_and_what_it_holds_are_not_kept() -> None:
    class Tensor:
        pass

    def asks() -> None:
        held = Tensor()
        references.append(weakref.ref(held))
        raise MemoryError("held")

    references: list[weakref.ref[Tensor]] = []
    error: BaseException | None = caught(asks)
    found = read_failure(error)
    error = None
    gc.collect()
    assert found is not None
    assert references[0]() is None


def test_the_batch_size_of_a_call_is_what_it_says_or_what_keras_takes() -> None:
    array = np.zeros((100, 2))
    assert batch_size_of({"x": array, "batch_size": 64}) == 64
    assert batch_size_of({"x": array, "batch_size": None}) == 32
    assert batch_size_of({"x": {"a": [array]}}) == 32
    assert batch_size_of({"x": iter(())}) == 0
    assert batch_size_of({"x": array, "batch_size": "many"}) == 0
    assert batch_size_of({}) == 0
