"""`SessionCapture`: the metadata of a session's runs that were asked for, its graph and its op log, as bytes and as files."""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..source.whole_file import write_whole
from .session_graph import graph_bytes, op_log_bytes
from .session_options import HookOptions

RUN_FILE = "run_metadata-{}.pb"
GRAPH_FILE = "graph.pb"
LOG_FILE = "tfprof_log"
"""Names of the files of `output_dir`; the last one is TensorFlow's own."""

_logger = logging.getLogger(__name__)


@dataclass
class SessionCapture:
    """What the runs of one session noted. It holds bytes, and never keeps the graph alive."""

    options: HookOptions
    runs: dict[int, bytes] = field(default_factory=dict)
    """From the number of a step to the bytes of its RunMetadata."""
    n_runs: int = 0
    n_missed: int = 0
    """Steps that were asked for when no more could be kept."""
    n_left_out: int = 0
    """Profiled runs that did not advance the global step, in a session where others do (or where none was asked for)."""
    n_bytes: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    """What went wrong, each text once, and how often."""
    _graph: weakref.ref[Any] | None = None
    _known: tuple[bytes, bytes] | None = None

    @property
    def has_room(self) -> bool:
        """Whether another run may be kept."""
        return len(self.runs) < self.options.max_steps and self.n_bytes < self.options.max_bytes

    @property
    def state(self) -> tuple[int, ...]:
        """Equal to an earlier one as long as the profile would be the same."""
        return self.n_runs, self.n_missed, self.n_left_out, len(self.runs), sum(self.failures.values())

    def watch(self, graph: Any) -> None:
        """Take the graph that the session will run; the session owns it."""
        self._graph = weakref.ref(graph)

    def keep(self, number: int, content: bytes) -> None:
        """Keep the metadata of one run, write them where files were asked for, and make graph and log of the first.

        A step that was run again, as after a restart from a checkpoint, takes the place of the earlier one.
        """
        self.n_bytes += len(content) - len(self.runs.get(number, b""))
        self.runs[number] = content
        self._write(RUN_FILE.format(number), content)
        if self._known is None:  # now, since nothing tells when a session ends by an exception, and the graph with it
            graph, log = self.graph_and_log()
            self._write(GRAPH_FILE, graph)
            self._write(LOG_FILE, log)

    def leave_out_all(self) -> None:
        """Forget the runs so far, and their files: they turned out to be no training steps."""
        self.n_left_out += len(self.runs)
        if self.options.output_dir is not None:
            with self.telling(f"Files of runs that are no steps are left in {self._folder}"):
                for number in self.runs:
                    (self._folder / RUN_FILE.format(number)).unlink(missing_ok=True)
        self.runs, self.n_bytes, self.n_missed = {}, 0, 0
        self._known = None  # the log has shapes of a run that was left out; the next one makes its own

    def graph_and_log(self) -> tuple[bytes, bytes]:
        """The bytes of the graph and of its op log, each empty where it cannot be had."""
        graph = self._graph() if self._graph is not None else None
        if self._known is None and graph is not None:
            definition, log = b"", b""
            # Beyond 2 GiB, or of ops that nobody can count: the times are worth having.
            with self.telling("The graph is not known in full"):
                definition = graph_bytes(graph)
                log = op_log_bytes(graph, next(iter(self.runs.values()), b""))
            self._known = definition, log
        return self._known or (b"", b"")

    @contextlib.contextmanager
    def telling(self, what: str) -> Iterator[None]:
        """Note what the block raises, and go on."""
        try:
            yield
        except Exception as error:  # the user's session must run, whatever of the hook fails
            self.tell(what, error)

    def tell(self, what: str, error: Exception) -> None:
        """Note a failure of the hook; the user's session goes on."""
        text = f"{what}: {type(error).__name__}: {error}."
        if text not in self.failures:
            _logger.warning("%s", what, exc_info=error)
        self.failures[text] = self.failures.get(text, 0) + 1

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user has to know; empty when all went as asked."""
        told = [text if n == 1 else f"{text} ({n} times)" for text, n in self.failures.items()]
        n_kept = len(self.runs)
        if self.n_left_out:
            n_profiled = n_kept + self.n_left_out
            told.append(
                f"{self.n_left_out} of {n_profiled} profiled runs did not advance the global step and are left out: "
                "where a session trains, only its training runs are steps."
            )
        if self.n_missed:
            limits = f"max_steps={self.options.max_steps}, max_bytes={self.options.max_bytes}"
            told.append(f"The profile has {n_kept} of {n_kept + self.n_missed} steps that were asked for ({limits}).")
        return tuple(told)

    @property
    def _folder(self) -> Path:
        return Path(self.options.output_dir or "").expanduser()

    def _write(self, name: str, content: bytes) -> None:
        if not content or self.options.output_dir is None:
            return
        with self.telling(f"{name} could not be written to {self._folder}"):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / name, content)
