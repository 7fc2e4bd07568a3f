"""The facade: lazy, honest about what it lacks, whole or reduced, and one link for all views."""

from __future__ import annotations

import inspect
import json
import math
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.builders import Event, event, line, plane, space
from tests.cluster import Cluster, write_two_hosts
from tests.unit.test_contract import VIEWS
from tfprof_widgets.analysis import MOST, options
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.export import BarRow, bar_table
from tfprof_widgets.read import SavedProfile, open_traces
from tfprof_widgets.show import outputs, payload, widgets


@pytest.fixture
def loaded(tmp_path: Path) -> tfprof.Profile:
    steps = [
        e
        for i in range(6)
        for e in (
            event("train", 10 * i, 9, _r=1, step_num=i),
            event("a/foo:MatMul", 10 * i + 2, 4),
            event("b:Relu", 10 * i + 7, 1),
        )
    ]
    (tmp_path / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *steps))))
    return tfprof.load(tmp_path)


def test_a_pickled_profile_is_the_same_where_its_files_are_gone(loaded: tfprof.Profile, tmp_path: Path) -> None:
    told = loaded.steps, loaded.overview.verdict
    pickled = pickle.dumps(loaded)
    (tmp_path / "host.xplane.pb").unlink()
    copy = pickle.loads(pickled)
    assert copy.steps.equals(told[0])
    assert (copy.title, copy.overview.verdict) == (loaded.title, told[1])


def test_a_profile_still_being_captured_says_so() -> None:
    pending = tfprof.Profile()
    assert "still running" in repr(pending)
    with pytest.raises(tfprof.CaptureError, match="after the `with` block ends"):
        _ = pending.steps
    assert pending._repr_mimebundle_() == {"text/plain": repr(pending)}


def test_repr_is_one_line_with_the_step_time(loaded: tfprof.Profile) -> None:
    assert "\n" not in repr(loaded)
    assert "6 steps, 0.009 ms a step, 18 events" in repr(loaded)


def test_outside_a_notebook_a_display_is_text_alone(loaded: tfprof.Profile) -> None:
    bundle = loaded._repr_mimebundle_()
    assert list(bundle) == ["text/plain"]
    for expected in ("ms a step", "a/foo (MatMul, host)", "TF_CPU_ALLOCATOR_USE_BFC"):
        assert expected in bundle["text/plain"]


