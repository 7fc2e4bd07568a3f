"""The dashboard without a mouse: Tab reaches every control, arrow keys every tab, and each key of the timeline's list acts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import tfprof_widgets as tfprof
from tests.browser.harness import poll
from tests.browser.linked_views import LinkedViews
from tests.browser.pages import opened_page
from tests.browser.tabs import TABS
from tests.builders import event, line, plane, session, space

STEP_US = 1000
N_STEPS = 8
N_THREADS = 40
OP = "net/dense/MatMul:MatMul"


def threads_space() -> bytes:
    """Steps with nested slices on one thread, each of which starts a slice on another; more threads than there is room for."""
    main, worker = [], []
    for i in range(N_STEPS):
        at = i * STEP_US
        main += [event("train", at, STEP_US - 50, _r=1, step_num=i), event(OP, at + 100, 600, _pt=2, _p=i + 1)]
        main += [event("inner", at + 200, 100), event("second", at + 400, 100)]
        worker.append(event("consumer", at + 300, 500, _ct=2, _c=i + 1))
    others = [
        line(f"thread {k}", event("other", 10 * k, 900), event("other", 4000 + 10 * k, 900)) for k in range(N_THREADS)
    ]
    host = plane("/host:CPU", line("main", *main), line("worker", *worker), *others)
    return space(session(duration_us=N_STEPS * STEP_US), host)


# What to press for each line of the list, after what has been pressed for the lines above it.
KEYS: dict[str, tuple[str, ...]] = {
    "/": ("/", "type:MatMul", "Enter", "Shift+Enter", "Enter", "Escape", "Escape"),
    "W / S": ("w", "w", "s", "w"),
    "A / D, ← / →": ("d", "a", "ArrowRight", "ArrowLeft"),
    "↑ / ↓": ("ArrowDown", "ArrowUp"),
    "0": ("0",),
    "F": ("f", "0"),
    "M": ("m",),
    "[ / ]": ("]", "["),
    "Shift + ← / →": ("Shift+ArrowRight", "Shift+ArrowLeft"),
    "Shift + ↑ / ↓": ("Shift+ArrowDown", "Shift+ArrowUp"),
    "< / >": (">", "<"),
    "G": ("g", "g", "g"),
    "R": ("]", "r"),
    ", / .": (".", ","),
    "B": ("b", "type:why", "Enter", "Escape"),
    "N / Shift + N": ("w", "w", "d", "n", "d", "Shift+N"),
    "Shift + B": ("Shift+B", "Escape"),
    "T": ("t", "Escape"),
    "P / H": ("p", "p", "h"),
    "L": ("l", "ArrowDown", "ArrowUp"),
    "C": ("c",),
    "Esc": ("Escape",),
}
BY_POINTER = {"Ctrl + wheel", "wheel", "Shift + wheel", "drag", "Shift + drag"}
"""Each has a key that does the same."""
STATE = """root => {
    const active = document.activeElement;
    const pixels = [...root.querySelectorAll("canvas")].map((canvas) => canvas.width ? canvas.toDataURL() : "");
    const fields = [...root.querySelectorAll("input, select")].map((field) => field.value);
    const scrolled = [...root.querySelectorAll("*")].map((el) => el.scrollTop).filter(Boolean);
    return JSON.stringify([root.innerText, root.innerHTML.length, pixels, fields, scrolled, active.className, active.tagName,
        active.getAttribute("aria-label")]);
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder: Path = tmp_path_factory.mktemp("keys")
    (folder / "threads.xplane.pb").write_bytes(threads_space())
    with opened_page(browser, tfprof.load(folder / "threads.xplane.pb").to_html(folder / "page.html")) as page:
        yield page


def press(page: Page, keys: str) -> None:
    """Press keys, or type the text behind `type:`, and require that something on the page changes."""
    timeline = page.locator('[data-tfprof="timeline"]')
    before = timeline.evaluate(STATE)
    if keys.startswith("type:"):
        page.keyboard.type(keys.removeprefix("type:"))
    else:
        page.keyboard.press(keys)
    poll(lambda: timeline.evaluate(STATE) != before, f"{keys} does nothing", timeout_s=5)
    page.wait_for_timeout(50)  # the rest of the frame: the next key must be what changes the next one


def focus_by_tab(page: Page, selector: str) -> None:
    for _ in range(200):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")


def test_every_key_of_the_list_does_something_without_a_mouse(page: Page) -> None:
    focus_by_tab(page, "section.tl")
    press(page, "?")
    listed = {text.strip() for text in page.locator(".tl-keys kbd").all_inner_texts()}
    assert listed == KEYS.keys() | BY_POINTER
    press(page, "Escape")
    for name, presses in KEYS.items():
        for keys in presses:
            try:
                press(page, keys)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from None
    for _ in range(6):
        page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.closest('section.tl')") is None  # Esc leaves in the end


def test_tab_reaches_every_control_and_shows_where_it_is(page: Page) -> None:
    mark = """() => {
        const isSeen = (el) => el.checkVisibility({ visibilityProperty: true }) && !el.closest("[inert]");
        const all = [...document.querySelectorAll("button, input, select, [tabindex]")]
            .filter((el) => el.tabIndex >= 0 && !el.disabled && isSeen(el));
        all.forEach((el) => { el.dataset.unreached = ""; });
        document.activeElement.blur();
        return all.length;
    }"""
    reach = """() => {
        const el = document.activeElement;
        delete el.dataset.unreached;
        const { outlineStyle, outlineWidth } = getComputedStyle(el);
        return el === document.body || el.matches(":focus-visible") && outlineStyle !== "none" && outlineWidth !== "0px"
            ? "" : el.outerHTML.slice(0, 200);
    }"""
    n_controls = page.evaluate(mark)
    assert n_controls > 20
    unmarked = set()
    for _ in range(3 * n_controls):
        page.keyboard.press("Tab")
        unmarked.add(page.evaluate(reach))
    # The tables follow the range that the keys before chose, a moment later: a control may be off by then.
    left = page.locator("[data-unreached]:not(:disabled)").evaluate_all(
        "all => all.map((el) => el.outerHTML.slice(0, 200))"
    )
    assert left == []
    assert unmarked == {""}


def test_arrow_keys_open_every_tab(page: Page) -> None:
    views = LinkedViews(page, page)
    firsts = {TABS[view][0]: view for view in reversed(views.tabs())}  # of each tab the view that it begins with
    focus_by_tab(page, '[role="tab"]')
    page.keyboard.press("Home")
    for name in reversed(firsts.values()):
        views.view(name).wait_for()
        page.keyboard.press("ArrowRight")
    poll(lambda: views.view("op_table").is_visible(), "the last tab does not lead to the first")


def test_arrow_keys_open_every_view_of_a_tab(page: Page) -> None:
    views = LinkedViews(page, page)
    views.open_tab("source_view")
    page.get_by_role("tab", name="Lines").focus()
    page.keyboard.press("ArrowRight")
    views.view("tree_view").wait_for()
    assert not views.view("source_view").is_visible()
