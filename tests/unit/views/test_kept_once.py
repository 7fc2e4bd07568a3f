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
    Embedded,
    KeptOnce,
    Library,
    Payload,
    Rows,
    Section,
    Table,
    TraceData,
    as_text,
    counters,
    embed,
    rows_within,
    shared_by,
    window_pack,
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


CUT = {"step_pieces", "iterator_calls", "kernel_runs", "counters", "occurrences", "memory"}


@pytest.fixture(scope="module")
def payload(capture_of: Callable[[str], Path]) -> Payload:
    """A real capture in small tiles, with a first pack in which little has room."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counters, "TILE_EVENTS", 1500)
        patch.setattr(payload_module, "MAX_BYTES", 60_000)
        patch.setattr("tfprof_widgets.show.payload._SAMPLED_EVENTS", 800)
        return Payload(Analysis(repeated(read_xspace(capture_of("keras_fit").read_bytes()), 5)))


def size(payload: Payload, embedded: Embedded) -> int:
    return sum(len(text) for _, text in embedded.parts)


def test_all_parts_are_embedded_where_there_is_room(payload: Payload) -> None:
    assert len(payload.keys) > 10
    amounts: tuple[Amount, ...] = ("full", 2**30)
    for amount in amounts:
        embedded = embed(payload, amount)
        assert {key for key, _ in embedded.parts} == {*payload.first, *payload.keys}
        assert (embedded.n_left_out, embedded.n_events) == (0, payload.n_events)
        for key, text in embedded.parts:
            assert zlib.decompress(base64.b64decode(text)) == zlib.decompress(payload.part(key))


@pytest.mark.parametrize("max_bytes", [1, 100_000, 150_000, 250_000, 400_000])
def test_no_more_is_embedded_than_may_be(payload: Payload, max_bytes: int) -> None:
    embedded = embed(payload, max_bytes)
    assert size(payload, embedded) <= max(max_bytes, 4 / 3 * sum(map(len, payload.first.values())))
    keys = {key for key, _ in embedded.parts} - payload.first.keys()
    assert keys <= {*payload.keys, "window"}
    assert embedded.n_left_out == len(set(payload.keys) - keys) > 0
    counts = payload.tiles.counts()
    assert embedded.n_events == sum(counts[int(key.partition(":")[2])] for key in keys if key.startswith("events:"))


def test_more_room_means_more_events_around_the_typical_steps(payload: Payload) -> None:
    some = [embed(payload, n) for n in (200_000, 250_000, 350_000)]
    n_events = [one.n_events for one in some]
    assert n_events == sorted(n_events)
    assert 0 < n_events[-1] < payload.n_events
    home, edges = payload.home_ps, payload.tiles.edges_ps
    for one in some:
        here = sorted(int(key.partition(":")[2]) for key, _ in one.parts if key.startswith("events:"))
        if here:
            assert here == list(range(here[0], here[-1] + 1))
            assert edges[here[0]] < home[1]
            assert edges[here[-1] + 1] > home[0]


def window_of(embedded: Embedded) -> tuple[list[float], dict[str, dict[str, np.ndarray]]]:
    text = dict(embedded.parts)["window"]
    meta, tables = unpack(base64.b64decode(text))
    return meta["window"], tables


def test_the_window_has_every_row_of_every_table_that_is_not_whole(payload: Payload) -> None:
    embedded = embed(payload, 250_000)
    window, tables = window_of(embedded)
    whole = is_here(payload) | {key.partition(":")[0] for key, _ in embedded.parts}
    assert CUT & set(payload.sections) - whole <= set(tables) <= CUT
    assert tables
    for name, columns in tables.items():
        section = payload.sections[name]
        everything = {c: v for c, (v, _) in section.build(slice(0, section.n_rows)).columns.items()}
        rows = rows_within(section, (window[0], window[1]))
        start = everything.get("start_ps", everything.get("time_ps"))
        inside = (start >= window[0]) & (start < window[1])
        assert set(np.flatnonzero(inside).tolist()) <= set(rows.tolist())
        assert 0 < len(rows) < section.n_rows
        for column, values in columns.items():
            if column != section.refers:
                np.testing.assert_array_equal(values, everything[column][rows], err_msg=f"{name}.{column}")


def test_references_within_the_window_point_to_the_same_rows_as_before(payload: Payload) -> None:
    span = payload.home_ps
    _, tables = unpack(window_pack([payload.sections[name] for name in ("occurrences", "memory")], span))
    for name, columns in tables.items():
        section = payload.sections[name]
        rows = rows_within(section, span)
        before = section.build(slice(0, section.n_rows)).columns[section.refers][0][rows]
        after = columns[section.refers]
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
    assert set(np.flatnonzero(held).tolist()) <= set(rows_within(section, span).tolist())


def test_the_bytes_in_use_when_a_window_begins_are_in_it(payload: Payload) -> None:
    section = payload.sections["memory"]
    table = {name: values for name, (values, _) in section.build(slice(0, section.n_rows)).columns.items()}
    time, n_freed = table["time_ps"], 0
    for begin in np.linspace(time.min(), time.max(), 50)[1:-1]:
        before = np.flatnonzero((time < begin) & (table["allocator"] == table["allocator"][0]))[-1:]
        assert set(before.tolist()) <= set(rows_within(section, (begin, begin + 1)).tolist())
        n_freed += int(table["is_free"][before].sum())
    assert n_freed > 10


def test_the_value_of_a_counter_that_holds_when_the_window_begins_is_in_it(payload: Payload) -> None:
    section, span = payload.sections["counters"], payload.home_ps
    table = {name: values for name, (values, _) in section.build(slice(0, section.n_rows)).columns.items()}
    rows = rows_within(section, span)
    for counter in np.unique(table["counter"]):
        of_it = np.flatnonzero(table["counter"] == counter)
        before = of_it[table["time_ps"][of_it] <= span[0]]
        inside = of_it[(table["time_ps"][of_it] > span[0]) & (table["time_ps"][of_it] < span[1])]
        assert set(rows.tolist()) & set(of_it.tolist()) == {*before[-1:].tolist(), *inside.tolist()}


@pytest.fixture(scope="module")
def of_steps(payload: Payload) -> Embedded:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payload_module, "_WHOLE_BYTES", 0)
        patch.setattr(payload_module, "_CUT_BYTES", 1000)
        return embed(payload, "steps")


def test_all_events_of_three_typical_steps_are_kept_and_no_others(payload: Payload, of_steps: Embedded) -> None:
    results, kept = payload.results, payload.kept_ps
    steps = results.steps.frame
    inside = (steps["start_ps"] >= kept[0]) & (steps["start_ps"] + steps["duration_ps"] <= kept[1])
    assert inside.sum() == 3
    assert results.overview.is_averaged[inside.to_numpy()].all()
    counters = [int(key.partition(":")[2]) for key, _ in of_steps.parts if key.startswith("events:")]
    start = results.trace.start_ps[payload.positions.order]
    assert of_steps.n_events == ((start >= kept[0]) & (start < kept[1])).sum()
    assert sum(payload.tiles.counts()[counters]) == of_steps.n_events < payload.n_events / 3
    assert {f"stats:{tile}" for tile in counters} <= {key for key, _ in of_steps.parts}
    assert window_of(of_steps)[0] == list(kept)


def test_the_totals_of_everything_are_kept_with_the_steps(payload: Payload, of_steps: Embedded) -> None:
    here = is_here(payload) | {key.partition(":")[0] for key, _ in of_steps.parts}
    assert set(payload.all) - here == set(window_of(of_steps)[1]) <= CUT


def test_of_steps_that_are_too_large_there_is_as_much_as_fits(
    payload: Payload, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (payload.tiles.edges_ps[0], payload.tiles.edges_ps[-1])
    monkeypatch.setattr(payload, "kept_ps", whole)
    monkeypatch.delitem(payload.__dict__, "of_steps", raising=False)
    monkeypatch.setattr(payload_module, "_WHOLE_BYTES", 0)
    monkeypatch.setattr(payload_module, "STEPS_BYTES", 250_000)
    embedded = embed(payload, "steps")
    assert size(payload, embedded) <= 250_000
    assert 0 < embedded.n_events < payload.n_events


def test_the_state_of_a_page_says_that_nobody_will_answer(payload: Payload) -> None:
    embedded = embed(payload, 250_000)
    state = embedded.state()
    assert (state["is_offline"], state["n_left_out"]) == (True, embedded.n_left_out)
    assert [tuple(part) for part in state["parts"]] == list(embedded.parts)


@pytest.fixture
def packed(payload: Payload, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that are packed."""
    found: list[str] = []
    part = payload.part
    monkeypatch.setattr(payload, "part", lambda key: (found.append(key), part(key))[1])
    return found


