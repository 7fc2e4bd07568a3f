"""The texts of a dashboard -> the figures that they say, each of what and in which range; and which of them disagree.

A figure is known by its name, what is said of it, and the range that it is of: "CudnnRNNV3 on the device", self time, a step on
average. Places that say the same figure are a bar's tip, a row of a table, the header, a sentence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from tests.browser.figure import NUMBER, SHARE, STEADY, TIME, WHOLE, Figure, figure, named, roughly
from tests.browser.screen import Texts

BATCH = "a batch"
"""A step takes one: what iterators do for it is about what they do in a step."""
ROOM = 0.01
"""Of an iterator's total time: so much may lie between its averages over batches and over steps."""
_COST = re.compile(rf"work ({TIME}), waiting for its inputs ({TIME}), total ({TIME}), .* calls a batch")
_BLAMED = (
    re.compile(r"^(\S+) (?:accounts for|kept the processor busy|fills its buffer)"),
    re.compile(r"waits .* of .* ms a step for data \([^)]*\) in (\S+):"),
    re.compile(r", bottleneck (\S+)\. Arrow keys"),
)


def input_figures(views: Mapping[str, Texts]) -> Iterator[Figure]:
    """All of them; of a range that was chosen nothing."""
    graph = views.get("input_graph", {})
    if any(re.match(r"One batch, on average of [\d,]+:", text) for text in graph.values()):
        yield from _graph(graph)
        yield from _table(views.get("input_graph: Input ops", {}))
        yield from _waiting(views.get("input_graph: Waiting", {}))
        yield from _bottleneck(graph, views.get("overview_panel: cards", {}))


def _graph(texts: Texts) -> Iterator[Figure]:
    for place, text in texts.items():
        match = _COST.fullmatch(text)
        if match:
            name = texts[place.replace("@aria-description", "@aria-label")].partition("\n")[0]
            yield from _of_iterator(name, match.groups(), place)
        for batch in re.findall(rf"One batch, on average of .*: ({TIME})|, ({TIME}) a batch over", text):
            yield figure(("batch", "", "", "time"), BATCH, "".join(batch), place)


def _of_iterator(name: str, work_waiting_total: tuple[str, ...], place: str) -> Iterator[Figure]:
    quantities = zip(("work", "waiting", "total"), work_waiting_total, strict=True)
    found = [figure(("iterator", name, "", quantity), BATCH, text, place) for quantity, text in quantities]
    for one in found:
        yield roughly(one, ROOM * found[-1].most)


def _table(texts: Texts) -> Iterator[Figure]:
    """Rows a step; their sum is what the host does for the input."""
    heads = [text for place, text in texts.items() if place.endswith("tfp-head:work")]
    if heads != ["Work, ms a step"]:
        return
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for place, text in texts.items():
        match = re.search(r"(.*row\[\d+\]) span\.\w*:(\w+)", place)
        if match:
            rows[match[1]][match[2]] = text
    works = [figure((), "", f"{row['work']} ms", "") for row in rows.values()]
    n_rows = next((int(match[1]) for text in texts.values() if (match := re.fullmatch(r"(\d+) input ops", text))), 0)
    if n_rows == len(rows):
        least, most = sum(one.least for one in works), sum(one.most for one in works)
        yield Figure(("input ops", "", "", "work"), STEADY, least, most, f"the sum of {n_rows} rows", "Input ops")
    for place, row in rows.items():
        columns = tuple(f"{row[name]} ms" for name in ("work", "waiting", "total"))
        yield from _of_iterator(row["name"], columns, place)


def _waiting(texts: Texts) -> Iterator[Figure]:
    for place, text in texts.items():
        if match := re.fullmatch(rf"({TIME}) a step of work for the input", text):
            yield figure(("input ops", "", "", "work"), STEADY, match[1], place)
        if match := re.match(rf"Waiting for data: ({SHARE}) of {NUMBER} steps?", text):
            yield figure(("part of a step", "Input", "", "share"), STEADY, match[1], place)


