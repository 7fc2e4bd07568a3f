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
    ("name", "rule", "start", "measured"),
    [
        ("g07_float64", "double_precision", "Ops in float64 take 7.94 of 13.1 ms a step (61 %)", 0.59),
        (
            "g12_big_kernel",
            "inefficient_op",
            "The 11 x 11 convolution of functional/conv2d_2 (faults.py:81) takes",
            0.51,
        ),
        (
            "g13_adam_table",
            "dense_update",
            "A step works on all 3,000,000 rows of sequential/embedding/embeddings",
            0.60,
        ),
        (
            "g24_elementwise",
            "many_passes",
            "332 elementwise ops take 18.4 of 36.9 ms a step (50 %) of the GPU, 18.0 ms of that in line faults.py:132",
            0.49,
        ),
    ],
)
def test_what_a_busy_gpu_loses_most_to_comes_first(
    name: str, rule: str, start: str, measured: float, fault: Callable[[str], Path]
) -> None:
    prof = tfprof.load(fault(name))
    first = prof.advice[0]
    assert (first.rule, first.severity) == (rule, "high")
    assert first.title.startswith(start)
    assert measured * 2 / 3 <= first.gain_ratio <= measured * 4 / 3
    assert why_nothing_is_seen(prof.run.results, first) == ""
    assert first.title in prof.report()
    # What a cause explains is not told once more.
    assert "busy" not in [one.rule for one in prof.advice]


def test_elementwise_ops_tell_what_they_move(fault: Callable[[str], Path]) -> None:
    """Most on 64 MiB each; of a layer's activation one pass reads and writes it forward, one reads two and writes one back."""
    first = tfprof.load(fault("g24_elementwise")).advice[0]
    assert first.evidence["moved_bytes"] == pytest.approx(44.2 * 2**30, rel=0.01)
    assert 6 * 5 * 2**26 * 0.5 < float(first.evidence["fused_bytes"]) < 6 * 5 * 2**26 * 1.05
    assert "jit_compile=True" in first.fix.words
