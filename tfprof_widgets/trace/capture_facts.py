"""Facts of a capture: how it ended, what it cost, what went wrong, and bounds on what a file may claim."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import TraceError, without_controls

DISTORTED_RATIO = 0.10
"""A capture that surely made steps longer by more than this shows itself as much as the program."""
UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An allocation that failed and so ended the profiled code, from its exception."""

    kind: str
    text: str
    """The lines of its message about the allocation, else the first line; `parse_failure` reads them."""
    at_ns: int
    file: str = ""
    """What to call the file of the user's innermost line that ran, `Cell [5]` for a cell; "" for none."""
    line: int = 0
    code: str = ""
    batch_size: int = 0
    """0 where the call did not say."""
    selection: str = ""
    """The steps to capture, `steps=range(10, 20)`; "" for all or where unknown."""


@dataclass(frozen=True, kw_only=True)
class CaptureCost:
    """What the capture itself cost the program: what `Profile.cost` gives. Sums over the windows of the profiler."""

    start_s: float
    """Seconds that starting the profiler took. The program waited for it, between steps."""
    stop_s: float
    """Seconds that stopping it and writing its files took, likewise."""
    n_bytes: int
    """Size of its files."""
    n_events: int | None = None
    """Events in its files; None as long as they were not read."""


@dataclass(frozen=True)
class Interference:
    """Steps inside windows of the profiler against steps outside."""

    overhead_ratio: float = math.nan
    """Median step inside a window over median step outside, minus 1, so 0.05 is 5 % longer. NaN where it is not known."""
    overhead_interval: tuple[float, float] = UNKNOWN
    """Lower and upper end of its 95 % interval; both NaN with fewer than 5 steps inside or outside."""
    n_steps_inside: int = 0
    """Number of compared steps inside of windows."""
    n_steps_outside: int = 0
    """Number of compared steps outside of windows."""

    @property
    def is_distorting(self) -> bool:
        """Whether steps surely took over a tenth longer while they were captured: the whole interval is above that."""
        return self.overhead_interval[0] > DISTORTED_RATIO


@dataclass(frozen=True, kw_only=True)
class CaptureFacts(Interference):
    """How a program was captured. What it cost the steps is unknown until someone has measured it."""

    outcome: str
    """How it ended: `complete`, `bounded`, `exception` or `interrupted`."""
    n_steps: int
    """Steps that the program marked from start to stop, captured or not."""
    detail: str = "normal"
    """How much it recorded of each step: `low`, `normal` or `high`."""
    pauses_ns: tuple[tuple[int, int], ...] = ()
    """Unix times between which the program waited for the profiler's files, in time order."""
    failure: Failure | None = None
    """The allocation whose failure ended the user's code, if one did."""


MAX_DOCUMENT_BYTES = 64 * 2**20
"""Limit of a document beside a trace (a sidecar, a saved profile), also when unpacked."""
_FIRST_CHUNK = 2**10
_PADDING = re.compile(rb"\0*")
"""What tapes and disks write behind a file."""
GZIP = b"\x1f\x8b"


def decoded(raw: bytes) -> str:
    """UTF-8 as text; bytes that are none are data, too: they become backslash escapes (`\\xff`), and so do controls."""
    return without_controls(raw.decode("utf-8", "backslashreplace"))


def all_decoded(raws: Sequence[bytes]) -> list[str]:
    """The same of many, at once where all are UTF-8."""
    try:
        found = without_controls(b"\x0b".join(raws).decode()).split("\x0b")
    except UnicodeDecodeError:
        found = []
    return found if len(found) == len(raws) else [decoded(raw) for raw in raws]  # a text may hold one, too


def clean_text(value: object) -> str:
    """Any value as text, with halves of surrogate pairs and controls as backslash escapes, as in an XSpace."""
    text = str(value)
    return without_controls(text) if text.isascii() else decoded(text.encode("utf-8", "surrogatepass"))