def _bottleneck(graph: Texts, cards: Texts) -> Iterator[Figure]:
    for place, text in chain(graph.items(), cards.items()):
        for pattern in _BLAMED:
            if match := pattern.search(text):
                yield named(("bottleneck", "", "", "name"), WHOLE, match[1], place)


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
_KERNEL_ROWS = {"Kernel": ("kernel", ""), "Kernels": ("type", "device")}
"""What a row of the table of kernels is, by its head; kernels put together by type are called otherwise than the type."""
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
    (re.compile(rf"waits ({NUMBER}) of {NUMBER} ms a step for data \(({SHARE})\)"), "Input"),
    (re.compile(rf"\w+ computes in ({NUMBER}) of {NUMBER} ms a step \(({SHARE})\)"), "Device compute"),
    (
        re.compile(rf"waits ({NUMBER}) of {NUMBER} ms a step for Python and dispatch \(({SHARE})\)"),
        "Python, dispatch",
    ),
)


def figures(views: Mapping[str, Texts]) -> list[Figure]:
    """All that is understood of what views say."""
    found: list[Figure] = [*input_figures(views)]
    for name, texts in views.items():
        view = name.partition(":")[0]
        scope = STEADY if view in ABOVE else scope_of(texts)
        found += [
            *_bars(texts, scope),
            *_captured(texts),
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
        kind, side = _kernels(texts) if bar == "Kernel time" else _BARS[bar]
        parts = re.split(r"; (?=[^;]+\n)", text.removeprefix(f"{bar}: ")) if place.endswith("@aria-label") else [text]
        for part in parts if "@" in place else ():
            match = re.fullmatch(rf"(?s)(.+)\n({TIME})(?: a step)?, ({SHARE}) of .*", part)
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
        elif view == "layer_table":
            what = ("layer", row.get("layer", ""), "")
            if row.get("peak"):
                yield figure((*what, "memory at the peak"), WHOLE, row["peak"], place)
        elif view == "kernel_table":
            kind, side = _kernels(texts)
            what = (kind, row.get("name", ""), side)
        elif view == "memory_timeline" and "In memory at the peak: " in str(texts) and row.get("name"):
            yield from _held(texts, row, place)
            continue
        else:
            continue
        for column in ("self", "time", "total"):
            if row.get(column) and (column != "total" or view == "kernel_table"):
                yield figure((*what, "self time"), scope, f"{row[column]} ms", place)
        if view == "op_table" and row.get("ratio"):
            yield figure((*what, "share of its side"), scope, f"{row['ratio']} %", place)
        if row.get("count") and (view != "kernel_table" or what[0] == "kernel"):
            yield figure((*what, "count"), scope, row["count"], place)


def _kernels(texts: Texts) -> tuple[str, str]:
    """Kind and side of what the rows of the table of kernels are."""
    head = next((text for place, text in texts.items() if place.endswith("tfp-head:name")), "")
    return _KERNEL_ROWS.get(head, ("unit", ""))


def _held(texts: Texts, row: Mapping[str, str], place: str) -> Iterator[Figure]:
    """A layer, as the memory at the peak is told by layer."""
    if any(re.match(r"In memory at the peak: [\d,]+ layers?", text) for text in texts.values()):
        yield figure(("layer", row["name"], "", "memory at the peak"), WHOLE, row["allocated"], place)


def _captured(texts: Texts) -> Iterator[Figure]:
    """For how long the profiler ran: rounded once, so that all places say it in the same digits."""
    said = []
    for place, text in texts.items():
        if match := re.fullmatch(rf"({TIME}) captured", text) or re.search(
            rf"whole capture · (?:[\d,]+ steps? · )?({TIME})$", text
        ):
            said.append((place, match[1]))
        if text == "captured" and " span.label" in place:
            said.append((place, texts[place.replace("span.label", "span.value")]))
        if "of the time captured is outside of" in text and f"{place} span.nb[2]" in texts:
            said.append((place, texts[f"{place} span.nb[2]"].rstrip(").")))
    for place, time in said:
        yield named(("captured", "", "", "time"), WHOLE, time, place)


def _of_steps(texts: Texts, scope: str) -> Iterator[Figure]:
    """Sentences on the average step and its parts."""
    for place, text in texts.items():
        for match in re.finditer(rf"{NUMBER} of ({NUMBER}) ms a step", text):
            yield figure(("step", "", "", "time"), STEADY, f"{match[1]} ms", place)
        for match in re.finditer(
            rf"[Ss]tep .*\b(mean|median) ({TIME})|^(mean|median) ({TIME})|ms · (mean) ({TIME})|^A (step), on average ({TIME})$",
            text,
        ):
            name, time = [one for one in match.groups() if one]
            yield figure(("step", "", "", "median" if name == "median" else "time"), STEADY, time, place)
        for pattern, category in _SENTENCES:
            for match in pattern.finditer(text):
                yield figure(("part of a step", category, "", "time"), STEADY, f"{match[1]} ms", place)
                yield figure(("part of a step", category, "", "share"), STEADY, match[2], place)


def _op_buttons(view: str, texts: Texts, scope: str) -> Iterator[Figure]:
    """Ops of a line of code as a list of buttons."""
    for place, text in texts.items():
        match = re.fullmatch(
            rf"(?s)(.+)\n({NUMBER}) runs?(?: a step)? on the (device|host), ({TIME})(?: a step)?", text
        )
        if match and view == "source_view":
            name, runs, side_, time = match.groups()
            yield figure(("op", name, side_, "self time"), scope, time, place)
            yield figure(("op", name, side_, "count"), scope, runs, place)


def _peaks(view: str, texts: Texts) -> Iterator[Figure]:
    """What is in use at the peak of the whole capture: named by the capacity, which tells devices from the host.

    The chart of the memory view says it in one piece, behind the name of its allocator.
    """
    for place, text in texts.items():
        match = re.match(rf"\S+: ({NUMBER}) (\w*i?B)(?: of ({NUMBER} \w*i?B))? at the peak(?! of)", text)
        if match and view == "memory_timeline":
            yield figure(("memory", match[3] or "host", match[2], "peak"), WHOLE, match[1], place)
        if view == "overview_panel" and text.endswith(" GPU memory"):
            own, whole = re.fullmatch(rf"\s*(?:(\w*i?B) )?of ({NUMBER} \w*i?B) GPU memory", text).groups()
            value = texts[place.replace("span.u", "span.n")]
            yield figure(("memory", whole, own or whole.split()[1], "peak"), WHOLE, value, place)


def _header(texts: Texts) -> Iterator[Figure]:
    """The header, the legend beside it and the details behind it."""
    figs: dict[str, dict[str, str]] = defaultdict(dict)
    for place, text in texts.items():
        if "tfp-fig" in place:
            start, _, last = place.rpartition(" ")
            figs[start][last] = text
        match = re.fullmatch(rf"(.+): ({TIME}) a step, ({SHARE})", text)
        if match and "tfp-cat" in place:
            name, time, share = match.groups()
            yield figure(("part of a step", name, "", "time"), STEADY, time, place)
            yield figure(("part of a step", name, "", "share"), STEADY, share, place)
            start = place.removesuffix("@title")
            for row, unit, quantity in (("span.value[0]", "ms", "time"), ("span.value[1]", "%", "share")):
                said = texts.get(f"{start} {row}")
                if said:
                    yield figure(("part of a step", name, "", quantity), STEADY, f"{said} {unit}", f"{start} {row}")
        for match in re.finditer(rf"([a-z ]+) ({TIME}) \(({SHARE})\)", text if "Then " in text else ""):
            name = _CATEGORIES.get(match[1].removeprefix("Then ").strip(), "")
            if name:
                yield figure(("part of a step", name, "", "time"), STEADY, match[2], place)
                yield figure(("part of a step", name, "", "share"), STEADY, match[3], place)
        match = re.search(rf"computes ({SHARE}) of a step", text)
        if match:
            yield figure(("part of a step", "Device compute", "", "share"), STEADY, match[1], place)
    for start, parts in figs.items():
        unit = parts.get("span.u", "")
        value = parts.get("span.n", parts.get("span.n[0]", ""))
        if unit.endswith("a step") and value[:1].isdigit():
            yield figure(("step", "", "", "median"), STEADY, f"{value} {unit.split()[0]}", start)
        if match := re.match("of a step the ([CG]PU)", parts.get("div.d[0]", "")):
            name = "Device compute" if match[1] == "GPU" else "Host compute"
            yield figure(("part of a step", name, "", "share"), STEADY, f"{value} %", start)
        if match := re.search(rf", if ([{_NUMERALS}]) is fixed", parts.get("div.d[0]", "")):
            number = str(_NUMERALS.index(match[1]) + 1)
            yield figure(("card", number, "", "left"), STEADY, f"{value[2:]} {unit.strip()}", start)
    for place, text in texts.items():
        name = next((name for words, name in _HEADLINES.items() if words in text and " h2." in place), "")
        if share := name and texts.get(f"{place} span.nb[0]", texts.get(f"{place} span.nb", "")):
            yield figure(("part of a step", name, "", "share"), STEADY, share, place)
    yield from _cards(texts)
    yield from _facts(texts)


_HEADLINES = {
    "GPU waits | of a step for data": "Input",
    "GPU waits | of a step for ops on the CPU": "Host compute",
    "GPU computes in | of a step": "Device compute",
    "ops on the CPU compute in | of a step": "Host compute",
}
"""Headlines whose share, which is an element of its own, is that of a part of a step."""
_NUMERALS = "①②③"


def _cards(texts: Texts) -> Iterator[Figure]:
    """What of the drawn step each numbered card is about: the brackets, and what the drawing says."""
    drawn = {
        place.partition("@")[0]: (match[1], text)
        for place, text in texts.items()
        if (match := re.match(r".*step: ((?:epoch \d+, )?step \S+|\S+ \d+), ", text))
        and place.endswith("svg.@aria-label")
    }
    for place, text in texts.items():
        if match := re.fullmatch(rf"({NUMBER}(?: \S+)?) → ({TIME}) (?:on average|a step)", text):
            before, left = match.groups()
            number = texts.get(f"{place.partition(' div.gain')[0]} h3.title i.", "")
            yield figure(
                ("step", "", "", "time"), STEADY, before if " " in before else f"{before} {left.split()[1]}", place
            )
            if number:
                yield figure(("card", number, "", "left"), STEADY, left, place)
        for start, (step, _) in drawn.items():
            if place.startswith(f"{start} ") and (match := re.fullmatch(rf"([{_NUMERALS}]) ({TIME})", text)):
                yield figure(("card", str(_NUMERALS.index(match[1]) + 1), "", "time"), step, match[2], place)
    for start, (step, words) in drawn.items():
        for number, time in re.findall(rf"card (\d) is about ({TIME}) of it", words):
            yield figure(("card", number, "", "time"), step, time, start)


def _facts(texts: Texts) -> Iterator[Figure]:
    """The details, as pairs of a term and what it is."""
    for place, text in texts.items():
        if "tfp-facts" in place and " span.label" in place and text in ("average", "median"):
            value = texts.get(place.replace("span.label", "span.value"), "")
            yield figure(("step", "", "", "median" if text == "median" else "time"), STEADY, value, place)


def _without_twins(found: list[Figure]) -> list[Figure]:
    """Those that have a name of their own: one place may list two things of one name, such as kernels launched in two ways."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in found:
        if one.what[0] in ("kernel", "op", "type", "iterator"):
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


def contradictory_limits(views: Mapping[str, Texts], limits: Texts) -> list[str]:
    """Limits of a capture that a view belies, and columns that are empty and do not say why."""
    said = list(limits.values())
    found = []
    if any(text.startswith("No source lines in this profile") for text in views.get("source_view", {}).values()):
        found += [text for text in said if re.search("source files are shown|^Source lines were read", text)]
    if any(place.endswith("tfp-head:gflops") for place in views.get("op_table", {})):
        found += [text for text in said if text.startswith("No FLOP counts:")]
    layers = views.get("layer_table", {})
    for column in ("allocated", "peak"):
        shown = [place for place in layers if place.endswith(f"tfp-head:{column}")]
        if shown and not any(re.search(rf"row\[\d+\] span\.\w*:{column}$", place) for place in layers):
            found.append(f"no layer has a figure under {column!r}")
    return found
