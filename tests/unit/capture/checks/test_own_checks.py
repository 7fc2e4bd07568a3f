"""Facts of versions, the profiler, memory, disk, counters and the page -> what `doctor()` says of them."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tfprof_widgets.capture import (
    DEFAULT_MAX_BYTES,
    EXTENSIONS,
    Check,
    FrontEndFacts,
    SessionFacts,
    cpu_memory_check,
    disk_check,
    front_end_check,
    front_end_checks,
    lowest_versions,
    missing_extensions,
    needed_packages,
    package_check,
    profiler_check,
    sampling_check,
    server_prefix,
    unknown,
    version_checks,
    warning,
)
from tfprof_widgets.capture import all_checks as machine_checks
from tfprof_widgets.trace import scratch

PYPROJECT = (Path(__file__).parents[4] / "pyproject.toml").read_text(encoding="utf-8")


def brief(check: Check) -> tuple[str, str]:
    assert (check.status == "ok") == (check.remedy == "")
    return check.status, check.remedy


class Metadata:
    """What is known on disk of a package that is installed."""

    version = "0.1.0"
    metadata: ClassVar = {"Requires-Python": ">=3.10"}

    def __init__(self, *requires: str) -> None:
        self.requires = requires


def declared() -> list[str]:
    """The requirements of pyproject.toml."""
    (block,) = re.findall(r"^dependencies = \[\n(.*?)^\]", PYPROJECT, re.MULTILINE | re.DOTALL)
    return re.findall(r'"(.+)"', block)


def test_every_requirement_has_a_lowest_version() -> None:
    found = lowest_versions(declared())
    assert {"numpy", "pandas", "protobuf", "ipywidgets", "anywidget", "bokeh", "fsspec", "tqdm"} <= found.keys()
    assert "" not in found.values()


def test_requirements_of_other_machines_and_extras_are_none() -> None:
    texts = ["a>=1.2,<3", "b; sys_platform == 'nowhere'", "c[x]>=4; extra == 'tensorflow'", "d; extra == 'dev'"]
    assert lowest_versions([*texts, "e"], extra="tensorflow") == {"a": "1.2", "c": "4", "e": ""}


def test_all_that_the_metadata_names_is_looked_at_and_what_is_too_old_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {
        "tfprof-widgets": Metadata(
            "numpy>=1.26", "tqdm>=4.60", "tensorflow>=2.16; extra == 'tensorflow'", "x; extra == 'dev'"
        ),
        "tensorflow": Metadata("keras>=3.12.0", "no requirement of today", "numpy"),
        "numpy": Metadata(),
        "tqdm": Metadata(),
    }

    def distribution(name: str) -> Metadata:
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed[name]

    installed["tqdm"].version, installed["numpy"].version = "4.20", np.__version__
    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    monkeypatch.delitem(sys.modules, "tqdm", raising=False)
    wanted = {"tensorflow": "2.16", "keras": "3.12.0", "tfprof_widgets": "", "numpy": "1.26", "tqdm": "4.60"}
    assert needed_packages() == wanted
    checks = {check.name: check for check in version_checks()}
    assert list(checks) == ["python", *wanted]
    assert checks["numpy"].status == "ok"
    assert checks["tqdm"] == Check("tqdm", "warning", "4.20; 4.60 or later is needed", 'pip install -U "tqdm>=4.60"')
    del installed["tfprof-widgets"]
    assert list(needed_packages()) == ["tensorflow", "keras", "tfprof_widgets"]


@pytest.mark.parametrize(
    ("version", "at_least", "status"),
    [
        ("2.9.1", "2.16", "warning"),
        ("2.16.0rc1", "2.16", "ok"),
        ("2.21.0", "2.16", "ok"),
        ("8.1.9", "8", "ok"),
        ("3", "3.0", "ok"),
        ("nightly", "2.16", "warning"),
        ("3.9.1", "", "ok"),
    ],
)
def test_versions_compare_by_their_numbers(version: str, at_least: str, status: str) -> None:
    assert package_check("keras", at_least, version).status == status
    assert package_check("python", at_least, running=version).status == status


def test_a_package_is_missing_old_or_newer_on_disk_than_in_memory() -> None:
    missing = package_check("tensorflow", "2.16")
    assert brief(missing) == ("warning", 'pip install -U "tensorflow>=2.16"')
    assert "opening saved profiles works without" in missing.value
    assert "restart the kernel" in package_check("tensorflow", "2.16", "2.21.0", "2.20.0").remedy
    assert package_check("bokeh", "3.4", "3.9.2") == Check("bokeh", "ok", "3.9.2")
    assert package_check("tfprof_widgets", "").status == "unknown"


@pytest.mark.parametrize(
    ("session", "status", "remedy"),
    [
        ("none", "ok", ""),
        ("ours", "warning", "tfprof.stop()"),
        ("python", "warning", "tf.profiler.experimental.stop()"),
        ("elsewhere", "warning", "tfprof.doctor()"),
        ("unknown", "unknown", "tfprof.profile("),
    ],
)
def test_a_session_that_runs_is_told_with_its_end(session: str, status: str, remedy: str) -> None:
    check = profiler_check(SessionFacts(session=session))  # type: ignore[arg-type]
    assert brief(check)[0] == status
    assert remedy in check.remedy


FRESH = SessionFacts(is_imported=True)
STARTED = replace(FRESH, is_started=True)


@pytest.mark.parametrize(
    ("facts", "status", "remedy"),
    [
        (FRESH, "warning", "%load_ext tfprof_widgets"),
        (replace(FRESH, variable="true"), "ok", ""),
        (replace(FRESH, variable="1"), "ok", ""),
        (replace(FRESH, variable="false"), "warning", '["TF_CPU_ALLOCATOR_USE_BFC"] = "true"'),
        (replace(FRESH, variable="on"), "warning", '["TF_CPU_ALLOCATOR_USE_BFC"] = "true"'),
        (replace(STARTED, recorded="all", variable="true"), "ok", ""),
        (replace(STARTED, recorded="large"), "warning", "restart the kernel"),
        (replace(STARTED, recorded="nothing", variable="true"), "warning", "restart the kernel"),
        (replace(STARTED, recorded="nothing"), "warning", "restart the kernel"),
        (replace(STARTED, variable="true"), "unknown", "restart the kernel"),
        (replace(FRESH, is_started=None), "unknown", "restart the kernel"),
    ],
)
def test_cpu_memory_is_recorded_only_from_before_the_first_op(facts: SessionFacts, status: str, remedy: str) -> None:
    check = cpu_memory_check(facts)
    assert brief(check)[0] == status
    assert remedy in check.remedy


@pytest.mark.parametrize(
    ("free_bytes", "is_memory", "status", "value"),
    [
        (24 << 30, True, "ok", "captures go to FOLDER (in memory), 24 GiB free"),
        (DEFAULT_MAX_BYTES, False, "warning", "FOLDER (on disk) has 32 MiB free; a capture may write 32 MiB"),
        (0, False, "unknown", "FOLDER (on disk) does not tell its free space"),
    ],
)
def test_room_for_captures_in_the_folder_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, is_memory: bool, status: str, value: str
) -> None:
    for name, found in (("room_for", tmp_path), ("is_memory", is_memory), ("free_bytes", free_bytes)):
        monkeypatch.setattr(scratch, name, lambda _, found=found: found)
    check = disk_check()
    assert (brief(check)[0], check.value) == (status, value.replace("FOLDER", str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_room_or_counters_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Path:
        raise FileNotFoundError("no usable one")

    monkeypatch.setattr(scratch, "room_for", lambda _: tmp_path / "gone")
    assert disk_check().value.endswith("cannot be written")
    monkeypatch.setattr(scratch, "room_for", refuse)
    assert "no usable" in disk_check().value
    assert sampling_check().status == "ok"
    monkeypatch.setattr(machine_checks, "MachineReader", refuse)
    assert "system=False" in sampling_check().remedy


def test_sizes_have_three_digits() -> None:
    sizes = [machine_checks.bytes_text(n) for n in (0, 999 << 20, 1001 << 20, 23 << 30)]
    assert sizes == ["0 MiB", "999 MiB", "0.978 GiB", "23 GiB"]


def test_values_and_remedies_are_one_line_of_printable_text() -> None:
    check = warning("x", "two\nlines\x1b[31m \u202e", "a\r\nb")
    assert check.value.isprintable()
    assert check.value.startswith("two lines")
    assert unknown("x", "y", "a\r\nb").remedy == "a b"


LAB = ("/opt/conda/bin/python3.12", "/opt/conda/bin/jupyter-lab", "--no-browser")


def kernel(
    *variables: str, parent: tuple[str, ...] = (), is_colab: bool = False, is_vscode_notebook: bool = False
) -> FrontEndFacts:
    return FrontEndFacts(True, True, frozenset(variables), is_colab, is_vscode_notebook, parent=parent)


@pytest.mark.parametrize(
    ("facts", "status", "begin"),
    [
        (FrontEndFacts(), "ok", "plain Python"),
        (FrontEndFacts(has_shell=True), "ok", "IPython in a terminal"),
        (FrontEndFacts(is_lite=True), "unknown", "JupyterLite"),
        (FrontEndFacts(is_marimo=True), "ok", "marimo"),
        (kernel("JPY_SESSION_NAME", parent=LAB), "ok", "JupyterLab:"),
        (kernel("JPY_SESSION_NAME", parent=("python", "-m", "jupyterlab")), "ok", "JupyterLab:"),
        (kernel("JPY_SESSION_NAME", parent=("/usr/bin/python", "/usr/bin/jupyter", "lab")), "ok", "JupyterLab:"),
        (kernel("JPY_SESSION_NAME", parent=("/x/bin/python", "/x/bin/jupyter-notebook")), "ok", "Notebook 7:"),
        (kernel("JPY_SESSION_NAME", parent=("/x/bin/python", "/x/bin/jupyterhub-singleuser")), "ok", "JupyterLab or"),
        (kernel("JPY_SESSION_NAME"), "ok", "JupyterLab or Notebook 7:"),
        (kernel("JPY_SESSION_NAME", is_vscode_notebook=True), "ok", "VS Code:"),
        (kernel("VSCODE_PID"), "ok", "VS Code:"),
        (kernel("VSCODE_PID", "JPY_SESSION_NAME", parent=LAB), "ok", "JupyterLab:"),
        (kernel("COLAB_RELEASE_TAG", "JPY_SESSION_NAME"), "ok", "Colab:"),
        (kernel(is_colab=True), "ok", "Colab:"),
        (kernel("VOILA_BASE_URL", parent=("/x/bin/python", "/x/bin/voila")), "ok", "Voila:"),
        (kernel(parent=("/x/bin/python", "/x/bin/jupyter-nbconvert", "--execute")), "ok", "nbconvert"),
        (kernel(parent=("/x/bin/python", "/x/bin/papermill")), "ok", "papermill"),
        (kernel("KAGGLE_KERNEL_RUN_TYPE", "JPY_SESSION_NAME"), "unknown", "Kaggle"),
        (kernel(), "unknown", "a kernel"),
    ],
)
def test_the_front_end_is_named(facts: FrontEndFacts, status: str, begin: str) -> None:
    check = front_end_check(facts)
    assert (check.status, check.value.startswith(begin)) == (status, True), check
    assert (check.status == "ok") == (check.remedy == "")


def page(facts: FrontEndFacts) -> tuple[str, str]:
    check = next(check for check in front_end_checks(facts) if check.name == "page_widgets")
    return check.status, check.remedy


def test_a_server_without_the_extensions_is_told_from_the_kernel(tmp_path: Path) -> None:
    parent = (str(tmp_path / "bin" / "python"), str(tmp_path / "bin" / "jupyter-lab"))
    (tmp_path / "share" / "jupyter").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    assert server_prefix(parent) == tmp_path
    data = tmp_path / "data"
    environ = {"JUPYTER_PATH": str(data)}
    missing = missing_extensions(parent, environ)
    assert missing is not None
    assert set(missing) <= set(EXTENSIONS)
    for name in EXTENSIONS:
        (data / "labextensions" / name).mkdir(parents=True)
    assert missing_extensions(parent, environ) == ()
    assert missing_extensions(("/no/such/bin/jupyter-lab",), environ) is None
    assert missing_extensions((), environ) is None


def test_widgets_that_the_page_cannot_draw_are_installed_beside_the_server() -> None:
    facts = FrontEndFacts(has_shell=True, has_kernel=True, variables=frozenset(["JPY_SESSION_NAME"]), parent=LAB)
    assert page(facts)[0] == "unknown"
    lacking = FrontEndFacts(has_shell=True, has_kernel=True, parent=LAB, missing=("anywidget",))
    status, remedy = page(lacking)
    assert status == "warning"
    assert remedy.startswith("/opt/conda/bin/python3.12 -m pip install ipywidgets anywidget")
    assert page(FrontEndFacts(has_shell=True, has_kernel=True, parent=LAB, missing=())) == ("ok", "")
    assert page(kernel(is_colab=True)) == ("ok", "")
    assert page(FrontEndFacts()) == ("ok", "")
