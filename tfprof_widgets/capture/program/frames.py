"""Live Python objects -> frames, source files, layers and variables of the program."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import linecache
import logging
import os
import re
import site
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import Distribution, distributions
from operator import methodcaller
from pathlib import Path
from types import FrameType, FunctionType, MethodType
from typing import Any, NamedTuple, cast

FRAMEWORKS = ("tensorflow", "keras", "tf_keras", "numpy", "optree", "wrapt", "absl", "IPython", "ipykernel")
"""Libraries of every traceback, however they were installed."""
_FIRST_PART = re.compile(r"^(?:([^/,\n]+)/|([^/,\n]+\.py),)", re.MULTILINE)
"""The folder, or the single module, in each line of a list of installed files."""
_SCHEME = ("stdlib", "platstdlib", "purelib", "platlib")


@functools.cache
def library_roots() -> tuple[str, ...]:
    """Folders (and single modules) of Python, installed packages and this one, sorted; not editable installs."""
    # Import takes no notice of what else programs put there.
    search_path = tuple(entry for entry in sys.path if isinstance(entry, str))
    return _library_roots(search_path, tuple(_folder_of(name) for name in FRAMEWORKS))


def look_for_libraries() -> None:
    """Take note of what was imported since the last look."""
    library_roots.cache_clear()


@functools.lru_cache(maxsize=8)
def _library_roots(search_path: tuple[str, ...], imported: tuple[str, ...]) -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    whole = {paths[key] for key in _SCHEME if paths.get(key)} | {*_site_folders(), str(Path(__file__).parents[2])}
    whole |= {os.path.realpath(root) for root in whole}
    elsewhere = [entry for entry in search_path if entry and os.path.realpath(entry) not in whole]
    packages = [folder for folder in imported if folder and not is_below(folder, tuple(whole))]
    roots = whole.union(packages, *(_installed_in(entry) for entry in elsewhere))
    named = {one.rstrip(os.sep) for root in roots for one in (root, os.path.realpath(root))}
    return tuple(sorted(named - {""}))


def _site_folders() -> tuple[str, ...]:
    # Where Python is embedded or has no `site`, the scheme above is all there is.
    folders = site.getsitepackages() if hasattr(site, "getsitepackages") else []
    user = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    return *folders, *([user] if user else [])


def _folder_of(name: str) -> str:
    """Where an imported package lies; "" for no package in a folder."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return str(Path(file).parent) if isinstance(file, str) and Path(file).name == "__init__.py" else ""


def _installed_in(entry: str) -> Iterator[str]:
    """Packages and modules that distributions put into a folder."""
    try:
        if not any(Path(entry).glob("*.dist-info")):
            return
        for one in distributions(path=[entry]):
            for name in _top_level(one):
                if (root := Path(entry, name)).exists():
                    yield str(root)
    except (OSError, ValueError):  # a folder of a server that is gone, a list of files that is damaged
        return


def _top_level(installed: Distribution) -> set[str]:
    # Not from `installed.files`, an object a file: of TensorFlow's 20,000 that took half a second in which the steps waited.
    names = {name or module for name, module in _FIRST_PART.findall(installed.read_text("RECORD") or "")}
    return {name for name in names if not name.endswith((".dist-info", ".data")) and name not in ("..", "bin")}


def is_below(path: str, roots: tuple[str, ...]) -> bool:
    """Whether a path is one of the roots or lies in one; `site-packages-demo` does not lie in `site-packages`."""
    return any(path == root or path.startswith(root + os.sep) for root in roots)


_COLLECTS_ANYWHERE = sys.version_info < (3, 12)
"""Whether Python collects garbage wherever it makes an object, and not only between two instructions."""


def running_frames() -> dict[int, FrameType]:
    """The innermost frame of each other thread, without garbage collection, which could deadlock (python/cpython#106883)."""
    frames = cast("dict[int, FrameType]", _without_collecting(sys._current_frames))
    # This thread's frame holds these frames in turn. As a circle they would live, with the tensors that are their variables,
    # until garbage is collected.
    frames.pop(threading.get_ident(), None)
    return frames


def outer_frame(frame: FrameType) -> FrameType | None:
    """The caller of `frame`, or None; garbage collected meanwhile may let its thread leave the frame (python/cpython#111363)."""
    return cast("FrameType | None", _without_collecting(partial(getattr, frame, "f_back")))


