"""The exported page and the profile where nothing runs: no text of a trace is markup or ends a script."""

from __future__ import annotations

import base64
import json
import re
import signal
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nbconvert.filters.strings import clean_html

import tfprof_widgets as tfprof
from tests.browser.full_run import HOSTILE, PLAIN, write_run
from tests.builders import event, line, plane, space
from tests.html_reader import Seen
from tests.unit.export.test_report import EVIL
from tfprof_widgets.analysis import CATEGORY_LABELS, STEP_CATEGORIES, number
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.export import COLORS, Part, Subject, code, profile_html, sentence, sheet
from tfprof_widgets.show import fallback_html, html_page, json_safe, library, script_safe

KEPT = {"div", "span", "strong", "code", "table", "tr", "td"}
"""By nbconvert, as by JupyterLab."""


def widths(seen: Seen) -> list[str]:
    styles = [str(attrs.get("style")) for tag, attrs in seen.tags if tag == "div"]
    return [style.split(";")[0].removeprefix("width:") for style in styles if "background-color:" in style]


def html_of(prof: tfprof.Profile) -> str:
    return profile_html(Subject(results=prof.run.results, title=prof.title, notices=prof.notices))


@pytest.fixture(scope="module")
def prof(tmp_path_factory: pytest.TempPathFactory) -> tfprof.Profile:
    return tfprof.load(write_run(tmp_path_factory.mktemp("plain"), PLAIN))


def test_it_tells_the_verdict_what_a_step_is_made_of_and_the_top_of_the_tables(prof: tfprof.Profile) -> None:
    seen = Seen(html_of(prof))
    assert prof.overview.verdict in seen.text
    made_of = prof.overview.breakdown
    made_of = made_of[made_of["ms"] > 0].sort_values("ms", ascending=False)
    labels = dict(zip(STEP_CATEGORIES, CATEGORY_LABELS, strict=True))
    expected = [
        [f"■ {labels[row['category']]}".replace(" ", "\xa0"), number(row["ms"]), number(row["ratio"] * 100)]
        for row in made_of.to_dict("records")
    ]
    assert [row[:3] for row in seen.rows if row[0].startswith("■")] == expected
    assert widths(seen) == [f"{ratio:.2%}" for ratio in made_of["ratio"]]
    assert (f"({min(3, len(prof.advice))} of {len(prof.advice)}; all: prof.advice)" in seen.text) == bool(prof.advice)
    step_ops = prof.run.results.step_ops
    for source, frame in (("ops", step_ops), ("kernels", prof.kernels)):
        assert f"({min(5, len(frame)):,} of {len(frame):,}; all: prof.{source})" in seen.text
    top = step_ops.iloc[0]
    (row,) = (row for row in seen.rows if row[0] == top["name"] and row[1] == str(top["device"]).lower())
    assert row[2] == number(top["self_time_ms"])
    assert PLAIN.kernel in seen.text


def test_figures_are_aligned_to_the_right(prof: tfprof.Profile) -> None:
    seen = Seen(html_of(prof))
    cells = [str(attrs["style"]) for tag, attrs in seen.tags if tag == "td"]
    texts = [cell for row in seen.rows for cell in row]
    assert all("right" in style for style, text in zip(cells, texts, strict=True) if text.replace(".", "").isdigit())


def test_nothing_of_it_is_lost_where_html_is_sanitized(prof: tfprof.Profile) -> None:
    whole = html_of(prof)
    # That one shows the tags of the body that each table has, pandas' too.
    seen, kept = Seen(whole), Seen(re.sub("&lt;/?tbody&gt;", "", clean_html(whole)))
    assert {tag for tag, _ in seen.tags} <= KEPT
    assert (kept.text, kept.rows) == (seen.text, seen.rows)
    for _, attrs in seen.tags:
        style = attrs.get("style") or ""
        assert not [word for word in ("position:", "var(", "light-dark", "currentColor", "inherit") if word in style]


@pytest.mark.parametrize("text", EVIL)
def test_text_of_a_trace_stays_text(text: str) -> None:
    part = Part(heading="x", source="x", columns=["x", "y"], rows=[[code(text), sentence(text)]], n_rows=1)
    seen = Seen(sheet(text, [text], [part]))
    assert {tag for tag, _ in seen.tags} <= KEPT
    assert [len(row) for row in seen.rows] == [2, 2]


def test_a_trace_of_hostile_names_keeps_the_outline_of_a_plain_one(tmp_path: Path) -> None:
    hostile = Seen(html_of(tfprof.load(write_run(tmp_path, HOSTILE))))
    assert {tag for tag, _ in hostile.tags} <= KEPT
    assert "<img" in hostile.text


def test_every_category_of_a_step_has_a_colour() -> None:
    assert tuple(COLORS) == STEP_CATEGORIES


