"""`LinkModel`: the selection that all views of one profile share, and bookmarks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import ipywidgets
import traitlets

from .tables import Cutter

_MOST_NAMED = 10


def _cut_names(names: Iterable[str], link: LinkModel) -> list[str]:
    return [link.cutter(name) for name in names]


def _whole_names(names: Iterable[object], link: LinkModel) -> tuple[str, ...]:
    return tuple(link.cutter.whole(str(name)) for name in names)


class LinkModel(ipywidgets.Widget):  # type: ignore[misc]
    """What all views of one profile have selected: what `Profile.link` gives. It has no view of its own.

    Set a field to move every view; observe it, as any trait of ipywidgets, to follow what is selected on the screen.

    Raises:
        TraitError: a time range that ends before it begins, or a host that the profile does not have.

    Examples:
        >>> seen = []
        >>> prof.link.observe(lambda change: seen.append(change["new"]), "step")
        >>> prof.link.step = 2
        >>> seen
        [2]
        >>> prof.link.step = -1
    """

    time_range = traitlets.Tuple(default_value=()).tag(sync=True)
    """`(t0_ns, t1_ns)`, nanoseconds after the trace origin, or `()` for none."""
    whole_capture = traitlets.Bool(False).tag(sync=True)
    """Whether figures without a time range are of the whole capture; else they are of the averaged steps, a step, where
    there are any.
    """
    selection = traitlets.Tuple(default_value=()).tag(sync=True, to_json=_cut_names, from_json=_whole_names)
    """Names of the selected ops: a tuple. An iterator of tf.data is selected by its long name, any other event by its own."""
    hover = traitlets.Unicode("").tag(sync=True)
    """Name of the op under the pointer, or empty."""
    step = traitlets.Int(-1).tag(sync=True)
    """Row of the selected step in `Profile.steps`, 0 the first, or -1 for none."""
    stretches = traitlets.Tuple(default_value=()).tag(sync=True)
    """What a card's "Show" marks in the timeline: begin and end of each stretch in turn, nanoseconds after the
    trace origin. Another `time_range` or `selection` that is set here removes them.
    """

    host = traitlets.Unicode("").tag(sync=True)
    """Name of the host that the views are about, or empty for all."""

    def __init__(self, hosts: Callable[[], Sequence[str]] | None = None) -> None:
        """`hosts` gives the hosts that may be selected; without it any name may be."""
        self.cutter = Cutter()
        self._hosts = hosts
        super().__init__()

    def use(self, cutter: Cutter) -> None:
        """Cut long names from now on as the page has them; the views call it."""
        is_other = any(cutter(name) != self.cutter(name) for name in self.selection)
        self.cutter = cutter
        if is_other:
            self.send_state("selection")

    @traitlets.validate("time_range")  # type: ignore[untyped-decorator]
    def _check_time_range(self, proposal: dict[str, tuple[float, ...]]) -> tuple[int, ...]:
        value = tuple(round(t) for t in proposal["value"])
        if value and (len(value) != 2 or value[0] > value[1]):
            raise traitlets.TraitError(f"time_range is (t0_ns, t1_ns) with t0_ns <= t1_ns, or () for all; got {value}")
        return value

    @traitlets.validate("host")  # type: ignore[untyped-decorator]
    def _check_host(self, proposal: dict[str, str]) -> str:
        name = proposal["value"]
        known = None if self._hosts is None or not name else self._hosts()
        if known is not None and name not in known:
            shown = ", ".join(known[:_MOST_NAMED]) + (", ..." if len(known) > _MOST_NAMED else "")
            raise traitlets.TraitError(f"host is the name of a host or '' for all; got {name!r}, there are: {shown}")
        return name

    @traitlets.observe("time_range", "selection")  # type: ignore[untyped-decorator]
    def _drop_stretches(self, change: dict[str, object]) -> None:
        """Drop the marks with what they are of; a front end that sends a range sends its marks with it."""
        if change["name"] not in self._property_lock:
            self.stretches = ()

    @traitlets.validate("selection")  # type: ignore[untyped-decorator]
    def _check_selection(self, proposal: dict[str, tuple[object, ...]]) -> tuple[str, ...]:
        return tuple(str(name) for name in proposal["value"])


MAX_TEXT = 2_000
"""Characters of a text, as in the page."""


@dataclass(frozen=True)
class Bookmark:
    """A note of the reader at a moment or a range of time."""

    start_ns: int
    """After the trace origin."""
    end_ns: int
    """As `start_ns` for a moment."""
    text: str = ""

    def __post_init__(self) -> None:
        if self.end_ns < self.start_ns:
            raise ValueError(f"a bookmark cannot end ({self.end_ns} ns) before it starts ({self.start_ns} ns)")


def bookmarks_to_json(bookmarks: Iterable[Bookmark], _widget: object = None) -> str:
    return json.dumps([asdict(bookmark) for bookmark in bookmarks])


def bookmarks_from_json(text: str, _widget: object = None) -> tuple[Bookmark, ...]:
    """Read what the browser or a saved notebook has; entries that are none are left out, the others stay."""
    try:
        entries = json.loads(text or "[]")
    except ValueError:
        return ()
    found = []
    for entry in entries if isinstance(entries, list) else ():
        try:
            start, end = int(entry["start_ns"]), int(entry["end_ns"])
            found.append(Bookmark(start, max(start, end), str(entry.get("text", ""))[:MAX_TEXT]))
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            continue
    return tuple(found)


class Bookmarks(traitlets.TraitType):  # type: ignore[misc]
    """A trait that holds a tuple of `Bookmark`, in the order of time; it is given any iterable of them, or of their fields."""

    default_value = ()
    info_text = "an iterable of Bookmark"

    def validate(self, obj: object, value: object) -> tuple[Bookmark, ...]:
        """Sort, and refuse what is no bookmark."""
        if isinstance(value, Iterable):
            entries = [
                Bookmark(*entry) if isinstance(entry, tuple) and len(entry) in (2, 3) else entry for entry in value
            ]
            if all(isinstance(entry, Bookmark) for entry in entries):
                return tuple(sorted(entries, key=lambda entry: (entry.start_ns, entry.end_ns, entry.text)))
        self.error(obj, value)
        raise AssertionError("unreachable")
