"""A running program -> `CapturedProgram`: what is held of it at the end of a capture, and the `SourceMap` read of that later."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...formats.sidecar import SIDECAR, sidecar_bytes
from ...trace.source_map import SourceMap, empty_source_map, table_frame
from ..machine.machine import machine_facts
from .fit_call import FitCall
from .held_functions import HeldFunctions, mentioned_functions, newest_number
from .keras_calls import KerasCalls
from .library_roots import look_for_libraries
from .line_sampler import LineSampler
from .noted_models import NotedModels
from .program_reader import ProgramReader
from .whole_file import write_whole

MAX_WAITING = 8
"""So many captures wait to be read until the process exits, which takes some tenths of a second to seconds each."""

_logger = logging.getLogger(__name__)
_waiting: list[CapturedProgram] = []
"""Those that do, oldest first."""


class CapturedProgram:
    """The program of one capture. Until it is read it holds the functions of TensorFlow's runtime by name, and texts and numbers
    of the models; it never raises, as the user's cell and its trace must survive whatever TensorFlow's insides have become.
    """

    def __init__(self) -> None:
        self.batch_size = 0
        """How many samples are in a batch of what Keras trains with, where a call has told it."""
        self.facts = table_frame("facts", {})
        """What the program ran on, as in a `SourceMap`; no rows before the end of the capture."""
        self.run_dirs: tuple[Path, ...] = ()
        self.unrecorded = ""
        """What computed a Keras model of it, such as `Keras on JAX`, where the profiler records nothing of that."""
        self.calls = KerasCalls()
        self.fit: FitCall | None = None
        """The last one, as far as it can be repeated."""
        self._id = uuid.uuid4().hex
        self._functions = HeldFunctions()
        self._models = NotedModels()
        self._sampler = LineSampler()
        self._newest_number = 0
        self._ended_ns = 0
        self._notices: list[str] = []
        self._map: SourceMap | None = None
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._at_exit: Callable[[], None] | None = None
        weakref.finalize(self, self._functions.release).atexit = False

    def successor(self) -> CapturedProgram:
        """The same program from now on: for traces that are read apart from those until now."""
        other = CapturedProgram()
        other.batch_size, other.calls, other.fit = self.batch_size, self.calls, self.fit
        other.unrecorded = self.unrecorded
        other._models, other._sampler = self._models.successor(), self._sampler.successor()
        return other

    # ---- while the capture runs ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to sample the line that the thread executes which made this object."""
        look_for_libraries()
        self._sampler.start()

    def stop(self) -> None:
        """End the sampling; it may begin again."""
        self._sampler.stop()

    def note_fit(self, arguments: Mapping[str, Any]) -> None:
        """Note a call of `fit` by its arguments, without keeping them alive."""
        try:
            self.fit = FitCall(arguments)
        except TypeError:  # an argument of a class without room for weak references
            self.fit = None

    def expect(self, model: Any) -> None:
        """Take a Keras model that is about to be trained, for windows that end before its training does."""
        self._models.expect(model)

    def see(self, model: Any) -> None:
        """Take a Keras model that was trained: it may be gone when somebody asks."""
        try:
            self._models.see(model)
        except Exception as error:
            self._fail("Layers are not known in full", error)

    def hold(self) -> None:
        """Hold the functions made since the last call, which costs nothing where none were."""
        try:
            self._functions.hold()
        except Exception as error:
            self._fail("Source lines are not known in full", error)

    def end(self, run_dirs: Sequence[Path], *, writes: bool) -> None:
        """The capture is over: hold what there is.

        Args:
            run_dirs: of its traces.
            writes: whether they are to keep what is read of the program, at the latest when the process exits.
        """
        self.hold()
        try:
            self._models.note_seen()
        except Exception as error:
            self._fail("Layers are not known in full", error)
        self._ended_ns = time.time_ns()
        try:
            self._newest_number = newest_number()
            facts = machine_facts() | ({"unrecorded": self.unrecorded} if self.unrecorded else {})
            self.facts = table_frame("facts", {"name": list(facts), "value": list(facts.values())})
        except Exception as error:
            self._fail("What the program ran on is not known", error)
        self.run_dirs = tuple(run_dirs)
        if writes and run_dirs:
            # It holds this object: a profile that is gone before anybody asked leaves its lines all the same.
            self._at_exit = atexit.register(self.write)
            _waiting.append(self)

    # ---- afterwards ---------------------------------------------------------------------------------------------------

    @property
    def held_bytes(self) -> int:
        """How much memory is held for it that nothing else needs: functions that are gone but for this; 0 once it was read."""
        return self._functions.n_bytes

    @property
    def notices(self) -> tuple[str, ...]:
        """What is not known of the program, as far as it was read or written."""
        known = () if self._map is None else self._map.warnings
        return tuple(dict.fromkeys((*known, *self._notices)))

    def read(self) -> SourceMap:
        """Read it, once, and let go of what was held: lines, layers, edges, shapes and float operations of what is in the trace.

        What is gone since the capture is left out: variables, and layers of models that no Keras call of the capture trained.
        """
        if (
            self._map is None and os.getpid() != self._pid
        ):  # before the lock, held maybe by a thread that the fork lacks
            text = "Source lines are unknown: this process is a fork of the one that captured, whose program it does not have."
            self._map = empty_source_map(warnings=(text,))
        if self._map is not None:
            return self._map
        with self._lock:
            if self._map is None:
                self._map = self._read()
                self._functions.release()
                self._models, self._sampler = NotedModels(), LineSampler()
                if self._at_exit is not None:
                    self.write()
            return self._map

    def _read(self) -> SourceMap:
        try:
            files = [file for run_dir in self.run_dirs for file in run_dir.glob("*.xplane.pb")]
            reader = ProgramReader(self._models, until_ns=self._ended_ns)
            reader.add_samples(self._sampler, self.calls)
            reader.add_program(
                self._functions.names, mentioned_functions(files), self._newest_number, batch_size=self.batch_size
            )
            return reader.source_map(self._id, self.facts, self._notices)
        except Exception as error:
            self._fail("Source lines are unknown, as they could not be noted", error)
            return empty_source_map(warnings=tuple(self._notices))

    def write(self) -> None:
        """Write what is read of it beside its traces, where that is not done yet."""
        if self._at_exit is not None:
            atexit.unregister(self._at_exit)
            self._at_exit = None
            _waiting.remove(self)
        missing = [run_dir for run_dir in self.run_dirs if run_dir.is_dir() and not (run_dir / SIDECAR).exists()]
        if not missing or os.getpid() != self._pid:
            return
        try:
            content = sidecar_bytes(self.read())
            for run_dir in missing:
                write_whole(run_dir / SIDECAR, content)
        except Exception as error:
            self._fail(f"Source lines are not kept in {missing[0]}", error)

    def _fail(self, what: str, error: Exception) -> None:
        notice = f"{what}: {type(error).__name__}: {error}."
        if notice not in self._notices:  # of every step the same
            _logger.warning("%s", what, exc_info=True)
            self._notices.append(notice)


def write_oldest() -> None:
    """Write what waits for the exit of the process, but for the latest `MAX_WAITING`: each holds functions and delays it."""
    for program in _waiting[:-MAX_WAITING]:
        program.write()