@pytest.mark.parametrize("broken", ["dashboard", "page", "text"])
def test_a_display_that_fails_in_a_notebook_is_text_and_says_why(
    loaded: tfprof.Profile, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no JavaScript here")

    monkeypatch.setattr("tfprof_widgets.display.kernel_shell", object)
    assert {"text/html", "application/vnd.jupyter.widget-view+json"} <= loaded._repr_mimebundle_().keys()
    if broken == "page":
        monkeypatch.setattr("tfprof_widgets.show.page.html_page", fail)
    else:
        monkeypatch.setattr(loaded, broken, fail)
    bundle = loaded._repr_mimebundle_()
    assert list(bundle) == ["text/plain"]
    assert bundle["text/plain"].endswith("the dashboard cannot be shown: RuntimeError: no JavaScript here")
    assert ("ms a step" in bundle["text/plain"]) == (broken != "text")


def test_selecting_a_step_moves_the_link_and_restricts_the_tables(loaded: tfprof.Profile) -> None:
    selection = loaded.select(step=2)
    assert loaded.link.step == 2
    assert loaded.link.time_range == selection.time_range_ns == (20_000, 29_000)
    ops = selection.ops.set_index("name")
    assert ops.loc["a/foo", "occurrences"] == 1
    assert ops.loc["a/foo", "total_self_time_us"] == 4
    assert list(selection.steps["name"]) == ["train 2"]
    assert len(selection.events) == 3


def test_selecting_part_of_an_op_counts_its_overlap(loaded: tfprof.Profile) -> None:
    ops = loaded.select(time_range=(3_000, 5_000), ops=("a/foo",)).ops.set_index("name")
    assert ops.loc["a/foo", "total_time_us"] == 2
    assert "b" not in ops.index
    assert loaded.link.selection == ("a/foo",)


def test_the_op_statistics_come_by_op_and_by_type_with_and_without_idle_time(loaded: tfprof.Profile) -> None:
    whole = loaded.select()
    assert whole.op_statistics().equals(loaded.ops)
    idle = whole.op_statistics(idle=True)
    assert set(idle["name"]) == {*loaded.ops["name"], "IDLE"}
    types = whole.op_statistics(by="type")
    assert types["n_ops"].sum() == len(loaded.ops)
    assert types["total_self_time_us"].sum() == pytest.approx(loaded.ops["total_self_time_us"].sum())
    with pytest.raises(ValueError, match="give one of op, type"):
        whole.op_statistics(by="layer")  # type: ignore[arg-type]


def test_selecting_nothing_clears_the_link(loaded: tfprof.Profile) -> None:
    loaded.select(step=1, ops=("b",))
    everything = loaded.select()
    assert (loaded.link.time_range, loaded.link.step, loaded.link.selection) == ((), -1, ())
    assert everything.ops.equals(loaded.ops)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"step": 6}, "has 6"),
        ({"step": -1}, "not a row"),
        ({"time_range": (5, 1)}, "ends before"),
        ({"step": 0, "time_range": (0, 1)}, "not both"),
    ],
)
def test_a_selection_that_means_nothing_is_refused(
    loaded: tfprof.Profile, wanted: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        loaded.select(**wanted)  # type: ignore[arg-type]
    assert loaded.link.time_range == ()


def test_a_page_holds_as_much_of_a_trace_as_it_may_and_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfprof_widgets.show.counters.TILE_EVENTS", 500)
    monkeypatch.setattr("tfprof_widgets.show.payload.MAX_BYTES", 10_000)
    steps = [
        e
        for i in range(1000)
        for e in (
            event("train", 10 * i, 9, _r=1, step_num=i),
            event("a/foo:MatMul", 10 * i + 2, i * 7919 % 997 / 150, flops=i * 7919 % 997),
        )
    ]
    (tmp_path / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *steps))))
    prof = tfprof.load(tmp_path)

    def page(**options: object) -> tuple[str, dict[str, object]]:
        text = prof.to_html(tmp_path / "out.html", **options).read_text(encoding="utf-8")  # type: ignore[arg-type]
        [saved] = re.findall(r'<script type="application/vnd.jupyter.widget-state\+json">(.*?)</script>', text)
        [data] = [m["state"] for m in json.loads(saved)["state"].values() if "parts" in m["state"]]
        return text, data

    text, data = page()
    assert data["is_offline"] is True
    assert "keeps all" not in text
    assert page(embed="full")[1]["parts"] == data["parts"]
    monkeypatch.setattr(payload, "_WHOLE_BYTES", 0)
    monkeypatch.setattr(payload, "STEPS_BYTES", 20_000)
    del prof._views.data.payload.of_steps
    text, data = page()
    assert sum(len(part) for _, part in data["parts"]) <= 20_000  # type: ignore[arg-type, attr-defined]
    assert "of 2,000 events in full" in text
    assert "keeps all" in text
    for wrong in (0, "all", None):
        with pytest.raises(ValueError, match='no size: give "steps"'):
            prof.to_html(tmp_path / "out.html", embed=wrong)  # type: ignore[arg-type]


def test_a_step_ends_where_the_next_begins_within_one_nanosecond(tmp_path: Path) -> None:
    def at(name: str, start_ps: int, duration_ps: int, **stats: int) -> Event:
        return Event(name, start_ps, duration_ps, tuple(stats.items()))

    events = [
        at("train", 0, 10_400, _r=1, step_num=0),
        at("a:A", 100, 10_300),
        at("train", 10_400, 9_600, _r=1, step_num=1),
        at("b:B", 10_400, 1_000),
    ]
    (tmp_path / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *events))))
    prof = tfprof.load(tmp_path)
    first, second = prof.select(step=0), prof.select(step=1)
    assert (first.time_range_ps, first.time_range_ns) == ((0, 10_400), (0, 11))
    assert (second.time_range_ps, second.time_range_ns) == ((10_400, 20_000), (10, 20))
    assert first.ops["name"].tolist() == ["a"]
    assert second.ops["name"].tolist() == ["b"]
    assert first.steps["name"].tolist() == ["train 0"]
    assert first.events["name"].tolist() == ["train", "a:A"]
    assert second.events["name"].tolist() == ["train", "b:B"]


