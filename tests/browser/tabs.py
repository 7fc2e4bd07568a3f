"""The tabs of a dashboard by the name of their view."""

from __future__ import annotations

import re

from tests.browser.harness import Notebook

TABS = {
    "op_table": "Ops",
    "source_view": "Lines",
    "layer_table": "Layers",
    "tree_view": "Structure",
    "memory_timeline": "Memory",
    "input_graph": "Input pipeline",
    "kernel_table": "Kernels",
    "roofline_chart": "Roofline",
    "hlo_table": "HLO ops",
    "worker_chart": "Workers",
}


def open_tab(notebook: Notebook, view: str) -> None:
    """Click the tab of a view; until then the view is not there."""
    tab = notebook.view("dashboard").get_by_role("tab", name=re.compile(f"^{TABS[view]}"))
    tab.click()
    notebook.view(view).wait_for()
