"""Facts of machines with and without GPUs -> what `doctor()` says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tfprof_widgets.capture import (
    BuildFacts,
    Check,
    CuptiFacts,
    GpuFacts,
    gpu_checks,
    parse_admin_only,
    parse_is_admin,
    parse_model,
)

CUDA = BuildFacts(
    folder=Path("/site/tensorflow"),
    is_cuda=True,
    cuda_version="12.5.1",
    cupti_requirement="nvidia-cuda-cupti-cu12<13.0,>=12.5.82",
)
NO_GPU = GpuFacts(build=CUDA, tensorflow_version="2.21.0", nvml_error="the package nvidia-ml-py is not installed")
COLAB = GpuFacts(
    driver_gpus=("Tesla T4",),
    driver_source="NVML",
    seen=("/physical_device:GPU:0",),
    n_used=1,
    tensorflow_version="2.21.0",
    build=CUDA,
    has_cuda_wheels=True,
    cupti=CuptiFacts("libcupti.so.12", "libcupti.so.12"),
    is_admin_only=False,
    is_admin=True,
    is_container=True,
)
NODE = replace(COLAB, driver_gpus=("NVIDIA H100",) * 4, is_admin_only=True, is_admin=False, is_container=False)


def of(facts: GpuFacts) -> dict[str, Check]:
    checks = {check.name: check for check in gpu_checks(facts)}
    assert list(checks) == ["gpu", "cupti", "gpu_privileges", "gpu_sampling", "cuda_graphs"]
    for check in checks.values():
        assert (check.status == "ok") == (check.remedy == ""), check
        assert check.value, check
    return checks


def statuses(facts: GpuFacts) -> list[str]:
    return [check.status for check in of(facts).values()]


def test_a_machine_without_a_gpu_has_nothing_to_do() -> None:
    assert statuses(NO_GPU) == ["ok"] * 5
    assert of(NO_GPU)["gpu"].value == "none: captures record the CPU"


def test_a_gpu_that_is_set_up_has_nothing_to_do() -> None:
    assert statuses(COLAB) == ["ok"] * 5
    assert of(COLAB)["gpu"].value == "Tesla T4, seen by TensorFlow"


def test_a_gpu_is_not_judged_before_tensorflow_is_imported() -> None:
    gpu = of(replace(COLAB, seen=None, n_used=0))["gpu"]
    assert gpu.status == "unknown"
    assert gpu.remedy == "import tensorflow; tfprof.doctor()"


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"has_cuda_wheels": False}, 'pip install "tensorflow[and-cuda]==2.21.0"'),
        ({"has_cuda_wheels": True}, "list_physical_devices"),
        ({"build": BuildFacts(is_cuda=False)}, 'pip install "tensorflow[and-cuda]==2.21.0"'),
        ({"visible_devices": ""}, "CUDA_VISIBLE_DEVICES"),
        ({"visible_devices": "-1"}, "CUDA_VISIBLE_DEVICES"),
        ({"seen": None, "seen_error": "RuntimeError: the driver is too old"}, "list_physical_devices"),
    ],
)
def test_a_gpu_that_tensorflow_does_not_see_has_a_remedy(changes: dict[str, object], remedy: str) -> None:
    facts = replace(COLAB, **{"seen": (), "n_used": 0, **changes})  # type: ignore[arg-type]
    gpu = of(facts)["gpu"]
    assert gpu.status == "warning"
    assert remedy in gpu.remedy


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "warning"),
        ({"visible_devices": "2"}, "ok"),
        ({"driver_source": "/proc/driver/nvidia"}, "ok"),
        ({"seen": ("a", "b", "c", "d"), "n_used": 1}, "ok"),
        ({"seen": ("a", "b", "c", "d"), "n_used": 4}, "ok"),
    ],
)
def test_some_of_the_gpus_are_a_choice_where_somebody_made_one(changes: dict[str, object], status: str) -> None:
    gpu = of(replace(NODE, **changes))["gpu"]  # type: ignore[arg-type]
    assert gpu.status == status
    assert "4 x NVIDIA H100" in gpu.value


def test_a_gpu_of_another_maker_is_named() -> None:
    facts = replace(NO_GPU, seen=("/physical_device:GPU:0",), n_used=1, build=BuildFacts(is_cuda=False, is_rocm=True))
    assert statuses(facts) == ["ok"] * 5
    assert of(facts)["gpu"].value.startswith("1 GPU in TensorFlow")


def test_a_driver_that_only_nvml_knows_asks_for_nvml() -> None:
    gpu = of(replace(NO_GPU, driver_gpus=None))["gpu"]
    assert (gpu.status, gpu.remedy) == ("unknown", "pip install nvidia-ml-py")


@pytest.mark.parametrize(
    ("cupti", "status", "value", "remedy"),
    [
        (CuptiFacts(found="/x/libcupti.so.12"), "ok", "/x/libcupti.so.12 loads", ""),
        (
            CuptiFacts("libcupti.so.12"),
            "warning",
            "libcupti.so.12 is not found",
            'pip install "nvidia-cuda-cupti-cu12<13.0,>=12.5.82"',
        ),
        (
            CuptiFacts(failure="/x/libcupti.so.12 does not load: file too short"),
            "warning",
            "file too short",
            'pip install --force-reinstall --no-deps "nvidia-cuda-cupti-cu12<13.0,>=12.5.82"',
        ),
        (
            CuptiFacts("libcupti.so.12", "/usr/lib/libcupti.so.13"),
            "unknown",
            "built for libcupti.so.12",
            'pip install "nvidia-cuda-cupti-cu12<13.0,>=12.5.82"',
        ),
        (CuptiFacts(found=None), "unknown", "no process", "ctypes.CDLL('libcupti.so')"),
    ],
)
def test_cupti_is_missing_broken_or_hidden(cupti: CuptiFacts, status: str, value: str, remedy: str) -> None:
    check = of(replace(COLAB, cupti=cupti))["cupti"]
    assert check.status == status
    assert value in check.value
    assert remedy in check.remedy


def test_cupti_is_not_asked_for_where_tensorflow_has_no_cuda() -> None:
    facts = replace(COLAB, build=BuildFacts(is_cuda=False), seen=(), cupti=CuptiFacts())
    assert of(facts)["cupti"].status == "ok"


def test_counters_for_administrators_do_not_stop_tracing_but_may() -> None:
    privileges = of(NODE)["gpu_privileges"]
    assert privileges.status == "unknown"
    assert "RmProfilingAdminOnly: 1" in privileges.value
    assert "NVreg_RestrictProfilingToAdminUsers=0" in privileges.remedy
    assert "--cap-add=SYS_ADMIN" in of(replace(NODE, is_container=True))["gpu_privileges"].remedy
    assert of(replace(NODE, is_admin=True))["gpu_privileges"].status == "ok"
    assert of(replace(NODE, is_admin_only=None))["gpu_privileges"].status == "unknown"


def test_load_that_cannot_be_sampled_is_told() -> None:
    absent = of(replace(COLAB, nvml_error="the package nvidia-ml-py is not installed"))["gpu_sampling"]
    assert (absent.status, absent.remedy) == ("warning", "pip install nvidia-ml-py")
    assert of(replace(COLAB, nvml_error="NVML: Driver/library version mismatch"))["gpu_sampling"].status == "warning"


def test_texts_of_the_driver_are_understood() -> None:
    assert parse_model("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 16\n") == "NVIDIA H100 80GB HBM3"
    assert parse_model("") == "GPU"
    assert parse_admin_only("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n") is True
    assert parse_admin_only("RmProfilingAdminOnly: 0\n") is False
    assert parse_admin_only("") is None


@pytest.mark.parametrize(
    ("effective", "is_admin"),
    [("000001ffffffffff", True), ("00000000a80425fb", False), ("0000004000000000", True), ("0000000000200000", True)],
)
def test_root_in_a_container_is_no_administrator(effective: str, is_admin: bool) -> None:
    assert parse_is_admin(f"Name:\tpython\nCapEff:\t{effective}\n") is is_admin
    assert parse_is_admin("") is None


@pytest.mark.parametrize(
    ("flags", "keeps"),
    [
        ("", False),
        ("--xla_enable_command_buffers_during_profiling=true", True),
        ("--xla_gpu_cuda_data_dir=/x --xla_enable_command_buffers_during_profiling", True),
        ("--xla_enable_command_buffers_during_profiling=false", False),
    ],
)
def test_doctor_tells_whether_cuda_graphs_survive_a_profiler(flags: str, keeps: bool) -> None:
    value = of(replace(COLAB, xla_flags=flags))["cuda_graphs"].value
    assert ("XLA keeps them" in value) == keeps
    assert ("--xla_enable_command_buffers_during_profiling=true" in value) != keeps
