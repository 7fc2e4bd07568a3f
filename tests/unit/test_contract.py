"""The public surface beside the columns of tables: names, values, views and exports that notebooks rely on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

import tfprof_widgets as tfprof

VIEWS = """timeline memory_timeline op_table input_graph step_chart overview_panel kernel_table copy_table
    roofline_chart hlo_table layer_table source_view scope_icicle tree_view worker_chart dashboard"""
ARGUMENTS = "steps every system logdir max_seconds max_bytes every_seconds detail"


@pytest.fixture(scope="module", params=["keras_fit", "xla_fit", "v100"])
def prof(request: pytest.FixtureRequest, capture_of: Callable[[str], Path]) -> tfprof.Profile:
    return tfprof.load(capture_of(request.param))


def test_capture_facts_of_a_loaded_trace(prof: tfprof.Profile) -> None:
    assert prof.capture is None
    assert prof.cost is None
    assert prof.notices == ()
    assert prof.system.empty


def test_the_link_starts_with_nothing_selected(prof: tfprof.Profile) -> None:
    assert (prof.link.time_range, prof.link.selection, prof.link.hover, prof.link.step) == ((), (), "", -1)


def test_every_view_is_one_widget_on_the_one_link(prof: tfprof.Profile) -> None:
    for name in VIEWS.split():
        view = getattr(prof, name)()
        assert isinstance(view, ipywidgets.DOMWidget), name
        assert view.link is prof.link, name
        assert getattr(prof, name)() is view, name


def test_out(prof: tfprof.Profile, tmp_path: Path) -> None:
    page = prof.to_html(tmp_path / "new folder" / "page.html")
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    assert "\n" not in repr(prof)
    assert 10 < len(prof.text().splitlines()) < 60


@pytest.mark.parametrize("function", [tfprof.profile, tfprof.ProfileCallback])
def test_what_a_capture_takes(function: Callable[..., Any]) -> None:
    assert " ".join(inspect.signature(function).parameters) == ARGUMENTS


def test_a_step_is_selected_by_its_row_or_by_its_name(prof: tfprof.Profile) -> None:
    name = str(prof.steps["name"].iloc[-1])
    try:
        assert prof.select(step=name).steps.equals(prof.select(step=len(prof.steps) - 1).steps)
        assert prof.link.step == len(prof.steps) - 1
        with pytest.raises(
            ValueError, match=f"not a row of `steps`, which has {len(prof.steps)}, or give a name, such as '{name}'"
        ):
            prof.select(step=len(prof.steps))
        with pytest.raises(
            ValueError, match=f"no step is called 'train'; the profile has .*{prof.steps['name'].iloc[0]}"
        ):
            prof.select(step="train")
    finally:
        prof.select()
