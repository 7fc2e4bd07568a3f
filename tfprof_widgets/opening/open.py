"""A path (file, run directory, logdir, saved profile or glob) -> the trace in it, and the other runs beside it.

Files of TensorFlow's first profiler are told by their content, whatever their name; `step_files` reads them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import EmptyTraceError, TraceError
from ..formats.saved import SavedProfile, read_saved
from ..formats.sidecar import read_sidecars, read_source_map
from ..formats.v1.timeline_json import NotATimelineError
from ..formats.v1.timeline_steps import read_timelines
from ..trace.merging import merge_traces
from ..trace.op_graph_merging import merge_op_graphs
from ..trace.source_map import SourceMap, merge_source_maps
from ..trace.trace import Trace
from .file_bytes import file_bytes
from .file_kind import FileKind
from .host_files import RUNS, newest_run, traces_among
from .open_file import (
    CHROME_SUFFIXES,
    SUFFIXES,
    chrome_files,
    open_chrome,
    open_file,
    open_run_files,
    open_steps,
    printable,
    trace_files,
)
from .opened import Opened, stamp_of
from .places import has_magic, is_url, matches_of, place_of
from .step_files import step_files_in, steps_among

__all__ = ["CHROME_SUFFIXES", "RUNS", "SUFFIXES", "Opened", "open_runs", "open_traces", "printable", "stamp_of"]

_N_SHOWN = 5
_SHORT_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]")


def open_traces(path: str | os.PathLike[str], *, graph: str | os.PathLike[str] | None = None) -> Opened:
    """Open what `path` names.

    Args:
        path: an `*.xplane.pb` or `*.xplane.pb.gz` file; a Chrome trace (`*.json`, `*.json.gz`); a `timeline-N.json`, a
            RunMetadata, a StepStats or a ProfileProto; a run directory (all its hosts are merged); a logdir (its newest
            run is read, the others are listed; of a directory that `Profile.save` wrote all runs are read); a directory of
            timelines, RunMetadata or ProfileProtos (each a step); or a glob of files and run directories (all are merged).
            Files of another time than most are left out, which the first warning of the trace says.
        graph: a GraphDef, of the program that wrote the RunMetadata or the timelines; a warning tells where it is not used.

    Raises:
        EmptyTraceError: the directory holds no trace, or a file is empty.
        TraceError: nothing is there, or a file is no trace, or the graph is no file; the message says what is there instead.
    """
    place = place_of(path, is_fresh=True)
    program = None if graph is None else place_of(graph)
    try:
        if program is not None and not program.is_file():
            what = "is a directory, not a file" if program.is_dir() else "does not exist"
            raise TraceError(f"graph={str(program)!r} {what}. Give the file of a GraphDef, or none.")
        opened = _with_sources(_open_place(place, program))
    except OSError as error:
        raise _unreadable(place, error) from error
    if program is None or program in opened.companions:
        return opened
    warning = f"The graph {program} was not used: what was read is no RunMetadata and no timeline."
    return replace(opened, trace=_warning(opened.trace, warning))


def _open_place(place: Path, graph: Path | None) -> Opened:
    if place.is_dir():
        return _open_directory(place, graph)
    if place.exists():
        return open_file(place, graph)
    if has_magic(place):
        return _open_glob(place, graph)
    raise TraceError(_missing(place))


def open_runs(run_dirs: Iterable[Path]) -> Opened:
    """Open several run directories, such as the windows of one capture, as one trace on one clock.

    Raises:
        TraceError: as `open_traces`.
    """
    opened = [open_traces(run_dir) for run_dir in run_dirs]
    return Opened(
        merge_traces([run.trace for run in opened]),
        tuple(path for run in opened for path in run.paths),
        source_map=merge_source_maps([run.source_map for run in opened]),
        stamps=tuple(stamp for run in opened for stamp in run.stamps),
    )


def open_host(file: Path, sidecars: Sequence[str] = ()) -> Opened:
    """Open the file of one host of a run.

    Args:
        file: the trace.
        sidecars: names of the source maps beside it that are about this host; those of other hosts are left alone.

    Raises:
        TraceError: as `open_traces`.
    """
    try:
        opened = open_file(file, None)
        opened = replace(opened, stamps=tuple(map(stamp_of, opened.paths)))
        return _knowing(opened, read_sidecars([file.parent / name for name in sidecars]))
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(place: Path, error: OSError) -> TraceError:
    return TraceError(
        f"{error.filename or place} cannot be read: {error.strerror or error}. Check the path and its permissions."
    )


def _with_sources(opened: Opened) -> Opened:
    """The same with the stamps of its files and the source maps beside them, each run's once."""
    opened = replace(opened, stamps=tuple(map(stamp_of, opened.paths)))
    runs = dict.fromkeys(path.parent for path in opened.paths if path not in opened.left_out)
    return _knowing(opened, merge_source_maps([read_source_map(run) for run in runs]))


def _knowing(opened: Opened, source_map: SourceMap) -> Opened:
    if not source_map.warnings:
        return replace(opened, source_map=source_map)
    return replace(opened, trace=_warning(opened.trace, *source_map.warnings), source_map=source_map)


def _warning(trace: Trace, *warnings: str) -> Trace:
    return replace(trace, warnings=(*trace.warnings, *warnings))


