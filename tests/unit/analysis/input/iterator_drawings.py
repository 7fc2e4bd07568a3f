"""Short drawings of tf.data calls -> what `compute_tf_data` makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from tests.builders import Event, Plane, event, line, plane, trace
from tfprof_widgets.analysis import TfData, compute_tf_data

ROOT = "Iterator::Root"


def call(name: str, at_us: float, us: float, id_: int, parent: int | None = None, **stats: Any) -> Event:
    known: dict[str, Any] = {"id": id_} if parent is None else {"id": id_, "parent_id": parent}
    return event(name, at_us, us, stats=known | stats)


def stage(name: str, at_us: float, us: float, element: int) -> Event:
    return event(name, at_us, us, element_id=element)


def serial(at_us: float, us: float, map_us: float, **stats: Any) -> list[Event]:
    """A call of Root -> Map on one thread."""
    return [call(ROOT, at_us, us, 1, **stats), call(f"{ROOT}::Map", at_us + 1, map_us, 2, 1)]


def prefetched(
    at_us: float, wait_us: float, made_at_us: float, made_us: float, element: int
) -> tuple[list[Event], ...]:
    """A call of Root -> Prefetch, and the call of Map that made its element on another thread."""
    consumer = [
        call(ROOT, at_us, wait_us, 1),
        call(f"{ROOT}::Prefetch", at_us + 1, wait_us - 2, 2, 1),
        stage("PrefetchConsume", at_us + wait_us - 2, 0.5, element),
    ]
    producer = [
        stage("PrefetchProduce", made_at_us, made_us, element),
        call(f"{ROOT}::Prefetch::Map", made_at_us + 1, made_us - 2, 3, 2),
    ]
    return consumer, producer


def host(*lines: list[Event]) -> Plane:
    return plane("/host:CPU", *(line(f"thread {k}", *events) for k, events in enumerate(lines)))


def compute(*lines: list[Event]) -> TfData:
    return compute_tf_data(trace(host(*lines)))


def chained(parts: Iterable[list[Event]]) -> list[Event]:
    return [one for part in parts for one in part]


def by_name(data: TfData) -> pd.DataFrame:
    return data.iterators.set_index("long_name")


def bottleneck(data: TfData) -> str:
    return str(data.iterators["long_name"].iloc[data.bottleneck])
