"""Notebook 7 shows what JupyterLab shows: a loaded run, a training while it runs, a notebook reopened."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from tests.browser.conftest import Open
from tests.browser.harness import Server, write_notebook
from tests.browser.reopening import STATES, Reopened, State, executed, write_in_state
from tests.browser.test_live_training import (
    check_afterwards,
    check_button,
    check_it_moves,
    check_slow_phase,
    end,
    shoot,
    training,
)
from tests.browser.test_quickstart_browser import check

BY_BLOCK = "with tfprof.watch(logdir='kept') as run:\n    model.fit(dataset, verbose=0, callbacks=[UntilTold()])"


def test_a_loaded_run(open_notebook: Open, notebook_server: Server, capture_of: Callable[[str], Path]) -> None:
    shutil.copy(capture_of("keras_fit"), notebook_server.root / "run.xplane.pb")
    cells = ("import tfprof_widgets as tfprof", "prof = tfprof.load('run.xplane.pb')\nprof")
    write_notebook(notebook_server.root / "loaded.ipynb", *cells)
    with open_notebook("loaded.ipynb") as notebook:
        notebook.run_all()
        check(notebook)
        notebook.screenshot("loaded-notebook7", notebook.view("dashboard"))


@pytest.mark.tensorflow
def test_a_training(open_notebook: Open, notebook_server: Server) -> None:
    with training(open_notebook, notebook_server, BY_BLOCK) as notebook:
        check_it_moves(notebook)
        check_button(notebook)
        check_slow_phase(notebook)
        shoot(notebook, "live-notebook7-slow")
        end(notebook)
        check_afterwards(notebook)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    return executed(tmp_path_factory.mktemp("executed"))


@pytest.mark.parametrize("state", STATES)
def test_reopened(open_notebook: Open, notebook_server: Server, saved: nbformat.NotebookNode, state: State) -> None:
    name = write_in_state(saved, state, notebook_server.root, jupyter_data=notebook_server.home / "data")
    with open_notebook(name) as opened:
        Reopened(opened.page).check(state)
        assert opened.refused == []