def frames_outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """`frame` and those that called it, the innermost first."""
    while frame is not None:
        yield frame
        frame = outer_frame(frame)


def _without_collecting(read: Callable[[], object]) -> object:
    """What `read`, which is no Python code, returns."""
    if not (_COLLECTS_ANYWHERE and gc.isenabled()):
        return read()
    try:
        # No other thread runs between calls that `map` makes, so none finds the garbage collector switched off.
        _, result, _ = map(methodcaller("__call__"), (gc.disable, read, gc.enable))
    except BaseException:
        gc.enable()
        raise
    return result


class Columns(dict[str, list[Any]]):
    """A table that grows by rows."""

    def __init__(self, *names: str) -> None:
        super().__init__((name, []) for name in names)

    def add(self, *values: Any) -> int:
        """Add a row, a value for each column in their order; return its number."""
        for column, value in zip(self.values(), values, strict=True):
            column.append(value)
        return self.n_rows - 1

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.values())))


MAX_RECORDS = 20_000
"""Over all models."""
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
    """Record the layers of every Keras 3 model that is alive; nothing is imported, built or changed."""
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


MAX_VARIABLES = 20_000
_WEIGHTS = ("_trainable_variables", "_non_trainable_variables", "_trainable_weights", "_non_trainable_weights")
"""Where layers of Keras 3, and of Keras 2, keep their own weights."""
_LATER_REPLICA = re.compile(r"/replica_[1-9]\d*(:0)?$")


class VariableTable:
    def __init__(self) -> None:
        self.variables = Columns("name", "shape", "dtype", "trainable", "layer", "device")
        self.n_missed = 0
        self._rows: dict[tuple[int, str, str], int] = {}

    def add_live(self, objects: list[Any]) -> dict[int, int]:
        """Note the variables among `objects` and in the layers there; the row of each by the `id` of its handle."""
        self.n_missed = 0
        managed: set[int] = set()
        of_handle: dict[int, int] = {}
        for path, kept in _weights(objects):
            variable = _inner(kept)
            if id(variable) not in managed:
                managed.add(id(variable))
                self._add(kept, variable, path, of_handle)
        base, keras_base = variable_classes()
        # A wrapped variable is nobody's own.
        managed.update(id(_inner(thing)) for thing in alive(objects, keras_base))
        for thing in alive(objects, base):
            if id(thing) not in managed:
                self._add(thing, thing, "", of_handle)
        return of_handle

    def _add(self, shown: Any, variable: Any, layer: str, of_handle: dict[int, int]) -> None:
        """Add a variable of TensorFlow; `shown` is Keras' wrapper, if it has one."""
        own, inner = own_values(shown), own_values(variable)
        name = own.get("_path") or own.get("_handle_name") or inner.get("_handle_name")
        if not isinstance(name, str) or _LATER_REPLICA.search(name):  # copies of one variable, on other devices
            return
        name = name.removesuffix(":0")
        handle = inner.get("_handle")
        shape = _shape_text(own.get("_shape", inner.get("_shape")))
        key = id(variable), name, shape
        row = self._rows.get(key)
        trainable = bool(own.get("_trainable", inner.get("_trainable")))
        if row is None:
            if self.variables.n_rows >= MAX_VARIABLES:
                self.n_missed += 1
                return
            dtype = own.get("_dtype", inner.get("_dtype"))
            dtype_text = str(getattr(dtype, "name", dtype) or "")
            device = str(getattr(handle, "device", "") or "")
            row = self._rows[key] = self.variables.add(name, shape, dtype_text, trainable, layer, device)
        self.variables["trainable"][row] = trainable
        if handle is not None:
            of_handle[id(handle)] = row


def variable_classes() -> tuple[type | None, type | None]:
    """The class of TensorFlow's variables, and Keras' own around them; None for what the program has not loaded."""
    tensorflow = _loaded("tensorflow.python.ops.resource_variable_ops", "BaseResourceVariable")
    return tensorflow, _loaded("keras", "Variable")


def holders(objects: list[Any]) -> list[Any]:
    """Layers, models and optimizers, which have lists of weights."""
    return [thing for thing in objects if any(name in own_values(thing) for name in _WEIGHTS)]


def own_weights(layer: Any) -> Iterator[Any]:
    """TensorFlow's variables in a layer's or optimizer's own lists."""
    own = own_values(layer)
    for key in _WEIGHTS:
        yield from map(_inner, listed(own.get(key)))


