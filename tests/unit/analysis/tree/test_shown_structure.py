"""What the browser gets of a graph of ops: all figures, whatever is named, in the places that tfprof's trees have."""

from __future__ import annotations

import numpy as np
import pytest

from tests.structure_drawings import KINDS, N_STEPS, drawn_graph, profile_of
from tfprof_widgets.analysis import (
    FIGURES,
    ShownStructure,
    build_tree,
    compute_shown_structure,
    framework_ops,
    make_tree_options,
)
from tfprof_widgets.trace import OpGraph, make_op_graph

N_LAYERS = 5


def shown_of(graph: OpGraph, **options: int) -> ShownStructure:
    return compute_shown_structure(graph, np.arange(len(graph.ops)), **options)


def path(shown: ShownStructure, scope: int) -> str:
    parts = []
    while scope > 0:
        parts.append(shown.scopes["name"][scope])
        scope = int(shown.scopes["parent"][scope])
    return "/".join(reversed(parts))


@pytest.mark.parametrize("most_ops", [3, 10_000])
@pytest.mark.parametrize("figure", FIGURES)
def test_figures_add_up_to_those_of_the_tree_however_few_ops_are_named(figure: str, most_ops: int) -> None:
    graph = drawn_graph(N_LAYERS)
    root = build_tree(graph, "scope", make_tree_options(select=(figure,), max_depth=99)).frame.iloc[0]
    shown = shown_of(graph, most_ops=most_ops)
    assert shown.ops[figure].sum() == root[f"total_{figure}"]
    assert shown.n_ops == len(graph.ops)
    assert shown.n_named == min(most_ops, len(graph.ops))


def test_every_op_is_in_its_scope_and_names_are_the_last_parts_of_paths() -> None:
    shown = shown_of(drawn_graph(N_LAYERS))
    for name, scope in zip(shown.ops["name"], shown.ops["scope"], strict=True):
        assert name.rsplit("/", 1)[0] == path(shown, scope)
    assert shown.scopes["parent"].tolist()[0] == -1
    assert (shown.scopes["parent"].to_numpy()[1:] < np.arange(1, len(shown.scopes))).all()


def test_an_op_that_is_a_scope_of_others_is_in_itself() -> None:
    graph = make_op_graph(
        {
            "ops": {
                "name": ["a/w", "a/w/read"],
                "type": ["VariableV2", "Identity"],
                "op_types": [("VariableV2",), ("Identity",)],
                "device": ["", ""],
                "host_device": ["", ""],
                "float_ops": [0, 0],
                "shape": [(2, 3), None],
                "frame": [-1, -1],
            }
        }
    )
    shown = shown_of(graph)
    assert {path(shown, scope) for scope in shown.ops["scope"]} == {"a/w"}
    assert shown.ops["shape"].tolist() == ["2x3", ""]


def test_what_is_not_named_is_summed_by_its_outermost_scope() -> None:
    shown = shown_of(drawn_graph(N_LAYERS), most_ops=2)
    rest = shown.ops.iloc[shown.n_named :]
    assert rest["name"].tolist() == [f"{N_LAYERS * len(KINDS) - 2} ops that cost least"]
    assert [path(shown, scope) for scope in rest["scope"]] == ["model"]
    assert rest["occurrence"].sum() == N_LAYERS * len(KINDS) - 2


def test_calls_are_one_tree_and_equal_ones_are_one_row() -> None:
    graph = drawn_graph(N_LAYERS)
    shown = shown_of(graph)
    assert shown.frames["line"].tolist()[:3] == [0, 40, 8]
    assert len(shown.frames) == N_LAYERS + 3
    product = shown.ops.loc[shown.ops["name"] == "model/layer_3/block_0/MatMul"].iloc[0]
    assert shown.frames["text"][product["frame"]] == "x = model.dense_3(x)"
    assert shown_of(drawn_graph(2, with_code=False)).ops["frame"].unique().tolist() == [0]


def test_edges_are_between_named_ops_and_counted_in_the_whole_graph() -> None:
    graph = drawn_graph(N_LAYERS)
    shown = shown_of(graph)
    assert len(shown.edges) == shown.n_edges == len(graph.inputs)
    names = shown.ops["name"]
    pairs = {(names[a], names[b]) for a, b in zip(shown.edges["source"], shown.edges["op"], strict=True)}
    assert ("model/layer_0/block_0/Cast", "model/layer_1/block_0/MatMul") in pairs
    few = shown_of(graph, most_ops=3)
    assert few.n_edges == len(graph.inputs)
    assert len(few.edges) < len(graph.inputs)


def test_ops_of_the_trace_are_found_by_name_in_a_stored_graph() -> None:
    results = profile_of(drawn_graph(N_LAYERS)).run.results
    rows = framework_ops(results, results.op_graph)
    assert results.op_graph.ops["name"].to_numpy()[rows].tolist() == list(results.op_shares.name)


def test_an_empty_graph_has_a_root_and_nothing_else() -> None:
    shown = shown_of(make_op_graph({}))
    assert (len(shown.ops), len(shown.scopes), len(shown.edges), shown.n_ops) == (0, 1, 0, 0)


def test_figures_of_files_of_steps_are_per_step() -> None:
    shown = shown_of(drawn_graph(1))
    assert shown.is_per_step
    assert shown.n_steps == N_STEPS
