"""Live Keras models -> records of their layers, so that name scopes can be told to be layers.

keras_layers() -> list of LayerRecord
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_RECORDS = 20_000
"""How many layers are recorded at most, over all models."""
MAX_DEPTH = 100
"""How deeply layers within layers are followed."""

_log = logging.getLogger(__name__)


class LayerRecord(NamedTuple):
    """One layer of a model, or (with an empty `layer` and `model`) an optimizer."""

    layer: str
    """The names on the way to it, joined by "/", such as `model/block/dense`."""
    name: str
    class_name: str
    model: str


def keras_layers(objects: list[Any] | None = None) -> list[LayerRecord]:
    """Record the layers of every Keras 3 model that is alive.

    Found through the garbage collector, which knows every live object (about 0.1 s per million); nothing is imported, built or
    changed. Whatever goes wrong is logged and costs the records, never the capture.

    Args:
        objects: those among which the layers and optimizers are, where the caller has asked the garbage collector.

    Returns:
        Every optimizer; then for each model that is no part of another (a layer that stands alone counts as one) itself, its
        layers and theirs, outermost first. At most `MAX_RECORDS`, the excess is logged.
    """
    keras = sys.modules.get("keras")
    if keras is None:
        return []
    try:
        optimizers, layers = _live(keras, gc.get_objects() if objects is None else objects)
        return [
            LayerRecord("", shown_name(one), type(one).__name__, "") for one in optimizers[:MAX_RECORDS]
        ] + _records(layers)
    except Exception:
        _log.warning("the layers of the Keras models could not be listed", exc_info=True)
        return []


def _live(keras: Any, objects: list[Any]) -> tuple[list[Any], list[Any]]:
    """Optimizers and layers that are alive."""
    found: tuple[list[Any], list[Any]] = ([], [])
    bases = (keras.optimizers.Optimizer, keras.layers.Layer)
    for one in objects:
        # type() and not isinstance(): some objects run code of their own to tell their __class__.
        kind = type(one)
        for base, those in zip(bases, found, strict=True):
            if issubclass(kind, base):
                those.append(one)
    return found


def _records(layers: list[Any]) -> list[LayerRecord]:
    inner = {id(part) for layer in layers for part in _parts(layer)}
    records: list[LayerRecord] = []
    for root in layers:
        if id(root) in inner:
            continue
        for record in _below(root):
            if len(records) == MAX_RECORDS:
                _log.warning("only the first %d layers of the Keras models are recorded", MAX_RECORDS)
                return records
            records.append(record)
    return records


def _below(root: Any) -> Iterator[LayerRecord]:
    """A layer and all within it."""
    model = shown_name(root)
    stack: list[tuple[Any, str, tuple[int, ...]]] = [(root, model, (id(root),))]
    while stack:
        layer, path, above = stack.pop()
        yield LayerRecord(path, shown_name(layer), type(layer).__name__, model)
        if len(above) < MAX_DEPTH:
            below = [part for part in _parts(layer) if id(part) not in above]
            stack.extend((part, f"{path}/{shown_name(part)}", (*above, id(part))) for part in reversed(below))


def own_values(thing: Any) -> dict[str, Any]:
    """The attributes that an object holds itself. No property, `__getattr__` or the like of the user's class is run."""
    try:
        kept = object.__getattribute__(thing, "__dict__")
    except AttributeError:  # slots only
        return {}
    return kept if isinstance(kept, dict) else {}


def shown_name(named: Any) -> str:
    """The name of a layer or optimizer; "" for one whose constructor has not run."""
    kept = own_values(named)
    name = kept.get("name") or kept.get("_name")  # the latter is of Keras 2
    return name if isinstance(name, str) else ""


def _parts(layer: Any) -> list[Any]:
    """The layers directly within a layer, which Keras tracks (`keras/src/layers/layer.py`)."""
    parts = own_values(layer).get("_layers")
    return list(parts) if isinstance(parts, list) else []