def serial_number(variable: Any) -> int:
    """A number that grows from each variable to the next, 0 where it is not known: TensorFlow ends their unique names with it."""
    digits = str(own_values(variable).get("_unique_id", "")).rpartition("_")[2]
    return int(digits) if digits.isdecimal() and len(digits) < 19 else 0


def _weights(objects: list[Any]) -> Iterator[tuple[str, Any]]:
    """The weights of all live layers, each with its layer's path, models before what is no part of another."""
    layers = holders(objects)
    inner = {id(part) for layer in layers for part in parts_of(layer) if part is not layer}
    # A sequential model keeps a functional one of the same layers, which nobody else knows.
    inner |= {id(own_values(layer).get("_functional")) for layer in layers}
    seen: set[int] = set()
    # Last those that lie within another; only where layers hold each other are any of them not met before.
    for root in sorted(layers, key=lambda layer: id(layer) in inner):
        if id(root) in seen:
            continue
        for layer, path in below(root):
            seen.add(id(layer))
            for key in _WEIGHTS:
                for kept in listed(own_values(layer).get(key)):
                    yield path, kept


def _inner(kept: Any) -> Any:
    """TensorFlow's variable in one of Keras; one of TensorFlow itself."""
    found = own_values(kept).get("_value", kept)
    copies = own_values(found).get("_values")  # of a distributed variable the first copy stands for all
    return copies[0] if isinstance(copies, (list, tuple)) and copies else found


def _shape_text(shape: Any) -> str:
    if shape is None or getattr(shape, "rank", 0) is None:
        return "?"
    try:
        sizes = [-1 if size is None else int(size) for size in shape]
    except (TypeError, ValueError):
        return "?"
    return "x".join(map(str, sizes)) if sizes else "()"


MAX_WRAPPERS = 100
"""Decorators of a function to look through; they may go in a circle."""

_FUNCTIONS = "tensorflow.python.eager.polymorphic_function"
_mro = type.__dict__["__mro__"].__get__
"""The bases of a class, whatever its metaclass makes of attributes."""


def live_objects() -> list[Any]:
    """Live graphs, functions of TensorFlow, variables, Keras layers and optimizers; hold them no longer than needed."""
    keras = [
        keras_class(module, part, name)
        for module in ("keras", "tf_keras")
        for part, name in (("layers", "Layer"), ("optimizers", "Optimizer"))
    ]
    bases = [kind for kind in (*graph_classes(), *keras, *variable_classes()) if kind is not None]
    objects = gc.get_objects()
    # By their types first: a process has some 10,000 of these and some 1,000,000 objects. By the types' ids, and not with
    # issubclass(): a metaclass of the user's may do anything to tell a hash or a subclass.
    kinds = dict(zip(map(id, map(type, objects)), map(type, objects), strict=True))
    wanted_bases = set(map(id, bases))
    wanted = {key for key, kind in kinds.items() if not wanted_bases.isdisjoint(map(id, _mro(kind)))}
    return list(itertools.compress(objects, map(wanted.__contains__, map(id, map(type, objects)))))


def graph_classes() -> tuple[type | None, type | None, type | None]:
    """The class of graphs, of what `tf.function` returns, and of functions of the runtime; None for what is not loaded."""
    # Private modules: no public name leads from a function to its graphs.
    return (
        _loaded("tensorflow.python.framework.ops", "Graph"),
        _loaded(f"{_FUNCTIONS}.polymorphic_function", "Function"),
        _loaded(f"{_FUNCTIONS}.atomic_function", "AtomicFunction"),
    )


def function_graph_class() -> type | None:
    """The class of the graphs of functions; None where TensorFlow is not loaded."""
    return _loaded("tensorflow.python.framework.func_graph", "FuncGraph")


def _loaded(module: str, name: str) -> type | None:
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) else None


def plain_function(function: Any) -> FunctionType | None:
    """The function that was decorated; None for callables that are no functions, which may answer anything when asked."""
    for _ in range(MAX_WRAPPERS):
        kind = type(function)
        if kind is MethodType:
            function = function.__func__
        elif kind is functools.partial:
            function = function.func
        elif kind is not FunctionType:
            return None
        elif "__wrapped__" in function.__dict__:
            function = function.__dict__["__wrapped__"]
        else:
            return function  # type: ignore[no-any-return]
    return None


MAX_FILE_BYTES = 256 * 2**10
"""Of one file; a cell or module of a user is far smaller."""
MAX_READ_BYTES = 16 * 2**20
MAX_TEXT_BYTES = 4 * 2**20
"""Of all files together."""

