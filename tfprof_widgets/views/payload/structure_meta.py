"""The graph of ops -> its part of the meta object of a pack; `js/src/model/structure.ts` reads it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...analysis.graph.options import FIGURES
from ...analysis.graph.tree import COUNTS, ShownStructure, compute_shown_structure, framework_ops
from ...analysis.results import AnyResults

_LOG = logging.getLogger(__name__)


def structure_list(results: AnyResults) -> list[dict[str, Any]]:
    """One object: columns of ops, scopes, frames and edges; or `{"problem": text}` where they could not be worked out."""
    try:
        shown = compute_shown_structure(results.op_graph, framework_ops(results, results.op_graph))
        return [_packed(shown, is_stored=results.stored_graph is not None)]
    except Exception as error:  # one view must not take the others with it
        _LOG.exception("the views by structure could not be computed")
        return [{"problem": f"{type(error).__name__}: {error}"}]


def _packed(shown: ShownStructure, *, is_stored: bool) -> dict[str, Any]:
    ops = shown.ops
    figures = {key: _numbers(ops[key]) for key in (*FIGURES, *COUNTS) if len(ops) and ops[key].to_numpy().any()}
    types, devices, shapes = (coded(ops[key]) for key in ("type", "device", "shape"))
    files = coded(shown.frames["file"])
    return {
        "names": ops["name"].tolist(),
        "types": types,
        "devices": devices,
        "shapes": shapes,
        "scope": ops["scope"].tolist(),
        "frame": ops["frame"].tolist(),
        "figures": figures,
        "scopes": {"name": shown.scopes["name"].tolist(), "parent": shown.scopes["parent"].tolist()},
        "frames": {
            "files": files,
            **{key: shown.frames[key].tolist() for key in ("line", "function", "text", "parent")},
        },
        "edges": {key: shown.edges[key].tolist() for key in ("source", "op", "n")},
        "n_ops": shown.n_ops,
        "n_named": shown.n_named,
        "n_edges": shown.n_edges,
        "n_steps": shown.n_steps,
        "of_framework_op": shown.of_framework_op.tolist(),
        "is_stored": is_stored,
        "is_per_step": shown.is_per_step,
        "no_code": "" if len(shown.frames) > 1 else _why_no_code(is_stored=is_stored),
        "no_edges": "" if shown.n_edges else _why_no_edges(is_stored=is_stored),
    }


def _why_no_code(*, is_stored: bool) -> str:
    if is_stored:
        return (
            "no call stacks were stored in the file. tfprof writes them with its op log, from a graph built in Python."
        )
    return "no call stacks were noted during the capture. They are noted where the profiled code builds its graphs:"


def _why_no_edges(*, is_stored: bool) -> str:
    if is_stored:
        return "the file names ops and what they cost, not what feeds them. A graph beside it says more:"
    return (
        "no graph of the program was noted during the capture. It is noted where the profiled code builds its graphs:"
    )


def coded(texts: pd.Series | Sequence[str]) -> dict[str, Any]:
    """Texts that repeat -> each once, and its number for each row."""
    codes, known = pd.factorize(np.asarray(texts, object))
    return {"texts": [str(text) for text in known], "codes": codes.tolist()}


def _numbers(values: pd.Series) -> list[Any]:
    """Whole where they are, else to a thousandth."""
    numbers = values.to_numpy()
    if np.issubdtype(numbers.dtype, np.integer):
        return numbers.tolist()
    rounded = np.round(numbers.astype(np.float64), 3)
    return [int(value) if value == int(value) else value for value in rounded.tolist()]
