"""TensorFlow's own tfprof on real nets: the same nodes in the same order, the same numbers, the same text, option by option."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.unit.analysis.tree.option_cases import CASES, COUNTED_TWICE, WHOLE, Options, file_name
from tfprof_widgets.analysis import FIGURES, Tree, TreeOptions, TreeView, build_tree, make_tree_options
from tfprof_widgets.export import tree_text
from tfprof_widgets.read import Messages, read_profile_proto, read_run_metadata
from tfprof_widgets.trace import OpGraph

_FIGURES = (
    "exec_micros",
    "accelerator_exec_micros",
    "cpu_exec_micros",
    "requested_bytes",
    "peak_bytes",
    "residual_bytes",
)
_FIGURES += ("output_bytes", "parameters", "float_ops")
_OF_OP = dict(zip(_FIGURES, (2, 17, 18, 3, 24, 25, 26, 4, 13), strict=True)) | {"run_count": 21}
_OF_OP |= dict(zip((f"total_{name}" for name in _FIGURES), (6, 19, 20, 7, 27, 28, 29, 8, 14), strict=True))
_OF_OP |= {"total_run_count": 22, "total_definition_count": 23}
_OF_MANY = dict(zip(_FIGURES, (2, 12, 13, 3, 16, 17, 18, 4, 5), strict=True))
_OF_MANY |= dict(zip((f"total_{name}" for name in _FIGURES), (6, 14, 15, 7, 19, 20, 21, 8, 9), strict=True))

# Children are bytes: protobuf refuses to parse a chain of a hundred messages.
_MESSAGES = Messages(
    "tests.tfprof_output",
    f"""
Dim: size 1 int64
Shape: dim 2 Dim repeated, unknown_rank 3 bool
SlotShape: key 1 int32, value 2 Shape
One: name 1 string, devices 10 string repeated, children 12 bytes repeated, input_shapes 16 SlotShape repeated,
    {", ".join(f"{name} {number} int64" for name, number in _OF_OP.items())}
Many: name 1 string, graph_nodes 10 One repeated, children 11 bytes repeated,
    {", ".join(f"{name} {number} int64" for name, number in _OF_MANY.items())}
