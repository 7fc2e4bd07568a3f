"""Figures of live view, saved notebook, page and full page: the same wherever a number is shown, or said to be not known; and on
each screen no two places say different things of one figure."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import tfprof_widgets as tfprof
from tests.browser.figures import compared, contradictions, contradictory_limits, figures
from tests.browser.harness import poll
from tests.browser.screen import AT_START, PANES, Screen, Texts, open_tabs, read, read_tips, settle
from tests.browser.widget_host import KernelSide, saved_state, widget_host
from tests.captures.committed import unpack

WIDTH_PX, HEIGHT_PX = 1300, 950
"""Of every form: texts are cut where there is no room."""
NO_MARGIN = "document.body.style.margin = 0"


class FourForms:
    """A profile and where it is shown.

    Args:
        browser: shows it.
        kernel: of this process, for the live form.
        folder: for pages.
    """

    def __init__(self, prof: tfprof.Profile, browser: Browser, kernel: KernelSide, folder: Path) -> None:
        self.prof, self.browser, self.kernel, self.folder = prof, browser, kernel, folder

    @contextlib.contextmanager
    def live(self) -> Iterator[Screen]:
        """Widgets whose kernel has sent everything."""
        with widget_host(self.browser, self.kernel) as host:
            host.context.add_init_script(AT_START)
            host.page.evaluate(NO_MARGIN)
            frame = host.show(self.prof.dashboard())

            def serve() -> bool:
                was_idle = not host._waiting and not self.kernel.sent
                host.serve(lambda: not host._waiting and not self.kernel.sent, "the kernel is asked on and on")
                return was_idle

            screen = Screen(frame, host.page, serve)
            about = frame.locator(".tl-about")
            host.serve(lambda: about.count() and _is_whole(about.inner_text()), "events did not come", timeout_s=60)
            yield screen
            assert host.errors == []

    @contextlib.contextmanager
    def saved(self) -> Iterator[Screen]:
        """A notebook that was saved with the state of its widgets and opened again, without a kernel."""
        with widget_host(self.browser, self.kernel) as host:
            host.context.add_init_script(AT_START)
            host.page.evaluate(NO_MARGIN)
            dashboard = self.prof.dashboard()
            frame = host.new_output(saved=saved_state(dashboard))
            frame.evaluate("id => void window.showWidget(id)", dashboard.model_id)
            frame.locator(".tl-about").wait_for()
            yield Screen(frame, host.page)
            assert host.errors == []

    @contextlib.contextmanager
    def page(self) -> Iterator[Screen]:
        """A page with what pages hold by default."""
        with self._shown(self.prof.to_html(self.folder / "page.html")) as screen:
            yield screen

    @contextlib.contextmanager
    def full(self) -> Iterator[Screen]:
        """A page that holds everything."""
        with self._shown(self.prof.to_html(self.folder / "full.html", embed="full")) as screen:
            about = screen.place.locator(".tl-about")
            poll(lambda: _is_whole(about.inner_text()), lambda: about.inner_text())
            yield screen

    @contextlib.contextmanager
    def _shown(self, path: Path) -> Iterator[Screen]:
        context = self.browser.new_context(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
        try:
            context.add_init_script(AT_START)
            page = context.new_page()
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(path.as_uri())
            page.evaluate(NO_MARGIN)
            page.locator(".tl-about").wait_for()
            yield Screen(page, page)
            assert errors == []
        finally:
            context.close()

    @property
    def all(self) -> dict[str, Callable[[], contextlib.AbstractContextManager[Screen]]]:
        """By name, the live one first."""
        return {"live": self.live, "saved notebook": self.saved, "page": self.page, "full page": self.full}


def _is_whole(about: str) -> bool:
    """Whether the toolbar of the timeline says that all events are here: "· 30,679 events"."""
    return "event" in about and not any(word in about for word in ("loading", "waiting", "in this page"))


TRACES = ("h100_cnn_input", "h100_lstm", "h100_transformer_xla", "v100", "keras_fit")
"""Real captures, of which small pages hold a part: of GPUs with a pipeline that is waited for, with many kernels, with
compiled programs, with many sessions; and one of a CPU, which is whole everywhere. Live and as a page the first is
looked at in every run."""
FORMS = ("live", "saved notebook", "page", "full page")
MORE = [path for path in os.environ.get("TFPROF_TRACES", "").split(os.pathsep) if path]

NUMBER = re.compile(r"\d[\d,.]*")
TELLING = ("not known here", 'embed="full"', "Waiting for the kernel")
"""What a view says in place of what it lacks."""
SAYS = (
    ("timeline section.tl div.bar span.q", "how many events are here is what the line is about"),
    ("timeline section.tl div.tlg div.tlc canvas.@aria-label", "the same line, for a screen reader"),
)
"""Places whose numbers may differ, each with its reason."""


def read_all(forms: Mapping[str, Screen]) -> dict[str, dict[str, Texts]]:
    """By form, moment and view what is on screen: of a range that a small page may hold, of one that it lacks, of all.

    What canvases draw counts, and what the timeline says of slices under the pointer.
    """
    found: dict[str, dict[str, Texts]] = {name: {} for name in forms}
    screens = list(forms.values())

    def note(moment: str, panes: Sequence[str] = PANES) -> None:
        for name, texts in zip(forms, read(screens, panes), strict=True):
            found[name] |= {f"{moment}: {view}": one for view, one in texts.items()}

    open_tabs(screens)
    for screen in screens:
        screen.choose(0.55, 0.6)
    settle(screens)
    for name, tips in zip(forms, read_tips(screens, 0.57), strict=True):
        found[name]["tips"] = tips
    for screen in screens:
        screen.select_first_op()
    note("in a typical step")
    for screen in screens:
        screen.press("0")
    settle(screens)
    for screen in screens:
        screen.choose(0.2, 0.4)
    note("early")
    for screen in screens:
        screen.press(*["Escape"] * 4)
    note("whole capture", ())
    return found


CHOICES = {
    "input_graph": ("Input ops", "Waiting"),
    "kernel_table": ("by op type",),
    "memory_timeline": ("By layer",),
}
"""What else views show of the same things, by what is clicked for it."""


def read_unchosen(screen: Screen) -> dict[str, Texts]:
    """By view what is on screen when nothing is chosen, with the details and the advice of the
    overview, and other panes of some views as `view: pane`."""
    cards = screen.read_view("overview_panel")
    screen.flip_overview()
    found = read([screen], ())[0]
    for view, choices in CHOICES.items():
        found |= screen.read_choices(view, choices)
    return found | {"overview_panel: cards": cards}


def by_moment(live: Mapping[str, Texts]) -> dict[str, dict[str, Texts]]:
    """What `read_all` has of one form, moment by moment."""
    found: dict[str, dict[str, Texts]] = {}
    for name, texts in live.items():
        moment, _, view = name.rpartition(": ")
        found.setdefault(moment, {})[view] = texts
    return found


def is_told(texts: Texts) -> bool:
    """Whether a view says that it lacks something."""
    return any(word in text for text in texts.values() for word in TELLING)


def differences(live: dict[str, Texts], other: dict[str, Texts]) -> list[str]:
    """What another form shows that the live view does not, and what it lacks without saying so."""
    found = []
    for view in live:
        expected, shown = live[view], other[view]
        if is_of_kept_steps(shown):
            continue
        for place, text in shown.items():
            if text == expected.get(place) or place.startswith(tuple(where for where, _ in SAYS)):
                continue
            if says_less(place, text, expected.get(place, "")) or is_note(place, text, is_told(shown)):
                continue
            found.append(f"{view} {place}: {expected.get(place)!r} live, here {text!r}")
        missing = [place for place in expected if place not in shown and NUMBER.search(expected[place])]
        if missing and not is_told(shown):
            found.append(f"{view} lacks {len(missing)} texts: {missing[0]} {expected[missing[0]]!r}")
    return found


def is_of_kept_steps(texts: Texts) -> bool:
    """Whether a view without a range is, as it says, of the steps that a page keeps: chosen ranges compare its figures."""
    return any(text.startswith("This page keeps the memory of ") for text in texts.values())


def says_less(place: str, text: str, expected: str) -> bool:
    """Whether a text says that something is not known, or is a label of tracks, and no number that the live view does not say."""
    return ("not known here" in text or "tl-info" in place) and set(NUMBER.findall(text)) <= set(
        NUMBER.findall(expected)
    )


def is_note(place: str, text: str, is_telling: bool) -> bool:
    """What a form says of its limits, or a word without a number in a view that says so."""
    return (
        ".tfp-left-out" in place
        or ".tfp-waiting" in place
        or 'embed="full"' in text
        or (is_telling and not NUMBER.search(text))
    )


@dataclass
class Case:
    """A profile and the forms in which it is looked at, the live one first."""

    forms: FourForms
    names: tuple[str, ...]


@pytest.fixture(
    params=[
        (TRACES[0], ("live", "page")),
        *(pytest.param((name, FORMS), marks=pytest.mark.nightly) for name in TRACES),
        *((path, FORMS) for path in MORE),
    ],
    ids=lambda given: f"{Path(given[0]).name}-{len(given[1])}",
)
def case(request: pytest.FixtureRequest, browser: Browser, kernel: KernelSide, tmp_path: Path) -> Case:
    name, forms = request.param
    trace = unpack(name, tmp_path / "run") if name in TRACES else name
    return Case(FourForms(tfprof.load(trace), browser, kernel, tmp_path), forms)


def test_every_number_on_screen_is_that_of_the_live_view_or_said_to_be_not_known(case: Case) -> None:
    with contextlib.ExitStack() as stack:
        screens = {name: stack.enter_context(case.forms.all[name]()) for name in case.names}
        shown = read_all(screens)
        unchosen = read_unchosen(screens["live"])
        limits = screens["live"].read_limits()
    live = shown.pop("live")
    for moment, views in {"nothing chosen": unchosen, **by_moment(live)}.items():
        found = contradictions(figures(views))
        assert not found, f"{moment}, {len(found)} contradictions:\n" + "\n".join(found[:50])
    assert contradictory_limits(unchosen, limits) == []
    assert_planted_differences_are_found(unchosen)
    assert live["tips"]
    n_numbers = sum(bool(NUMBER.search(text)) for texts in live.values() for text in texts.values())
    assert n_numbers > 500
    found = [f"{name}: {line}" for name, texts in shown.items() for line in differences(live, texts)]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:200])


def assert_planted_differences_are_found(views: dict[str, Texts]) -> None:
    """Each figure that two places say, changed at one of them, is a contradiction: so none of them is read in vain."""
    pairs = compared(figures(views))
    kinds = {one.what[0] for one, _ in pairs}
    assert len(pairs) > 60
    assert kinds >= {"step", "part of a step", "captured", "memory"}
    if any("ul.tfp-wide" in place for place in views["overview_panel: cards"]):
        assert "card" in kinds
    assert kinds & {"op", "type"}
    if "input_graph" in views:
        assert kinds >= {"iterator", "input ops", "batch"}
    for one, other in pairs:
        far = 2 * max(one.most, other.most) + 1
        wrong = replace(other, least=far, most=far)
        assert contradictions([one, wrong])
    changed = {view: dict(texts) for view, texts in views.items()}
    (place,) = (key for key in changed["overview_panel"] if re.search(r"div.tfp-figs div.tfp-fig(\[0\])? span.n$", key))
    changed["overview_panel"][place] = str(float(changed["overview_panel"][place].replace(",", "")) * 1.1)
    assert any(line.startswith("step median") for line in contradictions(figures(changed)))
    assert_planted_words_are_found(views)


def assert_planted_words_are_found(views: dict[str, Texts]) -> None:
    """What people found on screens once is found again where it is planted: in a table, a graph, a name and a notice."""
    ops = views.get("input_graph: Input ops", {})
    rows = [
        place for place, text in ops.items() if place.endswith("c:name span.") and text == "Iterator::Root::Prefetch"
    ]
    for place in rows:  # waiting that counts as work
        start = place.removesuffix("name span.")
        planted = {**views, "input_graph: Input ops": {**ops, f"{start}work": "5,000.0"}}
        assert any("iterator Iterator::Root::Prefetch work" in line for line in contradictions(figures(planted)))
    blamed = [place for place, text in views.get("input_graph", {}).items() if ", bottleneck " in text]
    for place in blamed:
        text = re.sub(r", bottleneck \S+\. ", ", bottleneck Root. ", views["input_graph"][place])
        planted = {**views, "input_graph": {**views["input_graph"], place: text}}
        assert any(line.startswith("bottleneck name") for line in contradictions(figures(planted)))
    types = views.get("kernel_table: by op type", {})
    plain = {place: re.sub(r"^(of|led by) ", "", text) for place, text in types.items()}
    if any(text.startswith("led by ") for text in types.values()):  # a fusion is charged to one op there
        assert any(line.startswith("type ") for line in contradictions(figures({**views, "kernel_table": plain})))
    told = {"limit": "2 of 36 source files are shown in part: at most 256 KiB of each, 4 MiB in all."}
    has_lines = not any(text.startswith("No source lines") for text in views.get("source_view", {}).values())
    assert contradictory_limits(views, told) == ([] if has_lines else [told["limit"]])
