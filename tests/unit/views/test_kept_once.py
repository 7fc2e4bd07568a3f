"""What a saved notebook or an exported page holds: each profile once, no more than it may, nothing dangling."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
import pytest

from tests.builders import write_steps
from tests.fake_shell import FakeShell
from tests.packs import is_here, unpack
from tests.unit.views.repeated import repeated
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.loading import load
from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import (
    PART_BYTES,
    Amount,
    KeptOnce,
    Library,
    Payload,
    Rows,
    Section,
    Table,
    TraceData,
    counters,
    shared_by,
)
from tfprof_widgets.show import payload as payload_module


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> FakeShell:
    """Of a kernel that has shown nothing yet."""
    return FakeShell().install(monkeypatch)


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """What front ends, and so notebooks, have of the state of each model since it was made."""
    found: dict[str, dict[str, Any]] = {}
    send = KeptOnce._send

    def record(model: KeptOnce, message: dict[str, Any], buffers: Any = None) -> None:
        if message.get("method") == "update":
            found.setdefault(model.model_id, {}).update(message["state"])
        send(model, message, buffers)

    monkeypatch.setattr(KeptOnce, "_send", record)
    return found


@pytest.fixture
def prof(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return load(write_steps(tmp_path_factory.mktemp("run")))


def state_of(model: KeptOnce, saved: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {**model.get_state(), **saved.get(model.model_id, {})}


def is_whole(model: KeptOnce, saved: dict[str, dict[str, Any]]) -> bool:
    state = state_of(model, saved)
    return all(state[name] == getattr(model, name) for name in model.large)


def in_cell(shell: FakeShell, number: int, show: Any) -> None:
    shell.message = {
        "header": {"msg_type": "execute_request", "msg_id": str(number)},
        "metadata": {"cellId": str(number)},
    }
    show._repr_mimebundle_()
    shell.end_cell()


def test_what_the_page_of_an_output_holds_leaves_the_state_and_stays_in_python(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    in_cell(shell, 1, prof)
    models = shared_by(prof.dashboard())
    assert sorted(type(model).__name__ for model in models) == ["Library", "Library", "TraceData"]
    (page,) = [one["text/html"] for one in shell.published if 'data-page="' in one["text/html"]]
    for model in models:
        assert [state_of(model, saved)[name] for name in model.large] == [
            type(getattr(model, name))() for name in model.large
        ]
        assert model.model_id in page
        assert not isinstance(model, Library) or model.source in page
        # A front end that asks the kernel gets everything.
        assert model.get_state()[model.large[0]] == getattr(model, model.large[0]) != []


def test_a_view_without_a_page_keeps_the_state_whole_whatever_comes_first(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    in_cell(shell, 1, prof)
    in_cell(shell, 2, prof.timeline())
    shared = shared_by(prof.timeline())
    assert len(shared) == 2
    assert all(is_whole(model, saved) for model in shared)
    in_cell(shell, 3, prof)
    assert all(is_whole(model, saved) for model in shared)


def test_a_page_that_could_not_be_made_takes_nothing_out(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prof, "_page", lambda *_: 1 / 0)
    in_cell(shell, 1, prof)
    assert not any('data-page="' in one["text/html"] for one in shell.published)
    assert all(is_whole(model, saved) for model in shared_by(prof.dashboard()))


def test_a_cell_that_runs_again_shows_whole_models_until_its_page_is_there(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    in_cell(shell, 1, prof)
    prof._repr_mimebundle_()
    models = shared_by(prof.dashboard())
    assert all(is_whole(model, saved) for model in models)
    shell.end_cell()
    assert not any(is_whole(model, saved) for model in models)


def test_the_state_of_a_page_is_whole_although_that_of_the_notebook_is_not(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]], tmp_path: Any
) -> None:
    in_cell(shell, 1, prof)
    text = prof.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    (data,) = [model for model in shared_by(prof.dashboard()) if isinstance(model, TraceData)]
    assert re.search(r'"parts":\[\["first:0","[\w+/]{100}', text)
    assert not is_whole(data, saved)


@pytest.mark.parametrize("is_in_same_cell", [True, False])
def test_what_a_box_shows_is_whole_whichever_cell_shows_the_box(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]], is_in_same_cell: bool
) -> None:
    if not is_in_same_cell:
        in_cell(shell, 1, prof)
    box = ipywidgets.HBox([ipywidgets.VBox([prof.dashboard()])])
    in_cell(shell, 2, prof if is_in_same_cell else box)
    assert all(is_whole(model, saved) for model in shared_by(prof.dashboard()))
    in_cell(shell, 3, prof)
    assert all(is_whole(model, saved) for model in shared_by(prof.dashboard()))


def test_a_view_that_an_output_widget_takes_is_whole(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    out = ipywidgets.Output()
    out.msg_id = "1"
    in_cell(shell, 1, prof)
    out.msg_id = ""
    assert all(is_whole(model, saved) for model in shared_by(prof.dashboard()))


def test_a_front_end_that_lost_the_page_gets_everything(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    in_cell(shell, 1, prof)
    for model in shared_by(prof.dashboard()):
        model._handle_custom_msg({"kind": "whole?"}, [])
        assert is_whole(model, saved)


Parts = dict[str, str]


CUT = {"step_pieces", "iterator_calls", "kernel_runs", "counters", "occurrences", "memory"}


@pytest.fixture(scope="module")
def payload(capture_of: Callable[[str], Path]) -> Payload:
    """A real capture in small tiles, with a first pack in which little has room."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counters, "TILE_EVENTS", 1500)
        patch.setattr(payload_module, "MAX_BYTES", 60_000)
        patch.setattr("tfprof_widgets.show.payload._SAMPLED_EVENTS", 800)
        return Payload(Analysis(repeated(read_xspace(capture_of("keras_fit").read_bytes()), 5)))


