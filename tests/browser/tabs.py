"""The tabs of a dashboard by the name of their view, and which of them a run has."""

from __future__ import annotations

import re

from playwright.sync_api import Locator

from tests.browser.harness import Notebook

TABS = {
    "op_table": ["Ops"],
    "source_view": ["Code", "Lines"],
    "tree_view": ["Code", "Structure"],
    "layer_table": ["Layers"],
    "memory_timeline": ["Memory"],
    "input_graph": ["Input"],
    "kernel_table": ["GPU|TPU|XLA", "Kernels"],
    "copy_table": ["GPU|TPU|XLA", "Copies"],
    "hlo_table": ["GPU|TPU|XLA", "HLO ops"],
    "roofline_chart": ["GPU|TPU|XLA", "Roofline"],
    "worker_chart": ["Hosts"],
}
"""Patterns of what to click for each view, one after the other: some tabs have several views."""


def tab(dashboard: Locator, title: str) -> Locator:
    """A tab that is offered; its name ends in how many things it lists."""
    return dashboard.get_by_role("tab", name=re.compile(rf"^(?:{title})\s*[\d,.]*(?: .?s · .* %)?$"))


def go_to(dashboard: Locator, view: str) -> None:
    """Click the tabs that lead to a view."""
    for title in TABS[view]:
        tab(dashboard, title).click()


def open_tab(notebook: Notebook, view: str) -> None:
    """Click the tab of a view; until then the view is not there."""
    go_to(notebook.view("dashboard"), view)
    notebook.view(view).wait_for()


def offered(dashboard: Locator) -> list[str]:
    """The views that the tabs of a dashboard lead to: tabs of nothing are hidden."""
    titles = dashboard.locator('[role="tab"]:not([hidden])').evaluate_all(
        "tabs => tabs.map((tab) => tab.firstChild.textContent)"
    )
    return [
        view for view, path in TABS.items() if all(any(re.fullmatch(one, title) for title in titles) for one in path)
    ]
