"""What is held of a captured program, and its live objects -> the tables of a `SourceMap`."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pandas as pd

from ...trace.source_map import SourceMap, files_in_part, lines_known, made_source_map, table_frame
from .keras_calls import KerasCalls
from .layer_lines import creation_lines
from .library_roots import library_roots, look_for_libraries
from .line_sampler import LineSampler
from .live_objects import live_objects
from .noted_models import NotedModels, without_later
from .ran_graphs import ran_graphs
from .source_files import MAX_FILE_BYTES, MAX_TEXT_BYTES, cut_text, is_user_file, text_of, title_of, user_texts
from .source_graphs import FrameTable, GraphTable

_logger = logging.getLogger(__name__)


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
        """Add the samples of the user's lines, and those that called Keras."""
        self._samples, self._calls = sampler.columns(self._frames), calls.columns(self._frames)

    def add_program(
        self, held: frozenset[str] | None, mentioned: set[str], newest_number: int, *, batch_size: int
    ) -> None:
        """Add the graphs that ran, and the layers and variables that are alive and older than the end of the capture.

        Args:
            held: names of the functions that there were at the end; None where that is not known.
            mentioned: names of those in the trace.
            newest_number: what TensorFlow had counted up to at the end.
            batch_size: how many samples are in a batch, 0 where it is not known.
        """
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
        """The map of what was added.

        Args:
            recorder: of which capture it is.
            facts: what the program ran on.
            notices: what is not known of it already.
        """
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
        """What of the graphs and variables was left out."""
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
        """The table of files, and what is not known of their texts."""
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
