"""HTML -> what a browser sees of it: elements, cells by row, texts, scripts."""

from __future__ import annotations

from html.parser import HTMLParser


class Seen(HTMLParser):
    """A page or a part of one."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.outside_code = [""]
        """The texts that MathJax looks for formulas in."""
        self._inside: list[str] = []
        self.feed(page)

    @property
    def names(self) -> list[str]:
        """The elements without their attributes."""
        return [tag for tag, _ in self.tags]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside.append(tag)
        self.outside_code.append("")
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self._inside):
            self.rows[-1][-1] += data
        if "script" in self._inside:
            self.scripts[-1] += data
        if "code" not in self._inside:
            self.outside_code[-1] += data

    def handle_endtag(self, tag: str) -> None:
        while tag in self._inside and self._inside.pop() != tag:
            pass
        self.outside_code.append("")
