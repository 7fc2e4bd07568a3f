"""Tracebacks and types of ops -> which Keras made for an optimizer, a metric or a loss outside any name scope, and which copy."""

from __future__ import annotations

import itertools

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Int32, UInt8
from ..base.frame_places import BUCKET_OF_TYPE, GRADIENT_SUMS, KERAS, FrameTable, frame_places
from ..base.user_files import UserFiles
from ..ops.op_shares import OpShares
from .graph_index import rewritten
from .layer_names import ROLES
from .op_scopes import OpScopes

_TAPE = "gradient_tape"


def traced_roles(scopes: OpScopes, shares: OpShares | None, source_map: SourceMap | None) -> UInt8:
    """Tell what ops such as `AssignVariableOp_3` are for, whose names do not say it.

    Of the forward ops of a step of Keras' own only those of the loss are outside any scope, and so are their gradients.

    Args:
        scopes: the ops; the first of them are those of `shares`.
        shares: the framework ops, with the tracebacks that compiled programs carry.
        source_map: the tracebacks that the capture noted, which go before.

    Returns:
        For each op an index into `ROLES`; 0 where its traceback says nothing of that kind or is not known.
    """
    role = np.zeros(len(scopes), np.uint8)
    if shares is not None and len(shares.frames.file):
        n, (table, row) = len(shares), FrameTable.of_programs(shares.frames, UserFiles.of_map(source_map))
        frame = np.where(shares.frame >= 0, row[shares.frame], -1)
        role[:n] = _roles(table, frame.astype(np.int32), scopes.is_backward[:n])
    frame = np.full(len(scopes), -1, np.int32)
    if source_map is not None and len(source_map.ops):
        frame = _frames_of(scopes, source_map)
        role = np.where(frame >= 0, _roles(FrameTable.of_map(source_map), frame, scopes.is_backward), role)
    of_type = _roles_of_type(scopes, has_frame=frame >= 0)
    role = np.where((of_type > 0) & np.isin(role, (0, ROLES.index(KERAS))), of_type, role)
    if shares is not None:
        role[: len(shares)][shares.is_eager] = 0  # in no graph, though one may have an op of the name
    return role


def _frames_of(scopes: OpScopes, source_map: SourceMap) -> Int32:
    """The frame at which each op outside any scope was made, -1 where it is not known.

    Such a name is that of an op of several graphs (training, evaluation, functions of the user's). Taken is the graph that
    explains most of the names: they ran together. An op below another, as `Cast_6/ReadVariableOp`, is part of it.
    """
    wanted = [
        [
            "/".join((*((_TAPE,) if is_backward else ()), *scope, one))
            for one in ((leaf,) if is_backward else (leaf, *rewritten(leaf)))
        ]
        + list(scope[: 0 if is_backward else 1])
        for scope, leaf, is_backward in zip(scopes.scope, scopes.leaf, scopes.is_backward.tolist(), strict=True)
    ]
    ops = source_map.ops[source_map.ops["op"].isin(set(itertools.chain.from_iterable(wanted)))]
    n_found = ops["graph"].map(ops.groupby("graph").size())
    ops = ops.assign(n_found=n_found).sort_values("n_found", ascending=False, kind="stable").drop_duplicates("op")
    frame_of: dict[str, int] = dict(zip(ops["op"], ops["frame"].tolist(), strict=True))
    return np.array([next((frame_of[name] for name in names if name in frame_of), -1) for names in wanted], np.int32)


def _roles(table: FrameTable, frame: Int32, is_backward: Bool) -> UInt8:
    """The role of ops made at frames; 0 for frame -1."""
    places = frame_places(table)
    is_keras = np.array([*(bucket == KERAS for bucket in places.bucket), False], np.bool_)[frame]
    role = np.where(is_keras, ROLES.index(KERAS), 0).astype(np.uint8)
    for name, is_of in (("loss", places.is_loss), ("metrics", places.is_metric), ("optimizer", places.is_optimizer)):
        role[np.append(is_of, False)[frame]] = ROLES.index(name)
    role[is_keras & is_backward] = ROLES.index("loss")
    return role


def _roles_of_type(scopes: OpScopes, *, has_frame: Bool) -> UInt8:
    """The roles that types tell, of sums of gradients only where no traceback says more."""
    of_type = {kind: ROLES.index(bucket) for kind, bucket in BUCKET_OF_TYPE.items()}
    role = np.array([of_type.get(kind, 0) for kind in scopes.type], np.uint8)
    role[scopes.is_sum & ~has_frame] = ROLES.index(GRADIENT_SUMS)
    return role
