"""The documentation site: its pages are in the navigation, its links lead somewhere, and nothing of it is fetched from elsewhere.

MkDocs is no part of the `dev` extra, so this reads `mkdocs.yml` and `docs` themselves; `make docs` builds the site, strictly.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.documents import PAGES, links
from tfprof_widgets.analysis import RULES, STAGES, TABLES
from tools.site import gallery, pictures, reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
REFERENCE = reference.reference_pages()
MADE = {"api/tables.md", *(f"api/{name}" for name in REFERENCE), *(f"gallery/{name}.html" for name in gallery.PAGES)}
"""What the build adds."""
WRITTEN = {path: path.read_text(encoding="utf-8") for path in (*PAGES, DOCS / "semantics.md")}
MOST_PICTURE_BYTES = 3_000_000


def name_of(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


def anchors_of(text: str) -> set[str]:
    """Of the headings of a page, as MkDocs makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def test_the_navigation_lists_each_page_once() -> None:
    listed = re.findall(r"^ +- (?:[\w ]+: )?([\w/]+\.md)$", CONFIGURATION.partition("\nnav:")[2], re.MULTILINE)
    assert sorted(listed) == sorted({*map(name_of, WRITTEN), *(name for name in MADE if name.endswith(".md"))})


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_each_link_and_picture_of_a_page_exists(page: Path) -> None:
    for link, anchor in links(WRITTEN[page]):
        found = (page.parent / link).resolve() if link else page
        if name_of(found) in MADE:
            continue
        assert found.exists(), link
        if found.suffix == ".md" and anchor:
            assert anchor in anchors_of(found.read_text(encoding="utf-8")), f"{link}#{anchor}"


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_pictures_come_in_both_themes_with_a_text(page: Path) -> None:
    shown = re.findall(r"!\[([^\]]+)\]\((?:\.\./)?pictures/(\w+)-(light|dark)\.webp#only-(light|dark)\)", WRITTEN[page])
    assert len(shown) == WRITTEN[page].count("![")
    assert all(theme == only for _text, _name, theme, only in shown)
    light, dark = ([one[:2] for one in shown if one[2] == theme] for theme in ("light", "dark"))
    assert light == dark


def test_each_picture_is_made_and_shown() -> None:
    there = {path.name for path in pictures.PICTURES.iterdir()}
    assert there == {f"{shot.name}-{theme}.webp" for shot in pictures.SHOTS for theme in pictures.THEMES}
    shown = {Path(link).name for text in WRITTEN.values() for link, _anchor in links(text)}
    assert there <= shown
    assert sum(path.stat().st_size for path in pictures.PICTURES.iterdir()) < MOST_PICTURE_BYTES


def test_each_page_of_the_gallery_is_linked() -> None:
    linked = {link for link, _anchor in links(WRITTEN[DOCS / "gallery.md"])}
    assert {f"gallery/{name}.html" for name in gallery.PAGES} <= linked


def test_nothing_is_fetched_from_elsewhere() -> None:
    assert "font: false" in CONFIGURATION
    # With the address of a repository the theme asks its host for stars.
    assert not re.search(r"^repo_url", CONFIGURATION, re.MULTILINE)
    (polyfill,) = re.findall(r"polyfills: \[([\w./-]*iframe-worker[\w./-]*)\]", CONFIGURATION)
    assert (DOCS / polyfill).exists()
    for path in (*WRITTEN, *DOCS.rglob("*.css"), *DOCS.rglob("*.js")):
        text = path.read_text(encoding="utf-8")
        # An address in a link is asked for by a click alone; these would be asked for by the page.
        assert not re.findall(
            r"""!\[[^\]]*\]\(https?:|(?:src|srcset)=["']?https?:|@import|url\(["']?https?:""", text
        ), path


def test_advice_that_is_spoken_of_has_these_headings() -> None:
    known = {one.headline for one in RULES.values()} | {one.headline for one in STAGES.values()}
    text = WRITTEN[DOCS / "symptoms.md"]
    named = {
        " ".join(heading.split())
        for part in re.findall(r"\*\*Advice:?\*\*:?(.+?)\n\n", text, re.DOTALL)
        for heading in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", part)
    }
    assert len(named) > 35
    assert named - known == set()


def test_the_reference_has_each_public_name() -> None:
    text = "\n".join(REFERENCE.values())
    told = set(re.findall(r"^::: tfprof_widgets\.([\w.]+)$", text, re.MULTILINE))
    public = {name for name in tfprof.__all__ if not name.endswith("_ipython_extension")}
    assert told == public | {f"experiments.{name}" for name in tfprof.experiments.__all__}
    assert set(re.findall(r"^\| \[`([\w.]+)`\]\(\w+\.md#", REFERENCE["index.md"], re.MULTILINE)) == told - {
        "experiments"
    }


def test_the_tables_page_has_each_column_that_is_declared() -> None:
    page = reference.tables_page()
    for name, table in TABLES.items():
        part = page.partition(f"{{ #{reference.anchor(name)} }}")[2].partition("\n## ")[0]
        assert re.findall(r"^\| `([^`]+)`", part, re.MULTILINE) == list(table.names), name
    assert len({reference.anchor(name) for name in TABLES}) == len(TABLES)
