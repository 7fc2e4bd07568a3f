"""The exported page: one file, and no text of a trace can end a script or start an element."""

from __future__ import annotations

import base64
import html.parser
import json
import signal
import zlib
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, space
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.show import html_page, json_safe, library, script_safe

HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!-- x", "]]>", "\u2028'\"\\"]


class Elements(html.parser.HTMLParser):
    """Collects what a browser would see as elements, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and self.scripts:
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile")
    events = [event(name, 10 * i, 5, note=name) for i, name in enumerate(HOSTILE)]
    (folder / "h.xplane.pb").write_bytes(space(plane("/host:CPU", line(HOSTILE[0], *events))))
    prof = tfprof.load(folder)
    prof.title = HOSTILE[0]
    return Path(prof.to_html(folder / "out.html")).read_text(encoding="utf-8")


def test_names_of_a_trace_add_no_element_to_the_page(hostile_page: str) -> None:
    elements = Elements(hostile_page)
    assert "img" not in [tag for tag, _ in elements.tags]
    types = [attrs["type"] for tag, attrs in elements.tags if tag == "script"]
    kinds = ("application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json", "module")
    assert types == list(kinds)


def test_the_page_names_no_address_to_fetch_from(hostile_page: str) -> None:
    for tag, attrs in Elements(hostile_page).tags:
        assert "src" not in attrs, tag
        assert tag != "link"


def test_the_state_survives_the_escaping(hostile_page: str) -> None:
    view, state, _ = Elements(hostile_page).scripts
    models = {name: model["state"] for name, model in json.loads(state)["state"].items()}
    assert models[json.loads(view)["model_id"]]["builder"] == "dashboard"
    builders = {model.get("builder") for model in models.values()}
    assert {"dashboard", "timeline", "op_table", "memory_timeline", "input_graph", None} <= builders


def test_the_page_holds_the_code_of_its_views_once_and_may_run_nothing_else(hostile_page: str) -> None:
    _, state, _ = Elements(hostile_page).scripts
    models = [model["state"] for model in json.loads(state)["state"].values()]
    assert len([model for model in models if model.get("name") == "tfprof_widgets"]) == 1
    assert not [model for model in models if "_esm" in model or model.get("_css")]
    (policy,) = (str(a["content"]) for _, a in Elements(hostile_page).tags if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy


def test_licences_go_with_the_code_in_the_page_and_in_what_a_notebook_keeps(hostile_page: str) -> None:
    notices = library.built("licenses.txt")
    assert "Mike Bostock" in notices
    assert f"<!--\n{notices}-->" in hostile_page
    source = zlib.decompress(base64.b64decode(library.views_script().source)).decode()
    assert source == f"/*!\n{notices}*/\n{library.built('views.js')}"


@pytest.mark.parametrize("text", HOSTILE)
def test_json_in_a_script_element_has_no_markup_and_the_same_value(text: str) -> None:
    written = json_safe({"name": text})
    assert "<" not in written
    assert json.loads(written) == {"name": text}


def test_code_cannot_close_its_script_element() -> None:
    assert script_safe("a = '</script>' + '<!--'") == "a = '<\\/script>' + '<\\!--'"


def test_a_hostile_title_is_text() -> None:
    page = html_page("<b>", "", {}, script="", notices="")
    assert "<title>&lt;b&gt;</title>" in page


def test_code_cannot_close_its_script_element_in_capitals_either() -> None:
    assert script_safe("a = '</SCRIPT>'") == "a = '<\\/SCRIPT>'"


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
