"""Files of TensorFlow's first profiler (timelines, RunMetadata, ProfileProto) -> one trace and one graph of ops."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import TraceError
from ..formats.v1.graph_def import GraphNodes, graph_nodes, read_graph_def
from ..formats.v1.op_graph_trace import trace_of
from ..formats.v1.op_log import read_op_log
from ..formats.v1.run_metadata_graph import op_graph_of
from ..formats.v1.run_metadata_trace import step_trace
from ..formats.v1.step_stats import StepStats, read_step_stats
from ..formats.v1.task_devices import LOCAL_HOST
from ..formats.v1.timeline_json import is_timeline
from ..formats.v1.timeline_steps import read_timelines
from ..trace.merging import merge_traces, with_host
from ..trace.op_graph import OpGraph
from ..trace.op_graph_merging import merge_op_graphs
from ..trace.trace import Trace
from .file_kind import FileKind, head_of_file, kind_of_file

GRAPH_NAMES = ("graph.pb", "graph.pbtxt")
"""Files beside those of steps that hold the program's GraphDef."""
OP_LOG_NAME = "tfprof_log"
"""As `tf.compat.v1.profiler.write_op_log` calls it."""
_NUMBER = re.compile(r"(\d+)(?!.*\d)")
_MOST_STEP = 2**53
_N_SHOWN = 3
MOST_FILES = 2000
"""So many files are read at once."""
_HEAD_BYTES = 2**20
"""In so many bytes a timeline names its first process: it begins with the names of all."""

ReadBytes = Callable[[Path], bytes]


@dataclass(frozen=True)
class StepFiles:
    """What files of steps hold."""

    trace: Trace
    op_graph: OpGraph
    files: tuple[Path, ...]
    """Those that were read."""
    companions: tuple[Path, ...] = ()
    """The graph and the log that were read besides."""


def step_numbers(files: Sequence[Path]) -> list[int]:
    """The number of the step of each file: the last one in its name; where two are equal or one has none, 0, 1, 2, ..."""
    found = []
    for file in files:
        match = _NUMBER.search(file.name.split(".")[0])
        if match is None or int(match[1][-20:]) > _MOST_STEP:
            return list(range(len(files)))
        found.append(int(match[1][-20:]))
    return found if len(set(found)) == len(found) else list(range(len(files)))


def read_step_files(
    files: Sequence[Path], kinds: Mapping[Path, FileKind], *, read: ReadBytes, graph: Path | None = None
) -> StepFiles:
    """Read files of one kind: timelines (`FileKind.JSON`), messages of steps, or profiles of tfprof.

    Each is read once, one after the other; of more than `MOST_FILES` the last steps of each directory.

    Args:
        files: at least one; files of one directory are steps of one program, those of several are of several tasks.
        kinds: of each file.
        read: gives the unpacked bytes of one.
        graph: a GraphDef, with a warning where it names nothing that ran; without it one beside the files is taken where it
            names what ran.

    Raises:
        NotATimelineError: a JSON file is some other Chrome trace.
        TraceError: a file is damaged, or they are of several kinds.
    """
    mixed = {kind: [file for file in files if kinds[file] is kind] for kind in dict.fromkeys(kinds[f] for f in files)}
    if len(mixed) > 1:
        raise TraceError(f"{_told_apart(mixed)}. Give a glob that matches files of one kind.")
    n_given, files = len(files), _last_steps(files)
    cut = [f"{len(files)} of {n_given} files of steps are shown: the last ones."] if len(files) < n_given else []
    if FileKind.PROFILE in mixed:
        return _read_profiles(files, read, cut)
    parts: list[StepStats] = []
    traces: list[Trace] = []
    directories = list(dict.fromkeys(file.parent for file in files))
    for directory in directories:
        stats = _read_stats([file for file in files if file.parent == directory], kinds, read)
        parts.append(stats)
        trace = step_trace(stats)
        is_local = {session.host for session in trace.sessions} == {LOCAL_HOST}
        traces.append(with_host(trace, directory.absolute().name) if is_local and len(directories) > 1 else trace)
    together = _together(parts)
    nodes, companions, warnings = _companions(directories, together, graph, read)
    log_file = next((one for d in directories if (one := d / OP_LOG_NAME).is_file()), None)
    log = read_op_log(read(log_file) if log_file else None, source=str(log_file))
    trace = _with_warnings(merge_traces(traces), [*cut, *warnings])
    companions = (*companions, log_file) if log_file else companions
    return StepFiles(trace, op_graph_of(together, nodes, log), tuple(files), companions)


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


