"""The texts of a dashboard -> the figures that they say, each of what and in which range; and which of them disagree.

A figure is known by its name, what is said of it, and the range that it is of: "CudnnRNNV3 on the device", self time, a step on
average. Places that say the same figure are a bar's tip, a row of a table, the header, a sentence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.browser.screen import Texts

_PS = {"ps": 1e-9, "ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
_NUMBER = r"<?\d[\d,]*(?:\.\d+)?"
_TIME = rf"{_NUMBER} (?:ps|ns|µs|ms|s)"
_SHARE = rf"{_NUMBER} %"
STEADY, WHOLE = "averaged steps", "whole capture"
ABOVE = ("overview_panel", "step_chart")
"""Views that are of the averaged steps whatever is linked."""
_BARS = {
    "Device by type": ("type", "device"),
    "Device by op": ("op", "device"),
    "Host by type": ("type", "host"),
    "Host by op": ("op", "host"),
    "By kind": ("HLO kind", ""),
    "Kernel time": ("kernel", ""),
}
_CATEGORIES = {
    "dispatch": "Python, dispatch",
    "sync": "Synchronising",
    "input": "Input",
    "output": "Output",
    "other": "Other",
    "compile": "Compilation",
    "checkpoint": "Checkpoint",
    "device compute": "Device compute",
    "host compute": "Host compute",
    "kernel launch": "Kernel launch",
    "copy to device": "Copy to device",
    "device to device": "Device to device",
    "device collectives": "Communication",
}
"""Parts of a step as sentences name them, and as the legend does."""
_SENTENCES = (
    (re.compile(rf"waits ({_NUMBER}) of {_NUMBER} ms a step for data \(({_SHARE})\)"), "Input"),
    (re.compile(rf"\w+ computes in ({_NUMBER}) of {_NUMBER} ms a step \(({_SHARE})\)"), "Device compute"),
    (
        re.compile(rf"waits ({_NUMBER}) of {_NUMBER} ms a step for Python and dispatch \(({_SHARE})\)"),
        "Python, dispatch",
    ),
)


@dataclass(frozen=True)
class Figure:
    """One figure as one place says it."""

    what: tuple[str, ...]
    """Kind of thing, name, side, and which figure of it in which unit."""
    scope: str
    least: float
    most: float
    """What the rounded text may stand for."""
    text: str
    place: str

    def agrees(self, other: Figure) -> bool:
        """Whether both may stand for one value."""
        return self.least <= other.most and other.least <= self.most


def figure(what: tuple[str, ...], scope: str, text: str, place: str) -> Figure:
    """Read a number, a time (in ms then) or a share."""
    match = re.match(rf"\s*({_NUMBER})\s*(ps|ns|µs|ms|s)?", text)
    assert match, (text, place)
    digits, unit = match.groups()
    scale = _PS[unit or "ms"]
    value = float(digits.lstrip("<").replace(",", ""))
    _, _, decimals = digits.partition(".")
    slack = 0.5 * 10 ** -len(decimals) if not digits.startswith("<") else value
    if not decimals and value >= 1000:  # three digits count in "61,204" too, where that is a time
        slack = max(slack, 0.5)
    # A step is rounded and then divided, and a share of what is rounded: a hair more than half a digit.
    return Figure(what, scope, (value - slack * 1.02) * scale, (value + slack * 1.02) * scale, text, place)


def figures(views: Mapping[str, Texts]) -> list[Figure]:
    """All that is understood of what views say."""
    found: list[Figure] = []
    for view, texts in views.items():
        scope = STEADY if view in ABOVE else scope_of(texts)
        found += [
            *_bars(texts, scope),
            *_rows(view, texts, scope),
            *_of_steps(texts, scope),
            *_op_buttons(view, texts, scope),
            *_peaks(view, texts),
        ]
        if view == "overview_panel":
            found += _header(texts)
    return _without_twins(found)


def scope_of(texts: Texts) -> str:
    """The range that a view says it is of; "" where it says none."""
    titles = [text for place, text in texts.items() if re.search(r"span\.(q|tfp-say)(\[\d+\])?@title$", place)]
    parts = [part for text in titles if " · " in text for part in text.split(" · ")]
    for part in parts:
        if part.startswith("average of "):
            return STEADY
        if re.match(r"whole capture|steps? [\d–,]+$|[\d.,–]+ ms$", part):
            return part
    return ""


def _bars(texts: Texts, scope: str) -> Iterator[Figure]:
    """Parts of bars: their tips, and what the bar says to a screen reader."""
    titles = {
        place.removesuffix(" span.q"): text for place, text in texts.items() if "tfp-share" in place.rpartition(" ")[0]
    }
    for place, text in texts.items():
        bar = next(
            (titles[start] for start in titles if place.startswith(f"{start} ") or place == f"{start}@aria-label"), ""
        )
        if bar not in _BARS:
            continue
        kind, side = _BARS[bar]
        parts = re.split(r"; (?=[^;]+\n)", text.removeprefix(f"{bar}: ")) if place.endswith("@aria-label") else [text]
        for part in parts if "@" in place else ():
            match = re.fullmatch(rf"(?s)(.+)\n({_TIME})(?: a step)?, ({_SHARE}) of .*", part)
            if match:
                name, time, share = match.groups()
                yield figure((kind, name, side, "self time"), scope, time, place)
                yield figure((kind, name, side, "share of its side"), scope, share, place)


def _rows(view: str, texts: Texts, scope: str) -> Iterator[Figure]:
    """Rows of tables: of ops or types, layers, HLO ops and kernels."""
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for place, text in texts.items():
        match = re.search(r"(.*row\[\d+\]) span\.\w*:(\w+)[^@]*(@title)?", place)
        if match and "tfp-bar-stack" not in place:
            row, column, is_title = match.groups()
            if is_title or column not in rows[row]:
                rows[row][column] = text
    for place, row in rows.items():
        if view == "op_table":
            is_op = not re.fullmatch(r"[\d,]+ ops?", row.get("name", ""))
            name = row["name"].partition("\n")[0] if is_op else row.get("type", "")
            what = ("op" if is_op else "type", name, row.get("where", ""))
        elif view in ("layer_table", "kernel_table"):
            what = ("layer" if view == "layer_table" else "kernel", row.get("layer") or row.get("name", ""), "")
        else:
            continue
        for column in ("self", "time", "total"):
            if row.get(column) and (column != "total" or view == "kernel_table"):
                yield figure((*what, "self time"), scope, f"{row[column]} ms", place)
        if view == "op_table" and row.get("ratio"):
            yield figure((*what, "share of its side"), scope, f"{row['ratio']} %", place)
        if row.get("count"):
            yield figure((*what, "count"), scope, row["count"], place)


def _of_steps(texts: Texts, scope: str) -> Iterator[Figure]:
    """Sentences on the average step and its parts."""
    for place, text in texts.items():
        for match in re.finditer(rf"{_NUMBER} of ({_NUMBER}) ms a step", text):
            yield figure(("step", "", "", "time"), STEADY, f"{match[1]} ms", place)
        for match in re.finditer(rf"[Ss]tep .*\bmean ({_TIME})|^mean ({_TIME})", text):
            yield figure(("step", "", "", "time"), STEADY, match[1] or match[2], place)
        for pattern, category in _SENTENCES:
            for match in pattern.finditer(text):
                yield figure(("part of a step", category, "", "time"), STEADY, f"{match[1]} ms", place)
                yield figure(("part of a step", category, "", "share"), STEADY, match[2], place)


def _op_buttons(view: str, texts: Texts, scope: str) -> Iterator[Figure]:
    """Ops as lists of buttons: those that cost most, and those of a line of code."""
    for place, text in texts.items():
        if view == "overview_panel" and " ol. " in place and place.endswith("@title"):
            name, _, rest = text.partition("\n")
            side = re.search(r"on the (device|host)", rest)
            start = place.removesuffix("@title")
            time, share = texts.get(f"{start} span.v[0]"), texts.get(f"{start} span.v[1]")
            if side and time:
                yield figure(("op", name, side[1], "self time"), scope, f"{time} ms", place)
                yield figure(("op", name, side[1], "share of its side"), scope, f"{share} %", place)
        match = re.fullmatch(
            rf"(?s)(.+)\n({_NUMBER}) runs?(?: a step)? on the (device|host), ({_TIME})(?: a step)?", text
        )
        if match and view == "source_view":
            name, runs, side_, time = match.groups()
            yield figure(("op", name, side_, "self time"), scope, time, place)
            yield figure(("op", name, side_, "count"), scope, runs, place)


def _peaks(view: str, texts: Texts) -> Iterator[Figure]:
    """What is in use at the peak of the whole capture: named by the capacity, which tells one device from the host."""
    for place, text in texts.items():
        match = re.match(rf"({_NUMBER}) (\w*i?B) of ({_NUMBER} \w*i?B) at the peak(?! of)", text)
        if match and view == "memory_timeline":
            yield figure(("memory", match[3], match[2], "peak"), WHOLE, match[1], place)
        if view == "overview_panel" and text.endswith(" GPU memory"):
            own, whole = re.fullmatch(rf"\s*(?:(\w*i?B) )?of ({_NUMBER} \w*i?B) GPU memory", text).groups()
            value = texts[place.replace("span.u", "span.n")]
            yield figure(("memory", whole, own or whole.split()[1], "peak"), WHOLE, value, place)


def _header(texts: Texts) -> Iterator[Figure]:
    """The header, the legend beside it and the details behind it."""
    figs: dict[str, dict[str, str]] = defaultdict(dict)
    for place, text in texts.items():
        if "tfp-fig" in place:
            start, _, last = place.rpartition(" ")
            figs[start][last] = text
        match = re.fullmatch(rf"(.+): ({_TIME}) a step, ({_SHARE})", text)
        if match and "tfp-cat" in place:
            name, time, share = match.groups()
            yield figure(("part of a step", name, "", "time"), STEADY, time, place)
            yield figure(("part of a step", name, "", "share"), STEADY, share, place)
            start = place.removesuffix("@title")
            for row, unit, quantity in (("dd.[0]", "ms", "time"), ("dd.[1]", "%", "share")):
                said = texts.get(f"{start} {row}")
                if said:
                    yield figure(("part of a step", name, "", quantity), STEADY, f"{said} {unit}", f"{start} {row}")
        for match in re.finditer(rf"([a-z ]+) ({_TIME}) \(({_SHARE})\)", text if "Then " in text else ""):
            name = _CATEGORIES.get(match[1].removeprefix("Then ").strip(), "")
            if name:
                yield figure(("part of a step", name, "", "time"), STEADY, match[2], place)
                yield figure(("part of a step", name, "", "share"), STEADY, match[3], place)
        match = re.search(rf"computes ({_SHARE}) of a step", text)
        if match:
            yield figure(("part of a step", "Device compute", "", "share"), STEADY, match[1], place)
    for start, parts in figs.items():
        unit = parts.get("span.u", "")
        value = parts.get("span.n", parts.get("span.n[0]", ""))
        if unit.endswith("a step") and value[:1].isdigit():
            yield figure(("step", "", "", "time"), STEADY, f"{value} {unit.split()[0]}", start)
    yield from _facts(texts)


def _facts(texts: Texts) -> Iterator[Figure]:
    """The details, as pairs of a term and what it is."""
    for place, text in texts.items():
        if "tfp-facts" in place and " dt." in place and text == "average":
            value = texts.get(place.replace(" dt.", " dd."), "")
            yield figure(("step", "", "", "time"), STEADY, value, place)


def _without_twins(found: list[Figure]) -> list[Figure]:
    """Those that have a name of their own: one place may list two things of one name, such as kernels launched in two ways."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in found:
        if one.what[0] in ("kernel", "op", "type"):
            places[(*one.what, re.sub(r"\[\d+\]", "", one.place))].append(one.place)
    twins = {key[:-1] for key, where in places.items() if len(set(where)) > 1}
    return [one for one in found if one.what not in twins]


def compared(found: Iterable[Figure]) -> list[tuple[Figure, Figure]]:
    """Pairs of places that say one figure, each with the first that says it."""
    said: dict[tuple[tuple[str, ...], str], list[Figure]] = defaultdict(list)
    for one in found:
        said[one.what, one.scope].append(one)
    return [(first, other) for first, *others in said.values() for other in others]


def contradictions(found: Iterable[Figure]) -> list[str]:
    """Figures of which two places say different things."""
    return [
        f"{' '.join(filter(None, a.what))} of {a.scope}: {a.text!r} at {a.place}, {b.text!r} at {b.place}"
        for a, b in compared(found)
        if not a.agrees(b)
    ]
