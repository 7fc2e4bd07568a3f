"""Names that files of traces have, and what they tell: the host that wrote one, the step that it is of."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..formats.sidecar import is_sidecar
from ..trace.bounds import decoded

SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
CHROME_SUFFIXES = (".json", ".json.gz")
RUNS = Path("plugins") / "profile"
"""Where TensorBoard looks for runs below a log directory."""
GRAPH_NAMES = ("graph.pb", "graph.pbtxt")
"""Files beside those of steps that hold the program's GraphDef."""
OP_LOG_NAME = "tfprof_log"
"""As `tf.compat.v1.profiler.write_op_log` calls it."""
_NUMBER = re.compile(r"(\d+)(?!.*\d)")
_MOST_STEP = 2**53


def printable(name: str) -> str:
    """A file's name as text that any file or browser can hold: bytes that are not UTF-8 become backslash escapes."""
    return decoded(os.fsencode(name))


def some_names(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(printable, names[:most]))}{more}"


def host_of(file: Path) -> str:
    """The host that a file's name says wrote it."""
    name = printable(file.name)
    known = (*reversed(SUFFIXES), ".trace.json.gz", ".trace.json", *reversed(CHROME_SUFFIXES))
    return next((name.removesuffix(suffix) for suffix in known if name.endswith(suffix)), file.stem)


def step_numbers(files: Sequence[Path]) -> list[int]:
    """The number of the step of each file: the last one in its name; where two are equal or one has none, 0, 1, 2, ..."""
    found = []
    for file in files:
        match = _NUMBER.search(file.name.split(".")[0])
        if match is None or int(match[1][-20:]) > _MOST_STEP:
            return list(range(len(files)))
        found.append(int(match[1][-20:]))
    return found if len(set(found)) == len(found) else list(range(len(files)))


def companion_name(file: Path) -> str:
    """Under which name a graph or a log is found beside the files that it was read with."""
    if file.name == OP_LOG_NAME:
        return OP_LOG_NAME
    return GRAPH_NAMES[file.name.endswith(".pbtxt")]


def trace_files(run: Path) -> tuple[Path, ...]:
    """The trace files directly in a directory, by name; empty where it is no run."""
    return _files_named(run, SUFFIXES)


def chrome_files(run: Path) -> tuple[Path, ...]:
    """The Chrome traces directly in a directory, by name."""
    return tuple(file for file in _files_named(run, CHROME_SUFFIXES) if not is_sidecar(file.name))


def _files_named(run: Path, suffixes: tuple[str, ...]) -> tuple[Path, ...]:
    if not run.is_dir():
        return ()
    return tuple(sorted(file for file in run.iterdir() if file.name.endswith(suffixes) and file.is_file()))
