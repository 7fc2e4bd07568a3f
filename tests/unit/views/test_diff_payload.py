"""What a comparison sends to its view: every table in an order, capped and counted, selectable in both runs, JSON-safe."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.comparison.drawn_runs import MODEL, Run, diff_of, with_times
from tfprof_widgets.analysis import UNCHANGED, RunDiff
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.show import contents, diff_content, family, widgets

A = Run(seed=1, input_us=100, kernels={"gemm": 50.0})
B = Run(seed=2, input_us=100, kernels={"gemm": 50.0}, ops=with_times({"dense": 1.4}) | {"model/new/MatMul": 90.0})


def content_of(diff: RunDiff) -> dict[str, Any]:
    found = diff_content(diff, titles=("a", "b"), notices=(), cut=(str, str))
    return json.loads(json.dumps(found, allow_nan=False))  # type: ignore[no-any-return]


def table(content: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in content["tables"] if one["id"] == name)


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    return content_of(diff_of(A, B))


def test_step_times_and_categories_are_those_of_the_comparison(content: dict[str, Any]) -> None:
    diff = diff_of(A, B)
    assert content["step_times"]["ratio"] == diff.step_times.ratio
    assert content["step_times"]["interval"] == list(diff.step_times.interval)
    assert [one["category"] for one in content["categories"]] == diff.categories["category"].tolist()


def test_tables_without_rows_are_left_out(content: dict[str, Any]) -> None:
    assert [one["id"] for one in content["tables"]] == ["ops", "layers", "source_lines", "kernels", "iterators"]


def test_columns_of_a_table_are_equally_long_and_in_its_order(content: dict[str, Any]) -> None:
    for one in content["tables"]:
        assert {len(column) for column in one["columns"].values()} == {one["n_rows"]}
        changes = [abs(change) for change in one["columns"]["change"]]
        assert changes == sorted(changes, reverse=True)
    ops = table(content, "ops")
    assert ops["n_changed"] == sum(state not in UNCHANGED for state in ops["columns"]["state"]) > 0


def test_a_row_selects_its_op_in_the_runs_that_have_it(content: dict[str, Any]) -> None:
    columns = table(content, "ops")["columns"]
    ops = dict(zip(columns["name"], columns["ops"], strict=True))
    assert ops["model/dense/MatMul"] == [["model/dense/MatMul"], ["model/dense/MatMul"]]
    assert ops["model/new/MatMul"] == [[], ["model/new/MatMul"]]
    assert content["lone"] == [[], ["model/new/MatMul"]]


def test_a_layer_selects_all_of_its_ops(content: dict[str, Any]) -> None:
    columns = table(content, "layers")["columns"]
    chosen = next(ops for name, where, ops in zip(columns["name"], columns["where"], columns["ops"], strict=True)
                  if (name, where) == ("model/dense", "host"))  # fmt: skip
    assert [set(side) for side in chosen] == [{op for op in MODEL if op.startswith("model/dense/")}] * 2


def test_ops_that_are_called_differently_are_paired() -> None:
    renamed = {name.replace("model/", "model_1/"): us for name, us in MODEL.items()}
    content = content_of(diff_of(Run(seed=1), Run(seed=2, ops=renamed)))
    assert ["model/dense/MatMul", "model_1/dense/MatMul"] in content["pairs"]


def test_a_capped_table_keeps_what_changed_beyond_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    diff = diff_of(A, B)
    changed = diff.ops.loc[~diff.ops["state"].isin(UNCHANGED), "name"].tolist()
    monkeypatch.setattr(contents, "MOST_ROWS", len(changed) + 1)
    ops = table(content_of(diff), "ops")
    assert ops["n_rows"] == len(diff.ops) > len(ops["columns"]["name"]) == len(changed) + 1
    assert set(changed) <= set(ops["columns"]["name"])


def test_both_timelines_begin_at_a_typical_step_and_show_a_few(content: dict[str, Any]) -> None:
    alignment = content["alignment"]
    steps = [int(step) for step in alignment["step"]]
    for run, row, start in zip((A, B), steps, alignment["start_ps"], strict=True):
        assert start == run.results().steps.frame["start_ps"].iloc[row]
    step_ps = content["step_times"]["b_ms"] * 1e9
    assert 2 * step_ps < alignment["span_ps"] < 5 * step_ps


@pytest.mark.parametrize("other", [Run(seed=1, has_steps=False), Run(n_steps=0), Run(seed=1, n_steps=2)])
def test_runs_without_steps_or_events_give_a_head_and_no_false_numbers(other: Run) -> None:
    content = content_of(diff_of(A, other))
    assert content["verdict"]
    if other.n_steps == 2:
        assert content["step_times"]["interval"] == [None, None]
    else:
        assert content["step_times"] is None
        assert content["alignment"]["step"] == ["", ""]
    for one in content["tables"]:
        assert not {"slower", "faster"} & set(one["columns"]["state"])
        assert not one["is_noise_known"]


def test_runs_with_nothing_in_common_say_so() -> None:
    content = content_of(diff_of(Run(ops={"x/MatMul": 50.0}), Run(ops={"y/Conv2D": 70.0})))
    assert "No op is in both runs" in content["notices"][-1]


# ---- the widget -----------------------------------------------------------------------------------------------------


def state_of(found: tfprof.ProfileDiff) -> dict[str, Any]:
    packed = found.dashboard().data.packed
    return json.loads(zlib.decompress(base64.b64decode(packed)))  # type: ignore[no-any-return]


def test_the_widget_shows_the_timelines_of_both_profiles(tmp_path: Path) -> None:
    a, b = A.profile(tmp_path), B.profile(tmp_path)
    found = tfprof.diff(a, b)
    panel = found.dashboard()
    assert panel is found.dashboard()
    assert (panel.timeline_a, panel.timeline_b) == (a.timeline(), b.timeline())
    assert state_of(found)["verdict"] == found.verdict


def test_a_run_without_events_has_no_timeline(tmp_path: Path) -> None:
    found = tfprof.diff(A.profile(tmp_path), Run(n_steps=0).profile(tmp_path))
    assert found.dashboard().timeline_b is None
    assert "nothing to compare" in state_of(found)["verdict"]


def test_a_profile_compared_with_itself_is_said_to_be_the_same(tmp_path: Path) -> None:
    a = A.profile(tmp_path)
    assert "there is no difference" in " ".join(state_of(tfprof.diff(a, a))["notices"])


def test_closing_a_comparison_leaves_the_profiles_and_it_opens_again(tmp_path: Path) -> None:
    a, b = A.profile(tmp_path), B.profile(tmp_path)
    found = tfprof.diff(a, b)
    panel = found.dashboard()
    own = family(panel.data)
    assert panel in own
    assert not {a.timeline(), b.timeline(), a.link, b.timeline().data} & set(own)
    for widget in own:
        widget.close()
    assert a.timeline().comm is not None
    assert found.dashboard().comm is not None


def test_a_cell_run_again_closes_the_old_comparison_and_the_run_that_nothing_shows_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `%%tfprofile -o before --compare before` does each time."""
    first, second, third = (Run(seed=seed, n_steps=10).profile(tmp_path) for seed in (1, 2, 3))
    timelines = [run.timeline() for run in (first, second, third)]
    ended: list[Callable[[], None]] = []
    executions = iter(("1", "2"))
    monkeypatch.setattr(widgets, "_runs", {})
    monkeypatch.setattr(widgets, "_running", lambda: ("cell", next(executions)))
    monkeypatch.setattr(widgets, "after_the_cell", ended.append)
    panels = [tfprof.diff(first, second).dashboard(), tfprof.diff(second, third).dashboard()]
    for panel in panels:
        widgets.note_shown(panel)
    for action in ended:
        action()
    assert [panel.comm is not None for panel in panels] == [False, True]
    assert [timeline.comm is not None for timeline in timelines] == [False, True, True]


def test_the_exported_page_holds_what_fits(tmp_path: Path) -> None:
    found = tfprof.diff(A.profile(tmp_path), B.profile(tmp_path))
    page = found.to_html(tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert [text.count(f'"builder":"{name}"') for name in ("diff_panel", "timeline")] == [1, 2]
    assert text.count('"name":"tfprof_widgets"') == 1
    assert not re.search(r"""(?:src|href)=["']?https?:""", text)
    with pytest.raises(ValueError, match="is no size"):
        found.to_html(page, embed=0)
    with pytest.raises(TfProfError):
        found.to_html(tmp_path)