def test_an_event_counts_in_a_range_it_overlaps_and_one_without_duration_where_it_lies(tmp_path: Path) -> None:
    events = [event("long", 0, 10), event("point", 5, 0), event("later", 10, 5)]
    (tmp_path / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *events))))
    prof = tfprof.load(tmp_path)

    def names(low_us: int, high_us: int) -> list[str]:
        return prof.select(time_range=(low_us * 1000, high_us * 1000)).events["name"].tolist()

    assert names(4, 6) == ["long", "point"]
    assert names(5, 10) == ["long", "point"]
    assert names(10, 11) == ["later"]
    assert names(15, 20) == []


def test_a_step_may_be_chosen_by_a_number_out_of_a_table(loaded: tfprof.Profile) -> None:
    slowest = loaded.steps.sort_values("step_time_ms")["step"].iloc[-1]
    assert isinstance(slowest, np.integer)
    loaded.select(step=slowest)
    assert type(loaded.link.step) is int
    loaded.select(time_range=(np.int64(0), np.int64(7)))
    assert loaded.link.time_range == (0, 7)


def test_what_the_profiler_warns_of_is_told_in_every_view(tmp_path: Path) -> None:
    data = space(plane("/host:CPU", line("main", event("x", 0, 1))), warnings=["dropped"] * 2, errors=["lost"])
    (tmp_path / "host.xplane.pb").write_bytes(data)
    prof = tfprof.load(tmp_path)
    assert prof.notices == ("lost", "dropped", "dropped")
    assert "! lost" in prof.text()
    assert '"lost"' in prof.dashboard().options


def test_of_notices_of_a_capture_those_of_a_lost_source_map_and_those_told_already_are_left_out(tmp_path: Path) -> None:
    data = space(plane("/host:CPU", line("main", event("x", 0, 1))), warnings=["Lost.", "Cut.", "Torn."])
    (tmp_path / "host.xplane.pb").write_bytes(data)
    opened = open_traces(tmp_path)
    assert tfprof.Profile(lambda: opened, notices=("Lost. Cut.",)).notices == ("Lost. Cut.", "Torn.")
    cut = "2 of 36 source files are shown in part: at most 256 KiB of each, 4 MiB in all."
    saved = SavedProfile(title="saved", notices=(cut, "It was cut short."))
    told = tfprof.Profile(lambda: replace(opened, saved=saved)).notices
    assert cut not in told
    assert "It was cut short." in told
    assert tfprof.Profile(notices=("n",)).notices == ("n",), "also of one without data"


def test_the_title_of_a_file_is_its_directory_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", event("x", 0, 1)))))
    monkeypatch.chdir(folder)
    prof = tfprof.load("host.xplane.pb")
    assert prof.title == "caf\\xe9"
    assert "caf" in prof.to_html(tmp_path / "out.html").read_text(encoding="utf-8")


def test_a_part_of_a_profile_is_told_in_one_line(loaded: tfprof.Profile) -> None:
    assert repr(loaded.select(step=2)) == "Selection(20,000 to 29,000 ns)"
    assert repr(loaded.select()) == "Selection(the whole capture)"
    assert repr(loaded.memory) == "MemoryProfile(0 memory events of 0 allocators)"
    assert repr(loaded.overview).startswith("Overview(6 steps: ")
    assert repr(loaded.input_pipeline).startswith("InputPipeline(0 pipelines: ")


KINDS = vars(widgets) | {"Timeline": widgets.Timeline, "Structure": options.TreeView}


@pytest.mark.parametrize("kind", [tfprof.Profile, tfprof.ProfileDiff, tfprof.Scaling])
def test_what_a_user_holds_is_composed(kind: type) -> None:
    assert kind.__bases__ == (object,)


@pytest.mark.parametrize("name", [*widgets.Dashboard.class_trait_names(is_panel=True), "dashboard"])
def test_a_method_that_gives_a_widget_tells_so(name: str) -> None:
    method = getattr(tfprof.Profile, name)
    kind = "".join(map(str.capitalize, name.split("_")))
    assert (method.__name__, method.__qualname__) == (name, f"Profile.{name}")
    assert next(iter(inspect.signature(method).parameters)) == "self"
    assert get_type_hints(method, localns=KINDS)["return"] is KINDS[kind]
    assert "." in (inspect.getdoc(method) or "")