def texts(values: object) -> list[str]:
    """A list of texts from JSON; halves of surrogate pairs become question marks, controls backslash escapes."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("a text is none")
    return [
        without_controls(value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8"))
        for value in values
    ]


def whole(value: object, low: int, high: int) -> int:
    """A number of JSON that must be an integer from `low` to before `high`."""
    if type(value) is not int or not low <= value < high:
        raise ValueError(f"{str(value)[:40]} is no whole number in [{low}, {high})")
    return value


def unpacked(content: bytes, most: int) -> bytes:
    """What was compressed by gzip, in one stream or in several, one after the other."""
    parts, n_bytes, at = [], 0, 0
    while at < len(content):
        unpacker, chunk = zlib.decompressobj(wbits=31), _FIRST_CHUNK
        while not unpacker.eof and at < len(content):
            piece = content[at : at + chunk]
            # Streams may be many and short: what is handed over is copied, so the pieces of each begin small.
            at, chunk = at + len(piece), 4 * chunk
            try:
                parts.append(unpacker.decompress(piece, most - n_bytes + 1))
            except zlib.error as error:
                raise TraceError(f"it is not whole: {error}") from error
            n_bytes += len(parts[-1])
            if n_bytes > most:
                raise TraceError(f"it unpacks to more than {most} bytes, the limit")
        if not unpacker.eof:
            raise TraceError(f"it is truncated: its {len(content)} bytes end inside the gzip stream")
        at = _PADDING.match(content, at - len(unpacker.unused_data)).end()  # type: ignore[union-attr]  # it matches nothing, too
    return b"".join(parts)


def check_brackets(text: bytes, most: int) -> None:
    """Refuse JSON that would take much more memory than its bytes: each bracket may be a list, which takes 30 times as many."""
    if text.count(b"[") + text.count(b"{") > most:
        raise TraceError(f"it has more than {most} lists, the limit")


def document(text: bytes, version: int, *, most_brackets: int) -> dict[str, Any]:
    """An object of JSON that this package wrote, of a version that is read."""
    check_brackets(text, most_brackets)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"it is no JSON: {type(error).__name__}: {error}") from error
    if not isinstance(found, dict) or found.get("version") != version:
        raise TraceError(f"its version is not {version}")
    return found


STEP = np.dtype(
    [
        ("start_ns", "<i8"),  # Unix time
        ("duration_us", "<f4"),  # from its begin to that of the next; to its end for the last of an epoch
        ("wait_us", "<f4"),  # of it: waited for the next element; NaN: not known
        ("outside_us", "<f4"),  # of it: between the calls that compute, without the wait; NaN: not known
        ("loss", "<f4"),  # NaN: not known
        ("number", "<i4"),
        ("n_batches", "<u2"),
        ("kind", "u1"),
        ("flags", "u1"),
    ]
)
"""One row a step, 32 bytes."""

TRAIN, VALIDATION, PREDICT, OTHER = range(4)
"""Values of `kind`; from `OTHER` on loops of the user's own, a value a name, which are as good as training."""

PROFILED = 1
"""A flag: a profile window was open."""
EPOCH_BEGIN = 2
AFTER_WINDOW = 4
"""The step paid for the files of a window."""
COMPILED = 8
"""TensorFlow traced a function in the step."""
XLA_COMPILED = 16
"""XLA compiled one without tracing it: for another shape."""
CUT = 32
"""A window opened or closed in the step."""
BEFORE = 64
"""No window had been opened yet."""

SAMPLE_COLUMNS: tuple[str, ...] = (
    *("time_ns", "cpu_pct", "process_cpu_pct", "rss_bytes", "tf_bytes", "gpu_pct", "gpu_memory_bytes"),
    *("gpu_clock_mhz", "gpu_throttled"),
)
"""Of samples: rows of float64, about one a second, NaN where unknown. `tf_bytes`: in use by TensorFlow's GPU allocators;
`gpu_throttled`: 1 for a clock that heat or power lowers."""

Steps = npt.NDArray[np.void]
Event = Mapping[str, Any]


@dataclass(frozen=True)
class WatchLog:
    """A program that was captured or watched, as its folder holds it."""

    folder: Path
    header: Mapping[str, Any]
    steps: Steps
    """All kinds, in the order they ran; a map of the file where it is large."""
    samples: pd.DataFrame
    events: tuple[Event, ...]
    windows: tuple[Path, ...]
    """Run directories of the usable profile windows, in the order they were written."""
    notices: tuple[str, ...] = ()
    """A sentence for each thing in the folder that could not be read."""


def trained(steps: Steps) -> npt.NDArray[np.bool_]:
    """Which of the rows are steps of training, not of validation or prediction."""
    found: npt.NDArray[np.bool_] = (steps["kind"] == TRAIN) | (steps["kind"] >= OTHER)
    return found


FRAMEWORKS = {"jax": "JAX", "torch": "PyTorch", "numpy": "NumPy", "openvino": "OpenVINO"}
"""Backends of Keras, and modules -> their names."""
_OF_KERAS, _ANOTHER = "Keras on ", "another backend"
_RECORDED_BY = {
    "JAX": (
        "Record it with `jax.profiler.start_trace(dir)` and `jax.profiler.stop_trace()`, and open it with `tfprof.load(dir)`."
    ),
    "PyTorch": "Record it with `torch.profiler`; `tfprof.load` opens the Chrome trace that it exports.",
}


def framework_of_keras(backend: str) -> str:
    """What a backend of Keras is called; "" for TensorFlow and where none is known."""
    return "" if backend in ("", "tensorflow") else FRAMEWORKS.get(backend, _ANOTHER)


def of_keras(backend: str) -> str:
    """The name of Keras on a backend; "" likewise."""
    framework = framework_of_keras(backend)
    return f"{_OF_KERAS}{framework}" if framework else ""


def known_name(text: str) -> str:
    """The same where it is such a name; "" for any other text of a file."""
    return text if text.removeprefix(_OF_KERAS) in (*FRAMEWORKS.values(), _ANOTHER) else ""


def unrecorded_verdict(name: str) -> str:
    """That nothing is known of the steps, and why."""
    what = name.removeprefix(_OF_KERAS)
    cause = f"Keras ran on {what}" if what != name else f"No TensorFlow model ran in the steps; maybe one of {what} did"
    return f"{cause}, of which TensorFlow's profiler records nothing, so how long steps take and what limits them is unknown."


def unrecorded_remedy(name: str) -> str:
    """What records it; "" where nothing is known that does."""
    return _RECORDED_BY.get(name.removeprefix(_OF_KERAS), "")


def unrecorded_notice(name: str) -> str:
    return f"{unrecorded_verdict(name)} {unrecorded_remedy(name)}".rstrip()
