"""A running program -> the sidecar of a run directory: source lines of graph ops, layers, texts of the user's files."""

from __future__ import annotations

import gzip
import json
import logging
import time
import uuid
from pathlib import Path
from typing import Any

from ...formats.sidecar import SIDECAR, VERSION
from ..machine.machine import machine_facts
from .keras_layers import keras_layers
from .layer_lines import creation_lines, live_layers
from .library_roots import library_roots, look_for_libraries
from .line_sampler import LineSampler
from .live_variables import VariableTable
from .source_files import MAX_FILE_BYTES, MAX_TEXT_BYTES, cut_text, is_user_file, text_of, title_of, user_texts
from .source_graphs import FrameTable, GraphTable, live_objects
from .whole_file import write_whole

COLLECT_S = 2.0
"""How much processor time one look at the program may take."""
PAUSE_FACTOR = 20
"""Between two looks so many times their duration passes, so that many short windows do not slow the program."""

_logger = logging.getLogger(__name__)


class SourceRecorder:
    """Notes the source lines of one capture. It holds strings and numbers only, and never raises."""

    def __init__(self) -> None:
        self._id = uuid.uuid4().hex
        self._frames = FrameTable()
        self._graphs = GraphTable(self._frames)
        self._variables = VariableTable()
        self._sampler = LineSampler()
        self._layers: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._next_look_s = 0.0
        self._is_behind = False
        self.batch_size = 0
        """How many samples are in a batch of what Keras trains with, where a call has told it."""

    def start(self) -> None:
        """Begin to sample the line that the thread executes which made the recorder."""
        look_for_libraries()
        self._sampler.start()

    def stop(self) -> None:
        """End the sampling; it may begin again."""
        self._sampler.stop()

    def write(self, run_dir: Path) -> str:
        """Look at the program and write the sidecar of `run_dir`.

        Returns:
            What the user has to know: that some ops or texts are missing, or that it could not be written; "" when all is
            well.
        """
        try:
            failure = self._look()
            document, notice = self._document()
            text = json.dumps(document, separators=(",", ":"))
            content = gzip.compress(text.encode("utf-8", "replace"), compresslevel=5, mtime=0)
            write_whole(run_dir / SIDECAR, content)
        # The user's cell and its trace must survive whatever TensorFlow's insides have become.
        except Exception as error:
            _logger.warning("source lines are not noted", exc_info=True)
            return f"Source lines are unknown, as they could not be noted: {type(error).__name__}: {error}."
        return " ".join(text for text in (failure, notice) if text)

    def postpone(self) -> None:
        """Leave what `write` does to the next run, or to `finish`: all notes of one capture are of the same program."""
        self._is_behind = True

    def finish(self, run_dir: Path) -> str:
        """Write the sidecar of the last run again where that was spared a look; returns what `write` does."""
        if not self._is_behind:
            return ""
        self._next_look_s = 0.0
        return self.write(run_dir)

    def _look(self) -> str:
        """Note what is alive; returns what went wrong, "" for nothing."""
        begin_s = time.perf_counter()
        self._is_behind = begin_s < self._next_look_s
        if self._is_behind:
            return ""
        # Processor time: a machine busy with other programs must not change what is noted.
        deadline_s = time.thread_time() + COLLECT_S
        objects = live_objects()
        failures = []
        for add in (self._add_graphs, self._add_layers):  # each is of use without the other
            try:
                add(objects, deadline_s)
            except Exception as error:  # the user's cell must survive whatever TensorFlow's insides have become
                _logger.warning("source lines are not whole", exc_info=True)
                failures.append(f"Source lines are not whole: {type(error).__name__}: {error}.")
        del objects
        end_s = time.perf_counter()
        self._next_look_s = end_s + PAUSE_FACTOR * (end_s - begin_s)
        return " ".join(dict.fromkeys(failures))

    def _add_graphs(self, objects: list[Any], deadline_s: float) -> None:
        of_handle = self._variables.add_live(objects)
        self._graphs.add_live_graphs(objects, deadline_s, of_handle=of_handle, batch_size=self.batch_size)

    def _add_layers(self, objects: list[Any], deadline_s: float) -> None:
        layers, models = live_layers(objects)
        if not layers:
            return
        records = keras_layers(objects)
        model_of = {record.name: record.model for record in records if record.layer}
        lines = creation_lines(layers, user_texts(), models=models, model_of=model_of, deadline_s=deadline_s)
        for record in records:
            file, line = lines.get(record.name, ("", 0)) if record.layer else ("", 0)
            row = self._frames.file_row(file) if file else -1
            self._layers[record.model, record.layer, record.name] = record._asdict() | {"file": row, "line": line}

    def _document(self) -> tuple[dict[str, Any], str]:
        look_for_libraries()
        samples = self._sampler.columns(self._frames)
        facts = machine_facts()
        files, n_cut = self._files()
        notices = []
        if self._graphs.n_missed:
            n = self._graphs.ops.n_rows
            notices.append(f"Source lines are known of {n} of {n + self._graphs.n_missed} graph ops (a bound).")
        notices += self._limits()
        if n_cut:
            n_texts = sum(files["is_user"])
            notices.append(
                f"The text of {n_cut} of {n_texts} source files was cut ({MAX_FILE_BYTES} bytes each, "
                f"{MAX_TEXT_BYTES} in all)."
            )
        keys = ("layer", "name", "class_name", "model", "file", "line")
        document = {
            "version": VERSION,
            "recorder": self._id,
            "ops": self._graphs.ops,
            "frames": self._frames.frames,
            "files": files,
            "roots": {"root": list(library_roots())},
            "layers": {key: [record[key] for record in self._layers.values()] for key in keys},
            "functions": self._graphs.functions,
            "samples": samples,
            "facts": {"name": list(facts), "value": list(facts.values())},
            "details": self._graphs.details.details,
            "edges": self._graphs.details.edges,
            "variables": self._variables.variables,
            "notices": notices,
        }
        return document, " ".join(notices)

    def _limits(self) -> list[str]:
        """What of the graphs and variables was left out."""
        details = self._graphs.details
        notices = [details.failure] if details.failure else []
        if details.n_edges_missed:
            n = details.edges.n_rows
            notices.append(f"Edges between graph ops: {n} of {n + details.n_edges_missed} are known (a bound).")
        if details.n_counted < details.n_to_count:
            notices.append(
                f"Float operations were counted of {details.n_counted} of {details.n_to_count} graph ops ({COLLECT_S:g} s)."
            )
        if self._variables.n_missed:
            n = self._variables.variables.n_rows
            notices.append(f"{n} of {n + self._variables.n_missed} variables are known (a bound).")
        return notices

    def _files(self) -> tuple[dict[str, list[Any]], int]:
        """The table of files, and how many texts were cut."""
        names = list(self._frames.files)
        is_user = [is_user_file(name) for name in names]
        texts, room, n_cut = [], MAX_TEXT_BYTES, 0
        for name, wanted in zip(names, is_user, strict=True):
            whole = text_of(name) if wanted else ""
            text = cut_text(whole, min(room, MAX_FILE_BYTES))
            room -= len(text.encode("utf-8", "replace"))
            n_cut += text != whole
            texts.append(text)
        titles = [title_of(name) if wanted else name for name, wanted in zip(names, is_user, strict=True)]
        return {"file": names, "title": titles, "is_user": is_user, "text": texts}, n_cut