def _with_warnings(trace: Trace, warnings: Sequence[str]) -> Trace:
    return replace(trace, warnings=(*trace.warnings, *warnings)) if warnings else trace


def companion_name(file: Path) -> str:
    """Under which name a graph or a log is found beside the files that it was read with."""
    if file.name == OP_LOG_NAME:
        return OP_LOG_NAME
    return GRAPH_NAMES[file.name.endswith(".pbtxt")]


def _told_apart(mixed: Mapping[FileKind, Sequence[Path]]) -> str:
    told = []
    for kind, files in mixed.items():
        names = ", ".join(file.name for file in files[:_N_SHOWN])
        more = f" and {len(files) - _N_SHOWN} more" if len(files) > _N_SHOWN else ""
        told.append(f"{names}{more} ({kind.value})")
    parent = next(iter(mixed.values()))[0].parent
    return f"{parent} holds files of several kinds: {'; '.join(told)}"


def _read_stats(files: Sequence[Path], kinds: Mapping[Path, FileKind], read: ReadBytes) -> StepStats:
    numbered = sorted(zip(step_numbers(files), files, strict=True))
    if kinds[files[0]] is FileKind.JSON:
        return _together([read_timelines({step: (str(file), read(file))}) for step, file in numbered])
    return _together([read_step_stats({step: read(file)}, source=str(file)) for step, file in numbered])


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
    return any(one.name in graph.nodes for one in stats.executions)


def _read_profiles(files: Sequence[Path], read: ReadBytes, warnings: Sequence[str]) -> StepFiles:
    from ..formats.v1.tfprof_profile import read_profile_proto

    graphs = [read_profile_proto(read(file), source=str(file)) for file in files]
    op_graph = merge_op_graphs(graphs)
    return StepFiles(_with_warnings(trace_of(op_graph), warnings), op_graph, tuple(files))


def step_files_in(directory: Path) -> dict[Path, FileKind]:
    """The files directly in a directory that are of steps, by name, with their kinds; nothing but first bytes is read.

    JSON called `timeline*.json*` is taken for a timeline. Reading it tells if it is none, as an empty or a cut one must not
    be missed.
    """
    found: dict[Path, FileKind] = {}
    for file in sorted(directory.iterdir()):
        if not file.is_file() or file.name.startswith("tfprof.") or file.name in (*GRAPH_NAMES, OP_LOG_NAME):
            continue
        kind = _kind_of(file)
        if kind in (FileKind.STEP, FileKind.PROFILE):
            found[file] = kind
        elif _is_called_timeline(file):
            found[file] = FileKind.JSON
    return found


def steps_among(matches: Iterable[Path]) -> dict[Path, FileKind]:
    """Files of steps among those that a pattern matches, and in the directories that it matches.

    Among those with a timeline every file that is called so is one. Where there is none they are traces of other programs.
    """
    places = [match for match in matches if match.is_dir() or match.is_file()]
    within = {match: step_files_in(match) for match in places if match.is_dir()}
    kinds = {match: _kind_of(match) for match in places if match not in within}
    timelines = {match for match, kind in kinds.items() if kind is FileKind.JSON and _begins_a_timeline(match)}
    has_timelines = bool(timelines)
    found: dict[Path, FileKind] = {}
    for match in places:
        if match in within:
            found |= within[match]
        elif kinds[match] in (FileKind.STEP, FileKind.PROFILE):
            found[match] = kinds[match]
        elif match in timelines or (has_timelines and _is_called_timeline(match)):
            found[match] = FileKind.JSON
    return found


def _kind_of(file: Path) -> FileKind:
    try:
        return kind_of_file(file)
    except OSError:  # who reads it is told
        return FileKind.UNKNOWN


def _is_called_timeline(file: Path) -> bool:
    return file.name.startswith("timeline") and ".json" in file.name


def _begins_a_timeline(file: Path) -> bool:
    head = head_of_file(file, _HEAD_BYTES)
    return head is not None and is_timeline(head)
