"""Tracebacks of graph ops -> which ops Keras made for an optimizer, a metric or a loss outside any name scope."""

from __future__ import annotations

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Int32, UInt8
from ..base.frame_places import KERAS_LOSS, FrameTable, frame_places
from ..base.user_files import UserFiles
from ..ops.op_shares import OpShares
from .layer_names import ROLES
from .op_scopes import OpScopes


def traced_roles(scopes: OpScopes, shares: OpShares | None, source_map: SourceMap | None) -> UInt8:
    """Tell what ops such as `AssignVariableOp_3` are for, whose names do not say it.

    Args:
        scopes: the ops; the first of them are those of `shares`.
        shares: the framework ops, with the tracebacks that compiled programs carry.
        source_map: the tracebacks that the capture noted, which go before.

    Returns:
        For each op an index into `ROLES`; 0 where its traceback says nothing of that kind or is not known.
    """
    role = np.zeros(len(scopes), np.uint8)
    if shares is not None and len(shares.frames.file):
        table, row = FrameTable.of_programs(shares.frames, UserFiles.of_map(source_map))
        frame = np.where(shares.frame >= 0, row[shares.frame], -1)
        role[: len(shares)] = _roles(table, frame.astype(np.int32))
    if source_map is not None and len(source_map.ops):
        frame = _frames_of(scopes, source_map)
        role = np.where(frame >= 0, _roles(FrameTable.of_map(source_map), frame), role)
    if shares is not None:
        role[: len(shares)][shares.is_eager] = 0  # in no graph, though one may have an op of the name
    return role


def _frames_of(scopes: OpScopes, source_map: SourceMap) -> Int32:
    """The frame at which each op outside any scope was made, -1 where it is not known.

    Such a name is that of an op of several graphs (training, evaluation, functions of the user's). Taken is the graph that
    explains most of the names: they ran together. An op below another, as `Cast_6/ReadVariableOp`, is part of it.
    """
    wanted = ["/".join((*scope, leaf)) for scope, leaf in zip(scopes.scope, scopes.leaf, strict=True)]
    outer = [scope[0] if scope else name for scope, name in zip(scopes.scope, wanted, strict=True)]
    ops = source_map.ops[source_map.ops["op"].isin({*wanted, *outer})]
    n_found = ops["graph"].map(ops.groupby("graph").size())
    ops = ops.assign(n_found=n_found).sort_values("n_found", ascending=False, kind="stable").drop_duplicates("op")
    frame_of: dict[str, int] = dict(zip(ops["op"], ops["frame"].tolist(), strict=True))
    found = [frame_of.get(name, frame_of.get(root, -1)) for name, root in zip(wanted, outer, strict=True)]
    return np.array(found, np.int32)


def _roles(table: FrameTable, frame: Int32) -> UInt8:
    """The role of ops made at frames; 0 for frame -1."""
    places = frame_places(table)
    is_loss = np.array([bucket == KERAS_LOSS for bucket in places.bucket], np.bool_)
    role = np.zeros(len(frame), np.uint8)
    for name, is_of in (("loss", is_loss), ("metrics", places.is_metric), ("optimizer", places.is_optimizer)):
        role[np.append(is_of, False)[frame]] = ROLES.index(name)
    return role