def test_all_parts_are_embedded_where_that_is_asked_for_or_all_is_little(
    payload: Payload, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(payload.keys) > 10
    monkeypatch.delitem(payload.__dict__, "of_steps", raising=False)
    monkeypatch.setattr(payload_module, "_WHOLE_BYTES", 2**30)
    amounts: tuple[Amount, ...] = ("full", "steps")
    for amount in amounts:
        embedded = payload.embedded(amount)
        assert embedded.keys() == {*payload.first, *payload.keys}
        assert payload.n_events_in(embedded) == payload.n_events
        for key, text in embedded.items():
            assert zlib.decompress(base64.b64decode(text)) == zlib.decompress(payload.part(key))
    monkeypatch.delitem(payload.__dict__, "of_steps")


def size(embedded: Parts) -> int:
    return sum(map(len, embedded.values()))


def window_of(embedded: Parts) -> tuple[list[float], dict[str, dict[str, np.ndarray]]]:
    meta, tables = unpack(base64.b64decode(embedded["window"]))
    return meta["window"], tables


def test_references_within_the_window_point_to_the_same_rows_as_before(payload: Payload) -> None:
    span = payload.home_ps
    for name in ("occurrences", "memory"):
        section = payload.sections[name]
        rows, columns = section.rows_within(span), section.cut(span).columns
        before = section.build(slice(0, section.n_rows)).columns[section.refers][0][rows]
        after = columns[section.refers][0]
        assert after.max(initial=-1) < len(rows)
        is_kept = after >= 0
        np.testing.assert_array_equal(rows[after[is_kept]], before[is_kept])
        assert not np.isin(before[~is_kept], rows).any()
        assert is_kept.any()


def test_memory_that_is_held_in_a_window_is_in_it_however_old(payload: Payload) -> None:
    section, span = payload.sections["memory"], payload.home_ps
    table = {name: values for name, (values, _) in section.build(slice(0, section.n_rows)).columns.items()}
    time, freed = table["time_ps"], table["freed_at"]
    held = (table["is_free"] == 0) & (time < span[1]) & np.where(freed >= 0, time[freed] > span[0], True)
    assert (time[held] < span[0]).any()
    assert set(np.flatnonzero(held).tolist()) <= set(section.rows_within(span).tolist())


def test_the_bytes_in_use_when_a_window_begins_are_in_it(payload: Payload) -> None:
    section = payload.sections["memory"]
    table = {name: values for name, (values, _) in section.build(slice(0, section.n_rows)).columns.items()}
    time, n_freed = table["time_ps"], 0
    for begin in np.linspace(time.min(), time.max(), 50)[1:-1]:
        before = np.flatnonzero((time < begin) & (table["allocator"] == table["allocator"][0]))[-1:]
        assert set(before.tolist()) <= set(section.rows_within((begin, begin + 1)).tolist())
        n_freed += int(table["is_free"][before].sum())
    assert n_freed > 10


def test_the_value_of_a_counter_that_holds_when_the_window_begins_is_in_it(payload: Payload) -> None:
    section, span = payload.sections["counters"], payload.home_ps
    table = {name: values for name, (values, _) in section.build(slice(0, section.n_rows)).columns.items()}
    rows = section.rows_within(span)
    for counter in np.unique(table["counter"]):
        of_it = np.flatnonzero(table["counter"] == counter)
        before = of_it[table["time_ps"][of_it] <= span[0]]
        inside = of_it[(table["time_ps"][of_it] > span[0]) & (table["time_ps"][of_it] < span[1])]
        assert set(rows.tolist()) & set(of_it.tolist()) == {*before[-1:].tolist(), *inside.tolist()}


def of_steps_in(payload: Payload, **limits: int) -> Parts:
    """What a page keeps where all is too much, and tables are cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(payload.__dict__, "of_steps", raising=False)
        for name, value in {"_WHOLE_BYTES": 0, "_CUT_BYTES": 4000, **limits}.items():
            patch.setattr(payload_module, name, value)
        return Payload.of_steps.func(payload)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def of_steps(payload: Payload) -> Parts:
    return of_steps_in(payload)


def test_the_window_has_every_row_of_every_table_that_is_not_whole(payload: Payload, of_steps: Parts) -> None:
    window, tables = window_of(of_steps)
    here = is_here(payload) | {key.partition(":")[0] for key in of_steps}
    assert set() < set(payload.all) - here == set(tables) <= CUT
    for name, columns in tables.items():
        section = payload.sections[name]
        everything = {c: v for c, (v, _) in section.build(slice(0, section.n_rows)).columns.items()}
        rows = section.rows_within((window[0], window[1]))
        start = everything.get("start_ps", everything.get("time_ps"))
        inside = (start >= window[0]) & (start < window[1])
        assert set(np.flatnonzero(inside).tolist()) <= set(rows.tolist())
        assert 0 < len(rows) < section.n_rows
        for column, values in columns.items():
            if column != section.refers:
                np.testing.assert_array_equal(values, everything[column][rows], err_msg=f"{name}.{column}")


def test_all_events_of_three_typical_steps_are_kept_and_no_others(payload: Payload, of_steps: Parts) -> None:
    results, kept = payload.results, payload.kept_ps
    steps = results.steps.frame
    inside = (steps["start_ps"] >= kept[0]) & (steps["start_ps"] + steps["duration_ps"] <= kept[1])
    assert inside.sum() == 3
    assert results.overview.is_averaged[inside.to_numpy()].all()
    counters = [int(key.partition(":")[2]) for key in of_steps if key.startswith("events:")]
    start = results.trace.start_ps[payload.positions.order]
    n_events = payload.n_events_in(of_steps)
    assert n_events == ((start >= kept[0]) & (start < kept[1])).sum()
    assert sum(payload.tiles.counts[counters]) == n_events < payload.n_events / 3
    assert {f"stats:{tile}" for tile in counters} <= of_steps.keys()
    assert window_of(of_steps)[0] == list(kept)


@pytest.mark.parametrize("room", [1, 100_000, 150_000, 250_000, 400_000])
def test_of_steps_that_are_too_large_there_is_as_much_as_fits(payload: Payload, room: int) -> None:
    whole = (payload.tiles.edges_ps[0], payload.tiles.edges_ps[-1])
    packed: list[str] = []
    part = payload.part
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payload, "kept_ps", whole)
        patch.setattr(payload, "part", lambda key: (packed.append(key), part(key))[1])
        embedded = of_steps_in(payload, STEPS_BYTES=room)
    assert size(embedded) <= max(room, 4 / 3 * sum(map(len, payload.first.values())))
    assert payload.n_events_in(embedded) < payload.n_events
    assert (payload.n_events_in(embedded) > 0) is (room > 1)
    assert len(packed) == len(set(packed))
    assert room > 1 or {*packed} == {*payload.first}, "what cannot fit is not packed to find that out"


def test_where_typical_steps_have_too_many_rows_the_middle_of_them_is_kept(payload: Payload) -> None:
    begin, end = payload.kept_ps
    n_bytes = sum(
        one.row_bytes * len(one.rows_within(payload.kept_ps)) for one in payload.sections.values() if one.interval
    )
    narrow, _ = window_of(of_steps_in(payload, _WINDOW_BYTES=n_bytes // 2))
    assert narrow == pytest.approx([begin + 0.375 * (end - begin), end - 0.375 * (end - begin)])


def test_of_a_table_that_is_too_large_no_whole_part_is_built(payload: Payload, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def rows(wanted: Rows) -> Table:
        values = np.random.default_rng(0).random(len(range(n_rows)[wanted]))
        built.append(len(values))
        return Table({"value": (values, "f8")})

    n_rows = 1_000_000
    large = Section("large", n_rows, rows, row_bytes=8)
    assert large.n_parts == 2
    monkeypatch.setitem(payload.all, "large", large)
    of_steps_in(payload, STEPS_BYTES=250_000)
    assert max(built, default=0) < n_rows / 100


def test_rows_of_a_list_are_made_once_however_often_their_part_is_asked_for() -> None:
    built: list[tuple[int, int | None]] = []

    def rows(wanted: Any) -> list[int]:
        built.append((wanted.start, wanted.stop))
        return list(range(25)[wanted])

    section = Section("kernels", 25, rows, row_bytes=(PART_BYTES - 2**16) // 10, is_list=True)
    parts = [section.part(k) for k in (0, 1, 2, 0, 1, 2)]
    assert [unpack(part)[0]["kernels"] for part in parts[:3]] == [[*range(10)], [*range(10, 20)], [*range(20, 25)]]
    assert parts[:3] == parts[3:]
    assert built == [(0, 10), (10, 20), (20, None)]