_INPUT = re.compile(r"(?:^<|[\\/])ipython-input(?:-(\d{1,9})(?=-))?-")
"""Names of cells: `<ipython-input-7-0123abcd>` of older versions, `/tmp/ipython-input-1234.py` of Colab."""
_GENERATED = ("<frozen ", "<__array_function__", "<decorator-gen", "__autograph_generated_file")


def is_user_file(filename: str) -> bool:
    """Whether code of that file is the user's: a cell, a script or module outside installed packages and Python itself."""
    return _is_user_file(filename, library_roots())


@functools.lru_cache(maxsize=65536)
def _is_user_file(filename: str, roots: tuple[str, ...]) -> bool:
    if not filename or any(part in filename for part in _GENERATED):
        return False
    if filename.startswith("<"):
        return filename in ("<stdin>", "<string>") or filename.startswith("<ipython-input")
    return is_cell(filename) or not is_below(filename, roots)


def text_of(filename: str, until_ns: int) -> str:
    """The text of a file or of a notebook's cell as it was until a Unix time, "" where it is not known."""
    try:
        path = Path(filename)
        if path.exists():
            # Nothing to wait for, as `python /dev/stdin` is, and nothing that is no source.
            if not path.is_file() or path.stat().st_size > MAX_READ_BYTES:
                return ""
            if path.stat().st_mtime_ns > until_ns:  # what ran is known only where Python happens to have kept it
                entry = linecache.cache.get(filename, ())
                if len(entry) < 3 or entry[1] is None or entry[1] * 1e9 > until_ns:
                    return ""
                return "".join(entry[2])
            linecache.checkcache(filename)  # `%autoreload` runs a new text under the old name
        return "".join(linecache.getlines(filename))
    except Exception:  # linecache calls loaders of foreign packages; no text is no reason to fail
        return ""


def cut_text(text: str, room_bytes: int) -> str:
    """The whole lines of a text that fit."""
    content = text.encode("utf-8", "replace")
    if len(content) <= room_bytes:
        return text
    kept = content[: max(room_bytes, 0)]
    return kept[: kept.rfind(b"\n") + 1].decode("utf-8", "replace")


def title_of(filename: str) -> str:
    """What to call a file: `Cell [5]`, `<cell>`, or its path relative to the working directory."""
    number = _cell_number(filename)
    if number is not None:
        return f"Cell [{number}]"
    if is_cell(filename):
        return "<cell>"
    try:
        relative = os.path.relpath(filename)
    except (OSError, ValueError):  # the working directory is gone, or on another drive
        return filename
    return filename if relative.startswith(os.pardir) else relative


def is_cell(filename: str) -> bool:
    """Whether it is the name that IPython or its kernel gives to the code of a cell."""
    return _INPUT.search(filename) is not None or f"{os.sep}ipykernel_" in filename


def _cell_number(filename: str) -> int | None:
    """The number beside the cell in the notebook, as far as its name or IPython knows."""
    named = _INPUT.search(filename)
    if named is not None and named[1]:
        return int(named[1])
    shell = running_shell()
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    number = numbers.get(filename) if isinstance(numbers, dict) else None
    return number if isinstance(number, int) else None


def running_shell() -> Any:
    """IPython's shell where it runs this process, else None."""
    # Not `get_ipython()`: importing IPython in a plain program would cost more than all the rest.
    module = sys.modules.get("IPython.core.getipython")
    try:
        return module.get_ipython() if module is not None else None
    except Exception:  # a shell that is being torn down
        return None


def user_texts(until_ns: int) -> dict[str, str]:
    """All texts of the user that the process knows: the cells that ran, the main script, imported modules; as `text_of`."""
    names = [name for name in list(linecache.cache) if is_user_file(name)]
    for module in list(sys.modules.values()):
        try:
            name = object.__getattribute__(module, "__dict__").get("__file__")  # asking a lazy module would import it
        except (AttributeError, TypeError):
            continue
        if isinstance(name, str) and name.endswith(".py") and is_user_file(name):
            names.append(name)
    texts: dict[str, str] = {}
    room = MAX_TEXT_BYTES
    for name in dict.fromkeys(names):
        text = text_of(name, until_ns)
        if text and len(text) <= min(room, MAX_FILE_BYTES):
            texts[name] = text
            room -= len(text)
    return texts


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, even in a crash."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