""",
)


@dataclass(frozen=True)
class Row:
    """A node; figures in the order of `FIGURES`."""

    name: str
    depth: int
    own: tuple[int, ...]
    total: tuple[int, ...]
    runs: tuple[int, ...]
    """Own runs; in the scope and graph views total runs and total number of ops; in the others number of ops."""
    device: str
    input_shapes: Any
    ops: tuple[str, ...]
    """In the op and code views the names of the ops."""


def tfprof_rows(view: TreeView, content: bytes) -> list[Row]:
    """The nodes down first, the root before them."""
    return list(_rows(view, content))


def _rows(view: TreeView, content: bytes) -> Iterator[Row]:
    message_class = _MESSAGES["One" if view in ("scope", "graph") else "Many"]
    waiting = [(0, content)]
    while waiting:
        depth, raw = waiting.pop()
        node = message_class.FromString(raw)
        own = tuple(getattr(node, name) for name in _FIGURES)
        total = tuple(getattr(node, f"total_{name}") for name in _FIGURES)
        if view in ("scope", "graph"):
            shapes = {entry.key: _shape(entry.value) for entry in node.input_shapes}
            runs = (node.run_count, node.total_run_count, node.total_definition_count)
            ops: tuple[str, ...] = ()
            device = "|".join(node.devices)
        else:
            runs = (sum(one.run_count for one in node.graph_nodes), len(node.graph_nodes))
            shapes = {}
            ops = tuple(one.name for one in node.graph_nodes)
            device = "|".join(sorted({name for one in node.graph_nodes for name in one.devices}))
        yield Row(node.name, depth, own, total, runs, device, tuple(value for _, value in sorted(shapes.items())), ops)
        waiting += [(depth + 1, child) for child in reversed(node.children)]


def _shape(shape: Any) -> tuple[int, ...] | None:
    return None if shape.unknown_rank else tuple(dim.size for dim in shape.dim)


assert len(_FIGURES) == len(FIGURES)


pytestmark = pytest.mark.tensorflow
NETS = ("dense", "conv", "rnn")
FOR_BOTH_DOORS = ("whole", "step 3", "step 7", "types two", "types own", "types devices", "displayed only", "by bytes")
"""What the options do with a graph does not depend on where it came from; these see all of its tables."""
TELLING = {"accelerator": "conv", "Conv": "conv", "gpu": "conv", "while": "rnn", "occurrence": "rnn"}
"""The net in which options with this word leave something out."""


def net_of(view: TreeView, name: str) -> str:
    """The net that `make test` looks at with a case; over the cases of an option and its views all nets come up."""
    words = f"{name} {CASES[view][name]}"
    turn = list(CASES).index(view) + list(CASES[view]).index(name)
    return next((net for word, net in TELLING.items() if word in words), NETS[turn % len(NETS)])


def is_seldom(net: str, view: TreeView, name: str) -> bool:
    """Whether a case is for `make nightly`, which looks at all nets with all of them."""
    return net != net_of(view, name) and name not in FOR_BOTH_DOORS


EVERY_CASE = [
    pytest.param(net, view, name, id=f"{net}-{view}-{name}", marks=[pytest.mark.nightly] * is_seldom(net, view, name))
    for net in NETS
    for view in CASES
    for name in CASES[view]
]
SCOPE_HELP = "scope: The nodes in the model graph are organized by their names, which is hierarchical like filesystem."
GRAPH_HELP = "graph: The nodes in the model graph are organized by their operation input and output."
Folders = Callable[[str], Path]


def from_profile(folder: Path) -> OpGraph:
    """The graph by the file that tfprof writes."""
    return read_profile_proto((folder / "profile.context").read_bytes())


def from_run_metadata(folder: Path, files: str = "step-*.pb") -> OpGraph:
    """The graph by what tfprof is given: RunMetadata by step, the graph and the log."""
    steps: defaultdict[int, bytes] = defaultdict(bytes)
    for path in sorted(folder.glob(files), key=lambda path: int(path.stem.split("-")[2])):
        steps[int(path.stem.split("-")[1])] += path.read_bytes()  # messages one behind the other are one merged
    graph, log = ((folder / name).read_bytes() for name in ("graph.pb", "op_log.pb"))
    return read_run_metadata(steps, graph=graph, op_log=log)[1]


DOORS = {"profile": from_profile, "run metadata": from_run_metadata}


@pytest.fixture(scope="session")
def graph_of(tfprof_folder: Folders) -> Callable[[str, str], OpGraph]:
    """`graph_of(net, door)`, read once a session."""
    return cache(lambda net, door: DOORS[door](tfprof_folder(net)))


def asked(view: TreeView, name: str) -> TreeOptions:
    options: Options = WHOLE | CASES[view][name]
    return make_tree_options(**options)


def rows_of(tree: Tree) -> list[Row]:
    """Our tree as what tfprof returns."""
    frame = replace(tree, options=replace(tree.options, select=None)).frame
    is_multi = tree.view in ("op", "code")
    counts = ["run_count", "occurrence"] if is_multi else ["run_count", "total_run_count", "total_occurrence"]
    names = tree.graph.ops["name"].tolist()
    nothing: list[Any] = [()] * len(frame)
    columns = (
        frame["name"].tolist(),
        frame["depth"].tolist(),
        frame[list(FIGURES)].to_numpy().tolist(),
        frame[[f"total_{name}" for name in FIGURES]].to_numpy().tolist(),
        frame[counts].to_numpy().tolist(),
        frame["device"].tolist(),
        nothing if is_multi else frame["input_shapes"].tolist(),
        [tuple(names[op] for op in ops) for ops in tree.ops_by_row] if is_multi else nothing,
    )
    return [
        Row(*(tuple(part) if isinstance(part, list) else part for part in row)) for row in zip(*columns, strict=True)
    ]


def expected_rows(folder: Path, view: TreeView, name: str) -> list[Row]:
    return tfprof_rows(view, (folder / view / f"{file_name(name)}.pb").read_bytes())


@pytest.mark.parametrize(("net", "view", "name"), EVERY_CASE)
def test_every_option_gives_the_nodes_numbers_and_text_of_tfprof(
    net: str, view: TreeView, name: str, tfprof_folder: Folders, graph_of: Callable[[str, str], OpGraph]
) -> None:
    options = asked(view, name)
    tree = build_tree(graph_of(net, "profile"), view, options)
    assert rows_of(tree) == expected_rows(tfprof_folder(net), view, name)
    text = (tfprof_folder(net) / view / f"{file_name(name)}.txt").read_text()
    if view == "graph":  # tfprof explains it by the sentence for the scope view
        assert text.startswith(f"\nDoc:\n{SCOPE_HELP}\n")
        text = text.replace(SCOPE_HELP, GRAPH_HELP, 1)
    assert tree_text(tree, options) == text


@pytest.mark.parametrize("view", CASES)
@pytest.mark.parametrize("net", NETS)
def test_run_metadata_gives_the_same_as_the_profile_made_of_it(
    net: str, view: TreeView, tfprof_folder: Folders, graph_of: Callable[[str, str], OpGraph]
) -> None:
    graph = graph_of(net, "run metadata")
    different = []
    for name in FOR_BOTH_DOORS:
        found = rows_of(build_tree(graph, view, asked(view, name)))
        expected = expected_rows(tfprof_folder(net), view, name)
        # Input shapes are those of the output that feeds the input, not always of the first; see `input_shapes`.
        if [replace(row, input_shapes=()) for row in found] != [replace(row, input_shapes=()) for row in expected]:
            different.append(name)
    assert different == []


@pytest.mark.parametrize("view", CASES)
@pytest.mark.parametrize("net", NETS)
def test_one_run_gives_what_the_function_profile_gives(net: str, view: TreeView, tfprof_folder: Folders) -> None:
    folder = tfprof_folder(net)
    found = rows_of(build_tree(from_run_metadata(folder, "step-0-0.pb"), view, asked(view, "whole")))
    expected = tfprof_rows(view, (folder / "once" / f"{view}.pb").read_bytes())
    assert len(found) > 20
    assert [replace(row, input_shapes=()) for row in found] == [replace(row, input_shapes=()) for row in expected]


def test_run_metadata_knows_the_outputs_and_control_edges_that_tfprof_mistakes(
    tfprof_folder: Folders, graph_of: Callable[[str, str], OpGraph]
) -> None:
    rows = {row.name: row for row in expected_rows(tfprof_folder("dense"), "scope", "whole")}
    tree = build_tree(graph_of("dense", "run metadata"), "scope", make_tree_options())
    found = dict(zip(tree.names, tree.frame["input_shapes"], strict=True))
    assert found["mul"] == rows["mul"].input_shapes  # of two outputs of one op, alike in shape
    n_inputs = {name: (len(found[name]), len(rows[name].input_shapes)) for name in found}
    assert n_inputs["train/Adam"][0] == 0 < n_inputs["train/Adam"][1]  # it has control edges only
    assert all(ours <= theirs for ours, theirs in n_inputs.values())


@pytest.mark.parametrize("view", ["op", "code"])
def test_an_op_that_two_expressions_match_counts_once(
    view: TreeView, tfprof_folder: Folders, graph_of: Callable[[str, str], OpGraph]
) -> None:
    options = make_tree_options(**WHOLE | COUNTED_TWICE)
    found = rows_of(build_tree(graph_of("rnn", "profile"), view, options))
    expected = expected_rows(tfprof_folder("rnn"), view, "counted twice")
    assert [row.name for row in found] == [row.name for row in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert theirs.total == tuple(2 * figure for figure in ours.total)
    assert found[0].total[0] > 0


@pytest.mark.parametrize("net", NETS)
def test_the_cases_are_not_vacuous(net: str, graph_of: Callable[[str, str], OpGraph]) -> None:
    graph = graph_of(net, "profile")
    assert graph.steps == [0, 3, 7, 12]
    assert len(graph.runs) > len(graph.runs["op"].unique()), "some ops ran in several steps"
    assert graph.runs["n_runs"].max() >= (5 if net == "rnn" else 2)
    assert bool(graph.times["is_accelerator"].any()) == (net == "conv")
    for view, cases in CASES.items():
        whole = build_tree(graph, view, asked(view, "whole"))
        assert len(whole.names) == whole.n_nodes
        common = [name for name in cases if not is_seldom(net, view, name)]
        shown = {name: len(build_tree(graph, view, asked(view, name)).names) for name in common}
        n_filtered = sum(1 < count < whole.n_nodes for count in shown.values())
        assert n_filtered >= 8, (view, shown)
