"""Figures of live view, saved notebook, page and full page: the same wherever a number is shown, or said to be not known."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import tfprof_widgets as tfprof
from tests.browser.four_forms import FourForms
from tests.browser.screen import Screen, Texts
from tests.browser.widget_host import KernelSide
from tfprof_widgets.views.payload.embedding import embed
from tfprof_widgets.views.payload.wire import as_text

DATA = Path(__file__).parent.parent / "data"
TRACES = ("h100_lstm", "h100_eager", "v100", "keras_fit", "tfrecord_fit")
"""Real captures: GPUs with many kernels, eager ops, a compiled function, a CPU, a pipeline of files."""
SHARE = 0.4
"""Of what a full page holds: so much the small page and the notebook hold here, which have room for all of these by default."""
MORE = [path for path in os.environ.get("TFPROF_TRACES", "").split(os.pathsep) if path]
"""Other traces, which are shown as they are by default."""

NUMBER = re.compile(r"\d[\d,.]*")
TELLING = ("not known here", 'embed="full"', "Waiting for the kernel")
"""What a view says in place of what it lacks."""
SAYS = (
    ("timeline section.tl div.bar span.q", "how many events are here is what the line is about"),
    ("timeline section.tl div.tlg div.tlc canvas.@aria-label", "the same line, for a screen reader"),
)
"""Places whose numbers may differ, each with its reason."""


def read_all(screen: Screen) -> dict[str, Texts]:
    """What is on screen by moment and view: of the whole capture, of a range that a small page may hold, of one that it lacks."""
    found: dict[str, Texts] = {}

    def note(moment: str, texts: dict[str, Texts]) -> None:
        found.update({f"{moment}: {view}": one for view, one in texts.items()})

    screen.settle()
    screen.choose(0.55, 0.6)
    screen.select_first_op()
    note("in a typical step", screen.read())
    note("in a typical step", screen.panes())
    screen.show_all_time()
    screen.choose(0.2, 0.4)
    note("early", screen.read())
    note("early", screen.panes())
    screen.clear()
    note("whole capture", screen.read())
    return found


def is_told(texts: Texts) -> bool:
    """Whether a view says that it lacks something."""
    return any(word in text for text in texts.values() for word in TELLING)


def differences(live: dict[str, Texts], other: dict[str, Texts]) -> list[str]:
    """What another form shows that the live view does not, and what it lacks without saying so."""
    found = []
    for view in live:
        expected, shown = live[view], other[view]
        for place, text in shown.items():
            if text == expected.get(place) or place.startswith(tuple(where for where, _ in SAYS)):
                continue
            if says_less(text, expected.get(place, "")) or is_note(place, text, is_told(shown)):
                continue
            found.append(f"{view} {place}: {expected.get(place)!r} live, here {text!r}")
        missing = [place for place in expected if place not in shown and NUMBER.search(expected[place])]
        if missing and not is_told(shown):
            found.append(f"{view} lacks {len(missing)} texts: {missing[0]} {expected[missing[0]]!r}")
    return found


def says_less(text: str, expected: str) -> bool:
    """Whether a text says that something is not known, and else no number that the live view does not say there."""
    return "not known here" in text and set(NUMBER.findall(text)) <= set(NUMBER.findall(expected))


def is_note(place: str, text: str, is_telling: bool) -> bool:
    """What a form says of its limits, or a word without a number in a view that says so."""
    return (
        ".tfp-left-out" in place
        or ".tfp-waiting" in place
        or 'embed="full"' in text
        or (is_telling and not NUMBER.search(text))
    )


@pytest.fixture(params=[*TRACES, *MORE], ids=lambda path: Path(path).name)
def forms(request: pytest.FixtureRequest, browser: Browser, kernel: KernelSide, tmp_path: Path) -> FourForms:
    prof = tfprof.load(DATA / request.param)
    if request.param in MORE:
        return FourForms(prof, browser, kernel, tmp_path, None)
    payload = prof.timeline().data.payload
    parts = sum(len(text) for _, text in embed(payload, max_bytes=None).parts)
    return FourForms(prof, browser, kernel, tmp_path, len(as_text(payload.overview)) + int(SHARE * parts))


def test_every_number_on_screen_is_that_of_the_live_view_or_said_to_be_not_known(forms: FourForms) -> None:
    shown = {}
    for name, form in forms.all.items():
        with form() as screen:
            shown[name] = read_all(screen)
    live = shown.pop("live")
    n_numbers = sum(bool(NUMBER.search(text)) for texts in live.values() for text in texts.values())
    assert n_numbers > 500
    found = [f"{name}: {line}" for name, texts in shown.items() for line in differences(live, texts)]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:200])
