"""The path of a run -> its report, summary, page, tables or files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import TfProfError
from .documents import report_document, summary_document
from .terminal import write_json, write_text

if TYPE_CHECKING:
    from ..analysis.tree.tree_options import TreeView
    from ..loading import WatchedRun
    from ..profiles import Profile

OUTPUTS = {
    "chrome": "trace.json.gz",
    "pprof": "costs.pb.gz",
    "parquet": "tables",
    "csv": "tables",
}
"""What `export` writes, and where when nobody says."""
_WITHOUT_STACKS = 2
"""Rows of the tree by code that knows no line: the root, and what is of no call stack."""


def open_run(path: str) -> Profile:
    """Open what `tfprof.load` opens, but not the folder of a watched training.

    Raises:
        TfProfError: it is none, or cannot be read.
    """
    from ..profiles import Profile

    run = _open(path)
    if isinstance(run, Profile):
        return run
    raise TfProfError(
        f"{path} holds a watched training, which has no profile of its own: tfprof report tells of it, and its windows are "
        "runs below that folder"
    )


def _open(path: str) -> Profile | WatchedRun:
    from ..loading import load

    return load(path)


def print_report(options: argparse.Namespace) -> int:
    """Print the report as Markdown; with `--json` the figures, the advice and the top of the tables."""
    if options.json:
        write_json(report_document(open_run(options.run)))
    else:
        write_text(_open(options.run).report())
    return 0


def print_summary(options: argparse.Namespace) -> int:
    """Print the summary of some thirty lines."""
    run = open_run(options.run)
    if options.json:
        write_json(summary_document(run))
    else:
        write_text(run.text())
    return 0


def write_page(options: argparse.Namespace) -> int:
    """Write the dashboard as one page."""
    return _tell_written(open_run(options.run).to_html(options.output), options)


def write_files(options: argparse.Namespace) -> int:
    """Write the trace or its tables for another program."""
    run, target = open_run(options.run), options.output or OUTPUTS[options.to]
    write = {
        "chrome": run.to_chrome_trace,
        "pprof": lambda path: run.to_pprof(path, _stacks(run)),
        "parquet": run.to_parquet,
        "csv": run.to_csv,
    }[options.to]
    return _tell_written(write(target), options)


def _stacks(run: Profile) -> TreeView:
    """By Python's call stacks; where none was recorded the ops have no more in common than their name scopes."""
    return "code" if len(run.tree("code")) > _WITHOUT_STACKS else "scope"


def _tell_written(path: Path, options: argparse.Namespace) -> int:
    if options.json:
        write_json({"path": str(path), "n_bytes": _size(path)})
    else:
        write_text(f"{path}")
    return 0


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)
