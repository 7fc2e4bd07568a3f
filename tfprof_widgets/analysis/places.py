"""Frames of tracebacks -> whose code made an op: a line of the user's, a layer, or a part of a library."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..read.hlo_messages import Frames
from ..trace.arrays import Bool, Int32
from ..trace.source_map import SourceMap, is_framework_path

_LIBRARY = re.compile(r"/(site|dist)-packages/|/lib/python\d[^/]*/")
_GENERATED = re.compile(r"^<(?!ipython-input|stdin>|string>)|__autograph_generated_file")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


@dataclass(frozen=True)
class UserFiles:
    """Whose files are, as the program that was captured knew it."""

    noted: dict[str, bool]
    """Files that the capture looked at, and whether each is the user's."""
    roots: tuple[str, ...]
    """Where its libraries lay; empty where that was not recorded, and the path alone has to tell."""

    @classmethod
    def of_map(cls, source_map: SourceMap | None) -> UserFiles:
        """What a source map tells; nothing of a trace without one."""
        if source_map is None:
            return cls({}, ())
        files = source_map.files
        noted = dict(zip(files["file"], files["is_user"].tolist(), strict=True))
        return cls(noted, tuple(root.replace("\\", "/") for root in source_map.roots["root"]))

    def has(self, path: str) -> bool:
        """Whether a file is the user's; where the capture did not look at it, its path names no library."""
        if path in self.noted:
            return self.noted[path]
        path = path.replace("\\", "/")
        if not path or _GENERATED.search(path):
            return False
        if self.roots and _ABSOLUTE.match(path):
            return not any(path == root or path.startswith(f"{root}/") for root in self.roots)
        return not (_LIBRARY.search(path) or is_framework_path(path))


KERAS_OPTIMIZER = "Keras optimizer"
KERAS_LOSS = "Keras loss/metrics"
KERAS = "Keras library"
TF_DATA = "tf.data"
COPIES = "copies"
GRADIENT_SUMS = "gradient sums"
PROGRAM_ENDS = "arguments and results of compiled programs"
TENSORFLOW = "TensorFlow library"
"""Names of buckets, for ops of library code that no line of the user's stands for."""
BUCKET_OF_TYPE = {
    **dict.fromkeys(("_Send", "_Recv", "_HostSend", "_HostRecv"), COPIES),
    **dict.fromkeys(("XLA_Args", "XLA_Retvals"), PROGRAM_ENDS),
}
"""What ops of these types are charged to that belong to no layer and no line."""

_BUCKETS = (
    (KERAS_OPTIMIZER, re.compile(r"/(tf_)?keras/(src/)?optimizers/")),
    (
        KERAS_LOSS,
        re.compile(r"/(tf_)?keras/(src/)?(losses|metrics|regularizers)[/.]|/(trainers|engine)/compile_utils\.py$"),
    ),
    (TF_DATA, re.compile(r"/tensorflow/python/data/")),
    (KERAS, re.compile(r"/(tf_)?keras/")),
    (TENSORFLOW, re.compile(r"/tensorflow/")),
)
_TRAINER = re.compile(r"/(tf_)?keras/(src/)?(backend/\w+/trainer|trainers/trainer|engine/training\w*)\.py$")
_TRAINING = frozenset(("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"))
_LOSS = frozenset(("compute_loss", "_compute_loss"))
"""Methods of a trainer that add up losses."""
_MODEL = re.compile(r"/(tf_)?keras/(src/)?(models|engine)/(functional|sequential)\.py$")
_LAYER = re.compile(r"/(tf_)?keras/(src/)?(layers|models|engine)/")
_PACKAGE = re.compile(r"/(?:site|dist)-packages/([^/.]+)")


