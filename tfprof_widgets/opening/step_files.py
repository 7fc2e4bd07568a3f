"""Files of TensorFlow's first profiler (timelines, RunMetadata, ProfileProto) -> one trace and one graph of ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import TraceError
from ..formats.v1.op_graph import op_graph_of, read_profile_proto
from ..formats.v1.run_metadata import GraphNodes, StepStats, graph_nodes, read_graph_def, read_op_log, read_step_stats
from ..formats.v1.run_metadata_trace import LOCAL_HOST, step_trace, trace_of
from ..formats.v1.timeline_json import NotATimelineError, read_timelines
from ..formats.wire.file_kind import FileKind
from ..trace.merging import merge_traces, with_host, with_warnings
from ..trace.op_graph_merging import merge_op_graphs
from ..trace.trace import Trace
from .file_content import file_bytes
from .file_names import GRAPH_NAMES, OP_LOG_NAME, some_names, step_numbers
from .found import Steps
from .opened import Opened

MOST_FILES = 2000
"""So many files are read at once."""
_N_SHOWN = 3
_RUN = FileKind.RUN_METADATA.value

ReadBytes = Callable[[Path], bytes]


def read_step_files(steps: Steps, *, graph: Path | None = None, read: ReadBytes = file_bytes) -> Opened:
    """Read files of one kind; each once, one after the other; of more than `MOST_FILES` the last steps of each directory.

    Args:
        steps: files of one directory are steps of one program, those of several are of several tasks.
        graph: a GraphDef, with a warning where it names nothing that ran; without it one beside the files is taken where it
            names what ran.
        read: gives the unpacked bytes of a file.

    Raises:
        NotATimelineError: a JSON file that is not doubtful is some other Chrome trace.
        TraceError: a file is damaged, or they are of several kinds.
    """
    mixed: dict[str, list[Path]] = {}
    for file, kind in steps.kinds.items():
        mixed.setdefault(_RUN if kind is FileKind.STEP_STATS else kind.value, []).append(file)
    if len(mixed) > 1:
        raise _of_several_kinds(mixed)
    files = _last_steps(steps.files)
    n_given = len(steps.kinds)
    cut = [f"{len(files)} of {n_given} files of steps are shown: the last ones."] if len(files) < n_given else []
    if steps.kinds[files[0]] is FileKind.PROFILE:
        op_graph = merge_op_graphs([read_profile_proto(read(file), source=str(file)) for file in files])
        return Opened(with_warnings(trace_of(op_graph), *cut), tuple(files), op_graph=op_graph)
    parts: list[StepStats] = []
    traces: list[Trace] = []
    directories = list(dict.fromkeys(file.parent for file in files))
    for directory in directories:
        stats = _read_stats([file for file in files if file.parent == directory], steps, read)
        parts.append(stats)
        trace = step_trace(stats)
        is_local = {session.host for session in trace.sessions} == {LOCAL_HOST}
        traces.append(with_host(trace, directory.absolute().name) if is_local and len(directories) > 1 else trace)
    together = _together(parts)
    nodes, companions, warnings = _companions(directories, together, graph, read)
    log_file = next((one for d in directories if (one := d / OP_LOG_NAME).is_file()), None)
    log = read_op_log(read(log_file) if log_file else None, source=str(log_file))
    return Opened(
        with_warnings(merge_traces(traces), *cut, *warnings),
        tuple(files),
        op_graph=op_graph_of(together, nodes, log),
        companions=(*companions, log_file) if log_file else companions,
    )


def _last_steps(files: Sequence[Path]) -> Sequence[Path]:
    """As many of the files as are read, of each directory the same number."""
    if len(files) <= MOST_FILES:
        return files
    by_directory: dict[Path, list[Path]] = {}
    for file in files:
        by_directory.setdefault(file.parent, []).append(file)
    most = max(1, MOST_FILES // len(by_directory))
    kept: list[Path] = []
    for own in by_directory.values():
        kept += [file for _, file in sorted(zip(step_numbers(own), own, strict=True))[-most:]]
    return kept[:MOST_FILES]


def _of_several_kinds(mixed: Mapping[str, Sequence[Path]]) -> TraceError:
    told = [f"{some_names([file.name for file in files], _N_SHOWN)} ({kind})" for kind, files in mixed.items()]
    parent = next(iter(mixed.values()))[0].parent
    return TraceError(
        f"{parent} holds files of several kinds: {'; '.join(told)}. Give a glob that matches files of one kind."
    )


def _read_stats(files: Sequence[Path], steps: Steps, read: ReadBytes) -> StepStats:
    numbered = sorted(zip(step_numbers(files), files, strict=True))
    if steps.kinds[files[0]] is not FileKind.JSON:
        return _together([read_step_stats({step: read(file)}, source=str(file)) for step, file in numbered])
    found = []
    for step, file in numbered:
        try:
            found.append(read_timelines({step: (str(file), read(file))}))
        except NotATimelineError as error:
            if file not in steps.doubtful:
                raise
            sure = [one for one in steps.files if one not in steps.doubtful]
            raise _of_several_kinds({"timelines of TensorFlow": sure, "another Chrome trace": [file]}) from error
    return _together(found)


def _together(parts: Sequence[StepStats]) -> StepStats:
    found = StepStats()
    for part in parts:
        found.executions.extend(part.executions)
        found.steps.extend(part.steps)
        found.thread_names.update(part.thread_names)
        found.partitions.extend(part.partitions)
        found.tensors.extend(part.tensors)
        found.counters.extend(part.counters)
        found.warnings.extend(part.warnings)
    return found


def _companions(
    directories: Sequence[Path], stats: StepStats, graph: Path | None, read: ReadBytes
) -> tuple[GraphNodes | None, tuple[Path, ...], list[str]]:
    """The nodes of the program's graph where it is known, the file that told it, and what to warn of."""
    warnings = []
    if graph is not None:
        nodes = read_graph_def(read(graph), source=str(graph))
        if not _names_what_ran(nodes, stats):
            warnings.append(f"The graph {graph} names nothing of what ran: it is of another program.")
        return nodes, (graph,), warnings
    for file in (directory / name for directory in directories for name in GRAPH_NAMES):
        if not file.is_file():
            continue
        try:
            nodes = read_graph_def(read(file), source=str(file))
        except TraceError as error:  # nobody asked for this file
            warnings.append(f"{error} It was left out.")
            continue
        if _names_what_ran(nodes, stats):
            return nodes, (file,), warnings
        warnings.append(f"{file} names nothing of what ran: it was left out.")
    return graph_nodes(stats.partitions) if stats.partitions else None, (), warnings


def _names_what_ran(graph: GraphNodes, stats: StepStats) -> bool:
    return any(one.name in graph for one in stats.executions)