def test_tiles_that_do_not_fit_are_not_packed_to_find_that_out(
    payload: Payload, packed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (payload.tiles.edges_ps[0], payload.tiles.edges_ps[-1])
    monkeypatch.setattr(payload, "home_ps", whole)
    embedded = embed(payload, 200_000)
    events = [key for key in packed if key.startswith("events:")]
    n_kept = sum(key.startswith("events:") for key, _ in embedded.parts)
    assert 0 < n_kept < payload.tiles.n / 2
    assert len(events) == len(set(events)) <= n_kept + 2  # one on either side


@pytest.mark.parametrize("max_bytes", [200_000, 300_000])
@pytest.mark.parametrize("every", [2, 10**6])
def test_the_room_is_used_where_tiles_are_uneven(
    payload: Payload, max_bytes: int, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other tile, or the one in the middle, takes four times as much as the others."""
    n, part, noise = payload.tiles.n, payload.part, np.random.default_rng(0).bytes(10**6)
    low, high = payload.tiles.overlapping(payload.home_ps)

    def uneven(key: str) -> bytes:
        name, _, number = key.partition(":")
        is_heavy = name == "events" and (int(number) - (low + high) // 2) % every == 0
        return part(key) + (noise[: 3 * len(part(key))] if is_heavy else b"")

    monkeypatch.setattr(payload, "part", uneven)
    embedded = embed(payload, max_bytes)
    here = {key: len(text) for key, text in embedded.parts}
    counters = sorted(int(key.partition(":")[2]) for key in here if key.startswith("events:"))
    assert 1 <= len(counters) < n
    kinds = {key.partition(":")[0] for key in here} & {"events", "stats"}
    of_window = here.get("window", 0) / len(counters)
    left = max_bytes - size(payload, embedded)
    for tile in {counters[0] - 1, counters[-1] + 1} & {*range(n)}:
        assert left < sum(len(as_text(uneven(f"{kind}:{tile}"))) for kind in kinds) + 1.5 * of_window


def test_a_window_is_packed_once(payload: Payload, monkeypatch: pytest.MonkeyPatch) -> None:
    spans = []
    monkeypatch.setattr(
        payload_module, "window_pack", lambda cut, span: (spans.append(span), window_pack(cut, span))[1]
    )
    for max_bytes in (200_000, 250_000, 300_000, 350_000):
        spans.clear()
        embed(payload, max_bytes)
        assert 0 < len(spans) == len(set(spans)) <= 5


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
    embed(payload, 250_000)
    assert max(built, default=0) < n_rows / 100


def test_what_a_notebook_keeps_is_chosen_once_for_its_pages_too(
    payload: Payload, packed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(payload.__dict__, "of_steps", raising=False)
    first = embed(payload, "steps")
    n_packed = len(packed)
    assert embed(payload, "steps") is first
    assert len(packed) == n_packed > 0


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
