"""The committed JavaScript belongs to the committed TypeScript, is small, calls nobody and is in the wheel."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "js" / "src"
STATIC = ROOT / "tfprof_widgets" / "static"
VIEWS = ROOT / "tfprof_widgets" / "views" / "widgets"

BUDGETS_KIB = {
    "dashboard": 52,
    "diff_panel": 90,
    "hlo_table": 100,
    "hosts": 24,
    "input_graph": 130,
    "kernel_table": 100,
    "layer_table": 95,
    "loader": 4,
    "memory_timeline": 124,
    "op_table": 100,
    "overview_panel": 72,
    "scope_icicle": 68,
    "source_view": 76,
    "standalone": 16,
    "step_chart": 58,
    "tabulator": 180,
    "timeline": 264,
    "tree_view": 160,
    "worker_chart": 84,
}
"""Largest size of a module and its styles: all of it is in every saved notebook that shows such a view."""

NAMED_BUT_NEVER_FETCHED = (
    "http://www.w3.org/",  # XML namespaces
)
"""Addresses that may stand in a bundle, because they are names."""
OPENED_ON_CLICK = {"timeline": ["https://ui.perfetto.dev"]}
"""Of one bundle the one address that a reader may ask the browser to open in a window of its own: "Open in Perfetto".

No rule is given up by it: nothing is fetched or sent without the click, the page works as before where the address cannot
be reached, and the trace goes from window to window, so to no server. Whatever else names an address fails.
"""

TABLES = (
    "diff_panel",
    "hlo_table",
    "input_graph",
    "kernel_table",
    "layer_table",
    "memory_timeline",
    "op_table",
    "timeline",
)
LOADS_MODULES = {entry: [b"import("] for entry in ("loader", "standalone", *TABLES)}
"""The host of an exported page loads the modules that stand in that page, views with tables the shared library."""

ADDRESS = re.compile(rb"""(?:https?:|wss?:)?//[a-zA-Z0-9][a-zA-Z0-9.-]*\.[a-zA-Z]{2,}[^\s"'`)<>]*""")
COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
IMPORT = re.compile(rb"""\bimport\s*\(|\bimport\s*["'{*]|(?<!["'])\bfrom\s*["']""")


def entries() -> list[str]:
    return sorted(path.stem for path in STATIC.glob("*.js"))


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


def test_every_python_view_has_an_entry_of_its_name() -> None:
    declared = {
        path.stem: re.findall(r'^    entry = "(\w+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in VIEWS.glob("*.py")
    }
    views = {name: entry for name, entry in declared.items() if entry}
    assert views
    for name, entry in views.items():
        assert entry == [name]
        assert (SOURCE / "views" / name / f"{name}.ts").is_file()
        assert (STATIC / f"{name}.js").is_file()


def test_every_entry_has_a_budget() -> None:
    assert entries() == sorted(BUDGETS_KIB)


@pytest.mark.parametrize("entry", sorted(BUDGETS_KIB))
def test_bundle_was_built_from_the_committed_source(entry: str) -> None:
    first_line = (STATIC / f"{entry}.js").read_text(encoding="utf-8").split("\n", 1)[0]
    assert first_line == f"/* source sha256:{source_hash()} */", "js/src changed: run `make js` and commit the result"


@pytest.mark.parametrize("entry", sorted(BUDGETS_KIB))
def test_bundle_is_within_its_budget(entry: str) -> None:
    text = (STATIC / f"{entry}.js").read_bytes() + (STATIC / f"{entry}.css").read_bytes()
    assert len(text) <= BUDGETS_KIB[entry] * 1024


@pytest.mark.parametrize("entry", sorted(BUDGETS_KIB))
def test_bundle_names_no_network_address_and_imports_nothing(entry: str) -> None:
    for name, known in ((f"{entry}.js", OPENED_ON_CLICK.get(entry, [])), (f"{entry}.css", [])):
        text = (STATIC / name).read_bytes()
        assert addresses(text) == known
        assert b"@import" not in text
        assert b"sourceMappingURL" not in text
    imports = IMPORT.findall(COMMENT.sub(b"", (STATIC / f"{entry}.js").read_bytes()))
    assert imports == LOADS_MODULES.get(entry, [])


def test_the_one_address_is_only_opened_by_a_click() -> None:
    users = [path for path in SOURCE.rglob("*.ts") if addresses(path.read_bytes().split(b"*/", 1)[-1])]
    assert [path.relative_to(SOURCE).as_posix() for path in users] == ["views/timeline/perfetto.ts"]
    code = users[0].read_text(encoding="utf-8")
    assert code.count("window.open(") == 1
    assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|\.src\s*=|\.href\s*=", code)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'fetch("https://cdn.example.org/x.js")', ["https://cdn.example.org/x.js"]),
        (b'new WebSocket("wss://example.org")', ["wss://example.org"]),
        (b'el.src="//cdn.example.org/x.js"', ["//cdn.example.org/x.js"]),
        (b'e.createElementNS("http://www.w3.org/2000/svg","g")', []),
        (b"/*! (c) MIT, https://example.org/licence */a()", []),
    ],
)
def test_addresses_are_found_outside_comments(text: bytes, expected: list[str]) -> None:
    assert addresses(text) == expected


def test_wheel_holds_every_bundle_and_no_source(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    for path in STATIC.iterdir():
        assert held[f"tfprof_widgets/static/{path.name}"] == path.read_bytes()
    assert not [name for name in held if name.endswith(".ts") or name.startswith("tests/")]
    assert [name for name in held if name.endswith("licenses/LICENSE")]
