"""Live Keras layers and the user's texts -> the line of the call that made each layer.

No frame is kept when a layer is made, and to wrap Keras for it would have to happen before the model is built. So the texts
are searched for calls of the layer's class, and those whose constant arguments contradict the layer are ruled out. Of
those that are left, the ones beside calls that surely made layers of the same model are taken. What still may have been made in
several functions has no line.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .keras_layers import alive, keras_class, own_values, shown_name
from .layer_calls import UNKNOWN, Call, Wanted, calls_of, makes, plain, simple
from .live_objects import plain_function

MAX_LAYERS = 5_000


@dataclass(frozen=True)
class LayerFacts:
    """What is known of one live layer, without holding it."""

    name: str
    class_name: str
    parameters: tuple[str, ...]
    """Names of the parameters of its constructor, in order."""
    defaults: dict[str, Any]
    """Simple values that these have when they are not given."""
    values: dict[str, Any]
    """Simple values that it keeps under the names of its parameters."""

    @property
    def is_auto_named(self) -> bool:
        """Whether Keras chose the name: `conv2d`, `conv2d_1`."""
        return re.fullmatch(re.escape(_snake(self.class_name)) + r"(_\d+)?", self.name) is not None

    @property
    def number(self) -> int:
        """The number behind a name that Keras chose, which grows as layers are made."""
        tail = self.name.rpartition("_")[2]
        return int(tail) if self.is_auto_named and tail.isdigit() else 0


def live_layers(objects: list[Any]) -> tuple[list[LayerFacts], list[str]]:
    """Facts of the Keras layers among `objects`, and the names of the models."""
    layers: list[LayerFacts] = []
    models: list[str] = []
    for module in ("keras", "tf_keras"):
        model = keras_class(module, "models", "Model")
        for thing in alive(objects, keras_class(module, "layers", "Layer")):
            if model is not None and issubclass(type(thing), model):
                models.append(shown_name(thing))
            elif len(layers) < MAX_LAYERS:
                layers.append(_facts(thing))
    # Whose constructor has not run, or failed, has no name: a notebook keeps such an object in its last traceback.
    return [layer for layer in layers if layer.name], [name for name in models if name]


def _facts(layer: Any) -> LayerFacts:
    kind = type(layer)
    names, defaults = _parameters(kind.__init__)
    kept = own_values(layer)
    if str(kind.__module__).split(".")[0] in ("keras", "tf_keras"):  # a property of the user's class may do anything
        kept = {name: kept[name] if name in kept else _property(layer, name) for name in names}
    values = {name: simple(kept[name]) for name in names if name in kept}
    return LayerFacts(shown_name(layer), kind.__name__, names, defaults, values)


def _property(layer: Any, name: str) -> Any:
    try:
        return getattr(layer, name, UNKNOWN)
    except Exception:  # Keras' own: the layer is not built, or its constructor failed
        return UNKNOWN


def _parameters(constructor: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names of the parameters of a constructor but the first, and their simple defaults."""
    function = plain_function(constructor)
    try:
        parameters = [] if function is None else [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):  # a decorator may claim any signature
        return (), {}
    named = [one for one in parameters[1:] if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    return tuple(one.name for one in named), {
        one.name: simple(one.default) for one in named if one.default is not one.empty
    }


def creation_lines(
    layers: Sequence[LayerFacts],
    texts: dict[str, str],
    *,
    models: Sequence[str] = (),
    model_of: Mapping[str, str] | None = None,
) -> dict[str, tuple[str, int]]:
    """Find where layers were made.

    Args:
        layers: facts of the live layers.
        texts: the user's texts by file, older cells before newer ones.
        models: names of the live models. A function or class of nearly that name made one: `ResNet50()` the model `resnet50`
            with all its layers.
        model_of: name of a layer -> name of the model that it is in, as far as known.

    Returns:
        Name of a layer or model -> file and line of the call that made it; without those for which there is none. Where several
        calls fit a layer, those in a function or file with calls that surely made layers of its model go before, and of more
        calls than layers the nearest to these. Of calls in several functions none is named: not all need have run. Others are
        in order: the newest layer is the newest call's, and so on backwards, as a cell that is run again makes its layers
        again, and one that was changed leaves its old text behind.
    """
    wanted = Wanted({layer.class_name for layer in layers}, {plain(name) for name in models})
    calls: dict[str, list[Call]] = {}
    for file, text in texts.items():
        for name, call in calls_of(text, file, wanted):
            calls.setdefault(name, []).append(call)
    fitting = [(layer, _best(calls.get(layer.class_name, []), layer)) for layer in layers]
    lines = {
        name: (call.file, call.line) for name, call in _assigned(fitting, {} if model_of is None else model_of).items()
    }
    for model in models:
        makers = [call for name, those in calls.items() if makes(name, plain(model)) for call in those]
        if makers and not _may_not_have_run(makers):
            lines.setdefault(model, (makers[-1].file, makers[-1].line))
    return lines


_Fitting = Sequence[tuple[LayerFacts, list[Call]]]


def _assigned(fitting: _Fitting, model_of: Mapping[str, str]) -> dict[str, Call]:
    """Name of each layer -> the one call among those that fit it."""
    sure: dict[str, list[Call]] = {}
    for layer, calls in fitting:
        if len(calls) == 1 and layer.name in model_of:
            sure.setdefault(model_of[layer.name], []).append(calls[0])
    sure = _in_only_function(fitting, model_of) | sure
    groups: dict[tuple[int, ...], tuple[list[Call], list[LayerFacts]]] = {}
    for layer, calls in fitting:
        if calls:
            near = _beside(calls, sure.get(model_of.get(layer.name, ""), []))
            groups.setdefault(tuple(map(id, near)), (near, []))[1].append(layer)
    found: dict[str, Call] = {}
    for calls, members in groups.values():
        beside = [call for name in {model_of.get(layer.name, "") for layer in members} for call in sure.get(name, [])]
        nearest = _nearest(calls, beside, n=len(members))
        if _may_not_have_run(nearest):
            continue
        in_order = _expanded(nearest, n=len(members))
        newest_first = sorted(members, key=lambda member: member.number, reverse=True)
        found |= {layer.name: in_order[-1 - i % len(in_order)] for i, layer in enumerate(newest_first)}
    return found


def _in_only_function(fitting: _Fitting, model_of: Mapping[str, str]) -> dict[str, list[Call]]:
    """By model the calls in the only function that has one for each of its layers."""
    layers: dict[str, list[list[Call]]] = {}
    for layer, calls in fitting:
        if calls and layer.name in model_of:
            layers.setdefault(model_of[layer.name], []).append(calls)
    found = {}
    for model, fits in layers.items():
        common = set.intersection(*({_place(call) for call in calls} for calls in fits))
        if len(common) == 1:
            found[model] = [call for calls in fits for call in calls if _place(call) in common]
    return found


def _place(call: Call) -> tuple[str, int]:
    """The function that a call is in."""
    return call.file, call.function_line


def _may_not_have_run(calls: list[Call]) -> bool:
    """Whether calls are in different functions, of which nothing tells which ran; text outside of functions did."""
    return len({_place(call) for call in calls}) > 1 and any(call.function_line for call in calls)


def _beside(calls: list[Call], sure: list[Call]) -> list[Call]:
    """The calls in the same function as a sure one, else in the same file, else all."""
    functions = {_place(call) for call in sure}
    files = {call.file for call in sure}
    same = [call for call in calls if _place(call) in functions]
    return same or [call for call in calls if call.file in files] or calls


def _nearest(calls: list[Call], sure: list[Call], *, n: int) -> list[Call]:
    """Of more than `n` calls those nearest to the lines from the first sure one to the last, in order."""
    if len(calls) <= n or not sure:
        return calls

    def distance(call: Call) -> int:
        lines = [one.line for one in sure if one.file == call.file]
        return max(min(lines) - call.line, call.line - max(lines), 0) if lines else sys.maxsize

    order = sorted(range(len(calls)), key=lambda i: distance(calls[i]))
    return [calls[i] for i in sorted(order[:n])]


def _expanded(calls: list[Call], *, n: int) -> list[Call]:
    """The calls in the order in which they made `n` layers: the only one in a loop made what the others did not."""
    repeated = [i for i, call in enumerate(calls) if call.is_repeated]
    if len(repeated) != 1 or n <= len(calls):
        return calls
    at = repeated[0]
    return calls[:at] + [calls[at]] * (n - len(calls) + 1) + calls[at + 1 :]


def _best(calls: list[Call], layer: LayerFacts) -> list[Call]:
    """The calls that agree with a layer in most of their arguments, among those that contradict it nowhere."""
    scored = [(score, call) for call in calls if (score := _agreement(call, layer)) is not None]
    strict = [(score, call) for score, call in scored if _left_out_agrees(call, layer)] or scored
    best = max((score for score, _ in strict), default=0)
    return [call for score, call in strict if score == best]


def _given(call: Call, layer: LayerFacts) -> dict[str, Any]:
    return dict(zip(layer.parameters, call.positional, strict=False)) | call.keywords


def _agreement(call: Call, layer: LayerFacts) -> int | None:
    """How many arguments of the call the layer keeps as they are written; None where one contradicts it."""
    given = _given(call, layer)
    name = given.pop("name", None)
    if name is None:
        if not layer.is_auto_named and not call.is_open:
            return None
    elif name is not UNKNOWN and name != layer.name:
        return None
    score = 100 if isinstance(name, str) else 0
    if name is UNKNOWN and layer.is_auto_named:  # a name that is put together is rarely left to Keras
        score -= 1
    for key, written in given.items():
        kept = layer.values.get(key, UNKNOWN)
        if written is not UNKNOWN and kept is not UNKNOWN:
            if not _agree(written, kept):
                return None
            score += 1
    return score


def _left_out_agrees(call: Call, layer: LayerFacts) -> bool:
    """Whether the layer has the default of every parameter that the call leaves out."""
    left_out = layer.defaults.keys() - _given(call, layer).keys()
    return call.is_open or all(_agree(layer.defaults[key], layer.values.get(key, UNKNOWN)) for key in left_out)


def _agree(written: Any, kept: Any) -> bool:
    if written is UNKNOWN or kept is UNKNOWN:
        return True
    if isinstance(kept, tuple) and not isinstance(written, tuple):
        return all(item == written for item in kept)  # Keras keeps `kernel_size=3` as `(3, 3)`
    if isinstance(kept, str) and isinstance(written, str):
        return kept.lower() == written.lower()  # and "SAME" as "same"
    return bool(written == kept)


def _snake(name: str) -> str:
    """A class name as Keras makes a layer's name of it: `Conv2D` -> `conv2d`."""
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
