"""What the timeline says where room or events are short: on exported pages, wide and narrow, in both themes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

import tfprof_widgets as tfprof
from tests.browser.drawings import FIRST, N_LARGE, N_NEEDLES, SECOND_EVENT, large_space, linked_space
from tests.browser.harness import poll
from tests.browser.pages import THEMES, opened_page
from tests.builders import event, line, plane, session, space
from tests.captures.committed import unpack

HEIGHT_PX = 800
INPUT = "Eigen::TensorMap<Eigen::Tensor<{} const, 1, 1, int>, 16, Eigen::MakePointer> const"
KERNEL = (
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<"
    "Eigen::Tensor<Eigen::half, 1, 1, int>, 16, Eigen::MakePointer>, Eigen::{}> const, Eigen::GpuDevice>, int>(int)"
)
KERNELS = [KERNEL.format(f"TensorConversionOp<Eigen::half, {INPUT.format(one)}>") for one in ("float", "bool")]
FITS = "element => element.scrollWidth <= element.clientWidth"
"""Whether nothing of an element is cut."""


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One for all: to load a page anew in it takes half as long as in a fresh browser profile."""
    with opened_page(browser) as page:
        yield page


def timeline(page: Page, page_path: Path, width: int, theme: str = "light") -> Locator:
    page.set_viewport_size({"width": width, "height": HEIGHT_PX})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(page_path.as_uri())
    view = page.locator('[data-tfprof="timeline"]')
    view.locator("canvas").first.wait_for()
    return view


