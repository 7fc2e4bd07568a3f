"""Searching, adding up, flames, details and words of the timeline, wide and narrow: on exported pages, without a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

import tfprof_widgets as tfprof
from tests.browser.drawings import FIRST, N_LARGE, N_NEEDLES, SECOND_EVENT, large_space, linked_space
from tests.browser.harness import SIZE_PX, poll
from tests.browser.pages import THEMES, eventually, opened_page
from tests.builders import U, event, line, plane, session, space
from tests.captures.committed import unpack
from tfprof_widgets.show import payload

N_STEPS, STEP_US = 6, 1000
MATMUL, RELU, TRAIN, CALL = "model/dense/MatMul:MatMul", "model/dense/Relu:Relu", "train", "FunctionRun"
EVIL = "<img src=x onerror=window.tfprofHacked=1>"
RULER_Y_PX = 40


def finding_space() -> bytes:
    """Six steps: a call hands work to another thread, whose op launches a kernel; one odd slice in the last step."""
    starts = [k * STEP_US for k in range(N_STEPS)]
    python = [
        one
        for k, at in enumerate(starts)
        for one in (event(TRAIN, at, 950, _r=1, step_num=k), event(CALL, at + 50, 800, _pt=2, _p=100 + k))
    ]
    compute = [
        one
        for k, at in enumerate(starts)
        for one in (
            event("ExecutorState::Process", at + 100, 600, _ct=2, _c=100 + k),
            event(MATMUL, at + 150, 300, shape="[64,10]"),
            event("cuLaunchKernel", at + 200, 10, correlation_id=U(k + 1)),
            event(RELU, at + 500, 100),
        )
    ]
    odd = line("odd", event(EVIL, starts[-1] + 10, 5))
    stream = line("Stream #13", *[event("gemm", at + 300, 200, correlation_id=U(k + 1)) for k, at in enumerate(starts)])
    host = plane("/host:CPU", line("python", *python), line("tf_Compute", *compute), odd)
    return space(session(duration_us=N_STEPS * STEP_US), host, plane("/device:GPU:0", stream))


@dataclass
class Face:
    """The timeline of the page, and what a reader does with it."""

    page: Page
    view: Locator

    @property
    def count(self) -> str:
        return self.view.locator(".tl-count").inner_text()

    @property
    def details(self) -> str:
        return self.view.locator("aside").inner_text()

    def find(self, text: str) -> None:
        self.view.locator("section.tl").focus()
        self.page.keyboard.press("/")
        self.page.keyboard.type(text)

    def show(self, mode: str) -> None:
        self.view.get_by_role("group", name="What is shown of the slices").get_by_role("button", name=mode).click()

    def locate(self, name: str, nth: int = 0) -> tuple[float, float]:
        place = self.view.evaluate("(root, [name, nth]) => root.tfprofLocate(name, nth)", [name, nth])
        assert place is not None, f"no slice {name!r} is on the screen"
        return place["x"], place["y"]

    def pick(self, name: str, nth: int = 0) -> None:
        self.page.mouse.click(*self.locate(name, nth))

    def drag_ruler(self, start_us: float, end_us: float) -> None:
        """Select a range; the window is the whole capture."""
        self.view.locator("section.tl").focus()
        self.page.keyboard.press("0")
        box = self.view.locator("canvas").first.bounding_box()
        assert box is not None
        label = float(
            self.view.locator("section.tl").evaluate("e => parseFloat(e.style.getPropertyValue('--w-label'))")
        )
        width = box["width"] - label
        at = [box["x"] + label + us / (N_STEPS * STEP_US) * width for us in (start_us, (start_us + end_us) / 2, end_us)]
        self.page.mouse.move(at[0], box["y"] + RULER_Y_PX)
        self.page.mouse.down()
        for x in at[1:]:
            self.page.mouse.move(x, box["y"] + RULER_Y_PX)
        self.page.mouse.up()

    def rows(self) -> dict[str, list[str]]:
        """The table of slices: the other cells by name; a row that is just being drawn has none."""
        found = self.view.locator(".tl-slices .tfp-grid .row").evaluate_all(
            "rows => rows.map(row => [...row.querySelectorAll('.c')].map(cell => cell.textContent))"
        )
        return {cells[0]: cells[1:] for cells in found if cells}

    def flame(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.view.evaluate("root => root.tfprofFlame?.() ?? []")
        return found


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finding")
    (folder / "one.xplane.pb").write_bytes(finding_space())
    return tfprof.load(folder / "one.xplane.pb").to_html(folder / "page.html")


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One for all tests: to load a page anew in it takes half as long as in a fresh browser profile."""
    with opened_page(browser, size_px=SIZE_PX) as page:
        yield page


