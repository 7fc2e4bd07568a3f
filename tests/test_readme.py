"""README, CONTRIBUTING, CHANGELOG and the site's pages: their code runs, and the names, targets and files in them exist."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

import tfprof_widgets as tfprof
from tests.captures import committed
from tests.documents import PAGES, PREPARED, ROOT, WORKERS, Told, cells_of, links, run_cells
from tests.unit.capture.remote.processes import TrainingProcess
from tfprof_widgets.capture import DEFAULT_MAX_BYTES, DEFAULT_MAX_SECONDS, LONGEST_SESSION_S
from tfprof_widgets.notebook import TfprofMagics
from tfprof_widgets.profiles import Profile
from tfprof_widgets.trace import KEPT_BYTES, KEPT_S

README = (ROOT / "README.md").read_text(encoding="utf-8")
LONG_RUNS = (ROOT / "docs/recipes/long_runs.md").read_text(encoding="utf-8")
ON_SITE = tuple(str(path.relative_to(ROOT)) for path in PAGES)
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", *ON_SITE)
SHOWN = "h100_cnn_input"
"""The profile that pages of the site call `prof` where they make none."""
PROBE = "[len(prof.steps), getattr(globals().get('callback'), 'profile', prof).steps['name'].tolist()]"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[Told]]]:
    """What the cells of the README and of each page of the site did, all in one process."""
    folder = tmp_path_factory.mktemp("documents")
    committed.unpack("jax_marked", folder / "jax_logs")
    opened = f"import tfprof_widgets as tfprof\nprof = tfprof.load({str(committed.unpack(SHOWN, folder / SHOWN))!r})"
    # The extension first, as the README has it: memory of the CPU is recorded from the first op on.
    extension, *others = cells_of(README)
    pages = {"README.md": [extension, PREPARED, *others]}
    for path in PAGES:
        cells = cells_of(path.read_text(encoding="utf-8"))
        pages |= {str(path.relative_to(ROOT)): [PREPARED, opened, *cells]} if cells else {}
    processes = [TrainingProcess("tfprof") for _ in WORKERS]
    try:
        for told, process in zip(WORKERS, processes, strict=True):
            assert any(told in cell for cells in pages.values() for cell in cells)
            pages = {name: [cell.replace(told, process.address) for cell in cells] for name, cells in pages.items()}
        yield run_cells(pages, PROBE, cwd=folder)
    finally:
        for process in processes:
            process.end()


@pytest.mark.tensorflow
def test_the_code_of_the_readme_captures_what_it_says(told: dict[str, list[Told]]) -> None:
    cells = told["README.md"]
    assert [one.value and one.value[0] for one in cells] == [None] * 2 + [80, 40]


@pytest.mark.tensorflow
def test_the_code_of_each_page_runs_from_top_to_bottom(told: dict[str, list[Told]]) -> None:
    assert len(told) > 20
    for name, cells in told.items():
        assert [one.error for one in cells] == ["None"] * len(cells), name


def test_options_that_long_runs_names_are_those_of_a_capture() -> None:
    named = set(re.findall(r"(?:`|profile\()([a-z_]+)=", LONG_RUNS))
    assert {"steps", "every", "every_seconds", "max_seconds", "max_bytes"} <= named
    assert named <= set(inspect.signature(tfprof.profile).parameters)


def test_the_default_bounds_are_told_as_they_are() -> None:
    seconds, n_bytes = f"{DEFAULT_MAX_SECONDS:g} s", f"{DEFAULT_MAX_BYTES >> 20} MiB"
    for text in (LONG_RUNS, tfprof.profile.__doc__ or ""):
        assert seconds in text
        assert n_bytes in text
    for text in (LONG_RUNS, tfprof.recover.__doc__ or ""):
        assert f"after {LONGEST_SESSION_S:g} s" in text
        assert f"{KEPT_S // 86_400} days" in text
        assert f"{KEPT_BYTES >> 30} GiB" in text
    options = " ".join(str(TfprofMagics.tfprofile.__doc__).split())
    assert f"(default: {DEFAULT_MAX_SECONDS:g})" in options
    assert f"(default: {n_bytes})" in options


@pytest.mark.parametrize("document", DOCUMENTS)
def test_names_that_are_spoken_of_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for name in re.findall(r"\btfprof\.(\w+)(?!\w*\.json)", text):
        assert hasattr(tfprof, name), f"tfprof.{name}"
    for name in re.findall(r"\bprof\.(\w+)", text):
        assert hasattr(Profile, name), f"prof.{name}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_targets_and_files_that_are_spoken_of_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE)) <= targets
    if document not in ON_SITE:  # where some pages are made at its build, see test_site.py
        for link, _anchor in links(text):
            assert (ROOT / link).exists(), link
