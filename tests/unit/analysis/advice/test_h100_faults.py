"""Captures that an H100 made of programs with one known fault each -> what is said of them.

Each is `h100/NAME.tar.xz`, a saved profile.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.selected import why_nothing_is_seen
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace

SAVED = Path(__file__).parent / "h100"


@pytest.fixture(scope="module")
def fault(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpack one of them."""

    def opened(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        with tarfile.open(SAVED / f"{name}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        return folder

    return opened


def test_float64_has_one_card_and_a_unit(fault: Callable[[str], Path]) -> None:
    prof = tfprof.load(fault("g07_float64"))
    first, *others = prof.advice
    assert first.rule == "double_precision"
    assert not {one.rule for one in others} & {"low_precision_unused", "tensor_core_unused", "half_precision"}
    assert not any("float32" in one.title for one in prof.advice)
    kernels = prof.kernels
    is_double = kernels["name"].str.contains("double")
    assert is_double.sum() > 20
    assert set(kernels["unit"][is_double]) <= {"64-bit vector", "other Tensor Core"}
    on_double = kernels["total_time_us"][kernels["unit"] == "64-bit vector"].sum()
    assert on_double > 0.9 * kernels["total_time_us"].sum()


def test_float64_is_told_by_its_kernels_where_nothing_is_noted(fault: Callable[[str], Path]) -> None:
    captured = next(fault("g07_float64").rglob("*.xplane.pb"))
    bare = Analysis(read_xspace(captured.read_bytes()))
    assert [one.rule for one in bare.advice if "precision" in one.rule] == ["double_precision"]


@pytest.mark.parametrize(
    ("name", "start", "largest_ms"),
    [
        ("g12_big_kernel", "The layer functional/conv2d_2 (faults.py:81) takes 9.1", 8.93),
        ("g13_adam_table", "The optimizer adam takes 7.78 of 12.5 ms a step (62 %) of the GPU", 7.78),
        ("g24_elementwise", "Line faults.py:132 takes 18.0 of 36.9 ms a step (49 %) of the GPU", 18.0),
    ],
)
def test_what_over_a_third_of_a_step_of_a_busy_gpu_goes_to_is_named(
    name: str, start: str, largest_ms: float, fault: Callable[[str], Path]
) -> None:
    prof = tfprof.load(fault(name))
    (told,) = (one for one in prof.advice if one.rule == "largest_part")
    assert told.title.startswith(start)
    assert told.evidence["op_ms"] == pytest.approx(largest_ms, rel=0.05)
    assert (told.severity, told.gain_ratio, str(told.fix)) == ("low", 0.0, "")
    assert told is prof.advice[-1]  # behind all that can be won
    assert why_nothing_is_seen(prof.run.results, told) == ""
    assert told.title in prof.report()
    assert "severity low, gain not known" in prof.report()


def test_a_line_at_which_all_layers_are_made_names_none(fault: Callable[[str], Path]) -> None:
    """58 % of a step are at the line of the model, its largest layer has 32 %."""
    assert "largest_part" not in [one.rule for one in tfprof.load(fault("g07_float64")).advice]