@pytest.fixture
def face(page: Page, exported: Path) -> Iterator[Face]:
    page.goto(exported.as_uri())
    page.mouse.move(0, 0)
    view = page.locator('[data-tfprof="timeline"]')
    view.locator("canvas").first.wait_for()
    # Not `wait_for_function`: it asks by `eval`, which the page refuses.
    poll(lambda: view.evaluate("el => el.tfprofLocate?.('train')"), "the timeline draws no step")
    yield Face(page, view)
    assert page.evaluate("window.tfprofHacked") is None
    page.evaluate("localStorage.clear()")  # the height that a reader gave the timeline


# ---- searching ----------------------------------------------------------------------------------------------------------


def test_a_search_counts_all_matches_and_walks_them_in_the_order_of_time(face: Face) -> None:
    face.find("matmul")
    eventually(lambda: face.count == f"{N_STEPS} slices", "the matches are not counted")
    face.page.keyboard.press("0")  # typed into the field: no match any more
    eventually(lambda: face.count == "no match", "what is typed later does not count")
    face.page.keyboard.press("Backspace")
    face.page.keyboard.press("Enter")
    eventually(lambda: " of 6" in face.count, "the place among the matches is not told")
    first = int(face.count.split()[0])
    face.page.keyboard.press("Enter")
    eventually(lambda: face.count == f"{first % 6 + 1} of 6 slices", "Enter does not go on")
    face.page.keyboard.press("Shift+Enter")
    eventually(lambda: face.count == f"{first} of 6 slices", "Shift + Enter does not go back")
    assert MATMUL in face.details


def test_whole_names_and_expressions_are_searched_for(face: Face) -> None:
    face.find("train|call")
    eventually(lambda: face.count == "no match", "text is taken for an expression")
    face.view.get_by_role("button", name="Regular expression").click()
    eventually(lambda: face.count == f"{N_STEPS} slices", "an expression finds nothing")
    face.find("Relu")
    eventually(lambda: face.count == f"{N_STEPS} slices", "part of a name is not found")
    face.view.get_by_role("button", name="Whole names").click()
    eventually(lambda: face.count == f"{N_STEPS} slices", "the type of an op is no whole name")
    face.find("Rel")
    eventually(lambda: face.count == "no match", "part of a name counts as a whole one")
    face.view.get_by_role("button", name="Regular expression").click()
    face.find("(")
    eventually(lambda: face.count == "not a regular expression", "a wrong expression is not told")


def test_only_matches_can_be_shown_and_escape_clears_the_search(face: Face) -> None:
    picture = "view => view.querySelector('canvas').toDataURL()"
    face.find("relu")
    eventually(lambda: face.count == f"{N_STEPS} slices", "the matches are not counted")
    before = face.view.evaluate(picture)
    face.view.get_by_role("button", name="Only matches: dim all other slices").click()
    eventually(lambda: face.view.evaluate(picture) != before, "the others are not dimmed")
    face.find("")
    face.page.keyboard.press("Escape")
    assert face.view.get_by_label("Find slices by op, layer, source line or name").input_value() == ""
    eventually(lambda: not face.view.locator(".tl-walk").is_visible(), "the search is not cleared")


def test_earlier_searches_come_back_with_the_arrow_keys(face: Face) -> None:
    field = face.view.get_by_label("Find slices by op, layer, source line or name")
    for text in ("matmul", "relu"):
        face.find(text)
        face.page.keyboard.press("Enter")
        face.find("")
        face.page.keyboard.press("Escape")
    face.find("")
    face.page.keyboard.press("ArrowUp")
    assert field.input_value() == "relu"
    face.page.keyboard.press("ArrowUp")
    assert field.input_value() == "matmul"
    face.page.keyboard.press("ArrowDown")
    assert field.input_value() == "relu"


# ---- the table of slices ------------------------------------------------------------------------------------------------


def test_the_table_is_filtered_sorted_and_saved_and_follows_the_range(face: Face) -> None:
    face.view.locator("section.tl").focus()
    face.page.keyboard.press("0")
    face.show("Slices")
    eventually(
        lambda: face.rows().get(MATMUL, ["", ""])[:3] == ["6", "1.80 ms", "1.74 ms"], "the window is not added up"
    )
    face.view.get_by_label("Filter slices by name").fill("/^model/")
    eventually(lambda: set(face.rows()) == {MATMUL, RELU}, "the filter does not filter")
    face.view.locator(".tl-slices .tfp-head", has_text="Count").click()
    with face.page.expect_download() as saved:
        face.view.locator(".tl-slices").get_by_role("button", name="CSV").click()
    lines = saved.value.path().read_text().splitlines()
    assert lines[0] == "name,count,total_us,self_us,mean_us,min_us,max_us"
    assert f"{MATMUL},6,1800,1740,300,300,300" in lines
    face.view.get_by_label("Filter slices by name").fill("")
    eventually(lambda: EVIL in face.rows(), "the filter stays")
    face.drag_ruler(0, 2 * STEP_US)
    eventually(lambda: face.rows().get(MATMUL, [""])[0] == "2", "the range is not added up")
    assert EVIL not in face.rows()


