"""What was found at a path -> the traces in it as one, with what captures noted beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import TraceError
from ..formats.sidecar import read_sidecars
from ..trace.merging import merge_traces, with_warnings
from ..trace.op_graph_merging import merge_op_graphs
from ..trace.source_map import SourceMap, merge_source_maps
from .found import Found, Hosts, OneFile, Steps, find, unreadable
from .open_file import open_file, open_runs_of_hosts
from .opened import Opened, stamp_of
from .places import place_of
from .step_files import read_step_files


def open_traces(path: str | os.PathLike[str], *, graph: str | os.PathLike[str] | None = None) -> Opened:
    """Find what `path` names, and open it.

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
    return open_found(find(path), graph=graph)


def open_found(found: Found, *, graph: str | os.PathLike[str] | None = None) -> Opened:
    """Open what was found; as `open_traces`."""
    program = None if graph is None else place_of(graph)
    try:
        if program is not None and not program.is_file():
            what = "is a directory, not a file" if program.is_dir() else "does not exist"
            raise TraceError(f"graph={str(program)!r} {what}. Give the file of a GraphDef, or none.")
        opened = replace(_opened(found.parts, program), others=found.others)
        opened = replace(opened, saved=found.saved or opened.saved, stamps=tuple(map(stamp_of, opened.paths)))
        shown = dict.fromkeys(path.parent for path in opened.paths if path not in opened.left_out)
        source_map = merge_source_maps([read_sidecars(found.sidecars[run]) for run in shown])
    except OSError as error:
        raise unreadable(found.place, error) from error
    warnings = [found.told] if found.told else []
    warnings += source_map.warnings
    if program is not None and program not in opened.companions:
        warnings.append(f"The graph {program} was not used: what was read is no RunMetadata and no timeline.")
    return replace(opened, trace=with_warnings(opened.trace, *warnings), source_map=source_map)


def _opened(parts: Sequence[Hosts | Steps | OneFile], graph: Path | None) -> Opened:
    if all(isinstance(part, Hosts) for part in parts):
        return open_runs_of_hosts([part.files for part in parts])
    opened = [_opened_part(part, graph) for part in parts]
    return opened[0] if len(opened) == 1 else merge_opened(opened)


def _opened_part(part: Hosts | Steps | OneFile, graph: Path | None) -> Opened:
    if isinstance(part, Steps):
        return read_step_files(part, graph=graph)
    return open_file(part.file, graph) if isinstance(part, OneFile) else open_runs_of_hosts([part.files])


def open_runs(run_dirs: Iterable[Path]) -> Opened:
    """Open several run directories, such as the windows of one capture, as one trace on one clock.

    Raises:
        TraceError: as `open_traces`.
    """
    return merge_opened([open_traces(run_dir) for run_dir in run_dirs])


def merge_opened(opened: Sequence[Opened]) -> Opened:
    """What was opened one by one, on one clock; what was saved beside each, and what lies beside, is left aside."""
    graphs = [one.op_graph for one in opened if one.op_graph is not None]
    return Opened(
        merge_traces([one.trace for one in opened]),
        tuple(path for one in opened for path in one.paths),
        source_map=merge_source_maps([one.source_map for one in opened]),
        stamps=tuple(stamp for one in opened for stamp in one.stamps),
        op_graph=merge_op_graphs(graphs) if graphs else None,
        companions=tuple(file for one in opened for file in one.companions),
        left_out=tuple(file for one in opened for file in one.left_out),
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
        opened = open_file(file)
        source_map: SourceMap = read_sidecars([file.parent / name for name in sidecars])
        trace = with_warnings(opened.trace, *source_map.warnings)
        return replace(opened, trace=trace, source_map=source_map, stamps=tuple(map(stamp_of, opened.paths)))
    except OSError as error:
        raise unreadable(file, error) from error
