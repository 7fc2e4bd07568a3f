"""Notes at moments and ranges of a timeline <-> the JSON string that travels, so that saved notebooks keep them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import traitlets

MAX_TEXT = 2_000
"""Characters of a note; the page cuts at the same length."""


@dataclass(frozen=True)
class Bookmark:
    """A note of the reader at a moment or a range of time."""

    start_ns: int
    """After the trace origin."""
    end_ns: int
    """As `start_ns` for a moment."""
    text: str = ""

    def __post_init__(self) -> None:
        """Refuse what no timeline could draw.

        Raises:
            ValueError: the end is before the start.
        """
        if self.end_ns < self.start_ns:
            raise ValueError(f"a bookmark cannot end ({self.end_ns} ns) before it starts ({self.start_ns} ns)")


def bookmarks_to_json(bookmarks: Iterable[Bookmark], _widget: object = None) -> str:
    """Serialise for the browser."""
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
