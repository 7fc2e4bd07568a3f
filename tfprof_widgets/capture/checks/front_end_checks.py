"""front_end_checks: `FrontEndFacts` -> which front end this is, what works in it, and whether its page has widgets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from .check import Check, ok, unknown, warning
from .front_end import FrontEndFacts

_BINARY, _MAYBE_TEXT = "binary messages", "text where binary messages are lost"
_IN_PAGE, _BY_KERNEL = "views linked in the page", "views of two cells linked through the kernel"
_SAVED = "widgets saved with Settings > Save Widget State Automatically"
_PAGE_KEEPS = 'widgets not saved: prof.to_html("run.html") keeps them'
_AS_PAGE = "the dashboard goes into the output as a page"
_KNOWN = {
    "Colab": f"{_MAYBE_TEXT}; {_BY_KERNEL}; {_PAGE_KEEPS}",
    "VS Code": f"{_MAYBE_TEXT}; {_BY_KERNEL}; {_PAGE_KEEPS}",
    "Voila": f"{_BINARY}; {_IN_PAGE}; nothing is saved",
    "JupyterLab": f"{_BINARY}; {_IN_PAGE}; {_SAVED}",
    "Notebook 7": f"{_BINARY}; {_IN_PAGE}; {_SAVED}",
    "JupyterLab or Notebook 7": f"{_BINARY}; {_IN_PAGE}; {_SAVED}",
}
"""Front ends -> whether binary messages arrive, how views of two cells follow each other, what a saved notebook shows."""
_SERVERS = ("JupyterLab", "Notebook 7", "JupyterLab or Notebook 7")
"""Those whose server must have what draws widgets; the others bring their own."""

_WITH_PAGE = {
    "jupyter-lab": "JupyterLab",
    "jupyter-labhub": "JupyterLab",
    "jupyterlab": "JupyterLab",
    "jupyter-notebook": "Notebook 7",
    "notebook": "Notebook 7",
    "jupyter-server": "JupyterLab or Notebook 7",
    "jupyterhub-singleuser": "JupyterLab or Notebook 7",
    "voila": "Voila",
}
_WITHOUT_PAGE = {
    "jupyter-nbconvert": "nbconvert",
    "jupyter-execute": "jupyter execute",
    "papermill": "papermill",
}
_WITHOUT_WIDGETS = {
    "jupyter-console": "a Jupyter console",
    "jupyter-qtconsole": "a Qt console",
    "spyder": "Spyder",
}
_UNTESTED = {"KAGGLE_KERNEL_RUN_TYPE": "Kaggle", "DATABRICKS_RUNTIME_VERSION": "Databricks"}
_TRY_PAGE = 'prof.to_html("run.html")  # shows everything where widgets do not work'


def front_end_checks(facts: FrontEndFacts) -> Iterator[Check]:
    """Check the front end and the widgets of its page."""
    yield front_end_check(facts)
    yield page_check(facts)


def front_end_check(facts: FrontEndFacts) -> Check:
    """Name the front end and what works there."""
    name = "front_end"
    if facts.is_lite:
        return unknown(name, "JupyterLite: untested; TensorFlow does not run there", _TRY_PAGE)
    if not facts.has_kernel:
        where = "IPython in a terminal" if facts.has_shell else "plain Python"
        return ok(name, f'{where}: profiles are shown as text; prof.to_html("run.html") writes the dashboard')
    page = known_page(facts)
    if page is not None:
        return ok(name, f"{page}: {_KNOWN[page]}")
    programs = _programs(facts)
    for program, called in _WITHOUT_PAGE.items():
        if program in programs:
            return ok(name, f"{called}, no page is open: {_AS_PAGE}")
    for program, called in _WITHOUT_WIDGETS.items():
        if program in programs:
            return unknown(name, f"{called}: it has no widgets, profiles are shown as text", _TRY_PAGE)
    for variable, called in _UNTESTED.items():
        if variable in facts.variables:
            return unknown(name, f"{called}: untested; {_AS_PAGE} too", _TRY_PAGE)
    return unknown(name, f"a kernel whose front end is not known; {_AS_PAGE} too", _TRY_PAGE)


def known_page(facts: FrontEndFacts) -> str | None:
    """Return the front end, where it is one of those that widgets are known to work in."""
    # What only one front end sets goes first: a server started in VS Code's terminal inherits some of its variables.
    if facts.is_colab or "COLAB_RELEASE_TAG" in facts.variables:
        return "Colab"
    if facts.is_vscode_notebook:
        return "VS Code"
    if facts.variables & {"VOILA_KERNEL_ID", "VOILA_BASE_URL"}:
        return "Voila"
    if facts.variables & _UNTESTED.keys():
        return None
    programs = _programs(facts)
    for program, page in _WITH_PAGE.items():
        if program in programs:
            return page
    if "JPY_SESSION_NAME" in facts.variables:
        return "JupyterLab or Notebook 7"
    if not programs and facts.variables & {"VSCODE_PID", "VSCODE_CWD"}:
        return "VS Code"
    return None


def page_check(facts: FrontEndFacts) -> Check:
    """Check that the server whose page shows the widgets has what draws them; the kernel's own packages do not help."""
    name = "page_widgets"
    if not facts.has_kernel:
        return ok(name, "not needed: there is no page")
    page = known_page(facts)
    if page not in _SERVERS:
        return ok(name, "not needed: the front end brings its own" if page else "not looked for")
    if facts.missing is None:
        return unknown(
            name, "where the server keeps its extensions is not known", "jupyter labextension list  # on the server"
        )
    if facts.missing:
        found = f"the server lacks {' and '.join(facts.missing)}, so its pages cannot draw the widgets"
        return warning(
            name, found, f"{_server_python(facts)} -m pip install ipywidgets anywidget  # then reload the page"
        )
    return ok(name, "the server has what draws them")


def _server_python(facts: FrontEndFacts) -> str:
    first = facts.parent[0] if facts.parent else ""
    return first if Path(first).name.startswith("python") else "python"


def _programs(facts: FrontEndFacts) -> set[str]:
    """Names in the first words of the server's command: `/opt/bin/jupyter-lab`, `-m jupyterlab`, `jupyter lab`."""
    words = [Path(word).name.removesuffix(".exe").removesuffix("-script.py") for word in facts.parent[:4]]
    joined = {f"jupyter-{after}" for before, after in pairwise(words) if before == "jupyter"}
    return set(words) | joined
