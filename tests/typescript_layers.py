"""The folders of js/src as a table of allowed edges -> what one file imports against them, and the circles of all files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

JS = Path(__file__).resolve().parent.parent / "js" / "src"

EDGES: dict[str, set[str]] = {
    "styles": set(),
    "data": set(),
    "model": {"data"},
    "draw": {"data", "model"},
    "ui": {"data", "model", "draw"},
    "view": {"data", "model", "draw", "ui", "styles"},
    "entries": {"data", "model", "draw", "ui", "styles", "view"},
}
"""Unit -> units it may import besides its own folder. Each folder of views/ is a `view` and may not import another one."""

BARRED: dict[str, set[str]] = {"draw": {"data/link.ts", "data/page.ts", "data/store.ts", "data/widget.ts"}}
"""Unit -> files of those units that it may not import: a painter is given what it draws."""

PACKAGES: dict[str, set[str]] = {"model": {"@dagrejs/dagre", "d3-hierarchy"}}
"""Unit -> packages it may import; none where it is not named."""

PAGE_GLOBALS: dict[str, tuple[str, ...]] = {
    "data": ("document",),
    "model": ("document", "window"),
    "draw": ("document", "window"),
}
"""Unit -> names of the page that it may not touch: a model has no page, a painter is given what it draws on."""

HOSTS = (
    "data/",
    "ui/view.ts",
    "ui/host_bar.ts",
    "views/dashboard/",
    "views/overview_panel/",
    "views/timeline/",
    "views/worker_chart/",
)
"""Where a host is chosen or is the subject: a card of advice, a track, a row of hosts. All others draw what the store gives."""

HOST_FILTERS = re.compile(r"\blink\.host\b|\bsetHost\b|\bview\.whole\b|\bHostTables\b|\bofAllHosts\b")


class Import(NamedTuple):
    """One import of a file: the line it stands in, and what it names."""

    line: int
    target: str


def folder_of(path: PurePosixPath) -> str | None:
    """The folder of a file that rules are about, such as "ui", "model" or "views/op_table"; None for one in no unit.

    A folder of views/ counts where it has the entry of its name.
    """
    top, *inner = path.parts[:-1] or ("",)
    if top == "views":
        is_view = len(inner) == 1 and (JS / "views" / inner[0] / f"{inner[0]}.ts").is_file()
        return f"views/{inner[0]}" if is_view else None
    folder = "/".join((top, *inner))
    return folder if folder in EDGES else None


def unit_of(folder: str) -> str:
    """The row of the table for a folder."""
    return "view" if folder.startswith("views/") else folder


COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRINGS = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`""", re.DOTALL)
COMMENTS_AND_STRINGS = re.compile(f"{STRINGS.pattern}|({COMMENTS.pattern})", re.DOTALL)
IMPORTS = re.compile(
    r"""
    ^\s*(?:import|export)\s[^;"'=()]*?\bfrom\s*["'](?P<named>[^"']+)["']
    | ^\s*(?:import|@import)\s*["'](?P<bare>[^"']+)["']
    | \bimport\(\s*["'](?P<later>[^"']+)["']
    """,
    re.MULTILINE | re.VERBOSE,
)


def imports(source: str) -> Iterator[Import]:
    """Every import, re-export and `@import` of a TypeScript file or a style sheet; comments are no code."""
    code = COMMENTS_AND_STRINGS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]) if match[1] else match[0], source)
    for match in IMPORTS.finditer(code):
        target = match["named"] or match["bare"] or match["later"]
        line = code.count("\n", 0, match.start("named" if match["named"] else "bare" if match["bare"] else "later")) + 1
        yield Import(line, target)


def resolved(path: PurePosixPath, target: str) -> PurePosixPath:
    """The file that a relative import of the file at `path` names."""
    parts: list[str] = []
    for part in (path.parent / target).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    file = PurePosixPath(*parts)
    return file if file.suffix == ".css" else file.with_suffix(".ts")


def violations(path: PurePosixPath, source: str) -> list[str]:
    """What one file, at `path` under js/src, imports or touches against the tables."""
    folder = folder_of(path)
    if folder is None:
        return [f"{path} is in no unit"]
    unit = unit_of(folder)
    found = []
    for line, target in imports(source):
        if target.startswith("."):
            file = resolved(path, target)
            other = folder_of(file)
            is_allowed = other == folder or (other is not None and unit_of(other) in EDGES[unit])
            if not is_allowed or str(file) in BARRED.get(unit, ()):
                found.append(f"{path}:{line}: {folder} must not import {file}")
        elif not any(target == name or target.startswith(f"{name}/") for name in PACKAGES.get(unit, ())):
            found.append(f"{path}:{line}: {folder} must not import {target}")
    bare = COMMENTS_AND_STRINGS.sub(" ", source)
    if not str(path).startswith(HOSTS):
        found += [f"{path}: {folder} filters by host: {match[0]}" for match in HOST_FILTERS.finditer(bare)]
    return found + [f"{path}: {folder} touches {name}" for name in PAGE_GLOBALS.get(unit, ()) if touches(bare, name)]


def touches(code: str, name: str) -> bool:
    """Whether code uses the global `name` without declaring it as a variable, parameter, field or accessor of its own."""
    is_declared = re.search(rf"\b(?:const|let|get)\s+{name}\b|[({{,;]\s*(?:readonly\s+)?{name}\??\s*:", code)
    return re.search(rf"(?<!\.)\b{name}\b", code) is not None and is_declared is None


def folder_graph(sources: Mapping[PurePosixPath, str]) -> dict[str, set[str]]:
    """Folder -> other folders that its files import, be it types alone."""
    graph: dict[str, set[str]] = {}
    for path, source in sources.items():
        folder = str(folder_of(path))
        targets = (resolved(path, target) for _, target in imports(source) if target.startswith("."))
        graph.setdefault(folder, set()).update({str(folder_of(target)) for target in targets} - {folder})
    return graph


def module_graph(sources: Mapping[PurePosixPath, str]) -> dict[str, set[str]]:
    """File -> files that it imports, be it types alone."""
    return {
        str(path): {str(resolved(path, target)) for _, target in imports(source) if target.startswith(".")}
        for path, source in sources.items()
    }
