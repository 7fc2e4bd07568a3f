"""Which function of the user's the input spends its time in: named as the notebook names it, and only where it is certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.builders import event, line, plane, session, trace
from tests.unit.analysis.input.iterator_drawings import ROOT, call
from tfprof_widgets.analysis import Analysis, MappedFunction, Run, mapped_function
from tfprof_widgets.trace import SourceMap, empty_source_map

CELL = "/tmp/ipykernel_17/3813533853.py"
TEXT = "\n".join(f"line_{i}()" for i in range(1, 20))


@dataclass(frozen=True)
class Mapped:
    """A function of a dataset, the line of its ops and what these are."""

    name: str
    line: int
    ops: Sequence[str] = ("PyFunc", "FloorMod")


def noted(*functions: Mapped, title: str = "Cell [4]") -> SourceMap:
    """What a capture noted of datasets with these functions, all in one cell."""
    empty = empty_source_map()
    ops = [
        {"graph": graph, "op": kind, "type": kind, "frame": graph}
        for graph, one in enumerate(functions)
        for kind in one.ops
    ]
    frames = [{"parent": -1, "file": 0, "line": one.line, "function": one.name} for one in functions]
    graphs = [{"graph": f"Dataset_map_{one.name}", "file": -1, "line": 0, "function": ""} for one in functions]
    return SourceMap(
        ops=type(empty.ops)(ops),
        frames=type(empty.frames)(frames),
        files=type(empty.files)([{"file": CELL, "title": title, "is_user": True, "text": TEXT}]),
        layers=empty.layers,
        functions=type(empty.functions)(graphs),
        samples=empty.samples,
        facts=empty.facts,
    )


def waiting(source_map: SourceMap | None, *, ran: Sequence[str] = ("PyFunc", "FloorMod")) -> Analysis:
    """Six steps of 10 ms that wait 8 ms for a map whose function runs these ops."""
    events = []
    for i in range(6):
        at = 10_000.0 * i
        events += [
            event("train", at, 10_000, _r=1, step_num=i),
            event("IteratorGetNext:IteratorGetNext", at, 8_000),
            call(ROOT, at, 8_000, 1),
            call(f"{ROOT}::Map", at + 1, 7_998, 2, 1),
            *(event(f"{kind}:{kind}", at + 10 + 2_000 * k, 1_900 - k) for k, kind in enumerate(ran)),
            event("net/conv/Conv2D:Conv2D", at + 8_000, 2_000),
        ]
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=60_000)), source_map)


def found(*functions: Mapped, ran: Sequence[str] = ("PyFunc", "FloorMod"), title: str = "Cell [4]") -> tuple[str, str]:
    """Name and place; empty where none is told."""
    one = mapped_function(Run(waiting(noted(*functions, title=title), ran=ran)))
    return ("", "") if one is None else (one.name, one.place)


def test_a_cell_is_called_what_the_notebook_shows_and_not_the_name_of_its_file() -> None:
    results = waiting(noted(Mapped("load", 7)))
    assert mapped_function(Run(results)) == MappedFunction("load", "Cell [4]:7", 7)
    assert "load (Cell [4]:7)" in results.advice[0].fix.words
    assert "3813533853" not in f"{results.advice[0].fix}{results.advice[0].title}"


def test_a_file_is_called_by_its_name() -> None:
    assert found(Mapped("load", 7), title="src/train.py") == ("load", "train.py:7")
    assert found(Mapped("load", 7), title="") == ("load", "3813533853.py:7")


def test_of_two_datasets_whose_functions_have_the_same_ops_none_is_named() -> None:
    assert found(Mapped("slow", 3), Mapped("fast", 9)) == ("", "")
    assert "the mapped function" in waiting(noted(Mapped("slow", 3), Mapped("fast", 9))).advice[0].fix.words


def test_two_datasets_with_one_function_leave_no_doubt() -> None:
    assert found(Mapped("load", 3), Mapped("load", 3)) == ("load", "Cell [4]:3")


def test_an_op_that_one_function_has_names_it() -> None:
    assert found(Mapped("augment", 3, ("PyFunc", "Mul")), Mapped("load", 9, ("FloorMod",))) == ("augment", "Cell [4]:3")


def test_nothing_is_named_where_nobody_noted_it() -> None:
    assert mapped_function(Run(waiting(None))) is None
    assert found(Mapped("load", 7, ("Mul",))) == ("", "")