def whole_capture(view: Locator) -> Page:
    view.locator("section.tl").focus()
    view.page.keyboard.press("0")
    return view.page


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a part of its events."""
    folder = tmp_path_factory.mktemp("capped")
    (folder / "large.xplane.pb").write_bytes(large_space())
    return tfprof.load(folder / "large.xplane.pb").to_html(folder / "page.html", embed=150_000)


def test_a_capped_page_says_what_it_lacks_and_how_to_keep_all(tab: Page, capped: Path) -> None:
    assert capped.stat().st_size < 4 * 2**20
    view = timeline(tab, capped, 1280)
    about = view.locator(".tl-about")
    poll(lambda: f" of {N_LARGE:,} events" in about.inner_text(), lambda: about.inner_text())
    limits = view.page.locator("details.note")
    assert "in Timeline" in limits.inner_text()
    limits.locator("summary").click()
    assert 'embed="full"' in limits.inner_text()
    assert view.page.locator('[role="alert"]').all_inner_texts() == []


@pytest.mark.parametrize("width", [900, pytest.param(1120, marks=pytest.mark.nightly)])
def test_the_times_of_the_window_are_never_cut_and_no_count_is_half_shown(tab: Page, capped: Path, width: int) -> None:
    view = timeline(tab, capped, width)
    page = whole_capture(view)
    for text in ("", "needle"):
        view.locator(".tl-search").fill(text)
        count = view.locator(".tl-count")
        poll(lambda text=text, count=count: not text or "slices" in count.inner_text(), "nothing is found")
        for _ in range(2):
            is_inside = """bar => {
                const right = bar.getBoundingClientRect().right;
                const window = bar.querySelector('.tl-window').getBoundingClientRect();
                const counts = bar.querySelector('.tl-counts').getBoundingClientRect();
                const shown = [...bar.querySelectorAll('.tl-counts > span')]
                    .map(span => span.getBoundingClientRect()).filter(box => box.top < counts.bottom - 2);
                return window.width > 30 && window.right <= counts.left + 1
                    && shown.every(box => box.right <= counts.right + 1)
                    && [...bar.children].every(child => child.getBoundingClientRect().right <= right + 1);
            }"""
            assert view.locator("section.tl > .bar").evaluate(is_inside), (text, width)
            view.locator("section.tl").focus()
            for _ in range(6):
                page.keyboard.press("w")
            page.wait_for_timeout(300)
    assert f"{N_NEEDLES:,} slices here" in view.locator(".tl-count").inner_text()


@pytest.mark.parametrize("theme", THEMES)
def test_hits_of_a_search_are_marked_in_the_strip_of_the_whole_capture(tab: Page, tmp_path: Path, theme: str) -> None:
    """In the colour of all that one can act on; here in the first half, of which the window shows nothing."""
    n_marked = """view => {
        const canvas = view.querySelector('canvas');
        const probe = view.appendChild(document.createElement('i'));
        probe.style.color = getComputedStyle(view).getPropertyValue('--act');
        const act = getComputedStyle(probe).color.match(/[0-9]+/g).slice(0, 3).join();
        probe.remove();
        const label = parseFloat(view.querySelector('section.tl').style.getPropertyValue('--w-label'));
        const { data } = canvas.getContext('2d').getImageData(label, 12, canvas.width - label, 1);
        const n = [0, 0];
        for (let k = 0; k < data.length; k += 4) {
            if ([data[k], data[k + 1], data[k + 2]].join() === act) n[k < data.length / 2 ? 0 : 1] += 1;
        }
        return n;
    }"""
    (tmp_path / "one.xplane.pb").write_bytes(linked_space())
    page_path = tfprof.load(tmp_path / "one.xplane.pb").to_html(tmp_path / "page.html")
    view = timeline(tab, page_path, 1400, theme)
    assert view.evaluate(n_marked) == [0, 0]
    view.evaluate("(view, name) => view.tfprofReveal(name, 3)", SECOND_EVENT)
    for _ in range(4):
        view.locator("section.tl").press("w")
    view.locator(".tl-search").fill(FIRST)
    poll(lambda: view.evaluate(n_marked)[0] > 100, "the hits are not marked", timeout_s=10)
    assert view.evaluate(n_marked)[1] == 0
    view.locator(".tl-search").press("Escape")
    poll(lambda: view.evaluate(n_marked) == [0, 0], "marks of an ended search stay", timeout_s=10)


def test_different_kernels_have_different_texts_in_the_table_of_slices(tab: Page, tmp_path: Path) -> None:
    stream = line("Stream #13", *[event(name, 100 * k, 50) for k, name in enumerate(KERNELS)])
    trace = space(session(duration_us=300), plane("/device:GPU:0", stream))
    (tmp_path / "one.xplane.pb").write_bytes(trace)
    view = timeline(tab, tfprof.load(tmp_path / "one.xplane.pb").to_html(tmp_path / "page.html"), 900)
    whole_capture(view)
    view.get_by_role("button", name="Slices", exact=True).click()
    names = view.locator(".tl-slices .tl-name")
    poll(lambda: names.count() == len(KERNELS), "the table is not filled", timeout_s=10)
    assert sorted(names.all_inner_texts()) == ["Eigen Conversion (bool → half)", "Eigen Conversion (float → half)"]
    assert sorted(names.evaluate_all("all => all.map(one => one.title)")) == sorted(KERNELS)
    assert all(cell.evaluate(FITS) for cell in view.locator(".tl-slices .c").all())


@pytest.mark.parametrize(
    ("pane", "content"), [("Slices", ".tl-slices"), pytest.param("Flame", ".tl-flamebox", marks=pytest.mark.nightly)]
)
def test_what_a_capped_page_cannot_add_up_it_offers_of_what_it_keeps(
    tab: Page, tmp_path: Path, pane: str, content: str
) -> None:
    path = tfprof.load(unpack("h100_transformer_loop", tmp_path / "run")).to_html(tmp_path / "page.html")
    view = timeline(tab, path, 1280)
    whole_capture(view)
    view.get_by_role("button", name=pane, exact=True).click()
    note = view.locator(".tl-place .tfp-left-out")
    poll(lambda: "The figures of the whole capture are not known here." in note.inner_text(), pane)
    assert view.locator(content).is_hidden()
    note.get_by_role("button").click()
    is_shown = view.locator(content).is_visible
    poll(lambda: is_shown() and note.inner_text() == "", f"{pane}: what is kept is not shown")
