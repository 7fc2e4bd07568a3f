"""The tree of a view -> a file of pprof's format, which `pprof`, speedscope and other viewers of flame graphs open.

Source: proto/profile.proto of github.com/google/pprof.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.base.units import PS_PER_NS
from ...analysis.graph.nodes import NO_STACK
from ...analysis.graph.options import FIGURES, UNLIMITED, TreeOptions, make_tree_options
from ...analysis.graph.tree import build_tree
from ..atomic import replacing
from .messages import Tables
from .stacks import NOT_SHOWN, Stacks, own_values

if TYPE_CHECKING:
    from ...analysis.graph.options import TreeView
    from ...analysis.graph.tree import Tree
    from ...analysis.results import AnyResults
    from ...trace.trace import Trace

SAMPLE_TYPES = ("micros", "accelerator_micros", "bytes")
"""What every file has; what else `select` names comes after these."""
_UNITS = {"params": "count", "float_ops": "count", "occurrence": "count"}
_VIEWS = {"scope": "name scope", "graph": "what feeds what", "op": "op type", "code": "call stack"}
_LABELS = ("device", "op_types")
_DEEPEST = {"graph": 100}
"""A chain of ops is as long as the program, and each of its ops would repeat it: deeper ones count at the last one shown."""
_LEVEL = 6


def write_pprof(results: AnyResults, path: str | Path, view: TreeView, options: Mapping[str, Any]) -> Path:
    """Write the file, always compressed, as readers of the format expect. The same profile gives the same bytes.

    Args:
        results: of the profile.
        path: of the file.
        view: which tree.
        options: of the tree, by name.

    Raises:
        TypeError, ValueError: a view or an option that means nothing.
        TfProfError: the file cannot be written. What was at the path before is still there.
    """
    deepest = _DEEPEST.get(view, UNLIMITED)
    tree = build_tree(results.op_graph, view, make_tree_options(**{"max_depth": deepest, **options}))
    if is_unknown := view == "code" and tree.n_nodes == 1:
        # A file with nothing in it would help nobody: all costs, at one place that says what is missing.
        tree = build_tree(results.op_graph, "scope", make_tree_options(**{**options, "max_depth": 0}))
    profile = _profile(results, tree, of_root=NO_STACK if is_unknown else NOT_SHOWN)
    content = profile.SerializeToString(deterministic=True)
    target = Path(path).expanduser()
    with replacing(target, packs=False) as file:
        file.write(gzip.compress(content, _LEVEL, mtime=0))  # no time inside: the same profile gives the same bytes
    return target


def _profile(results: AnyResults, tree: Tree, *, of_root: str) -> Any:
    tables = Tables()
    profile = tables.profile
    types = _sample_types(tree.options)
    for name in types:
        unit = _UNITS.get(name, "microseconds" if name.endswith("micros") else "bytes")
        profile.sample_type.add(type=tables.text(name), unit=tables.text(unit))
    profile.default_sample_type = tables.text(_default(tree.options, types))
    tables.map_program("TensorFlow program", has_lines=tree.view == "code")
    values = np.column_stack([own_values(tree, name) for name in types])
    stacks = Stacks(tables, tree, of_root=of_root)
    labels = [(tables.text(name), _texts(tree, name)) for name in _LABELS if name in _selected(tree.options)]
    for row in np.flatnonzero(values.any(axis=1)).tolist():  # some thousand nodes, however long the capture
        sample = profile.sample.add(location_id=stacks.places(row), value=values[row].tolist())
        for key, texts in labels:
            if texts[row]:
                sample.label.add(key=key, str=tables.text(texts[row]))
    for sentence in _comments(tree):
        profile.comment.append(tables.text(sentence))
    profile.time_nanos = max(int(results.trace.origin_ns), 0)
    profile.duration_nanos = _duration_ns(results.trace)
    return profile


def _selected(options: TreeOptions) -> tuple[str, ...]:
    return options.select or ()


def _sample_types(options: TreeOptions) -> list[str]:
    """Those of every file, then what is selected besides."""
    known = (*FIGURES, "occurrence")
    return list(dict.fromkeys((*SAMPLE_TYPES, *(name for name in _selected(options) if name in known))))


def _default(options: TreeOptions, types: list[str]) -> str:
    """The first figure that is selected."""
    return next((name for name in _selected(options) if name in types), types[0])


def _texts(tree: Tree, name: str) -> list[str]:
    """A detail of each node as text."""
    return [text if isinstance(text, str) else ", ".join(map(str, text)) for text in tree.frame[name]]


def _comments(tree: Tree) -> list[str]:
    """What a reader of the file should know of its numbers."""
    graph, options = tree.graph, tree.options
    is_average = graph.counts_steps if options.average is None else options.average
    found = [f"Costs of TensorFlow ops by {_VIEWS[tree.view]}, written by tfprof_widgets."]
    if options.step >= 0:
        found.append(f"Of step {options.step}.")
    elif graph.steps:
        found.append(f"{'Averages' if is_average else 'Sums'} over {len(graph.steps)} steps.")
    if len(tree.names) < tree.n_nodes:
        found.append(f"{len(tree.names)} of {tree.n_nodes} nodes are shown; what others cost is at those above them.")
    if tree.view == "code" and graph.counts_steps and (n_missing := int((graph.ops["frame"] < 0).sum())):
        found.append(f"{n_missing} of {len(graph.ops)} ops have no known call stack and are not counted, as in tfprof.")
    return found


def _duration_ns(trace: Trace) -> int:
    """From the first start to the last end."""
    return int(trace.end_ps.max() - trace.start_ps.min()) // PS_PER_NS if trace.n_events else 0
