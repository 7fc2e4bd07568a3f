"""Who sees widgets: each visitor of a server their own, and what a cell showed before it was run again is closed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.builders import event, line, plane, space
from tests.fake_shell import FakeShell
from tfprof_widgets.comparing import diff
from tfprof_widgets.loading import load_profile as load
from tfprof_widgets.profiles import Profile
from tfprof_widgets.show import shared_by


class Visit:
    """What marimo knows of a visitor, and of the cell that runs for them."""

    def __init__(self) -> None:
        self.stream, self.cell_id = Visit.Stream(), "first"
        self.made_in: list[str] = []

    class Stream:
        """To a visitor's page."""

    @contextlib.contextmanager
    def with_cell_id(self, cell: str) -> Iterator[None]:
        before, self.cell_id = self.cell_id, cell
        self.made_in.append(cell)
        yield
        self.cell_id = before


@pytest.fixture
def marimo(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A marimo that serves `visit`."""
    server = SimpleNamespace(visit=Visit())
    module = SimpleNamespace(safe_get_context=lambda: server.visit)
    monkeypatch.setitem(sys.modules, "marimo._runtime.context", module)  # type: ignore[arg-type]
    return server


@pytest.fixture
def run(tmp_path: Path) -> Path:
    steps = [event("train", 10 * i, 9, _r=1, step_num=i) for i in range(3)]
    (tmp_path / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *steps))))
    return tmp_path


def test_each_visitor_has_a_link_data_and_scripts_of_their_own(run: Path, marimo: SimpleNamespace) -> None:
    prof = load(run)
    first, mine = prof.dashboard(), prof.link
    assert prof.dashboard() is first
    visit, marimo.visit = marimo.visit, Visit()
    other = prof.dashboard()
    assert other is not first
    assert not {*shared_by(first)} & {*shared_by(other)}
    prof.link.step = 1
    assert (mine.step, first.link.step, other.link.step) == (-1, -1, 1)
    marimo.visit = visit
    assert prof.dashboard() is first


def test_each_visitor_has_a_comparison_of_their_own(run: Path, marimo: SimpleNamespace) -> None:
    prof = load(run)
    compared = diff(prof, prof)
    first = compared.dashboard()
    assert compared.dashboard() is first
    marimo.visit = Visit()
    assert compared.dashboard() is not first


def test_widgets_are_of_the_cell_that_made_the_profile_whichever_shows_it(run: Path, marimo: SimpleNamespace) -> None:
    prof = load(run)
    marimo.visit.cell_id = "second"
    assert prof._display_() is prof.dashboard()
    assert {*marimo.visit.made_in} == {"first"}
    marimo.visit = Visit()
    prof.op_table()
    assert {*marimo.visit.made_in} == {"tfprof_widgets"}, "another visitor's cell of that name made nothing"


def test_what_cannot_be_shown_in_marimo_says_why(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfprof_widgets.errors import TfProfError

    def refuse(*_: Any) -> None:
        raise TfProfError("there is nothing to show")

    prof = load(run)
    monkeypatch.setattr(prof, "dashboard", refuse)
    assert prof._display_() == f"{prof!r}\ntfprof: there is nothing to show"


def show(shell: FakeShell, number: int, code: str, prof: Profile) -> None:
    """Run a cell in a front end that sends no id of it."""
    shell.message = {"header": {"msg_type": "execute_request", "msg_id": str(number)}, "content": {"code": code}}
    prof.op_table()._repr_mimebundle_()
    shell.end_cell()


@pytest.mark.parametrize(
    ("code", "is_open"),
    [
        ("prof = load('run')\nprof", False),
        ("%%tfprofile\nfit()", False),
        ("with profile() as p: fit()\np", False),
        ("prof", True),
        ("prof.dashboard(compact=True)", True),
    ],
)
def test_a_cell_without_an_id_is_known_by_what_it_makes(
    run: Path, monkeypatch: pytest.MonkeyPatch, code: str, is_open: bool
) -> None:
    shell = FakeShell().install(monkeypatch)
    before, after = load(run), load(run)
    show(shell, 1, code, before)
    show(shell, 2, "other = load('run')\nother", load(run))
    assert before.op_table().comm is not None
    views = [before.link, before.op_table()]
    show(shell, 3, code, after)
    assert [view.comm is not None for view in views] == [is_open, is_open]
    assert after.op_table().comm is not None
