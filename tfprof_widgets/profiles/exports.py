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

    from ..analysis.graph.options import TreeView
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
        """Write the trace as a file for Perfetto (https://ui.perfetto.dev), chrome://tracing, speedscope and `load`.

        It has all events with their stats, to the picosecond; names and order of processes and threads; flows as
        arrows; counters; a mark at the start of each step. Events that outlive the one they start in, which those
        viewers cannot nest, are asynchronous ones. `load` gives back the same trace, with the samples of the machine
        and the bookmarks of the timeline. The text of your code is not in it: `save` keeps that. Of a reduced profile
        (`is_reduced`) it has what the timeline shows: the steps of each host, what they were made of, and its longest
        events.

        Args:
            path: of the file, such as `trace.json.gz`. With `.gz` at its end it is compressed, to about a tenth; all of
                these read that too.

        Returns:
            The path.

        Raises:
            TfProfError: the file cannot be written. What was at the path before is still there, and no part of a file.

        Examples:
            >>> path = prof.to_chrome_trace(folder / "trace.json.gz")
            >>> tfprof.load(path).trace.n_events == prof.trace.n_events
            True
        """
        from ..export.chrome.chrome_trace import write_chrome_trace

        target = Path(path).expanduser()
        results = self._run.results
        with Progress(target.name, unit=" events", total=results.trace.n_events) as bar:
            write_chrome_trace(target, results, saved=self._saved_with_trace(), on_events=bar.tell)
        return target

    def to_csv(self, directory: str | Path) -> Path:
        """Write every table as a CSV file, and `index.json`, which names the columns, units and rows of each.

        Of a reduced profile (`is_reduced`) the events are those of its timeline, and the table of single allocations is
        empty.

        Args:
            directory: where the files go; made where it is not there.

        Returns:
            The directory.

        Raises:
            TfProfError: a file cannot be written; those written before it are whole.

        Examples:
            >>> tables = prof.to_csv(folder / "tables")
        """
        return self._write_tables(directory, "csv")

    def to_parquet(self, directory: str | Path) -> Path:
        """Write every table as a Parquet file, and `index.json`, which names the columns, units and rows of each.

        Args:
            directory: where the files go; made where it is not there.

        Returns:
            The directory.

        Raises:
            TfProfError: pyarrow is not installed, or a file cannot be written; those written before it are whole.
        """
        return self._write_tables(directory, "parquet")

    def report(self, path: str | Path | None = None) -> str:
        """The profile as Markdown that a person or a language model can act on: verdict, evidence, fixes, tables, limits.

        What to change comes first, each with its numbers, what to do and where to look. Then come the top of
        each table and the call that gives all of it; then what the capture cost, what it could not show, and how to
        record that. It has at most 20 kB, whatever the trace holds. Text of the trace cannot become markup. It quotes
        lines of your code where they are known.

        Args:
            path: of a file to write as well; None for none.

        Returns:
            The Markdown.

        Raises:
            TfProfError: the file cannot be written. What was at the path before is still there, and no part of a
                report.

        Examples:
            >>> text = prof.report(folder / "report.md")
            >>> text.startswith("# ")
            True
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
        """Write the costs by call stack as a file for pprof, speedscope and other viewers of flame graphs.

        The format is pprof's `profile.proto`, compressed. Each sample is a node of `tree(view, ...)` with `micros` and
        `accelerator_micros` (both microseconds) and `bytes`, and what else `select` names; viewers show the first
        figure that it names, else `micros`. The sums are the totals of the tree's root: what options hide counts at
        what is shown around it. Times are rounded to whole microseconds, so that every total is less than 1 off; nodes
        that have nothing left are not in the file. In the code view ops without a known call stack are at `<no call
        stack>`; of files of TensorFlow 1 they are left out, as in `tree`, and a comment in the file counts them, but
        where no op has one all are there.

        Args:
            path: of the file, such as `costs.pb.gz`; compressed whatever its name.
            view: what a stack is: `"code"` Python's, with file and line; `"scope"` the parts of the name scope;
                `"graph"` the ops that it feeds; `"op"` the op type alone.
            options: those of `tree`; but `max_depth` is 100 in the graph view and has no limit in the others.
                `select=("device", "op_types")` become labels of the samples.

        Returns:
            The path.

        Raises:
            TypeError: an option that does not exist, or of the wrong type; the message names it.
            ValueError: a view, an order or a figure that does not exist, or a regular expression that is none.
            TfProfError: the file cannot be written. What was at the path before is still there, and no part of a file.

        Examples:
            >>> path = prof.to_pprof(folder / "costs.pb.gz", "scope")
        """
        from ..export.pprof.pprof import write_pprof

        return write_pprof(self._run.results, path, view, options)

    def save(self, directory: str | Path) -> Path:
        """Keep the profile in a directory, which `load` opens and TensorBoard shows as a log directory.

        Each run of the profiler becomes `plugins/profile/<run>` with its `<host>.xplane.pb` files, unpacked, and what
        was noted of source lines, which holds the text of your cells and files. `tfprof.profile.json` beside `plugins`
        keeps the samples of the machine, the notices of the capture and the bookmarks of the timeline. A profile that
        was loaded from a Chrome trace keeps that JSON file in its place, which `load` reads, TensorBoard does not, and
        a warning says so.

        Args:
            directory: where the profile goes; made where it is not there. Other runs in it stay.

        Returns:
            The directory.

        Raises:
            TfProfError: a file cannot be written; the message says which.

        Examples:
            >>> kept = prof.save(folder / "kept")
            >>> tfprof.load(kept).steps.equals(prof.steps)
            True
        """
        from ..export.run_dir import save_runs

        self._run.write_program()
        return save_runs(Path(directory).expanduser(), self._run.opened, self._saved_now())

    def tree_text(self, /, view: TreeView = "scope", **options: Any) -> str:
        """The table of `tree` as the text that tfprof printed: a legend, and a line for each node, indented by depth.

        Without `select` a line has the times: `dense/MatMul (12us/84.19ms, 0us/0us, 12us/84.19ms)`, of the node itself
        and with all below it: in all, on the accelerator, and on the CPU. Without `max_depth` it goes 100 levels deep,
        and its last line says of how many nodes it shows how many. `view`, `options` and errors are those of `tree`.

        Examples:
            >>> text = prof.tree_text("op", max_depth=5, order_by="micros")
        """
        from ..analysis.graph.options import make_tree_options
        from ..analysis.graph.tree import build_tree
        from ..export.tree_text import TEXT_DEPTH, depth_note, tree_text

        chosen = make_tree_options(**{"max_depth": TEXT_DEPTH, **options} if view != "op" else options)
        tree = build_tree(self._run.results.op_graph, view, chosen)
        return tree_text(tree, chosen) + ("" if "max_depth" in options else depth_note(tree))

    def text(self) -> str:
        """The profile in some thirty lines of text, as a terminal shows it. What has no data says so in a line.

        `report()` says more, as Markdown.

        Examples:
            >>> "ms a step" in prof.text()
            True
        """
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
        """The rows of an SQL query over all tables and events; needs DuckDB: `pip install "duckdb>=1.1"`.

        Only the tables that the query names are computed; they are kept, as all tables of a profile are. A list or a
        dict in a cell is the text of its JSON there. A query reads no file, no network and no variable of the program,
        and changes nothing.

        Args:
            query: one `SELECT` in the dialect of [DuckDB](https://duckdb.org/docs/stable/sql/introduction), also `FROM
                steps` or `DESCRIBE ops`; `tables` has the names.

        Returns:
            The rows, in the order that the query asks for; units are those of the columns. Without rows it has its
            columns.

        Raises:
            TfProfError: DuckDB is not installed, or it cannot answer the query: the message is DuckDB's.

        Examples:
            >>> busiest = prof.sql("select name, sum(self_ns) / 1e6 as self_ms from events group by name order by self_ms desc")
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
