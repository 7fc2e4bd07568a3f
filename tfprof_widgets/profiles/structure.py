"""Structure: the costs of one profile by structure, as tables, text, a widget and a pprof file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.tree.tree_options import TreeView as View
    from .run import Run


class Structure:
    """The costs of a run by name scope, by graph, by op type and by call stack."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def tree(self, /, view: View = "scope", **options: Any) -> pd.DataFrame:
        """The cost of the ops as a tree: the nodes, numbers and order of TensorFlow's first profiler, tfprof.

        Times are microseconds (`micros` is accelerator and CPU together), sizes bytes. Of old files they are averages over
        the steps in which an op ran, of captures sums of self times over all of it; `step` and `average` say otherwise. A
        `step` is a row of `steps` in a capture, and the step's own number in old files. It is of the whole profile: `select`
        does not narrow it.

        Args:
            view: `"scope"` by name scope, `"graph"` by what feeds what, `"op"` by op type, `"code"` by Python call stack.
            options: those of tfprof, see `TreeOptions`: `max_depth`, `min_micros` and other limits, `order_by`, `select`,
                `account_type_regexes` and those of names, `account_displayed_op_only`, `step`, `average`.

        Returns:
            One row per node, down first, row 0 the root with the totals: `name`, `depth`, `parent` (row; -1 of the root),
            `op`, then each figure of the node itself and, as `total_...`, with all below it; see `Tree.frame`. In the op
            view a row's `parent` is the one before it, and its totals are of all op types from it on. A profile without
            ops gives the root alone.

        Raises:
            TypeError, ValueError: a view or an option that means nothing; the message names it.
        """
        from ..analysis.tree.tree import build_tree
        from ..analysis.tree.tree_options import make_tree_options

        return build_tree(self._run.results.op_graph, view, make_tree_options(**options)).frame

    def tree_text(self, /, view: View = "scope", **options: Any) -> str:
        """The same as the text that tfprof printed: an explanation, a legend, and one line per node, indented by depth.

        Without `select` a line has the times: `dense/MatMul (12us/84.19ms, 0us/0us, 12us/84.19ms)`, of the node itself and
        with all below it, together, on the accelerator and on the CPU. Without `max_depth` it goes 100 levels deep, and its
        last line says of how many nodes it shows how many: each line is indented by its depth.

        Raises:
            TypeError, ValueError: as of `tree`.
        """
        from ..analysis.tree.tree import build_tree
        from ..analysis.tree.tree_options import make_tree_options
        from ..export.tree_text import TEXT_DEPTH, depth_note, tree_text

        chosen = make_tree_options(**{"max_depth": TEXT_DEPTH, **options} if view != "op" else options)
        tree = build_tree(self._run.results.op_graph, view, chosen)
        return tree_text(tree, chosen) + ("" if "max_depth" in options else depth_note(tree))

    def to_pprof(self, /, path: str | Path, view: View = "code", **options: Any) -> Path:
        """Write the costs as a file of pprof's format (`profile.proto`, compressed), which `pprof`, speedscope and other
        viewers of flame graphs open.

        Each sample is a node of `tree(view, **options)` with `micros`, `accelerator_micros` (both in microseconds) and `bytes`,
        and what else `select` names; the first figure that it names, else `micros`, is the one that viewers show first.
        The sums are the totals of the tree's root: what options hide counts at what is shown around it. Times are whole
        microseconds, rounded such that every total is less than 1 off and that of the root not at all but for its own
        rounding; nodes that have nothing left are not in the file.
        In the code view ops of a capture without a known call stack are at `<no call stack>`; of files of TensorFlow's
        first profiler they are left out, as in `tree` and in tfprof, and a comment in the file counts them; where no op has
        one, all are there.

        Args:
            path: of the file, such as `costs.pb.gz`; compressed whatever its name.
            view: stacks of `"code"` are Python's, with file and line; of `"scope"` the parts of the name scope; of `"graph"` the
                ops that it feeds; of `"op"` the op type alone.
            options: those of `tree`; but `max_depth` is 100 in the graph view and has no limit in the others. Of the details
                `select=("device", "op_types")` become labels of the samples.

        Returns:
            The path.

        Raises:
            TypeError, ValueError: a view or an option that means nothing; the message names it.
            TfProfError: the file cannot be written. What was at the path before is still there, and no part of a file.
        """
        from ..export.pprof.pprof import write_pprof

        return write_pprof(self._run.results, path, view, options)