@dataclass(frozen=True, eq=False, repr=False)
class FrameTable:
    """Frames of tracebacks, each after the one that called it."""

    parent: tuple[int, ...]
    path: tuple[str, ...]
    line: tuple[int, ...]
    function: tuple[str, ...]
    is_user: tuple[bool, ...]

    @classmethod
    def of_map(cls, source_map: SourceMap) -> FrameTable:
        """The frames of a source map, which also says which files are the user's."""
        frames, files = source_map.frames, source_map.files
        path, is_user = [*files["file"], ""], [*files["is_user"].tolist(), False]
        at = frames["file"].tolist()  # -1 is the entry put last
        return cls(
            tuple(frames["parent"].tolist()),
            tuple(path[i] for i in at),
            tuple(frames["line"].tolist()),
            tuple(frames["function"]),
            tuple(is_user[i] for i in at),
        )

    @classmethod
    def of_programs(cls, frames: Frames, user_files: UserFiles) -> tuple[FrameTable, Int32]:
        """Those of compiled programs, and the new row of each; -1 where callers go in a circle, as in a damaged file."""
        n = len(frames.file)
        parent = [one if 0 <= one < n else -1 for one in frames.parent.tolist()]
        below: dict[int, list[int]] = {}
        for row, caller in enumerate(parent):
            below.setdefault(caller, []).append(row)
        order, place = list(below.get(-1, [])), np.full(n, -1, np.int32)
        for row in order:  # grows while it is read; every frame is put in once, below its one caller
            order += below.get(row, [])
        place[order] = np.arange(len(order))
        return cls(
            tuple(int(place[parent[row]]) if parent[row] >= 0 else -1 for row in order),
            tuple(frames.file[row] for row in order),
            tuple(int(frames.line[row]) for row in order),
            tuple(frames.function[row] for row in order),
            tuple(user_files.has(frames.file[row]) for row in order),
        ), place


@dataclass(frozen=True, eq=False, repr=False)
class FramePlaces:
    """What each frame of a source map stands for, seen as the innermost frame of an op; one entry per frame."""

    user_frame: Int32
    """The innermost frame of the user's among it and its callers, -1 for none."""
    bucket: tuple[str, ...]
    """The part of a library that is in charge, of the code between the user's frame and the op; "" where that is the user."""
    is_of_layer: Bool
    """Whether Keras called a layer for the user, so that the line which made the layer stands for it."""
    is_optimizer: Bool
    is_metric: Bool
    is_loss: Bool


def bucket_of_file(path: str) -> str:
    """The bucket of code in a library's file."""
    path = path.replace("\\", "/")
    for name, pattern in _BUCKETS:
        if pattern.search(path):
            return name
    package = _PACKAGE.search(path)
    return f"{package[1]} library" if package else "Python library"


def frame_places(table: FrameTable) -> FramePlaces:
    """What each frame stands for: library code is of the user's line that called it; `fit` and its kin are looked into."""
    n = len(table.parent)
    user, bucket, is_of_layer, flags = [-1] * n, [""] * n, [False] * n, [(False,) * 6] * n
    of_file = {path: _of_file(path) for path in dict.fromkeys(table.path)}
    frames = zip(table.parent, table.path, table.function, table.is_user, strict=True)
    for i, (caller, path, function, is_user) in enumerate(frames):
        if is_user:
            user[i] = i  # nothing is noted of the user's own frames
            continue
        user[i] = user[caller] if caller >= 0 else -1
        part, is_trainer, is_model, is_layer, is_metric = of_file[path]
        in_fit, in_model, in_layer, in_optimizer, in_loss, in_metric = flags[caller] if caller >= 0 else (False,) * 6
        in_fit |= is_trainer and function in _TRAINING
        in_model |= is_model
        in_layer |= is_layer
        in_optimizer |= part == KERAS_OPTIMIZER
        in_loss |= part == KERAS_LOSS or (is_trainer and function in _LOSS)
        in_metric |= is_metric
        flags[i] = in_fit, in_model, in_layer, in_optimizer, in_loss, in_metric
        is_of_layer[i] = in_model or (in_fit and in_layer)
        if user[i] < 0 or in_fit:
            bucket[i] = _part(part, is_optimizer=in_optimizer, is_loss=in_loss, in_fit=in_fit)
    of_optimizer, of_loss, of_metric = np.array(flags, np.bool_).reshape(-1, 6).T[3:].copy()
    layers = np.array(is_of_layer, np.bool_)
    return FramePlaces(np.array(user, np.int32), tuple(bucket), layers, of_optimizer, of_metric, of_loss)


def _of_file(path: str) -> tuple[str, bool, bool, bool, bool]:
    """The bucket of a file, and whether it is of Keras' trainer, of a model, of layers, of metrics."""
    path = path.replace("\\", "/")
    is_trainer, is_model, is_layer = (pattern.search(path) is not None for pattern in (_TRAINER, _MODEL, _LAYER))
    return bucket_of_file(path), is_trainer, is_model, is_layer, "/metrics/" in path


def _part(innermost: str, *, is_optimizer: bool, is_loss: bool, in_fit: bool) -> str:
    if is_optimizer:
        return KERAS_OPTIMIZER
    if is_loss:
        return KERAS_LOSS
    return KERAS if in_fit else innermost
