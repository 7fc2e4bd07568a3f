"""Calls of Keras layers and of `fit` -> the line of the user's that made each layer, and where time is spent by samples."""

from __future__ import annotations

import ast
import dis
import inspect
import re
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType, FunctionType
from typing import Any

from .frames import (
    Columns,
    alive,
    frames_outwards,
    is_user_file,
    keras_class,
    own_values,
    plain_function,
    running_frames,
    shown_name,
)
from .graphs import FrameTable

INTERVAL_S = 0.005
"""From one sample to the next, while that is cheap."""
MAX_SHARE = 0.005
"""The most that sampling may take of a processor: its thread takes Python's lock from the program."""
N_FIRST = 40
"""Samples before their cost is measured."""
MAX_SAMPLES = 50_000
"""Four minutes; a capture stops itself after one by default."""
MAX_DEPTH = 1_000
"""Frames searched for the user's."""


_Place = tuple[CodeType, int]


class LineSampler:
    """Samples the thread that makes it, and whether another one ran Python, between each `start()` and `stop()`. Keeps code
    objects, but no frames."""

    def __init__(self, *, interval_s: float = INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._target = threading.get_ident()
        self._samples: list[tuple[int, _Place | None, _Place | None]] = []
        self._at: dict[int, tuple[CodeType, int]] = {}
        """By thread the instruction at which it was last."""
        self._stop = threading.Lock()
        self._thread: threading.Thread | None = None

    def successor(self) -> LineSampler:
        """One without samples, of the same thread."""
        other = LineSampler(interval_s=self._interval_s)
        other._target = self._target
        return other

    def start(self) -> None:
        """Begin, from any thread; where it has begun already, do nothing."""
        if self._thread is None:
            # A lock that is held until the end: a sample took 13 to 25 % less CPU time than with an event.
            self._stop = threading.Lock()
            self._stop.acquire()
            self._thread = threading.Thread(target=self._run, args=(self._stop,), name="tfprof-lines", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End; what was sampled stays, and a next `start()` adds to it."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stop.release()
            thread.join(timeout=2.0)

    def columns(self, frames: FrameTable) -> dict[str, list[Any]]:
        """The samples as columns; their frames are added to `frames`."""
        samples = list(self._samples)
        places = dict.fromkeys(place for _, *both in samples for place in both if place is not None)
        rows = {(code, line): frames.add(-1, code.co_filename, line, code.co_name) for code, line in places}
        return {
            "time_ns": [time_ns for time_ns, *_ in samples],
            "frame": [rows[place] if place else -1 for _, place, _ in samples],
            "other": [rows[place] if place else -1 for *_, place in samples],
        }

    def _run(self, stop: threading.Lock) -> None:
        interval_s, n_taken, busy_s = self._interval_s, 0, 0.0
        while len(self._samples) < MAX_SAMPLES and not stop.acquire(timeout=interval_s):
            began_s = time.perf_counter()
            self._sample()
            n_taken += 1
            busy_s += time.perf_counter() - began_s
            if n_taken >= N_FIRST:
                # By the mean of all, not by the last one: a rate that depends on what runs would be unfair to lines.
                # A sandbox such as gVisor counts a whole tick of 10 ms for each time that a thread wakes: no sample takes
                # more of a processor than it lasts.
                interval_s = max(self._interval_s, min(time.thread_time(), busy_s) / n_taken / MAX_SHARE)

    def _sample(self) -> None:
        # Frames live no longer than this call: the tensors of the program's functions are their variables.
        frames = running_frames()
        place, other = user_place(frames.pop(self._target, None)), self._other(frames)
        if place or other:
            self._samples.append((time.time_ns(), place, other))

    def _other(self, frames: dict[int, FrameType]) -> _Place | None:
        """Where another thread is in the user's code, if it runs Python; threads that wait or sleep do not."""
        before, self._at = self._at, {thread: (frame.f_code, frame.f_lasti) for thread, frame in frames.items()}
        for thread, frame in frames.items():
            has_moved = before.get(thread, self._at[thread]) != self._at[thread]
            place = user_place(frame) if has_moved or _gave_way(frame) else None
            if place is not None:
                return place
        return None


def _gave_way(frame: FrameType) -> bool:
    """Whether a thread has let another one run, as Python does at the end of a turn of a loop and where a function begins."""
    at = frame.f_lasti
    name = dis.opname[frame.f_code.co_code[at]] if at >= 0 else ""
    return "JUMP" in name or name == "RESUME"


def user_place(frame: FrameType | None) -> _Place | None:
    """Code and line of the innermost frame of the user's; None where there is none."""
    for outer in islice(frames_outwards(frame), MAX_DEPTH):
        if is_user_file(outer.f_code.co_filename):
            return outer.f_code, outer.f_lineno
    return None


MAX_CALLS = 10_000
"""Nested calls are on one line, so only the outer one counts."""


@dataclass
class _Call:
    begin_ns: int
    code: CodeType
    line: int
    end_ns: int = 0


class KerasCalls:
    """The calls of one capture. Keeps code objects, but no frames."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note what runs inside, called from the user's line that is nearest."""
        place = user_place(sys._getframe(1))
        if place is None or len(self._calls) >= MAX_CALLS:
            yield
            return
        call = _Call(time.time_ns(), *place)
        self._calls.append(call)
        try:
            yield
        finally:
            call.end_ns = time.time_ns()

    def columns(self, frames: FrameTable) -> dict[str, list[Any]]:
        """The calls as columns; one that still runs ends now. Their frames are added to `frames`."""
        calls = Columns("begin_ns", "end_ns", "frame")
        for call in list(self._calls):
            row = frames.add(-1, call.code.co_filename, call.line, call.code.co_name)
            calls.add(call.begin_ns, call.end_ns or time.time_ns(), row)
        return calls


MAX_ITEMS = 16
"""Longest tuple that counts as written out: sizes of kernels are, vocabularies are not."""


class _Unknown:
    """An argument that is not written as a constant."""


UNKNOWN = _Unknown()
ACTIVATIONS = frozenset(
    ("relu", "tanh", "sigmoid", "softmax", "gelu", "elu", "selu", "linear", "softplus", "exponential")
)
"""Functions of Keras whose name is the text that stands for them; others have several names."""

_SIMPLE = (int, float, str, bool)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Call:
    file: str
    line: int
    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    is_open: bool
    """Whether it has `*args` or `**kwargs`, so that any argument may be among them."""
    function_line: int = 0
    """Where the function around it begins, 0 for none; tells apart two functions that make a model each."""
    is_repeated: bool = False
    """Whether a loop or comprehension of its function is around it."""


@dataclass(frozen=True)
class Wanted:
    """Names whose calls are looked for."""

    classes: set[str]
    models: set[str]

    def __contains__(self, name: str) -> bool:
        return name in self.classes or any(makes(name, model) for model in self.models)


def plain(name: str) -> str:
    """A name without what naming styles differ in."""
    return name.replace("_", "").lower()


def makes(name: str, model: str) -> bool:
    """Whether a function of that name may have made the model: `MobileNetV2` makes `mobilenetv2_1.00_224`."""
    return len(name) >= 4 and model.startswith(plain(name))


def simple(value: Any) -> Any:
    """A value as it can stand in source code, or `UNKNOWN`. Runs no code of the value's."""
    kind = type(value)  # not isinstance(), which asks an object of the user's for its __class__
    if kind in _SIMPLE:
        return value
    if kind in (tuple, list) and len(value) <= MAX_ITEMS and all(type(item) in _SIMPLE for item in value):
        return tuple(value)
    # Keras keeps `activation="relu"` as the function.
    return value.__name__ if kind is FunctionType and value.__name__ in ACTIVATIONS else UNKNOWN


def calls_of(text: str, file: str, wanted: Wanted) -> list[tuple[str, Call]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = list(_walk(tree))
    aliases = {
        alias.asname: alias.name
        for node, *_ in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    found = []
    for node, function_line, is_repeated in nodes:
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            name = aliases.get(name, name)
            if name in wanted:
                found.append((name, _call(node, file, function_line, is_repeated=is_repeated)))
    return sorted(found, key=lambda pair: pair[1].line)


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, int, bool]]:
    """All nodes, each with the line of its function and whether a loop of that function is around it."""
    stack: list[tuple[ast.AST, int, bool]] = [(tree, 0, False)]
    while stack:
        node, function_line, is_repeated = stack.pop()
        yield node, function_line, is_repeated
        if isinstance(node, _FUNCTIONS):
            function_line, is_repeated = node.lineno, False
        is_repeated |= isinstance(node, _LOOPS)
        stack.extend((child, function_line, is_repeated) for child in ast.iter_child_nodes(node))


def _call(node: ast.Call, file: str, function_line: int, *, is_repeated: bool) -> Call:
    is_open = any(isinstance(argument, ast.Starred) for argument in node.args)
    is_open |= any(keyword.arg is None for keyword in node.keywords)
    return Call(
        file=file,
        line=node.lineno,
        positional=() if is_open else tuple(_constant(argument) for argument in node.args),
        keywords={keyword.arg: _constant(keyword.value) for keyword in node.keywords if keyword.arg is not None},
        is_open=is_open,
        function_line=function_line,
        is_repeated=is_repeated,
    )


def _constant(node: ast.expr) -> Any:
    try:
        return simple(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return UNKNOWN


MAX_LAYERS = 5_000


@dataclass(frozen=True)
class LayerFacts:
    """What is known of one live layer, without holding it."""

    name: str
    class_name: str
    parameters: tuple[str, ...]
    defaults: dict[str, Any]
    values: dict[str, Any]
    """Simple values in attributes with the names of its parameters."""

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
    """Find where layers were made."""
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
    return call.file, call.function_line


def _may_not_have_run(calls: list[Call]) -> bool:
    """Whether calls are in different functions, of which nothing says which ran; text outside of functions did."""
    return len({_place(call) for call in calls}) > 1 and any(call.function_line for call in calls)


def _beside(calls: list[Call], sure: list[Call]) -> list[Call]:
    functions = {_place(call) for call in sure}
    files = {call.file for call in sure}
    same = [call for call in calls if _place(call) in functions]
    return same or [call for call in calls if call.file in files] or calls


def _nearest(calls: list[Call], sure: list[Call], *, n: int) -> list[Call]:
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
    scored = [(score, call) for call in calls if (score := _agreement(call, layer)) is not None]
    strict = [(score, call) for score, call in scored if _left_out_agrees(call, layer)] or scored
    best = max((score for score, _ in strict), default=0)
    return [call for score, call in strict if score == best]


def _given(call: Call, layer: LayerFacts) -> dict[str, Any]:
    return dict(zip(layer.parameters, call.positional, strict=False)) | call.keywords


def _agreement(call: Call, layer: LayerFacts) -> int | None:
    """The number of the call's arguments that agree with the layer's; None where one contradicts it."""
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
    """A class name as in a layer's name: `Conv2D` -> `conv2d`."""
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


@dataclass(frozen=True)
class Fitted:
    """What a call of `fit` was given."""

    model: Any
    data: Any
    """A `tf.data.Dataset` or a `keras.utils.PyDataset`."""
    callbacks: tuple[Any, ...]


class FitCall:
    """The last call of `fit` within a capture; `TypeError` for an argument that cannot be referred to without keeping it."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        callbacks = arguments.get("callbacks") or ()
        given = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        self._model, self._data = weakref.ref(arguments["self"]), weakref.ref(arguments["x"])
        self._callbacks = [weakref.ref(one) for one in given if hasattr(one, "on_train_batch_end")]

    def fitted(self) -> Fitted | None:
        """What it was given, where model and data still are there and the data can be read again; else None."""
        model, data = self._model(), self._data()
        if model is None or not (hasattr(data, "element_spec") or hasattr(data, "num_batches")):
            return None
        callbacks = [reference() for reference in self._callbacks]
        return Fitted(model, data, tuple(one for one in callbacks if one is not None))
