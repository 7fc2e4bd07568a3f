"""CUPTI is tried in another process, where TensorFlow would look for it: a library that is broken breaks nothing here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tfprof_widgets.capture import BuildFacts, CuptiFacts, cupti_facts, loader_environment, parse_build_info
from tfprof_widgets.capture import facts as cupti

PLAIN = "libcupti_of_this_test.so"
"""A name that no machine has on its path."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="CUPTI is looked for on Linux only")


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildFacts:
    """A TensorFlow for CUDA 12 in a folder that holds nothing else, on a machine without CUDA."""
    monkeypatch.setattr(cupti, "_loaded", lambda: "")
    monkeypatch.setattr(cupti, "TRY_SECONDS", 60.0)
    monkeypatch.setattr(cupti, "_PLAIN", PLAIN)
    (tmp_path / "tensorflow").mkdir()
    return BuildFacts(folder=tmp_path / "tensorflow", is_cuda=True, cuda_version="12.5.1")


def put(folder: Path, content: bytes) -> str:
    folder.mkdir(parents=True)
    path = folder / f"{PLAIN}.12"
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("path", "is_other"),
    [
        ("/usr/local/cuda-13.0/lib/libcupti.so.13", True),
        ("/x/libcupti.so.12", False),
        ("/x/libcupti.so.12.5.82", False),
        ("/x/libcupti.so", False),
        ("", False),
    ],
)
def test_a_version_that_is_not_the_one_wanted_is_told(path: str, is_other: bool) -> None:
    assert CuptiFacts("libcupti.so.12", path).is_other_version is is_other
    assert not CuptiFacts("libcupti.so", path).is_other_version


def test_nothing_is_found_where_there_is_nothing(build: BuildFacts) -> None:
    assert cupti_facts(build) == CuptiFacts(f"{PLAIN}.12")


def test_a_wheel_that_loads_is_found(build: BuildFacts, tmp_path: Path) -> None:
    import _ctypes

    # Any shared library will do: what is asked is whether the file loads.
    path = put(tmp_path / "nvidia" / "cuda_cupti" / "lib", Path(_ctypes.__file__).read_bytes())
    assert cupti_facts(build).found == path


@pytest.mark.parametrize("layout", ["cuda_cupti/lib", "cu12/lib"])
def test_a_file_that_does_not_load_tells_why(build: BuildFacts, tmp_path: Path, layout: str) -> None:
    path = put(tmp_path / "nvidia" / layout, b"not a library")
    assert cupti_facts(build).failure.startswith(f"{path} does not load: ")


@pytest.mark.parametrize(
    ("code", "limit_s", "why"),
    [("os.abort()", 60.0, "ended with status"), ("time.sleep(60)", 1.0, "more than 1 s")],
)
def test_a_library_that_kills_its_process_or_hangs_is_a_failure(
    build: BuildFacts, monkeypatch: pytest.MonkeyPatch, code: str, limit_s: float, why: str
) -> None:
    monkeypatch.setattr(cupti, "TRY_SECONDS", limit_s)
    monkeypatch.setattr(cupti, "_TRY", f"import os, time; {code}")
    failure = cupti_facts(build).failure
    assert failure.startswith(f"{PLAIN}.12 does not load")
    assert why in failure


def test_without_processes_nothing_is_known(build: BuildFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    for executable in ("", "/no/such/python"):
        monkeypatch.setattr(sys, "executable", executable)
        assert cupti_facts(build).found is None


def test_a_path_set_by_the_notebook_is_too_late_for_the_loader() -> None:
    now = {"LD_LIBRARY_PATH": "/set/in/a/cell", "HOME": "/root"}
    assert loader_environment(now, {"HOME": "/"}) == {"HOME": "/root"}
    assert loader_environment(now, {"LD_LIBRARY_PATH": "/a=b"}) == {"HOME": "/root", "LD_LIBRARY_PATH": "/a=b"}


def test_the_build_is_read_from_its_file() -> None:
    text = "build_info = OrderedDict([('cuda_version', '12.5.1'), ('is_cuda_build', True), ('is_rocm_build', False)])"
    facts = parse_build_info(text, folder=None)
    assert (facts.is_cuda, facts.is_rocm, facts.cuda_version) == (True, False, "12.5.1")
    assert parse_build_info("", folder=None).is_cuda is None
