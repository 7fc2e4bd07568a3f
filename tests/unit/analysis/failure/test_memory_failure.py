"""A drawn program whose allocation failed -> what lived at that moment, the free memory against the request, what to do."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, session, trace
from tests.unit.analysis.failure.failure_drawings import (
    CAPACITY,
    DEVICE,
    GPU,
    MIB,
    OUTER,
    failed,
    failed_profile,
    failure,
    oom_text,
    oom_trace,
    take,
)
from tfprof_widgets.analysis import Analysis, MemoryFailure, Progress, estimate_batch, failure_alone, parse_failure
from tfprof_widgets.errors import EmptyTraceError
from tfprof_widgets.profiles import Profile
from tfprof_widgets.show import memory_failure_meta

HOSTILE = "</script><img src=x onerror=alert(1)>"


def explained(results: Analysis) -> MemoryFailure:
    found = results.memory_failure
    assert found is not None
    return found


def test_the_moment_is_the_last_snapshot_before_the_op_failed_not_what_was_given_back_after() -> None:
    found = explained(failed())
    assert (found.in_use_bytes, found.capacity_bytes, found.at_ms) == (400 * MIB, CAPACITY, 0.01)
    assert (found.allocator, found.device, found.step) == (GPU, "GPU:0", 0)
    assert (found.op, found.layer) == (f"{OUTER}/model/wide/Relu", "model/wide")
    assert (found.requested_bytes, found.shape, found.dtype) == (512 * MIB, (1024, 131072), "float")


def test_fragmented_memory_is_told_from_full_memory() -> None:
    found = explained(failed())
    assert found.fragmentation_ratio == 0.75
    assert found.largest_free_bytes == 150 * MIB
    assert "in use; 600 MiB were free, but in pieces, the largest of at most 150 MiB." in found.sentence
    assert any("cuda_malloc_async" in action.code for action in found.actions)
    full = explained(failed(oom_text("[1024,262144]")))
    assert "the largest free piece was at most 150 MiB" in full.sentence
    assert not any("cuda_malloc_async" in action.code for action in full.actions)


def test_a_largest_block_that_would_have_served_the_request_is_not_claimed() -> None:
    found = explained(failed(oom_text("[1024,1024]")))
    assert math.isnan(found.largest_free_bytes)


@pytest.mark.parametrize(
    "text", [oom_text(allocator="GPU_1_bfc"), oom_text().replace("GPU:0", "GPU:1").split(" by ")[0]]
)
def test_another_allocator_is_not_taken_for_the_one_that_failed(text: str) -> None:
    found = explained(failed(text))
    assert not found.is_recorded
    assert math.isnan(found.in_use_bytes)


def test_a_message_without_an_allocator_is_about_that_of_its_device() -> None:
    found = explained(
        failed(f"{{{{function_node __wrapped__Mul_device_{DEVICE}}}}} failed to allocate memory [Op:Mul]")
    )
    assert (found.allocator, found.device, found.in_use_bytes) == (GPU, "GPU:0", 400 * MIB)
    assert math.isnan(found.requested_bytes)


def test_a_message_that_nobody_knows_is_told_as_it_is() -> None:
    found = explained(failed("the frobnicator is full"))
    assert found.sentence.startswith("ResourceExhaustedError: the frobnicator is full.")
    assert (found.shape, found.op, found.message) == (None, "", "the frobnicator is full")
    assert found.in_use_bytes == 400 * MIB


def test_a_capture_that_ended_before_says_so_and_how_to_record_the_moment() -> None:
    found = explained(failed(at_us=60e6))
    assert not found.is_recorded
    assert found.sentence.startswith("Out of memory: Relu of layer model/wide asked for 512 MiB")
    assert "had ended 59.9 s before" in found.actions[-1].words or "had ended 60.0 s before" in found.actions[-1].words
    assert "max_seconds=600, max_bytes=2**30" in found.actions[-1].code


def test_a_selection_of_steps_is_blamed_where_there_was_one() -> None:
    found = explained(failed(at_us=60e6, selection="steps=range(10, 20)"))
    assert "but steps=range(10, 20)" in found.actions[-1].words
    assert found.actions[-1].code == "with tfprof.profile() as prof: ..."


def test_where_no_memory_was_recorded_the_exact_line_to_record_it_is_given() -> None:
    bare = trace(session(), plane("/host:CPU", line("main", event("train", 0, 100, _r=1, step_num=1))))
    found = explained(failed(of=bare))
    assert found.sentence.startswith("Out of memory: Relu of layer model/wide asked for 512 MiB on GPU:0")
    assert 'os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"' in found.actions[-1].code
    assert len(found.by_op) == len(found.by_layer) == len(found.by_line) == 0


def test_a_failure_without_any_trace_still_tells_what_the_message_told() -> None:
    def nothing() -> None:
        raise EmptyTraceError("nothing was captured")

    assert failure_alone(failure()).requested_bytes == 512 * MIB
    assert "Out of memory" in repr(failure_alone(failure(), remedy="Why.\ncode"))
    with pytest.raises(EmptyTraceError):
        _ = Profile(nothing).memory_failure  # type: ignore[arg-type]


def test_memory_of_the_process_is_no_allocator_of_the_device() -> None:
    text = "Unable to allocate 1.00 EiB for an array with shape (1152921504606846976,) and data type uint8"
    found = explained(failed(text, kind="_ArrayMemoryError", file="Cell [3]", line=4, code="np.empty(n)"))
    assert (found.device, found.requested_bytes, found.line, found.code) == ("host", 2**60, "Cell [3]:4", "np.empty(n)")
    assert found.sentence.startswith("Out of memory: Cell [3]:4 asked for 1.00 EiB of the machine's memory")
    assert not found.is_recorded, "the GPU's allocator has nothing to do with it"


@pytest.mark.parametrize(
    ("text", "n_bytes", "device"),
    [
        ("Out of memory while trying to allocate 1234567 bytes.", 1234567, ""),
        ("Failed to allocate request for 1.50GiB (1610612736B) on device ordinal 2", 1610612736, "GPU:2"),
        (f"OOM when allocating tensor with shape[] and type half on {DEVICE} by allocator x", 2, "GPU:0"),
        (f"OOM when allocating tensor with shape[2,3] and type string on {DEVICE} by allocator x", math.nan, "GPU:0"),
        (
            f"OOM when allocating tensor with shape[{'9' * 30}] and type half on {DEVICE} by allocator x",
            math.nan,
            "GPU:0",
        ),
        ("OOM when allocating tensor with shape[" * 5_000, math.nan, ""),
    ],
)
def test_messages_of_other_parts_of_tensorflow_are_read(text: str, n_bytes: float, device: str) -> None:
    found = parse_failure(text)
    assert found.requested_bytes == pytest.approx(n_bytes, nan_ok=True)
    assert found.device == device


def test_hostile_names_stay_text_wherever_the_explanation_is_shown() -> None:
    node = f"model/{HOSTILE}/Relu"
    profile = failed_profile(
        oom_trace(held=f"{OUTER}/model/{HOSTILE}/Relu"),
        failure(oom_text(node=node), file=HOSTILE, line=1, code=HOSTILE),
    )
    found = profile.memory_failure
    assert found is not None
    shown = found._repr_html_()
    assert HOSTILE not in shown
    assert "&lt;img" in shown
    assert "<img" not in profile.report()
    assert json.dumps(memory_failure_meta(found))


def test_the_profile_tells_it_first_in_its_notices_its_summary_and_its_report() -> None:
    profile = failed_profile(oom_trace(), failure())
    assert profile.notices[0].startswith("Out of memory: Relu of layer model/wide asked for 512 MiB on GPU:0")
    summary = profile.text()
    assert "Held by layer: 3 of 3" in summary
    assert "a step" not in summary
    assert "By layer, when it ran out" in profile.report()


def test_what_travels_to_the_browser_is_bounded_and_says_of_how_many() -> None:
    many = [take(5 + i / 100, 100 + i, 1, 200 + i, f"{OUTER}/layer{i}/{'x' * 3_000}/Relu", "[8,8]") for i in range(50)]
    drawn = trace(session(), plane("/host:CPU", line("main", event("train", 0, 100, _r=1, step_num=1), *many)))
    meta = memory_failure_meta(explained(failed(of=drawn)))
    assert meta is not None
    assert len(json.dumps(meta)) < 200_000
    assert [(len(table["rows"]), table["n"] > 8) for table in meta["tables"][:2]] == [(8, True)] * 2


def live(*rows: tuple[str, str, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["shape", "kind", "total_bytes"])


def estimated(
    rows: pd.DataFrame, *, batch_size: int | None = 1024, progress: Progress | None = None, requested: float = 100.0
) -> int | None:
    done = Progress(n_run=4, n_layers=4, is_backward=False, is_training=False)
    shape = (batch_size or 1, 2)
    return estimate_batch(
        rows, shape, requested, capacity_bytes=1000, batch_size=batch_size, progress=progress or done
    ).fits


def test_what_grows_with_the_batch_decides_which_batch_fits() -> None:
    assert estimated(live(("[1024,8]", "layer", 900), ("[77]", "other", 50))) == 512, "800 of 850 bytes for 1,000"
    assert estimated(live(("[1024,8]", "layer", 300), ("[77]", "other", 650))) == 512
    assert estimated(live(("[1024,8]", "layer", 100), ("[77]", "other", 800))) == 256
    assert estimated(live(("[4096,8]", "layer", 900)), requested=900) == 256, "sequences of four, flattened"


def test_what_is_still_to_come_makes_the_estimate_smaller() -> None:
    rows = live(("[1024,8]", "layer", 900))
    half = Progress(n_run=2, n_layers=4, is_backward=False, is_training=True)
    assert estimated(rows) == 512
    assert estimated(rows, progress=half) == 128


def test_a_batch_that_cannot_be_judged_is_not_invented() -> None:
    rows = live(("[1024,8]", "layer", 500))
    unknown = Progress(n_run=0, n_layers=0, is_backward=False, is_training=True)
    assert estimated(rows, batch_size=None) is None
    assert estimated(rows, progress=unknown) is None
    assert estimated(rows, requested=math.nan) is None
    assert estimated(live(("[77]", "other", 899)), requested=0.0) is None, "nothing grows with the batch"
    assert estimated(live(("[77]", "other", 900))) is None, "the rest fills it alone"


@pytest.fixture(scope="module")
def profile(capture_of: Callable[[str], Path]) -> Profile:
    found = tfprof.load(str(capture_of("h100_oom").parents[3]))
    assert isinstance(found, Profile)
    return found


@pytest.mark.parametrize("text", ["report", "text"])
def test_texts_say_what_happened_and_nothing_else(profile: Profile, text: str) -> None:
    failure = profile.memory_failure
    assert failure is not None
    told: str = getattr(profile, text)()
    assert " ".join(told.split()).replace("&#91;", "[").count(failure.sentence) == 1
    for word in ("a step", "VarIsInitializedOp", "ops by", "Advice", "advice", "growing", "rising_memory", "bound:"):
        assert word not in told, word
