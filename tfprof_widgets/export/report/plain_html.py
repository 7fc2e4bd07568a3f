"""`Subject` -> HTML that shows where nothing runs: the verdict, a bar of the step, and the top of some tables, without a script.

An untrusted notebook keeps of an output what its front end calls safe. JupyterLab and Notebook 7 keep elements and styles of a
list, in which there are no `position`, no variables and no `currentColor`: text has the colour of the page, and what else is
drawn is seen on white and on black. `nbconvert` with `sanitize_html` keeps no styles, and shows the tags of `th`, `p` and
headings as text: a table here is `table`, `tr` and `td` alone. (The tags of the body that HTML gives every table it shows too.)

Source: `@jupyterlab/apputils` 4.6, `sanitizer.ts`; `nbconvert` 7.17, `filters/strings.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape, unescape

from ...analysis.base.wording import percent
from ...analysis.results import AnyResults
from ...analysis.steps.categories import CATEGORY_LABELS, STEP_CATEGORIES
from ..text import machine_words, step_words
from .markdown import is_figure, sentence
from .part import Part
from .subject import Room, Subject
from .tables import breakdown, kernels, ops, report_tables

ROOM = Room(rows=5, advice=3, name=40, sentence=300, code=0, sentences=3)
"""Of what a reader sees before there are views."""
_LEFT_OUT = {"standard deviation (ms)", "type", "mean self time (us)", "mean (us)", "launched by"}
"""Columns of a report for which a narrow page has no room."""
COLORS = {
    "input": "#d9480f",
    "copy_to_device": "#e06a9f",
    "host_compute": "#7d68c8",
    "dispatch": "#6f83d6",
    "kernel_launch": "#b9873c",
    "sync": "#8a9a2b",
    "device_compute": "#1f9e91",
    "device_to_device": "#b44ebc",
    "device_collectives": "#b44ebc",
    "output": "#199ae4",
    "compile": "#85654e",
    "checkpoint": "#b0446a",
    "other": "#8f9093",
}
"""Of the categories of a step, as on screen, where a theme cannot be asked for: to be told apart on white and on black."""
_RULE = "rgba(128, 128, 128, 0.35)"
_TABLE = "border-collapse:collapse;margin:2px 0;font-size:12px;width:auto"
_ROW = f"background:none;border-bottom:1px solid {_RULE}"
_LEFT = "text-align:left;vertical-align:top;padding:2px 14px 2px 0;white-space:normal"
_RIGHT = "text-align:right;vertical-align:top;padding:2px 14px 2px 0;white-space:nowrap"
_CODE = re.compile(r"`([^`]*)`")


def profile_html(subject: Subject) -> str:
    """The profile, as far as it fits one screen."""
    results, failure = subject.results, subject.results.memory_failure
    overview = results.overview
    if failure is not None:
        words = ((one.words, one.detail, one.code and f"`{one.code}`") for one in failure.actions)
        return sheet(overview.verdict, (" ".join(filter(None, one)) for one in words), report_tables(results, ROOM))
    facts = " · ".join(filter(None, (step_words(results), machine_words(results))))
    parts = (one.without(_LEFT_OUT) for one in (*_advice(results), *ops(results, ROOM), *kernels(results, ROOM)))
    told = [overview.verdict_detail, subject.since_last, facts, *_notices(subject)]
    return sheet(overview.verdict, told, parts, picture=_step_bar(results))


def sheet(verdict: str, told: Iterable[str], parts: Iterable[Part], *, picture: str = "") -> str:
    """A verdict, sentences below it, a picture and tables.

    Args:
        verdict: what it all comes to.
        told: sentences; empty ones are left out.
        parts: tables; those without rows are left out.
        picture: HTML, which nothing escapes here.
    """
    lines = "".join(f'<div style="margin:2px 0;opacity:0.8">{_text(sentence(one))}</div>' for one in told if one)
    return (
        f'<div style="font-size:13px;line-height:1.45;max-width:1100px;margin:4px 0">'
        f'<div style="font-size:16px;font-weight:600;margin:0 0 4px 0">{_text(sentence(verdict))}</div>'
        f"{lines}{picture}{''.join(_part(one) for one in parts if one.rows)}</div>"
    )


def _notices(subject: Subject) -> Iterator[str]:
    shown = subject.notices[: ROOM.sentences]
    yield from shown
    if len(subject.notices) > len(shown):
        yield f"({len(shown)} of {len(subject.notices)} notices; all: `prof.notices`)"


def _advice(results: AnyResults) -> Iterator[Part]:
    shown = results.advice[: ROOM.advice]
    gains = (
        f"{one.bound} {percent(one.gain_ratio)} of a {one.share_of}" if one.gain_ratio > 0 else "" for one in shown
    )
    yield Part(
        heading="What to change",
        source="prof.advice",
        columns=["advice", "saves"],
        rows=[[sentence(one.title, ROOM.sentence), gain] for one, gain in zip(shown, gains, strict=True)],
        n_rows=len(results.advice),
    )


def _step_bar(results: AnyResults) -> str:
    """The mean step as one bar, and what each of its colours is; nothing without steps."""
    frame = results.overview.breakdown
    if not results.overview.n_steps or not (frame["ms"] > 0).any():
        return ""
    (part,) = (one.without(_LEFT_OUT) for one in breakdown(results, replace(ROOM, rows=len(STEP_CATEGORIES))))
    shown = frame[frame["ms"] > 0].sort_values("ms", ascending=False, kind="stable")
    names = [str(name) for name in shown["category"]]
    boxes = "".join(
        f'<div style="width:{ratio:.2%};height:20px;background-color:{COLORS[name]}"></div>'
        for name, ratio in zip(names, shown["ratio"], strict=True)
    )
    labels = {
        name: escape(label).replace(" ", "&nbsp;") for name, label in zip(STEP_CATEGORIES, CATEGORY_LABELS, strict=True)
    }
    swatches = (f'<span style="color:{COLORS[name]}">&#9632;</span>&nbsp;{labels[name]}' for name in names)
    rows = [[swatch, *map(_text, row[1:])] for swatch, row in zip(swatches, part.rows, strict=True)]
    return (
        '<div style="display:flex;width:100%;height:20px;overflow:hidden;border-radius:3px;margin:10px 0 4px 0">'
        f"{boxes}</div>{_table(['a step, on average', *part.columns[1:]], rows)}"
    )


def _part(part: Part) -> str:
    counted = f"{len(part.rows):,} of {part.n_rows:,}; all: {part.source}"
    return (
        f'<div style="margin:12px 0 2px 0"><strong>{_text(part.heading)}</strong> '
        f'<span style="opacity:0.7">({escape(counted)})</span></div>'
        f"{_table(part.columns, [[*map(_text, row)] for row in part.rows])}"
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    styles = [_RIGHT if is_figure(name) else _LEFT for name in columns]
    lines = [[f"<strong>{escape(name)}</strong>" for name in columns], *rows]
    drawn = (
        "".join(f'<td style="{style}">{cell}</td>' for style, cell in zip(styles, line, strict=True)) for line in lines
    )
    return f'<table style="{_TABLE}">{"".join(f"""<tr style="{_ROW}">{one}</tr>""" for one in drawn)}</table>'


def _text(markdown: str) -> str:
    """What `markdown.py` wrote, a line of text with code spans and character references, as HTML; no markup comes out of it."""
    parts = _CODE.split(markdown)
    parts[0::2] = [escape(unescape(part)) for part in parts[0::2]]
    parts[1::2] = [f"<code>{escape(part)}</code>" for part in parts[1::2]]
    return "".join(parts)
