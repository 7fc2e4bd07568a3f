"""Live Keras models -> records of their layers, so that name scopes can be told to be layers.

keras_layers() -> list of LayerRecord
"""

from __future__ import annotations

import itertools
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


def keras_class(module: str, part: str, name: str) -> type | None:
    """A class such as `layers.Layer` of `keras` or `tf_keras`; None where the program has not loaded it."""
    found = getattr(getattr(sys.modules.get(module), part, None), name, None)
    return found if isinstance(found, type) else None


def alive(objects: list[Any], base: type | None) -> list[Any]:
    """The instances of a class among `objects`. No object is asked for its `__class__`, which may run code of the user's."""
    return [] if base is None else [one for one in objects if issubclass(type(one), base)]


def keras_layers(objects: list[Any]) -> list[LayerRecord]:
    """Record the layers of every Keras 3 model that is alive; nothing is imported, built or changed.

    Args:
        objects: those among which the layers and optimizers are.

    Returns:
        Every optimizer; then for each model that is no part of another (a layer that stands alone counts as one) itself, its
        layers and theirs, outermost first. At most `MAX_RECORDS`, the excess is logged.
    """
    optimizers = alive(objects, keras_class("keras", "optimizers", "Optimizer"))[:MAX_RECORDS]
    layers = alive(objects, keras_class("keras", "layers", "Layer"))
    inner = {id(part) for layer in layers for part in parts_of(layer)}
    records = (
        LayerRecord(path, shown_name(layer), type(layer).__name__, shown_name(root))
        for root in layers
        if id(root) not in inner
        for layer, path in below(root)
    )
    kept = list(itertools.islice(records, MAX_RECORDS))
    if next(records, None) is not None:
        _log.warning("only the first %d layers of the Keras models are recorded", MAX_RECORDS)
    return [LayerRecord("", shown_name(one), type(one).__name__, "") for one in optimizers] + kept


def below(root: Any) -> Iterator[tuple[Any, str]]:
    """A layer and all within it, outermost first, each with the names on the way to it, joined by "/"."""
    stack: list[tuple[Any, str, tuple[int, ...]]] = [(root, shown_name(root), (id(root),))]
    while stack:
        layer, path, above = stack.pop()
        yield layer, path
        if len(above) < MAX_DEPTH:
            parts = [part for part in parts_of(layer) if id(part) not in above]
            stack.extend((part, f"{path}/{shown_name(part)}", (*above, id(part))) for part in reversed(parts))


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


def parts_of(layer: Any) -> list[Any]:
    """The layers directly within a layer, which Keras tracks (`keras/src/layers/layer.py`)."""
    own = own_values(layer)
    return listed(own.get("_layers")) or listed(own.get("_self_tracked_trackables"))  # the latter is of Keras 2


def listed(values: Any) -> list[Any]:
    """The members of a list or tuple; none of what is neither."""
    return list(values) if isinstance(values, (list, tuple)) else []
