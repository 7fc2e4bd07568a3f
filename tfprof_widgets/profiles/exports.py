"""ProfileExports: the files of one profile: Chrome trace, CSV and Parquet tables, a run directory."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..errors import TfProfError
from .capture_facts import ProfileCapture

if TYPE_CHECKING:
    from ..formats.saved import SavedProfile
    from ..views.widgets.base import View
    from ..views.widgets.bookmarks import Bookmark
    from ..views.widgets.data import Call

_SLOW_S = 1.0
"""A progress bar appears when a file takes longer."""
_MOST_SENT = 3_000_000
"""Events of a trace that goes through a page: some 70 MB compressed, which the kernel writes in half a minute."""
_SENT_LEVEL = 1
_PIECE_BYTES = 4 * 2**20


class ProfileExports(ProfileCapture):
    """The part of a `Profile` that writes files."""

    title: str
    _views: dict[type[View], View]

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know first; one sentence each."""
        raise NotImplementedError

    def to_chrome_trace(self, path: str | Path) -> Path:
        """Write the trace for Perfetto (https://ui.perfetto.dev), chrome://tracing, speedscope and `load`.

        All events with their stats and to the picosecond; names and order of processes and threads; flows as arrows;
        counters; a mark at the start of each step. Events that outlive the one they start in, which those viewers cannot
        nest, are asynchronous ones. `load` gives back the same trace, with the samples of the machine and the bookmarks
        of the timeline. The lines of your code stay behind: `save` keeps those. Of a reduced profile these events are what its
        timeline shows: the steps of each host, what they were made of, and its longest events.

        Args:
            path: of the file; with `.gz` at its end it is compressed, to about a tenth, which all these read too.

        Returns:
            The path.

        Raises:
            TfProfError: it cannot be written. What was at the path before is still there, and no part of a file.
        """
        from ..export.chrome.chrome_trace import write_chrome_trace

        target = Path(path).expanduser()
        results = self._results
        with _progress(results.trace.n_events, "events", target.name) as on_events:
            write_chrome_trace(target, results, saved=self._saved_with_trace(), on_events=on_events)
        return target

    def to_csv(self, directory: str | Path) -> Path:
        """Write every table as a CSV file, and `index.json`, which names their columns, units and rows.

        Of a reduced profile the events are those of its timeline, and the timeline of the memory is empty.

        Returns:
            The directory, made where it was not there.

        Raises:
            TfProfError: a file cannot be written; those written before it are whole.
        """
        return self._write_tables(directory, "csv")

    def to_parquet(self, directory: str | Path) -> Path:
        """Write every table as a Parquet file, and `index.json`, which names their columns, units and rows.

        Returns:
            The directory, made where it was not there.

        Raises:
            TfProfError: pyarrow is not installed, or a file cannot be written; those written before it are whole.
        """
        return self._write_tables(directory, "parquet")

    def report(self, path: str | Path | None = None) -> str:
        """The profile as Markdown that a person or a language model can act on: verdict, evidence, fixes, tables, limits.

        What to change comes first, each with its numbers, the code to paste and where to look; then the top of each table and
        what gives all of it; what the capture cost, what it could not show, and how to record that. At most 20 kB, whatever
        the trace holds; text of the trace cannot become markup. It quotes lines of your code where they are known.

        Args:
            path: of a file to write as well; None for none.

        Raises:
            TfProfError: it cannot be written. What was at the path before is still there, and no part of a report.
        """
        from ..export.atomic import replacing
        from ..export.report.report import render_report
        from ..export.report.subject import Subject

        subject = Subject(
            results=self._results,
            title=self.title,
            notices=self.notices,
            capture=self.capture,
            system=self.system,
            findings=self.system_findings,
            version=str(getattr(sys.modules[__package__], "__version__", "")),
        )
        text = render_report(subject)
        if path is not None:
            with replacing(Path(path).expanduser(), packs=False) as file:
                file.write(text.encode())
        return text

    def save(self, directory: str | Path) -> Path:
        """Keep the profile in a directory that `load` opens and TensorBoard shows as a log directory.

        Each run of the profiler becomes `plugins/profile/<run>` with its `<host>.xplane.pb` files, unpacked, and what was
        noted of source lines (which holds the text of your cells and files); `tfprof.profile.json` beside `plugins` keeps
        the samples of the machine, the notices of the capture and the bookmarks of the timeline. A profile that was
        loaded from a Chrome trace has no XSpace: its run holds that JSON file, which `load` reads, TensorBoard does not,
        and a warning says so.

        Returns:
            The directory, made where it was not there. Other runs in it stay; its `load` opens this profile.

        Raises:
            TfProfError: a file cannot be written; the message says which.
        """
        from ..export.run_dir import save_runs

        return save_runs(Path(directory).expanduser(), self._opened, self._saved_now())

    def _calls(self) -> dict[str, Call]:
        """What the timeline asks for to open the trace in Perfetto."""
        return {"chrome_trace": self._chrome_trace_reply}

    def _chrome_trace_reply(self, message: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        """The compressed Chrome trace in pieces; as text where the page says that buffers do not reach it."""
        import base64
        import gzip
        import io

        from ..export.chrome.chrome_trace import stream_chrome_trace

        if (n_events := self._results.trace.n_events) > _MOST_SENT:
            raise TfProfError(f"{n_events:,} events are too many to hand over; the limit is {_MOST_SENT:,}.")
        whole = io.BytesIO()
        with gzip.GzipFile(fileobj=whole, mode="wb", compresslevel=_SENT_LEVEL) as packed:
            stream_chrome_trace(cast(BinaryIO, packed), self._results, saved=self._saved_with_trace())
        content = whole.getvalue()
        pieces = [content[low : low + _PIECE_BYTES] for low in range(0, len(content), _PIECE_BYTES)]
        head: dict[str, Any] = {"n_bytes": len(content)}
        if not message.get("as_text"):
            return head, pieces
        return {**head, "data": [base64.b64encode(piece).decode() for piece in pieces]}, []

    def _write_tables(self, directory: str | Path, kind: str) -> Path:
        from ..export.tables import tables, write_tables

        target = Path(directory).expanduser()
        found = {**tables(self._results), "system_findings": self.system_findings}
        with _progress(sum(len(table) for table in found.values()), "rows", target.name) as on_rows:
            write_tables(target, found, kind=kind, on_rows=on_rows)
        return target

    def _saved_now(self) -> SavedProfile:
        """What is known beside the events, as of now."""
        from ..formats.saved import SavedProfile

        before = self._opened.saved or SavedProfile()
        known = before if self._record is None else self._record
        return SavedProfile(
            title=self.title,
            notices=known.notices,
            n_missing_hosts=before.n_missing_hosts,
            system=known.system,
            cost=known.cost,
            capture=self._capture_now,
            bookmarks=self._bookmarks_now(),
        )

    def _saved_with_trace(self) -> SavedProfile:
        """The same to go with the events of `trace`; of a reduced profile those are few, which its notices tell."""
        from dataclasses import replace

        saved = self._saved_now()
        return replace(saved, notices=self.notices) if self._results.is_reduced else saved

    def _loaded_bookmarks(self) -> tuple[Bookmark, ...]:
        """Those that the profile was saved with."""
        import json

        from ..views.widgets.bookmarks import bookmarks_from_json

        saved = self._opened.saved
        return () if saved is None else bookmarks_from_json(json.dumps(saved.bookmarks))

    def _bookmarks_now(self) -> tuple[Any, ...]:
        """The bookmarks of the timeline, as JSON has them; those that were loaded while there is no timeline."""
        import json

        from ..views.widgets.bookmarks import bookmarks_to_json
        from ..views.widgets.timeline import Timeline

        timeline = self._views.get(Timeline)
        bookmarks = self._loaded_bookmarks() if timeline is None else timeline.bookmarks
        return tuple(json.loads(bookmarks_to_json(bookmarks)))


@contextlib.contextmanager
def _progress(total: int, unit: str, name: str) -> Iterator[Callable[[int], object]]:
    """A bar for what takes longer than a second; gives what is told how many more are done."""
    from tqdm.auto import tqdm

    with tqdm(total=total, unit=f" {unit}", unit_scale=True, desc=name, delay=_SLOW_S, leave=False) as bar:
        yield bar.update