def test_the_method_that_gives_the_widget_of_a_comparison_tells_so() -> None:
    assert get_type_hints(tfprof.ProfileDiff.dashboard, localns=vars(outputs))["return"] is outputs.DiffPanel


ROWS = (
    BarRow("a", ("1", "2"), 50.0, (40.0, 400.0)),
    BarRow("b", ("3", "4"), 100.0, (80.0, 80.0)),
    BarRow("c", ("gone",)),
)


def test_bars_are_in_proportion_and_a_line_beyond_the_room_is_cut() -> None:
    drawn = bar_table("All.", ("name", "x", "y"), ROWS, longest=100 / 1.05, notices=())
    bars = re.findall(r'style="width:([\d.]+)%;height', drawn)
    lines = re.findall(r"margin-left:([\d.]+)%;width:([\d.]+)%", drawn)
    assert [float(bar) for bar in bars] == [50, 100]
    assert [tuple(map(float, line)) for line in lines] == [(40, 60), (80, 0)]
    assert '<td colspan="3">gone</td></tr>' in drawn, "in place of the bar"
    assert drawn.count("aria-hidden") == 2
    assert not re.search("position|currentColor|var\\(", drawn), "what an untrusted notebook loses"


def test_texts_stay_texts() -> None:
    hostile = '<b>&"'
    row = BarRow(hostile, (hostile, hostile), math.nan, title=hostile)
    drawn = bar_table(hostile, ("", hostile), [row], longest=1, notices=(hostile,))
    assert "<b>" not in drawn
    assert drawn.count("&lt;b&gt;&amp;&quot;") == 7


ROOT = Path(__file__).resolve().parents[3]
ABSENT = ("tensorflow", "keras", "psutil", "pynvml", "pyarrow", "xprof", "multiprocessing", "_multiprocessing")
"""Not in Pyodide, or of no use there."""
PROGRAM = f"""
import subprocess, sys, threading
for name in {ABSENT}:
    sys.modules[name] = None
def refuse(*_, **__):
    raise OSError("no processes and no threads here")
subprocess.Popen = threading.Thread.start = refuse
from pathlib import Path
import tfprof_widgets as tfprof
source, out = map(Path, sys.argv[1:])
prof = tfprof.load(source)
tables = [prof.events, prof.steps, prof.ops, prof.kernels, prof.hlo_ops, prof.layers, prof.source_lines, prof.scopes,
    prof.workers, prof.counters, prof.memory.summary, prof.input_pipeline.iterators]
assert all(map(len, tables)), [len(table) for table in tables]
assert prof.text() and not {{"IPython", "ipywidgets", "bokeh", "ssl"}} & sys.modules.keys(), "numbers need no front end"
assert list(prof.flows)
for name in {VIEWS!r}.split():
    getattr(prof, name)()
assert prof.timeline().data.payload.first and prof.overview.verdict and prof.text()
prof.to_html(out / "page.html")
prof.to_html(out / "full.html", embed="full")
prof.to_csv(out / "tables")
for path in (prof.to_chrome_trace(out / "trace.json.gz"), prof.save(out / "run")):
    assert len(tfprof.load(path).events) == len(prof.events), path
print("done", len(prof.events))
"""


@pytest.mark.parametrize("protobuf", ["python", pytest.param("upb", marks=pytest.mark.nightly)])
def test_all_tables_views_and_files_come_without_tensorflow_processes_and_threads(
    tmp_path: Path, protobuf: str
) -> None:
    """With either implementation of protobuf: a browser's Python may have only the one in Python."""
    run = write_run(tmp_path / "in", PLAIN)
    (tmp_path / "out").mkdir()
    env = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": protobuf, "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable,
        "-W",
        "error::DeprecationWarning:tfprof_widgets",
        "-c",
        PROGRAM,
        str(run),
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("done ")


