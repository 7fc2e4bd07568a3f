"""What a kernel knows of the page around it -> the front end's name and whether its page has widgets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfprof_widgets.capture import (
    EXTENSIONS,
    FrontEndFacts,
    front_end_check,
    front_end_checks,
    missing_extensions,
    server_prefix,
)

LAB = ("/opt/conda/bin/python3.12", "/opt/conda/bin/jupyter-lab", "--no-browser")


def kernel(
    *variables: str, parent: tuple[str, ...] = (), is_colab: bool = False, is_vscode_notebook: bool = False
) -> FrontEndFacts:
    return FrontEndFacts(True, True, frozenset(variables), is_colab, is_vscode_notebook, parent=parent)


@pytest.mark.parametrize(
    ("facts", "status", "begin"),
    [
        (FrontEndFacts(), "ok", "plain Python"),
        (FrontEndFacts(has_shell=True), "ok", "IPython in a terminal"),
        (FrontEndFacts(is_lite=True), "unknown", "JupyterLite"),
        (kernel("JPY_SESSION_NAME", parent=LAB), "ok", "JupyterLab:"),
        (kernel("JPY_SESSION_NAME", parent=("python", "-m", "jupyterlab")), "ok", "JupyterLab:"),
        (kernel("JPY_SESSION_NAME", parent=("/usr/bin/python", "/usr/bin/jupyter", "lab")), "ok", "JupyterLab:"),
        (kernel("JPY_SESSION_NAME", parent=("/x/bin/python", "/x/bin/jupyter-notebook")), "ok", "Notebook 7:"),
        (kernel("JPY_SESSION_NAME", parent=("/x/bin/python", "/x/bin/jupyterhub-singleuser")), "ok", "JupyterLab or"),
        (kernel("JPY_SESSION_NAME"), "ok", "JupyterLab or Notebook 7:"),
        (kernel("JPY_SESSION_NAME", is_vscode_notebook=True), "ok", "VS Code:"),
        (kernel("VSCODE_PID"), "ok", "VS Code:"),
        (kernel("VSCODE_PID", "JPY_SESSION_NAME", parent=LAB), "ok", "JupyterLab:"),
        (kernel("COLAB_RELEASE_TAG", "JPY_SESSION_NAME"), "ok", "Colab:"),
        (kernel(is_colab=True), "ok", "Colab:"),
        (kernel("VOILA_BASE_URL", parent=("/x/bin/python", "/x/bin/voila")), "ok", "Voila:"),
        (kernel(parent=("/x/bin/python", "/x/bin/jupyter-nbconvert", "--execute")), "ok", "nbconvert"),
        (kernel(parent=("/x/bin/python", "/x/bin/papermill")), "ok", "papermill"),
        (kernel(parent=("/x/bin/python", "/x/bin/jupyter-console")), "unknown", "a Jupyter console"),
        (kernel("KAGGLE_KERNEL_RUN_TYPE", "JPY_SESSION_NAME"), "unknown", "Kaggle"),
        (kernel(), "unknown", "a kernel"),
    ],
)
def test_the_front_end_is_named(facts: FrontEndFacts, status: str, begin: str) -> None:
    check = front_end_check(facts)
    assert (check.status, check.value.startswith(begin)) == (status, True), check
    assert (check.status == "ok") == (check.remedy == "")


def test_what_a_front_end_has_is_told() -> None:
    value = front_end_check(kernel(is_vscode_notebook=True)).value
    assert "linked through the kernel" in value
    assert "widgets not saved" in value


def page(facts: FrontEndFacts) -> tuple[str, str]:
    check = next(check for check in front_end_checks(facts) if check.name == "page_widgets")
    return check.status, check.remedy


def test_a_server_without_the_extensions_is_told_from_the_kernel(tmp_path: Path) -> None:
    parent = (str(tmp_path / "bin" / "python"), str(tmp_path / "bin" / "jupyter-lab"))
    (tmp_path / "share" / "jupyter").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    assert server_prefix(parent) == tmp_path
    data = tmp_path / "data"
    environ = {"JUPYTER_PATH": str(data)}
    missing = missing_extensions(parent, environ)
    assert missing is not None
    assert set(missing) <= set(EXTENSIONS)
    for name in EXTENSIONS:
        (data / "labextensions" / name).mkdir(parents=True)
    assert missing_extensions(parent, environ) == ()
    assert missing_extensions(("/no/such/bin/jupyter-lab",), environ) is None
    assert missing_extensions((), environ) is None


def test_widgets_that_the_page_cannot_draw_are_installed_beside_the_server() -> None:
    facts = FrontEndFacts(has_shell=True, has_kernel=True, variables=frozenset(["JPY_SESSION_NAME"]), parent=LAB)
    assert page(facts)[0] == "unknown"
    lacking = FrontEndFacts(has_shell=True, has_kernel=True, parent=LAB, missing=("anywidget",))
    status, remedy = page(lacking)
    assert status == "warning"
    assert remedy.startswith("/opt/conda/bin/python3.12 -m pip install ipywidgets anywidget")
    assert page(FrontEndFacts(has_shell=True, has_kernel=True, parent=LAB, missing=())) == ("ok", "")
    assert page(kernel(is_colab=True)) == ("ok", "")
    assert page(FrontEndFacts()) == ("ok", "")