def test_a_row_selects_all_slices_of_its_name_and_goes_to_the_longest(face: Face) -> None:
    face.view.locator("section.tl").focus()
    face.page.keyboard.press("0")
    face.show("Slices")
    eventually(lambda: RELU in face.rows(), "the table is empty")
    face.view.locator(f'.tl-slices .tfp-grid .row[data-name="{RELU}"]').click()
    eventually(lambda: RELU in face.details, "the longest slice is not selected")
    assert face.view.get_by_label("Find slices by op, layer, source line or name").input_value() == RELU
    eventually(lambda: face.count.endswith("6 slices"), "not all of the name are marked")


# ---- the flame ----------------------------------------------------------------------------------------------------------


def named(face: Face, name: str) -> list[dict[str, Any]]:
    return [rect for rect in face.flame() if rect["name"] == name]


def test_a_flame_merges_slices_by_what_leads_to_them_and_a_click_zooms_and_escape_zooms_out(face: Face) -> None:
    face.view.locator("section.tl").focus()
    face.page.keyboard.press("0")
    face.show("Flame")
    eventually(lambda: len(named(face, MATMUL)) == 1, "the flame is not there")
    assert named(face, MATMUL)[0]["ps"] == 6 * 300e6
    assert named(face, "tf_Compute")[0]["ps"] == 6 * 600e6
    narrow = named(face, RELU)[0]
    face.page.mouse.click(narrow["x"], narrow["y"])
    eventually(lambda: RELU in face.details, "the longest slice is not selected")
    eventually(lambda: not named(face, MATMUL), "the flame is not zoomed")
    face.page.keyboard.press("Escape")
    eventually(lambda: len(named(face, MATMUL)) == 1, "Escape does not zoom out")
    face.page.mouse.move(narrow["x"], narrow["y"])
    tip = face.view.locator(".tl-flamebox .tfp-tip")
    eventually(lambda: "6 ×" in tip.inner_text() and "600 µs" in tip.inner_text(), "the figures are not told")
    face.view.get_by_role("button", name="Threads together").click()
    eventually(lambda: len(named(face, "/host:CPU")) == 1, "threads are not merged")
    assert not named(face, "tf_Compute")


def test_a_flame_is_walked_and_left_by_keys_alone(face: Face) -> None:
    face.view.locator("section.tl").focus()
    face.page.keyboard.press("0")
    face.page.keyboard.press("g")
    eventually(lambda: len(face.flame()) > 3, "the flame is not there")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        face.page.keyboard.press(key)
    spoken = face.view.locator(".tl-pane [aria-live]")
    eventually(lambda: "self" in spoken.inner_text(), "the rectangle is not told")
    face.page.keyboard.press("Enter")
    eventually(lambda: face.view.locator(".tl-out").is_visible(), "Enter does not zoom in")
    face.page.keyboard.press("Backspace")
    face.page.keyboard.press("g")
    eventually(lambda: face.view.locator(".tl-slices").is_visible(), "the table does not come after the flame")


# ---- details and arrows -------------------------------------------------------------------------------------------------


def test_the_details_tell_figures_stats_and_arrows_of_a_slice(face: Face) -> None:
    face.pick(MATMUL, 2)
    eventually(lambda: "shape" in face.details, "the stats do not come")
    for part in (MATMUL, "300 µs", "6 × · 1.80 ms", "Arrows", "starts", "gemm", "[64,10]", "Inside it"):
        assert part in face.details
    face.drag_ruler(2 * STEP_US, 4 * STEP_US)
    eventually(lambda: "2 × · 600 µs" in face.details, "the figures are not those of the range")


def test_buttons_lead_to_neighbours_and_along_arrows(face: Face) -> None:
    face.pick(MATMUL, 1)
    eventually(lambda: "Copy" in face.details, "nothing is selected")
    start = face.details
    face.view.get_by_role("button", name="Next slice of the same op").click()
    eventually(lambda: MATMUL in face.details and face.details != start, "the next of the same op is not selected")
    face.view.locator("aside").get_by_role("button", name="gemm").click()
    eventually(lambda: face.details.startswith("gemm"), "the arrow does not lead to the kernel")


def test_markup_in_a_name_stays_text_wherever_it_is_told(face: Face) -> None:
    face.find("onerror")
    eventually(lambda: face.count == "1 slice", "the odd slice is not found")
    face.page.keyboard.press("Enter")
    eventually(lambda: EVIL in face.details, "the odd slice is not selected")
    face.show("Slices")
    eventually(lambda: EVIL in face.rows(), "the odd slice is not in the table")
    face.show("Flame")
    face.view.get_by_role("button", name="Selected name only").click()
    eventually(lambda: len(named(face, EVIL)) == 1, "the odd slice is not in the flame")
    assert face.view.locator("img").count() == 0


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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payload, "STEPS_BYTES", 150_000)
        return tfprof.load(folder / "large.xplane.pb").to_html(folder / "page.html")


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
