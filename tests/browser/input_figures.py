"""The texts of the input view and of advice on the input -> their figures: iterators, the bottleneck, waits."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
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