def test_without_steps_there_is_no_bar(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", event("x:MatMul", 0, 1)))))
    seen = Seen(html_of(tfprof.load(tmp_path)))
    assert "No steps found" in seen.text
    assert widths(seen) == []
    assert ["x", "host"] in [row[:2] for row in seen.rows]


def test_of_a_program_that_ran_out_of_memory_it_tells_what_to_do(capture_of: Callable[[str], Path]) -> None:
    prof = tfprof.load(str(capture_of("h100_oom").parents[3]))
    seen = Seen(html_of(prof))
    assert prof.memory_failure is not None
    assert prof.overview.verdict in seen.text
    assert prof.memory_failure.actions[0].words in seen.text


def test_a_comparison_of_steps_tells_what_they_are_made_of(
    prof: tfprof.Profile, capture_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfprof_widgets.display.kernel_shell", object)
    diff = tfprof.diff(prof, tfprof.load(capture_of("keras_fit")))
    seen = Seen(diff._repr_mimebundle_()["text/html"])
    for row in diff.categories.to_dict("records"):
        times = [number(row["a_ms"]), number(row["b_ms"]), f"{row['change_ms']:+.3g}"]
        told = [row["category"].replace("_", " "), row["state"], *times]
        assert (told in seen.rows) == (row["a_ms"] > 0 or row["b_ms"] > 0)


def test_a_comparison_tells_its_verdict_and_changes(
    prof: tfprof.Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfprof_widgets.display.kernel_shell", object)
    (tmp_path / "h.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", event("x:MatMul", 0, 1)))))
    diff = tfprof.diff(prof, tfprof.load(tmp_path))
    seen = Seen(diff._repr_mimebundle_()["text/html"])
    assert diff.verdict in seen.text
    top = diff.ops.iloc[0]
    expected = [top["name"], "removed", number(top["a_ms"]), "0", f"{-top['a_ms']:+.3g}"]
    assert expected in seen.rows


class Root:
    """A view, as far as what stands for it asks."""

    entry = "dashboard"

    class data:  # noqa: N801
        model_id = "a1"


def test_what_stands_for_a_view_holds_its_page_and_shows_none_of_it_where_html_is_sanitized() -> None:
    root: Any = Root()
    page = '<p title="x">&amp; </div></script>'
    whole = fallback_html("<div>plain</div>", page, root, height_px=700)
    (holder,) = (attrs for _, attrs in Seen(whole).tags if "data-page" in attrs)
    assert (holder["data-page"], holder["data-view"], holder["data-height-px"]) == (page, "dashboard a1", "700")
    cleaned = clean_html(whole)
    assert cleaned.startswith("<div><div>plain</div>")
    shown, _, hidden = cleaned.partition('<div class="lm-Widget lm-mod-hidden">')
    assert "script" not in shown
    assert hidden.startswith("&lt;script&gt;")


HOSTILE_TEXTS = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!-- x", "]]>", "\u2028'\"\\"]


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile")
    events = [event(name, 10 * i, 5, note=name) for i, name in enumerate(HOSTILE_TEXTS)]
    (folder / "h.xplane.pb").write_bytes(space(plane("/host:CPU", line(HOSTILE_TEXTS[0], *events))))
    prof = tfprof.load(folder)
    prof.title = HOSTILE_TEXTS[0]
    return Path(prof.to_html(folder / "out.html")).read_text(encoding="utf-8")


def test_names_of_a_trace_add_no_element_to_the_page_which_names_no_address_to_fetch_from(hostile_page: str) -> None:
    tags = Seen(hostile_page).tags
    assert not {"img", "link"} & {tag for tag, _ in tags}
    kinds = ["application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json", "module"]
    assert [attrs["type"] for tag, attrs in tags if tag == "script"] == kinds
    assert [tag for tag, attrs in tags if "src" in attrs] == []


def test_the_state_survives_the_escaping(hostile_page: str) -> None:
    view, state, _ = Seen(hostile_page).scripts
    models = {name: model["state"] for name, model in json.loads(state)["state"].items()}
    assert models[json.loads(view)["model_id"]]["builder"] == "dashboard"
    builders = {model.get("builder") for model in models.values()}
    assert {"dashboard", "timeline", "op_table", "memory_timeline", "input_graph", None} <= builders


def test_the_page_holds_the_code_of_its_views_once_and_may_run_nothing_else(hostile_page: str) -> None:
    _, state, _ = Seen(hostile_page).scripts
    models = [model["state"] for model in json.loads(state)["state"].values()]
    assert len([model for model in models if model.get("name") == "tfprof_widgets"]) == 1
    assert not [model for model in models if "_esm" in model or model.get("_css")]
    (policy,) = (str(a["content"]) for _, a in Seen(hostile_page).tags if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy


def test_licences_go_with_the_code_in_the_page_and_in_what_a_notebook_keeps(hostile_page: str) -> None:
    notices = library.built("licenses.txt")
    assert "Mike Bostock" in notices
    assert f"<!--\n{notices}-->" in hostile_page
    source = zlib.decompress(base64.b64decode(library.views_script().source)).decode()
    assert source == f"/*!\n{notices}*/\n{library.built('views.js')}"


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_json_in_a_script_element_has_no_markup_and_the_same_value(text: str) -> None:
    written = json_safe({"name": text})
    assert "<" not in written
    assert json.loads(written) == {"name": text}


@pytest.mark.parametrize(
    ("code", "safe"),
    [("a = '</script>' + '<!--'", "a = '<\\/script>' + '<\\!--'"), ("a = '</SCRIPT>'", "a = '<\\/SCRIPT>'")],
)
def test_code_cannot_close_its_script_element_and_a_hostile_title_is_text(code: str, safe: str) -> None:
    assert script_safe(code) == safe
    assert "<title>&lt;b&gt;</title>" in html_page("<b>", "", {}, script="", notices="")


def test_a_page_that_cannot_be_written_leaves_the_one_that_was_there(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "h.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", event("op", 0, 1)))))
    prof = tfprof.load(tmp_path)
    page = tmp_path / "page.html"
    page.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(TfProfError, match=r"page\.html cannot be written"):
            prof.to_html(page)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert page.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["h.xplane.pb", "page.html"]
