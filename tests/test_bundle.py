"""The committed JavaScript belongs to the committed TypeScript, is small, calls nobody and is in the wheel."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "js" / "src"
STATIC = ROOT / "tfprof_widgets" / "static"
VIEWS = ROOT / "tfprof_widgets" / "show"

BUDGETS = {
    "views.js": 605_000,
    "views.css": 60_000,
    "loader.js": 3_200,
    "page.js": 2_500,
    "fallback.js": 2_500,
    "licenses.txt": 2_500,
    "source.sha256": 65,
}
"""Largest size in bytes of each built file. A page and a saved notebook hold the views and their sheet once and compressed,
the loader with every widget, and with every cell that shows a view what draws a page without a widget manager and what draws
where the widget is missing. Of the views the live one, with a chart that it paints itself, takes 24 KB."""
LARGEST_SUM = 875_000

NAMED_BUT_NEVER_FETCHED = (
    "http://www.w3.org/",  # XML namespaces
)
"""Addresses that may stand in a bundle, because they are names."""
OPENED_ON_CLICK = {"views.js": ["https://ui.perfetto.dev"]}
"""The one address that a reader may ask the browser to open in a window of its own: "Open in Perfetto".

No rule is given up by it: nothing is fetched or sent without the click, the page works as before where the address cannot
be reached, and the trace goes from window to window, so to no server. Whatever else names an address fails.
"""

LOADS_THE_BUNDLE = ("loader.js", "page.js", "views.js")
"""Each imports the bundle from the state of a model; that of a page without a widget manager is in the bundle as well."""

ADDRESS = re.compile(rb"""(?:https?:|wss?:)?//[a-zA-Z0-9][a-zA-Z0-9.-]*\.[a-zA-Z]{2,}[^\s"'`)<>]*""")
COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
EVAL = re.compile(rb"""\bnew Function\b|(?<![\w.$])(?:eval|Function)\(""")
IMPORT = re.compile(rb"""\bimport\s*\(|\bimport\s*["'{*]|(?<!["'])\bfrom\s*["'](?=[\w./@#])""")
"""A text may end in "from": only the name of a module stands right behind the quote."""


def source_hash() -> str:
    """As in js/build.mjs: path and bytes of every file under js/src, in the order of their paths."""
    digest = hashlib.sha256()
    files = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*") if path.is_file()}
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + files[name].read_bytes() + b"\0")
    return digest.hexdigest()


def addresses(text: bytes) -> list[str]:
    """Network addresses outside comments (the licences of bundled libraries name their homes)."""
    found = [match.decode() for match in ADDRESS.findall(COMMENT.sub(b"", text))]
    return [address for address in found if not address.startswith(NAMED_BUT_NEVER_FETCHED)]


def test_the_bundle_draws_each_python_view_by_its_name() -> None:
    sources = [path.read_text(encoding="utf-8") for path in VIEWS.glob("*.py")]
    kinds = {kind for text in sources for kind in re.findall(r"^class (\w+)\((?:Chart)?View\):", text, re.MULTILINE)}
    entries = {"ChartView": "", "LiveView": "live"}
    views = {entries.get(kind, re.sub(r"(?<=.)(?=[A-Z])", "_", kind).lower()) for kind in kinds} - {""}
    assert views
    assert views == {path.name for path in (SOURCE / "views").iterdir()}
    bundle = (SOURCE / "entries" / "views.ts").read_text(encoding="utf-8")
    assert views == set(re.findall(r'"\.\./views/(\w+)/\1"', bundle))
    names = {
        name: re.findall(r'^  name: "([a-z_]+)"', (SOURCE / "views" / name / f"{name}.ts").read_text(), re.M)
        for name in views
    }
    assert names == {name: [name] for name in views}


def test_the_one_sheet_has_the_styles_of_every_view() -> None:
    sheet = (SOURCE / "entries" / "views.css").read_text(encoding="utf-8")
    shared = {
        f"../{path.parent.name}/{path.name}" for name in ("colors", "styles") for path in (SOURCE / name).glob("*.css")
    }
    own = {
        f"../views/{path.stem}/{path.name}"
        for path in (SOURCE / "views").glob("*/*.css")
        if path.stem == path.parent.name
    }
    assert shared
    assert own
    assert sorted(re.findall(r'@import "(.+)";', sheet)) == sorted(shared | own)


def test_the_bundle_was_built_from_the_committed_source() -> None:
    committed = (STATIC / "source.sha256").read_text(encoding="utf-8")
    assert committed == f"{source_hash()}\n", "js/src changed: run `make js` and commit the result"


def test_what_is_built_is_within_its_budgets() -> None:
    sizes = {path.name: path.stat().st_size for path in STATIC.iterdir()}
    assert sizes.keys() == BUDGETS.keys()
    assert {name: size for name, size in sizes.items() if size > BUDGETS[name]} == {}
    assert sum(sizes.values()) <= LARGEST_SUM


@pytest.mark.parametrize("name", [name for name in BUDGETS if name != "source.sha256"])
def test_what_is_built_names_no_network_address_imports_nothing_and_evaluates_no_text(name: str) -> None:
    text = (STATIC / name).read_bytes()
    assert addresses(text) == OPENED_ON_CLICK.get(name, [])
    assert b"@import" not in text
    assert b"sourceMappingURL" not in text
    assert IMPORT.findall(COMMENT.sub(b"", text)) == ([b"import("] if name in LOADS_THE_BUNDLE else [])
    assert EVAL.findall(text) == []


def test_the_one_address_is_only_opened_by_a_click() -> None:
    users = [path for path in SOURCE.rglob("*.ts") if addresses(path.read_bytes().split(b"*/", 1)[-1])]
    assert [path.relative_to(SOURCE).as_posix() for path in users] == ["views/timeline/perfetto.ts"]
    code = users[0].read_text(encoding="utf-8")
    assert code.count("window.open(") == 1
    assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|\.src\s*=|\.href\s*=", code)


@pytest.mark.parametrize("code", [b"new Function('a', b)", b";eval(x)", b"return Function('this')()"])
def test_code_that_evaluates_text_is_found(code: bytes) -> None:
    assert EVAL.search(code)


def test_every_package_that_is_bundled_has_its_notice_which_ends_no_comment() -> None:
    packages = json.loads((SOURCE.parent / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    used = {
        f"{path.removeprefix('node_modules/')} {found['version']} ({found['license']})"
        for path, found in packages.items()
        if path and not found.get("dev")
    }
    notices = (STATIC / "licenses.txt").read_text(encoding="utf-8")
    assert used
    assert used <= set(notices.splitlines())
    for of_one in notices.split("=" * 80)[1:]:
        assert "Copyright" in of_one
        assert len(of_one) > 500
    assert "--" not in notices
    assert "*/" not in notices
