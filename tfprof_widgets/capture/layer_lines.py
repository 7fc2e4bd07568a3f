"""Live Keras layers and the user's texts -> the line of the call that made each layer.

No frame is kept when a layer is made, and to wrap Keras for it would have to happen before the model is built. So the texts
are searched for calls of the layer's class, and those whose constant arguments contradict the layer are ruled out.
"""

from __future__ import annotations

import ast
import re
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class _Call:
    """One call of a class by its name."""

    file: str
    line: int
    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    is_open: bool
    """Whether it has `*args` or `**kwargs`, so that any argument may be among them."""


class _Unknown:
    """The value of an argument that is not written as a constant."""


UNKNOWN = _Unknown()
ACTIVATIONS = frozenset(
    ("relu", "tanh", "sigmoid", "softmax", "gelu", "elu", "selu", "linear", "softplus", "exponential")
)
"""Functions of Keras whose name is the text that stands for them; others have several names."""


def live_layers(objects: Iterable[Any]) -> tuple[list[LayerFacts], list[str]]:
    """Facts of the Keras layers among `objects`, and the names of the models."""
    layers: list[LayerFacts] = []
    models: list[str] = []
    for module in ("keras", "tf_keras"):
        keras = sys.modules.get(module)
        base, model = getattr(getattr(keras, "layers", None), "Layer", None), getattr(keras, "Model", None)
        if not isinstance(base, type) or not isinstance(model, type):
            continue
        for thing in objects:
            kind = type(thing)
            if issubclass(kind, model):
                models.append(str(thing.name))
            elif issubclass(kind, base) and len(layers) < MAX_LAYERS:
                layers.append(_facts(thing))
    return layers, models


def _facts(layer: Any) -> LayerFacts:
    kind = type(layer)
    function = kind.__init__
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    names, defaults = _parameters(function)
    kept = vars(layer)
    if kind.__module__.split(".")[0] in ("keras", "tf_keras"):  # a property of the user's class may do anything
        kept = {name: kept[name] if name in kept else getattr(layer, name, UNKNOWN) for name in names}
    values = {name: _simple(kept[name]) for name in names if name in kept}
    return LayerFacts(str(layer.name), kind.__name__, names, defaults, values)


def _parameters(function: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names of the parameters of a constructor but the first, and their simple defaults."""
    code = getattr(function, "__code__", None)
    if code is None:
        return (), {}
    positional = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    found = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    found |= function.__kwdefaults__ or {}
    names = (*positional[1:], *code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    return names, {name: _simple(value) for name, value in found.items()}


def _simple(value: Any) -> Any:
    """A value as it can stand in source code, or `UNKNOWN`."""
    if isinstance(value, (int, float, str, bool)):
        return value
    if isinstance(value, (tuple, list)) and all(isinstance(item, (int, float, str)) for item in value):
        return tuple(value)
    name = getattr(value, "__name__", None)  # Keras keeps `activation="relu"` as the function
    return name if isinstance(name, str) and name in ACTIVATIONS and callable(value) else UNKNOWN


def creation_lines(
    layers: Sequence[LayerFacts], texts: dict[str, str], *, models: Sequence[str] = (), deadline_s: float
) -> dict[str, tuple[str, int]]:
    """Find where layers were made.

    Args:
        layers: facts of the live layers.
        texts: the user's texts by file, older cells before newer ones.
        models: names of the live models. A function or class of nearly that name made one: `ResNet50()` the model `resnet50`
            with all its layers.
        deadline_s: no further text is read once `time.thread_time()` is there.

    Returns:
        Name of a layer or model -> file and line of the call that made it; without those for which there is none. Where several
        calls fit several layers, the newest layer is the newest call's, and so on backwards: a cell that is run again makes
        its layers again, and one that was changed leaves its old text behind.
    """
    wanted = _Wanted({layer.class_name for layer in layers}, {_plain(name) for name in models})
    calls: dict[str, list[_Call]] = {}
    for file, text in texts.items():
        if time.thread_time() > deadline_s:
            break
        for name, call in _calls_of(text, file, wanted):
            calls.setdefault(name, []).append(call)
    groups: dict[tuple[int, ...], list[LayerFacts]] = {}
    call_of: dict[int, _Call] = {}
    for layer in layers:
        fitting = _best(calls.get(layer.class_name, []), layer)
        call_of.update({id(call): call for call in fitting})
        if fitting:
            groups.setdefault(tuple(id(call) for call in fitting), []).append(layer)
    lines: dict[str, tuple[str, int]] = {}
    for keys, members in groups.items():
        for i, layer in enumerate(sorted(members, key=lambda member: member.number, reverse=True)):
            call = call_of[keys[-1 - i % len(keys)]]
            lines[layer.name] = (call.file, call.line)
    for model in models:
        makers = [call for name, those in calls.items() if _makes(name, _plain(model)) for call in those]
        if makers:
            lines.setdefault(model, (makers[-1].file, makers[-1].line))
    return lines


@dataclass(frozen=True)
class _Wanted:
    """Names whose calls are looked for."""

    classes: set[str]
    models: set[str]

    def __contains__(self, name: str) -> bool:
        return name in self.classes or any(_makes(name, model) for model in self.models)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _makes(name: str, model: str) -> bool:
    """Whether a function of that name may have made the model: `MobileNetV2` makes `mobilenetv2_1.00_224`."""
    return len(name) >= 4 and model.startswith(_plain(name))


def _best(calls: list[_Call], layer: LayerFacts) -> list[_Call]:
    """The calls that agree with a layer in most of their arguments, among those that contradict it nowhere."""
    scored = [(score, call) for call in calls if (score := _agreement(call, layer)) is not None]
    strict = [(score, call) for score, call in scored if _left_out_agrees(call, layer)] or scored
    best = max((score for score, _ in strict), default=0)
    return [call for score, call in strict if score == best]


def _calls_of(text: str, file: str, wanted: _Wanted) -> list[tuple[str, _Call]]:
    """Calls of what is wanted in one text, in the order of the text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = list(ast.walk(tree))
    aliases = {
        alias.asname: alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    found = []
    for node in nodes:
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            name = aliases.get(name, name)
            if name in wanted:
                found.append((name, _call(node, file)))
    return sorted(found, key=lambda pair: pair[1].line)


def _call(node: ast.Call, file: str) -> _Call:
    is_open = any(isinstance(argument, ast.Starred) for argument in node.args)
    is_open |= any(keyword.arg is None for keyword in node.keywords)
    return _Call(
        file=file,
        line=node.lineno,
        positional=() if is_open else tuple(_constant(argument) for argument in node.args),
        keywords={keyword.arg: _constant(keyword.value) for keyword in node.keywords if keyword.arg is not None},
        is_open=is_open,
    )


def _constant(node: ast.expr) -> Any:
    try:
        return _simple(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return UNKNOWN


def _given(call: _Call, layer: LayerFacts) -> dict[str, Any]:
    return dict(zip(layer.parameters, call.positional, strict=False)) | call.keywords


def _agreement(call: _Call, layer: LayerFacts) -> int | None:
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


def _left_out_agrees(call: _Call, layer: LayerFacts) -> bool:
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
