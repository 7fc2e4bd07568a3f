"""An exception that ended the user's code -> what it tells of an allocation that failed, whatever kind of exception it is."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from tfprof_widgets.capture import batch_size_of, read_failure
from tfprof_widgets.trace import Failure

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
    assert found.file.endswith("test_read_failure.py")
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