def _open_directory(place: Path, graph: Path | None) -> Opened:
    if (saved := read_saved(place)) is not None and saved.runs:
        return _open_saved(place, saved)
    files, others = newest_run(place)
    steps = step_files_in(place)
    if files:
        unread = [file for file in steps if file not in files]
        return _telling_of(open_run_files([files], others), place, unread)
    if steps:
        return open_steps(steps, graph)
    raise EmptyTraceError(
        f"{place} holds no trace: no *.xplane.pb in it or in its plugins/profile/*, and no timeline, RunMetadata or "
        f"ProfileProto in it. {_contents(place)} "
        "Capture one, or give another directory."
    )


def _telling_of(opened: Opened, place: Path, unread: Sequence[Path]) -> Opened:
    """The same with a warning of files of steps in a directory that were not read."""
    if not unread:
        return opened
    names = ", ".join(printable(file.name) for file in unread[:_N_SHOWN])
    more = f" and {len(unread) - _N_SHOWN} more" if len(unread) > _N_SHOWN else ""
    warning = (
        f"{printable(str(place))} also holds files of TensorFlow's first profiler, which were not read: {names}{more}. "
        "Load one of them, or a pattern that matches them."
    )
    return replace(opened, trace=_warning(opened.trace, warning))


def _open_saved(place: Path, saved: SavedProfile) -> Opened:
    """The runs of a saved profile, and what was saved beside them."""
    places = [place / RUNS / name for name in saved.runs]
    if all(runs := [trace_files(run) for run in places]):
        return replace(open_run_files(runs), saved=saved)
    parts = [_open_saved_run(place, run) for run in places]
    graphs = [part.op_graph for part in parts if part.op_graph is not None]
    return Opened(
        merge_traces([part.trace for part in parts]),
        tuple(file for part in parts for file in part.paths),
        saved=saved,
        op_graph=merge_op_graphs(graphs) if graphs else None,
        companions=tuple(file for part in parts for file in part.companions),
    )


def _open_saved_run(place: Path, run: Path) -> Opened:
    if files := trace_files(run):
        return open_run_files([files])
    steps = steps_among(step_files_in(run)) if run.is_dir() else {}
    files = chrome_files(run)
    if len(files) == 1 and set(steps.values()) <= {FileKind.JSON}:
        return open_chrome(files[0], None)
    if steps:
        return open_steps(steps, None)
    if not files:
        raise TraceError(f"{run} holds no trace, though {place} was saved with it. Save or copy the profile again.")
    return open_run_files([files])


def _open_glob(pattern: Path, graph: Path | None) -> Opened:
    matches = matches_of(pattern)
    files = traces_among(pattern, matches)
    may_be_steps = all(file.name.endswith(CHROME_SUFFIXES) for file in files)
    if may_be_steps and (steps := steps_among(matches)):
        return _open_matched_steps(pattern, steps, [file for file in files if file not in steps], graph)
    if not files:
        what = f"no *.xplane.pb among what it matches, {len(matches)} in all" if matches else "it matches nothing"
        raise TraceError(f"No trace at {pattern}: {what}. Check the pattern.")
    runs = [
        [file for file in files if file.parent == parent] for parent in dict.fromkeys(file.parent for file in files)
    ]
    return open_run_files(runs)


def _open_matched_steps(
    pattern: Path, steps: Mapping[Path, FileKind], others: Sequence[Path], graph: Path | None
) -> Opened:
    """Open files of steps that a pattern matches, and those of JSON beside them, whose beginnings do not say what they are."""
    kinds = dict(steps)
    for file in others:
        try:
            read_timelines({0: (str(file), file_bytes(file))})
        except NotATimelineError as error:
            raise TraceError(_mixed(pattern, steps, [file])) from error
        kinds[file] = FileKind.JSON
    return open_steps(kinds, graph)


def _mixed(pattern: Path, steps: Iterable[Path], others: Sequence[Path]) -> str:
    first = next(iter(steps))
    return (
        f"{pattern} matches files of several kinds: {printable(first.name)} is of TensorFlow's first profiler, "
        f"{printable(others[0].name)} is another Chrome trace. Give a pattern that matches one kind."
    )


def _missing(place: Path) -> str:
    if is_url(place):
        return _nowhere(place)
    parent = next(parent for parent in place.absolute().parents if parent.is_dir())
    hint = " Give a URL as text: a Path makes one slash of two." if _SHORT_URL.match(str(place)) else ""
    return f"Nothing is at {place}. The nearest directory that exists is {parent}. {_contents(parent)} Check the path.{hint}"


def _nowhere(place: Path) -> str:
    if place.parent.is_dir():
        return f"Nothing is at {place}. What is at {place.parent}: {_contents(place.parent)} Check the address."
    return f"Nothing is at {place}, and nothing is listed at {place.parent}. Check the address."


def _contents(directory: Path) -> str:
    """A sentence that names some of what a directory holds."""
    try:
        names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in directory.iterdir())
    except OSError:
        return "It cannot be read."
    if not names:
        return "It is empty."
    more = f" and {len(names) - _N_SHOWN} more" if len(names) > _N_SHOWN else ""
    return f"It holds {', '.join(names[:_N_SHOWN])}{more}."
