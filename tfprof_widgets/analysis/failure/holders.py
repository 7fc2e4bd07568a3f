"""The snapshot at which an allocation failed -> what held the memory then: by op, by layer and by source line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from ..base.op_names import parse_op_names
from ..base.table_types import typed_table
from ..columns.registry import TABLES
from ..facts.facts import Facts
from ..layers.layers import layers_of
from ..memory.memory_live import BEFORE_CAPTURE, STACK, live_table, unknown_op
from ..ops.eager_calls import EAGER_SCOPE

NO_LINE = "line not known"
BY_OP, BY_LAYER, BY_LINE = (TABLES[f"memory_failure.by_{name}"] for name in ("op", "layer", "line"))


@dataclass(frozen=True, eq=False, repr=False)
class Holders:
    """What held the memory of one allocator at one moment."""

    live: pd.DataFrame
    """Columns of `MemoryProfile.live`, and `layer` and `kind` of each row."""
    by_op: pd.DataFrame
    by_layer: pd.DataFrame
    by_line: pd.DataFrame


def no_holders() -> Holders:
    """Those of a moment that was not recorded: tables without rows."""
    return Holders(pd.DataFrame(), *(typed_table((), table.types) for table in (BY_OP, BY_LAYER, BY_LINE)))


def holders_at(facts: Facts, allocator: str, row: int) -> Holders:
    """What was live just after a snapshot.

    Args:
        facts: the analyses of the trace.
        allocator: one of its allocators.
        row: of `Snapshots`, one of that allocator.
    """
    memory = facts.memory
    rows = memory.snapshots.rows_of(allocator)
    at_ps = int(memory.snapshots.time_ps[row])
    live = live_table(memory.snapshots, rows, memory.strings, at_ps=at_ps)
    in_use = float(memory.snapshots.in_use_bytes[row])
    parsed = parse_op_names(live["op"].tolist())
    placed = layers_of(
        parsed.name,
        [kind or "" for kind in parsed.type],
        facts.op_scopes,
        shares=facts.op_shares,
        source_map=facts.source_map,
    )
    lines = lines_of(parsed.name, facts)
    unknown = unknown_op(facts.hlo_ops.frame)
    own = [op if op in (BEFORE_CAPTURE, STACK) else "" if op else unknown for op in live["op"]]
    live = live.assign(
        holder=live["op"].where(live["op"] != "", unknown),
        layer=[name or layer for name, (layer, _) in zip(own, placed, strict=True)],
        kind=["other" if name else kind for name, (_, kind) in zip(own, placed, strict=True)],
        line=[name or line for name, (line, _) in zip(own, lines, strict=True)],
        code=["" if name else code for name, (_, code) in zip(own, lines, strict=True)],
    )
    return Holders(
        live=live,
        by_op=_sums(live, "holder", ("dtype", "shape"), in_use).rename(columns={"holder": "op"})[list(BY_OP.names)],
        by_layer=_sums(live, "layer", ("kind",), in_use)[list(BY_LAYER.names)],
        by_line=_sums(live, "line", ("code",), in_use)[list(BY_LINE.names)],
    )


def _sums(live: pd.DataFrame, key: str, described: Sequence[str], in_use: float) -> pd.DataFrame:
    """One row per value of a column, largest first; what describes it is that of its largest holder."""
    ranked = live.sort_values("total_bytes", ascending=False, kind="stable")
    groups = ranked.groupby(key, sort=False)
    frame = groups.agg(
        bytes=("total_bytes", "sum"),
        occurrences=("occurrences", "sum"),
        **{name: (name, "first") for name in described},
    ).reset_index()
    names = {name: _names(ops.tolist()) for name, ops in groups["op"]}
    frame["ops"] = pd.Series([names[name] for name in frame[key]], dtype=object)
    frame["ratio"] = frame["bytes"] / in_use if in_use > 0 else 0.0
    return frame.sort_values(["bytes", key], ascending=[False, True], kind="stable", ignore_index=True)


def _names(ops: list[str]) -> tuple[str, ...]:
    """Those of ops, each once; the rows that stand for no op are left out."""
    return tuple(dict.fromkeys(op for op in ops if op not in ("", BEFORE_CAPTURE, STACK)))


def lines_of(names: Sequence[str], facts: Facts) -> list[tuple[str, str]]:
    """The line that made each op, as `file:line` or the name of a bucket, and its text."""
    source = facts.source_lines
    entries = source.entries
    titles = dict(zip(source.files["file"], source.files["title"], strict=True))
    texts = [
        (bucket, "") if bucket else (f"{titles.get(file, file)}:{line}", code)
        for file, line, code, bucket in zip(
            entries["file"], entries["line"].tolist(), entries["code"], entries["bucket"], strict=True
        )
    ]
    entry = dict(zip(facts.op_shares.name, source.op_entry.tolist(), strict=True))
    found = [entry.get(name, entry.get(f"{EAGER_SCOPE}{name}", -1)) for name in names]
    return [texts[i] if i >= 0 else (NO_LINE, "") for i in found]
