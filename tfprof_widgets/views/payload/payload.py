"""Analysis results -> what the browser draws from: a first pack of at most 256 KiB, and parts of at most 4 MiB.

    payload = build_payload(results)
    payload.overview        # the first pack
    payload.part("events:3")

Which parts there are, their order and their tables are told in `js/src/data/store.ts`.
"""

from __future__ import annotations

from functools import cached_property

from ...analysis.results import AnyResults
from .contents import Contents, contents_of
from .first_pack import first_pack
from .sections import LATE


class Payload:
    """What `TraceData` hands to the browser: `overview` at once, parts when they are asked for."""

    def __init__(self, contents: Contents, overview: bytes, is_here: frozenset[str]) -> None:
        self.overview = overview
        """A pack that draws every view at first paint; what it cannot hold are parts."""
        self.contents = contents
        self.is_here = is_here
        """What the overview holds whole: names of sections, `names`, `events` and `stats`."""

    @property
    def n_events(self) -> int:
        """Of the whole capture."""
        return self.contents.results.trace.n_events

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of all parts that are not in the overview, those first without which others cannot be read."""
        return tuple(
            f"{name}:{i}"
            for name, section in self.contents.all.items()
            if name not in self.is_here
            for i in range(section.n_parts)
        )

    @property
    def late_keys(self) -> tuple[str, ...]:
        """Of those the keys of what takes long to find and a reader looks at next."""
        late = (name for name, one in self.contents.sections.items() if isinstance(one, LATE) and one.n_parts == 1)
        return tuple(f"{name}:0" for name in late if name not in self.is_here)

    def part(self, key: str) -> bytes:
        """One part.

        Raises:
            KeyError: there is no such part; the message names what there is.
        """
        name, _, number = key.partition(":")
        section = self.contents.all.get(name)
        if section is None or not number.isdecimal() or int(number) >= section.n_parts:
            known = ", ".join(f"{name} ({one.n_parts})" for name, one in self.contents.all.items())
            raise KeyError(f"no part {key!r}; there are: {known}")
        return section.part(int(number))


def build_payload(results: AnyResults, *, title: str = "") -> Payload:
    """Decide what travels first and pack it.

    Args:
        results: what was computed from the trace.
        title: of the profile.
    """
    contents = contents_of(results, title=title)
    overview, is_here = first_pack(contents)
    return Payload(contents, overview, is_here)
