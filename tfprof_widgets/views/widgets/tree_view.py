"""A profile's graph of ops -> the widget of its cost by name scope, by graph, by op type and by call stack."""

from __future__ import annotations

import json

from ...analysis.tree.tree_options import TreeView as Structure
from ...analysis.tree.tree_options import check_view
from .base import View


class TreeView(View):
    """Where the cost goes, by structure: an icicle and a table of scopes or calls, a ranking of op types, the drawn graph."""

    entry = "tree_view"

    def begin_with(self, view: Structure) -> None:
        """Begin with one of the four; those who look at the widget already keep what they chose.

        Raises:
            ValueError: there is no such view; the message names those there are.
        """
        check_view(view)
        self.options = json.dumps({**json.loads(self.options), "view": view})
