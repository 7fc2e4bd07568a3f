"""Every import of js/src goes along the edges that `tests/typescript_layers.py` allows, and none in a circle."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tests.layers import circles
from tests.typescript_layers import EDGES, JS, folder_graph, folder_of, module_graph, violations
from tools import typescript


def sources() -> dict[PurePosixPath, str]:
    return {
        PurePosixPath(path.relative_to(JS).as_posix()): path.read_text(encoding="utf-8")
        for path in sorted(JS.rglob("*"))
        if path.is_file()
    }


def test_every_file_is_code_or_a_style_sheet_in_one_unit() -> None:
    files = sources()
    assert len(files) > 100
    assert [path for path in files if folder_of(path) is None or path.suffix not in (".ts", ".css")] == []


def test_files_import_only_along_the_allowed_edges() -> None:
    assert [line for path, source in sources().items() for line in violations(path, source)] == []


def test_no_folders_import_each_other_in_a_circle() -> None:
    graph = folder_graph(sources())
    assert len(graph) > 20
    assert circles(graph) == []
    assert circles(EDGES) == []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles(module_graph(sources())) == []


@pytest.mark.parametrize("path", ["x.ts", "model/new/x.ts", "views/none/x.ts"])
def test_a_file_in_no_unit_is_found(path: str) -> None:
    assert violations(PurePosixPath(path), "") == [f"{path} is in no unit"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("model/x.ts", 'import { a } from "../draw/y";'),
        ("data/x.ts", 'export type { OpGraph } from "../model/op_graph";'),
        ("model/x.ts", "const w = window.innerWidth;"),
        ("data/x.ts", 'import { layout } from "@dagrejs/dagre";'),
        ("draw/x.ts", 'import type { Link } from "../data/link";'),
        ("model/ops.ts", "const own = new HostTables(meta, table, name);"),
        ("ui/x.ts", 'type X = typeof import("../entries/page");'),
        ("ui/x.ts", 'import "../somewhere";'),
        ("views/timeline/x.ts", 'import {\n  a,\n  b,\n} from "../op_table/op_table";'),
        ("views/timeline/x.css", '@import "../op_table/op_table.css";'),
    ],
)
def test_a_forbidden_import_is_found(path: str, source: str) -> None:
    assert len(violations(PurePosixPath(path), source)) == 1


def test_a_circle_of_folders_is_found_where_only_types_are_imported() -> None:
    planted = {
        PurePosixPath("draw/planted.ts"): 'import type { View } from "../ui/view";',
        PurePosixPath("ui/planted.ts"): 'import { Frame } from "../draw/frame";',
    }
    assert circles(folder_graph(planted)) == [{"draw", "ui"}]
    assert circles(folder_graph({**sources(), **planted})) == [{"draw", "ui"}]


def test_the_interfaces_are_those_of_the_declarations() -> None:
    assert typescript.FILE.read_text(encoding="utf-8") == typescript.interfaces(), "run `python -m tools.typescript`"


def test_a_field_has_the_type_of_its_column() -> None:
    text = typescript.interfaces()
    kernels, hlo_ops, layers = (
        text.partition(f"export interface {name}Row {{")[2].partition("\n}")[0]
        for name in ("Kernels", "HloOps", "Layers")
    )
    assert "  readonly min_time_us?: number;" in kernels
    assert "  readonly flops: number | null;" in hlo_ops
    assert '  readonly kind: "layer" | "loss" | "metrics" | "optimizer" | "input" | "other";' in layers
    assert "  readonly allocated_bytes: number | null;" in layers
    assert "rank" not in kernels
