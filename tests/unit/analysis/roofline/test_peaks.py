"""Peaks of devices: those of the data sheets, and none that nobody knows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tfprof_widgets.analysis import Peaks, peaks_of


def card(name: str, capability: tuple[int, int], cores: int, mhz: int, gb_per_s: int) -> dict[str, Any]:
    """The stats of a device's plane as CUPTI fills them."""
    return {
        "device_vendor": "Nvidia",
        "gpu_device_name": name,
        "compute_cap_major": capability[0],
        "compute_cap_minor": capability[1],
        "core_count": cores,
        "clock_rate": mhz * 1000,
        "memory_bandwidth": gb_per_s * 10**9,
    }


@pytest.mark.parametrize(
    ("device", "tensor_16", "tensor_32", "vector_32"),
    [
        (card("NVIDIA H100 80GB HBM3", (9, 0), 132, 1980, 3352), 989, 495, 67),
        (card("NVIDIA H100 PCIe", (9, 0), 114, 1755, 2039), 756, 378, 51),
        (card("NVIDIA H100 NVL", (9, 0), 132, 1785, 3938), 835.5, 417.5, 60),
        (card("NVIDIA H200", (9, 0), 132, 1980, 4916), 989, 495, 67),
        (card("NVIDIA H200 NVL", (9, 0), 132, 1785, 4813), 835.5, 417.5, 60),
        (card("NVIDIA GH200 480GB", (9, 0), 132, 1980, 4023), 990, 495, 67),
        (card("NVIDIA A100-SXM4-40GB", (8, 0), 108, 1410, 1555), 312, 156, 19.5),
        (card("NVIDIA A100 80GB PCIe", (8, 0), 108, 1410, 1935), 312, 156, 19.5),
        (card("NVIDIA A30", (8, 0), 56, 1440, 933), 165, 82.6, 10.3),
        (card("Tesla V100-PCIE-16GB", (7, 0), 80, 1380, 898), 112, math.nan, 14.1),
        (card("Tesla V100-SXM2-16GB", (7, 0), 80, 1530, 898), 125, math.nan, 15.7),
        (card("Tesla T4", (7, 5), 40, 1590, 320), 65, math.nan, 8.1),
        (card("NVIDIA L4", (8, 9), 58, 2040, 300), 121, 60.5, 30.3),
        (card("NVIDIA L40", (8, 9), 142, 2490, 864), 181, 90.5, 90.5),
        (card("NVIDIA L40S", (8, 9), 142, 2520, 864), 366, 183, 91.6),
        (card("NVIDIA A10", (8, 6), 72, 1695, 600), 125, 62.5, 31.2),
        (card("NVIDIA A10G", (8, 6), 80, 1710, 600), 70, 35, 35),
        (card("NVIDIA A40", (8, 6), 84, 1740, 696), 149.7, 74.8, 37.4),
        (card("NVIDIA RTX A6000", (8, 6), 84, 1800, 768), 154.8, 77.4, 38.7),
        (card("NVIDIA RTX 6000 Ada Generation", (8, 9), 142, 2505, 960), 364, 182, 91.1),
        (card("NVIDIA GeForce RTX 3090", (8, 6), 82, 1695, 936), 71, 35.6, 35.6),
        (card("NVIDIA GeForce RTX 2080 Ti", (7, 5), 68, 1545, 616), 53.8, math.nan, 13.4),
        (card("NVIDIA GeForce RTX 5090", (12, 0), 170, 2407, 1792), 209.5, 104.8, 104.8),
        (card("NVIDIA RTX PRO 6000 Blackwell Server Edition", (12, 0), 188, 2617, 1792), 503.8, 251.9, 126),
        (card("NVIDIA GeForce RTX 4090", (8, 9), 128, 2520, 1008), 165, 82.6, 82.6),
        (card("NVIDIA GeForce GTX 1660 Ti", (7, 5), 24, 1770, 288), math.nan, math.nan, 5.4),
        (card("NVIDIA GB200", (10, 0), 152, 2062, 7900), math.nan, math.nan, 80.2),
        (card("NVIDIA B200", (10, 0), 148, 1965, 7672), 2250, 1125, 74.5),
    ],
)
def test_peaks_are_those_of_the_data_sheets(
    device: dict[str, Any], tensor_16: float, tensor_32: float, vector_32: float
) -> None:
    peaks = peaks_of(device)
    want = (tensor_16, tensor_32, vector_32)
    found = tuple(peak / 1e12 for peak in (peaks.tensor_16, peaks.tensor_32, peaks.vector_32))
    assert found == pytest.approx(want, rel=0.015, nan_ok=True)
    assert peaks.bytes_per_s == device["memory_bandwidth"]


@pytest.mark.parametrize(
    ("device", "vector_64"),
    [
        (card("NVIDIA H100 80GB HBM3", (9, 0), 132, 1980, 3352), 33.5),
        (card("NVIDIA A100-SXM4-40GB", (8, 0), 108, 1410, 1555), 9.7),
        (card("Tesla V100-SXM2-16GB", (7, 0), 80, 1530, 898), 7.8),
        (card("Tesla T4", (7, 5), 40, 1590, 320), 0.254),
        (card("NVIDIA A10", (8, 6), 72, 1695, 600), 0.488),
        (card("NVIDIA L4", (8, 9), 58, 2040, 300), 0.473),
        (card("NVIDIA B200", (10, 0), 148, 1965, 7672), 37.2),
    ],
)
def test_peaks_in_float64_are_those_of_ordinary_cores(device: dict[str, Any], vector_64: float) -> None:
    assert peaks_of(device).vector_64 / 1e12 == pytest.approx(vector_64, rel=0.015)


@pytest.mark.parametrize(
    "changed",
    [
        {"compute_cap_major": 99},
        {"device_vendor": "AMD"},
        {"gpu_device_name": "NVIDIA H20"},
        {"gpu_device_name": "NVIDIA GeForce RTX 5090 D"},
        {"core_count": 0},
        {"clock_rate": "fast"},
        {"clock_rate": None},
    ],
)
def test_what_the_table_does_not_have_has_no_peaks(changed: dict[str, Any]) -> None:
    peaks = peaks_of(card("", (9, 0), 132, 1980, 3352) | changed)
    assert math.isnan(peaks.tensor_16)
    assert math.isnan(peaks.vector_32)
    assert peaks.bytes_per_s == 3352e9


def test_a_device_that_does_not_describe_itself_has_none() -> None:
    assert repr(peaks_of({})) == repr(Peaks())
