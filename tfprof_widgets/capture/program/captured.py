"""A running program -> `CapturedProgram` at the end of a capture, and the `SourceMap` that is read from it later."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ...read.saved import SIDECAR, sidecar_bytes
from ...trace.source_map import SourceMap, empty_source_map, files_in_part, lines_known, made_source_map, table_frame
from ..machine import machine_facts
from .calls import FitCall, KerasCalls, LayerFacts, LineSampler, creation_lines, live_layers
from .frames import (
    MAX_FILE_BYTES,
    MAX_TEXT_BYTES,
    LayerRecord,
    VariableTable,
    alive,
    below,
    cut_text,
    holders,
    is_user_file,
    keras_layers,
    library_roots,
    live_objects,
    look_for_libraries,
    own_values,
    own_weights,
    serial_number,
    text_of,
    title_of,
    user_texts,
    variable_classes,
    write_whole,
)
from .graphs import FrameTable, GraphTable, HeldFunctions, mentioned_functions, newest_number, ran_graphs


class NotedModels:
    """Records of layers, optimizers and variables, none of which it keeps alive."""

    def __init__(self) -> None:
        self.variables = VariableTable()
        self.records: dict[tuple[str, str, str], LayerRecord] = {}
        """Layers by model, path and name; optimizers without the former two."""
        self.layers: list[LayerFacts] = []
        self.models: list[str] = []
        self._known: dict[int, weakref.ref[Any]] = {}
        self._seen: list[weakref.ref[Any]] = []
        self._expected: list[weakref.ref[Any]] = []

    def successor(self) -> NotedModels:
        """One that has taken the same models, and notes them when it is asked to."""
        other = NotedModels()
        for model in self._alive():
            other.expect(model)
        return other

    def expect(self, model: Any) -> None:
        """Add a model that is about to be trained."""
        with contextlib.suppress(TypeError):  # a class without room for weak references
            self._expected.append(weakref.ref(model))

    def see(self, model: Any) -> None:
        """Take a model that was trained, and note it the first time: it may be gone at the end of the capture."""
        if not any(reference() is model for reference in self._seen):
            with contextlib.suppress(TypeError):  # a class without room for weak references
                self._seen.append(weakref.ref(model))
            self._note_model(model)

    def _alive(self) -> list[Any]:
        models = [reference() for reference in (*self._expected, *self._seen)]
        # By id: the hash of a reference is that of its model, which may be gone, or be of a class that has none.
        return list({id(model): model for model in models if model is not None}.values())

    def note_seen(self) -> None:
        """Note those of the models taken that are alive as they are now."""
        for model in self._alive():
            self._note_model(model)

    def _note_model(self, model: Any) -> None:
        own = own_values(model)
        self.note([*(layer for layer, _ in below(model)), own.get("_optimizer") or own.get("optimizer")])

    def note(self, objects: list[Any]) -> dict[int, int]:
        """Note the layers, optimizers and variables among `objects`; the row of each variable by the `id` of its handle."""
        of_handle = self.variables.add_live(objects)
        self.records |= {(record.model, record.layer, record.name): record for record in keras_layers(objects)}
        layers, models = live_layers([one for one in objects if self._is_new(one)])
        self.layers += layers
        self.models += [name for name in models if name not in self.models]
        return of_handle

    def _is_new(self, thing: Any) -> bool:
        known = self._known.get(id(thing))
        if known is not None and known() is thing:
            return False
        with contextlib.suppress(TypeError):
            self._known[id(thing)] = weakref.ref(thing)
        return True


def without_later(objects: list[Any], last_number: int) -> list[Any]:
    """The objects but for variables made after a number, whose names a model made again repeats, and their layers."""
    later = {id(one) for one in alive(objects, variable_classes()[0]) if serial_number(one) > last_number}
    if not later or not last_number:  # 0: a TensorFlow that does not count
        return objects
    in_earlier: set[int] = set()
    in_later: set[int] = set()
    for holder in holders(objects):
        parts = [part for part, _ in below(holder)]
        weights = {id(weight) for part in parts for weight in own_weights(part)}
        if weights:
            (in_later if weights & later else in_earlier).update(map(id, parts))
    dropped = later | (in_later - in_earlier)
    return [one for one in objects if id(one) not in dropped]


class ProgramReader:
    """The tables of one program while they are read."""

    def __init__(self, models: NotedModels, *, until_ns: int) -> None:
        look_for_libraries()
        self._models = models
        self._until_ns = until_ns
        self._frames = FrameTable()
        self._graphs = GraphTable(self._frames)
        self._samples: dict[str, list[Any]] = {}
        self._calls: dict[str, list[Any]] = {}
        self._failures: list[str] = []
        self._n_lost = self._n_gone = self._n_graphs = 0

    def add_samples(self, sampler: LineSampler, calls: KerasCalls) -> None:
        self._samples, self._calls = sampler.columns(self._frames), calls.columns(self._frames)

    def add_program(
        self, held: frozenset[str] | None, mentioned: set[str], newest_number: int, *, batch_size: int
    ) -> None:
        """Add the graphs that ran, and the layers and variables that are alive and older than the end of the capture."""
        objects = without_later(live_objects(), newest_number)
        of_handle: dict[int, int] = {}
        try:
            of_handle = self._models.note(objects)
        except Exception as error:
            self._fail(error)
        try:  # each is of use without the other
            graphs, self._n_gone = ran_graphs(
                objects, held, mentioned, until_ns=self._until_ns, last_number=newest_number
            )
            self._graphs.add(graphs, of_handle=of_handle, batch_size=batch_size)
            self._n_graphs, self._n_lost = len(graphs), sum(one.has_lost_variables for one in graphs)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        _logger.warning("source lines are not whole", exc_info=True)
        self._failures.append(f"Source lines are not whole: {type(error).__name__}: {error}.")

    def source_map(self, recorder: str, facts: pd.DataFrame, notices: list[str]) -> SourceMap:
        layers = self._layers()
        files, cut = self._files()
        details = self._graphs.details
        columns = {
            "ops": self._graphs.ops,
            "frames": self._frames.frames,
            "files": files,
            "roots": {"root": list(library_roots())},
            "layers": layers,
            "functions": self._graphs.functions,
            "samples": self._samples,
            "calls": self._calls,
            "details": details.details,
            "edges": details.edges,
            "variables": self._models.variables.variables,
        }
        told = [*notices, *self._failures, *self._limits(), *([cut] if cut else [])]
        tables = {name: table_frame(name, those) for name, those in columns.items()} | {"facts": facts}
        return replace(made_source_map(tables, (recorder,), ()), warnings=tuple(dict.fromkeys(told)))

    def _layers(self) -> dict[str, list[Any]]:
        records = list(self._models.records.values())
        rows: list[tuple[int, int]] = []
        if records:
            model_of = {record.name: record.model for record in records if record.layer}
            texts = user_texts(self._until_ns)
            lines = creation_lines(self._models.layers, texts, models=self._models.models, model_of=model_of)
            for record in records:
                file, line = lines.get(record.name, ("", 0)) if record.layer else ("", 0)
                rows.append((self._frames.file_row(file) if file else -1, line))
        columns = {
            key: [getattr(record, key) for record in records] for key in ("layer", "name", "class_name", "model")
        }
        return columns | {"file": [file for file, _ in rows], "line": [line for _, line in rows]}

    def _limits(self) -> list[str]:
        details, variables, n = self._graphs.details, self._models.variables, self._graphs.ops.n_rows
        notices = [details.failure] if details.failure else []
        if self._graphs.n_missed:
            notices.append(lines_known(n, n + self._graphs.n_missed))
        if self._n_gone:
            n = self._n_graphs + self._n_gone
            notices.append(
                f"{self._n_gone} of {n} functions are gone from TensorFlow's runtime: their lines are not known."
            )
        if self._n_lost:
            notices.append(
                f"{self._n_lost} of {self._n_graphs} functions were gone from the program when their lines were read: which "
                "variables they use is not known."
            )
        if details.n_edges_missed:
            n = details.edges.n_rows
            notices.append(
                f"Of the edges between graph ops the first {n:,} of {n + details.n_edges_missed:,} were read."
            )
        if variables.n_missed:
            n = variables.variables.n_rows
            notices.append(f"The first {n:,} of {n + variables.n_missed:,} variables were read.")
        return notices

    def _files(self) -> tuple[dict[str, list[Any]], str]:
        """The table of files, and what is unknown of their texts."""
        names = list(self._frames.files)
        is_user = [is_user_file(name) for name in names]
        texts, room, n_cut = [], MAX_TEXT_BYTES, 0
        for name, wanted in zip(names, is_user, strict=True):
            whole = text_of(name, self._until_ns) if wanted else ""
            text = cut_text(whole, min(room, MAX_FILE_BYTES))
            room -= len(text.encode("utf-8", "replace"))
            n_cut += text != whole
            texts.append(text)
        titles = [title_of(name) if wanted else name for name, wanted in zip(names, is_user, strict=True)]
        cut = files_in_part(n_cut, sum(is_user), MAX_FILE_BYTES, MAX_TEXT_BYTES)
        return {"file": names, "title": titles, "is_user": is_user, "text": texts}, cut if n_cut else ""


MAX_WAITING = 8
"""More captures than these are read before the process exits, as each takes tenths of a second to seconds."""

_logger = logging.getLogger(__name__)
_waiting: list[CapturedProgram] = []
"""Oldest first."""


class CapturedProgram:
    """The program of one capture until it is read: functions by name, and texts and numbers of models; never raises."""

    def __init__(self) -> None:
        self.batch_size = 0
        """Samples in a batch of what Keras trains with, where a call has said so."""
        self.facts = table_frame("facts", {})
        """As in a `SourceMap`; no rows before the end of the capture."""
        self.run_dirs: tuple[Path, ...] = ()
        self.unrecorded = ""
        """What computed a Keras model that the profiler does not record, such as `Keras on JAX`."""
        self.calls = KerasCalls()
        self.fit: FitCall | None = None
        """The last call that can be repeated."""
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
        """Take a Keras model that was trained, which may be gone later."""
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
        """The capture is over: hold what there is."""
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
        """Read it once and let go of what was held, without what is gone since the capture."""
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
