"""Exports: one run as files and as text, such as a Chrome trace, tables, a run directory, a report, a summary."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..errors import TfProfError
from .progress import Progress

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.tree.tree_options import TreeView
    from ..export.table_list import TableList
    from ..formats.saved import SavedProfile
    from .run import Run

_MOST_SENT = 3_000_000
"""Events of a trace that goes through a page: some 70 MB compressed, which the kernel writes in half a minute."""
_SENT_LEVEL = 1
_PIECE_BYTES = 4 * 2**20


class Exports:
    """What a run is written as."""

    def __init__(self, run: Run) -> None:
        self._run = run

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
        results = self._run.results
        with Progress(target.name, unit=" events", total=results.trace.n_events) as bar:
            write_chrome_trace(target, results, saved=self._saved_with_trace(), on_events=bar.tell)
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
            results=self._run.results,
            title=self._run.title,
            notices=self._run.notices,
            since_last=self._run.since_last,
            capture=self._run.capture,
            system=self._run.system,
            findings=self._run.system_findings,
            version=str(getattr(sys.modules[__name__.partition(".")[0]], "__version__", "")),
        )
        text = render_report(subject)
        if path is not None:
            with replacing(Path(path).expanduser(), packs=False) as file:
                file.write(text.encode())
        return text

    def plain_html(self) -> str:
        """The verdict, a bar of the step and the top of some tables as HTML that needs no script."""
        from ..export.report.plain_html import profile_html
        from ..export.report.subject import Subject

        return profile_html(
            Subject(results=self._run.results, notices=self._run.notices, since_last=self._run.since_last)
        )

    def to_pprof(self, /, path: str | Path, view: TreeView = "code", **options: Any) -> Path:
        """Write the costs as a file of pprof's format (`profile.proto`, compressed), which `pprof`, speedscope and other
        viewers of flame graphs open.

        Each sample is a node of `tree(view, **options)` with `micros`, `accelerator_micros` (both in microseconds) and `bytes`,
        and what else `select` names; the first figure that it names, else `micros`, is the one that viewers show first.
        The sums are the totals of the tree's root: what options hide counts at what is shown around it. Times are whole
        microseconds, rounded such that every total is less than 1 off and that of the root not at all but for its own
        rounding; nodes that have nothing left are not in the file.
        In the code view ops of a capture without a known call stack are at `<no call stack>`; of files of TensorFlow's
        first profiler they are left out, as in `tree` and in tfprof, and a comment in the file counts them; where no op has
        one, all are there.

        Args:
            path: of the file, such as `costs.pb.gz`; compressed whatever its name.
            view: stacks of `"code"` are Python's, with file and line; of `"scope"` the parts of the name scope; of `"graph"` the
                ops that it feeds; of `"op"` the op type alone.
            options: those of `tree`; but `max_depth` is 100 in the graph view and has no limit in the others. Of the details
                `select=("device", "op_types")` become labels of the samples.

        Returns:
            The path.

        Raises:
            TypeError, ValueError: a view or an option that means nothing; the message names it.
            TfProfError: the file cannot be written. What was at the path before is still there, and no part of a file.
        """
        from ..export.pprof.pprof import write_pprof

        return write_pprof(self._run.results, path, view, options)

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

        self._run.write_program()
        return save_runs(Path(directory).expanduser(), self._run.opened, self._saved_now())

    def tree_text(self, /, view: TreeView = "scope", **options: Any) -> str:
        """The same as the text that tfprof printed: an explanation, a legend, and one line per node, indented by depth.

        Without `select` a line has the times: `dense/MatMul (12us/84.19ms, 0us/0us, 12us/84.19ms)`, of the node itself and
        with all below it, together, on the accelerator and on the CPU. Without `max_depth` it goes 100 levels deep, and its
        last line says of how many nodes it shows how many: each line is indented by its depth.

        Raises:
            TypeError, ValueError: as of `tree`.
        """
        from ..analysis.tree.tree import build_tree
        from ..analysis.tree.tree_options import make_tree_options
        from ..export.tree_text import TEXT_DEPTH, depth_note, tree_text

        chosen = make_tree_options(**{"max_depth": TEXT_DEPTH, **options} if view != "op" else options)
        tree = build_tree(self._run.results.op_graph, view, chosen)
        return tree_text(tree, chosen) + ("" if "max_depth" in options else depth_note(tree))

    def text(self) -> str:
        """The profile in some thirty lines of text, as a terminal shows it; what has no data says so in a line."""
        from ..export.text import summarize

        cost = self._run.cost
        spent = None if cost is None else (cost.start_s, cost.stop_s, cost.n_bytes)
        return summarize(
            self._run.results,
            title=self._run.title,
            notices=self._run.notices,
            spent=spent,
            since_last=self._run.since_last,
        )

    def chrome_trace_reply(self, message: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        """The compressed Chrome trace in pieces; as text where the page says that buffers do not reach it."""
        import base64
        import gzip
        import io

        from ..export.chrome.chrome_trace import stream_chrome_trace

        if (n_events := self._run.results.trace.n_events) > _MOST_SENT:
            raise TfProfError(f"{n_events:,} events are too many to hand over; the limit is {_MOST_SENT:,}.")
        whole = io.BytesIO()
        with gzip.GzipFile(fileobj=whole, mode="wb", compresslevel=_SENT_LEVEL) as packed:
            stream_chrome_trace(cast(BinaryIO, packed), self._run.results, saved=self._saved_with_trace())
        content = whole.getvalue()
        pieces = [content[low : low + _PIECE_BYTES] for low in range(0, len(content), _PIECE_BYTES)]
        head: dict[str, Any] = {"n_bytes": len(content)}
        if not message.get("as_text"):
            return head, pieces
        return {**head, "data": [base64.b64encode(piece).decode() for piece in pieces]}, []

    @property
    def tables(self) -> TableList:
        """The tables that `sql` knows, with their columns, types and units: `print(prof.tables)`, or its `frame`.

        They are those that `to_csv` writes, under the names of its files: `events`, `steps`, `ops`, `memory_summary` and so
        on. To list them computes none of them.
        """
        from ..export.table_list import list_tables

        return list_tables(self._table_makers(), self._run.system)

    def sql(self, query: str) -> pd.DataFrame:
        """The rows of a query in SQL over all tables and events, `tables` has their names; needs `tfprof-widgets[sql]`.

            prof.sql("select name, sum(self_ns) / 1e6 as self_ms from events group by name order by self_ms desc limit 5")

        Only the tables that the query names are computed; they are kept, as all tables of a profile are. A list or a dict in
        a cell is the text of its JSON there. A query reads no file, no network and no variable of the program, and changes
        nothing.

        Args:
            query: one `SELECT` in the dialect of [DuckDB](https://duckdb.org/docs/stable/sql/introduction), also `FROM steps`
                or `DESCRIBE ops`.

        Returns:
            The rows, in the order that the query asks for; units are those of the columns. Without rows it has its columns.

        Raises:
            TfProfError: DuckDB is not installed, or it cannot answer the query: the message is DuckDB's.
        """
        from ..export.sql_query import run_query

        return run_query(query, self.tables, self._table_makers())

    def _table_makers(self) -> dict[str, Callable[[], pd.DataFrame]]:
        from ..export.tables import table_makers

        return {**table_makers(self._run.results), "system_findings": lambda: self._run.system_findings}

    def _write_tables(self, directory: str | Path, kind: str) -> Path:
        from ..export.tables import write_tables

        target = Path(directory).expanduser()
        found = {name: make() for name, make in self._table_makers().items()}
        with Progress(target.name, unit=" rows", total=sum(map(len, found.values()))) as bar:
            write_tables(target, found, kind=kind, on_rows=bar.tell)
        return target

    def _saved_now(self) -> SavedProfile:
        """What is known beside the events, as of now."""
        from ..formats.saved import SavedProfile
        from ..views.widgets.bookmarks import bookmarks_to_json

        before = self._run.saved or SavedProfile()
        known = self._run.record or before
        return SavedProfile(
            title=self._run.title,
            notices=known.notices,
            n_missing_hosts=before.n_missing_hosts,
            system=known.system,
            cost=known.cost,
            capture=self._run.facts,
            bookmarks=tuple(json.loads(bookmarks_to_json(self._run.bookmarks))),
        )

    def _saved_with_trace(self) -> SavedProfile:
        """The same to go with the events of `trace`; of a reduced profile those are few, which its notices tell."""
        from dataclasses import replace

        saved = self._saved_now()
        return replace(saved, notices=self._run.notices) if self._run.results.is_reduced else saved