def test_the_package_holds_nothing_compiled() -> None:
    files = [
        path for path in (ROOT / "tfprof_widgets").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert {path.suffix for path in files} <= {".py", ".js", ".css", ".txt", ".sha256", ".typed", ""}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_two_hosts(tmp_path_factory.mktemp("reduced_two_hosts"))


@pytest.fixture(scope="module")
def prof(run: Path) -> Iterator[tfprof.Profile]:
    with ThreadPoolExecutor(1) as executor:
        yield tfprof.load(run, executor=executor)


@pytest.fixture(scope="module")
def whole(run: Path) -> tfprof.Profile:
    return tfprof.load(run)


def test_its_name_says_that_it_is_reduced_and_counts_the_events_of_the_files(
    prof: tfprof.Profile, whole: tfprof.Profile
) -> None:
    assert f"reduced, 2 hosts, 16 steps, 9.5 ms a step, {whole.trace.n_events} events" in repr(prof)


def test_the_summary_and_the_report_have_the_figures_of_the_whole_profile(
    prof: tfprof.Profile, whole: tfprof.Profile
) -> None:
    assert prof.notices[0].startswith("Reduced profile of 2 hosts")
    assert prof.notices[0] in prof.text()
    assert whole.overview.verdict in prof.text()
    report = prof.report()
    assert whole.overview.verdict in report
    assert "prof.memory.held_at_peak(allocator)" in report
    assert len(report.encode()) <= 20_000


def test_what_was_cut_is_told_however_many_warnings_the_traces_have(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MOST, "host_pieces", 1)
    monkeypatch.setattr("tfprof_widgets.profiled_run._MOST_WARNINGS", 0)
    with ThreadPoolExecutor(1) as executor:
        prof = tfprof.load(run, executor=executor)
    assert any("outlines" in notice for notice in prof.notices)


def test_tables_that_need_events_are_empty_files(prof: tfprof.Profile, tmp_path: Path) -> None:
    index = json.loads((prof.to_csv(tmp_path / "tables") / "index.json").read_text())["tables"]
    assert index["memory_timeline"]["n_rows"] == 0
    assert index["memory_peak"]["n_rows"] > 0


def test_a_chrome_trace_and_costs_have_what_there_is(prof: tfprof.Profile, tmp_path: Path) -> None:
    again = tfprof.load(prof.to_chrome_trace(tmp_path / "reduced.json"))
    assert again.trace.n_events == prof.trace.n_events
    assert any("Reduced profile" in text for text in again.notices)
    assert prof.to_pprof(tmp_path / "costs.pb.gz", "scope").stat().st_size > 0


@pytest.mark.parametrize("table", ["ops", "kernels", "hlo_ops", "layers", "scopes", "source_lines"])
def test_a_range_of_time_needs_one_host(table: str, prof: tfprof.Profile) -> None:
    with pytest.raises(TfProfError, match=r"a reduced profile has no single executions.*prof\.host\('worker-0'\)"):
        getattr(prof.select(time_range=(0, 1_000_000)), table)


def test_steps_of_a_range_are_known(prof: tfprof.Profile, whole: tfprof.Profile) -> None:
    mine, theirs = (one.select(time_range=(0, 15_000_000)).steps for one in (prof, whole))
    assert mine["name"].tolist() == theirs["name"].tolist()


def test_comparing_names_what_to_compare_instead(prof: tfprof.Profile, whole: tfprof.Profile) -> None:
    with pytest.raises(TfProfError, match=r"b is a reduced profile.*tfprof\.diff\(a\.host\(name\), b\.host\(name\)\)"):
        tfprof.diff(whole, prof)


def test_aligned_clocks_make_a_reduced_profile_again(prof: tfprof.Profile) -> None:
    aligned = prof.aligned()
    assert not aligned.has_events
    assert len(aligned.steps) == len(prof.steps)
    assert "reduced, 2 hosts" in repr(aligned)


SAID = "On all 3 hosts (14 % of all step time); shown for worker0001, where it costs most."


def test_what_hosts_say_is_in_the_list_the_summary_and_the_report(tmp_path: Path) -> None:
    run = Cluster(3, slow_input={1: 1.3}).draw(tmp_path)
    with ThreadPoolExecutor(1) as executor:
        prof = tfprof.load(run, executor=executor)
        (one,) = (one for one in prof.advice if one.rule == "input_bound")
        assert one.title.endswith(SAID)
        assert SAID in " ".join(prof.text().split())
        report = prof.report()
        assert SAID in report
        assert "- Look at: `prof.timeline()`; host `worker0001`; row " in report
