"""The part of a payload that holds the graph of ops: where it travels, and what a failure of it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.browser.drawings import large_space, linked_space
from tests.packs import unpack
from tests.structure_drawings import KINDS, drawn_graph, profile_of
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import TreeView, build_payload, lists, structure_list

from .received import receive


def test_it_travels_with_the_figures_that_are_known() -> None:
    (meta,) = receive(build_payload(profile_of(drawn_graph(2)).run.results)).meta["structure"]
    assert len(meta["names"]) == meta["n_ops"] == 2 * len(KINDS)
    assert set(meta["figures"]) >= {"micros", "params", "float_ops", "output_bytes"}
    assert "residual_bytes" not in meta["figures"]


def test_the_first_paint_does_not_wait_for_it() -> None:
    results = Analysis(read_xspace(large_space()))
    payload = build_payload(results)
    assert "structure" not in payload.is_here
    assert "op_graph" not in results.__dict__
    (meta,) = unpack(payload.part("structure:0"))[0]["structure"]
    assert {"hay/Relu", "needle/Neg"} <= set(meta["names"])


def test_names_are_those_by_which_other_views_select() -> None:
    results = Analysis(read_xspace(linked_space()))
    (meta,) = structure_list(results)
    linked = [meta["names"][row] for row in meta["of_framework_op"] if row >= 0]
    assert {"model/first/MatMul", "model/second/Conv2D"} <= set(linked)


def test_a_failure_is_said_in_its_own_view(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no luck")

    monkeypatch.setattr(lists, "compute_shown_structure", fail)
    assert structure_list(Analysis(read_xspace(linked_space()))) == [{"problem": "ValueError: no luck"}]


def test_a_view_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(linked_space())
    prof = tfprof.load(file)
    assert '"view": "graph"' in prof.tree_view("graph").options
    assert '"view": "hlo"' in prof.tree_view("hlo").options
    assert isinstance(prof.tree_view(), TreeView)
    with pytest.raises(ValueError, match="'layers' is no view of a tree"):
        prof.tree_view("layers")  # type: ignore[arg-type]
