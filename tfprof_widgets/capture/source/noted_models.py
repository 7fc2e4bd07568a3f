"""Keras models -> what is noted of them while they live, as text and numbers: layers, optimizers and variables."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from .keras_layers import LayerRecord, alive, below, keras_layers, own_values
from .layer_lines import LayerFacts, live_layers
from .live_variables import VariableTable, holders, own_weights, serial_number, variable_classes


class NotedModels:
    """Layers, optimizers and variables noted so far; it keeps none of them alive."""

    def __init__(self) -> None:
        self.variables = VariableTable()
        self.records: dict[tuple[str, str, str], LayerRecord] = {}
        """Layers by model, path and name; optimizers without the former two."""
        self.layers: list[LayerFacts] = []
        self.models: list[str] = []
        """Names of the models."""
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
        """Take a model that is about to be trained: it is noted with those that were seen."""
        with contextlib.suppress(TypeError):  # a class without room for weak references
            self._expected.append(weakref.ref(model))

    def see(self, model: Any) -> None:
        """Take a model that was trained, and note it the first time: it may be gone at the end of the capture."""
        if not any(reference() is model for reference in self._seen):
            with contextlib.suppress(TypeError):  # a class without room for weak references
                self._seen.append(weakref.ref(model))
            self._note_model(model)

    def note_seen(self) -> None:
        """Note those of the models taken that are alive as they are now."""
        for model in self._alive():
            self._note_model(model)

    def _alive(self) -> list[Any]:
        """The models taken that are alive, each once."""
        models = [reference() for reference in (*self._expected, *self._seen)]
        # By id: the hash of a reference is that of its model, which may be gone, or be of a class that has none.
        return list({id(model): model for model in models if model is not None}.values())

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
    """The objects but for variables made after the one of a number, and the layers that hold such.

    A model that was made again has the names of the one before. A layer without variables goes with the models that it is in.
    """
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
