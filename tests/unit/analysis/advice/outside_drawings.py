"""Drawn epochs of short steps, and what lies between them -> results of a training that spends its time elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from tests.builders import EPOCH_NS, Event, event, line, plane, session, trace
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.trace import SourceMap, empty_source_map

TEXT = """\
model.fit(dataset, epochs=4, callbacks=[Plot()])
class Plot(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        draw(epoch)
        self.model.predict(images)
def report():
    model.predict(one)
"""
FUNCTIONS = {1: "<module>", 4: "on_epoch_end", 5: "on_epoch_end", 7: "report"}
"""By line of the text."""
STEP_US, GAP_US, N_STEPS = 10_000.0, 200_000.0, 5


def source_map(moments_us: list[tuple[float, int]]) -> SourceMap:
    """A map in which the user's thread was seen at lines of `TEXT`: `(time, line)`."""
    empty = empty_source_map()
    lines = sorted(FUNCTIONS)
    frames = [{"parent": -1, "file": 0, "line": one, "function": FUNCTIONS[one]} for one in lines]
    samples = [
        {"time_ns": EPOCH_NS + round(us * 1e3), "frame": lines.index(one), "other": -1} for us, one in moments_us
    ]
    files = [{"file": "/home/me/train.py", "title": "train.py", "is_user": True, "text": TEXT}]
    return SourceMap(
        ops=empty.ops,
        frames=type(empty.frames)(frames),
        files=type(empty.files)(files),
        layers=empty.layers,
        functions=empty.functions,
        samples=type(empty.samples)(samples),
        facts=empty.facts,
    )


def epochs(
    at_line: int | None,
    *,
    n_epochs: int = 4,
    gap_us: float = GAP_US,
    before_us: float = 0.0,
    others: Callable[[float], list[Event]] = lambda _: [],
) -> Analysis:
    """Epochs of steps that compute, each followed by a gap in which the user's thread is at a line; None: nobody looked.

    Args:
        at_line: of `TEXT`.
        n_epochs: how many.
        gap_us: after each.
        before_us: at that line before the first, too.
        others: events of a gap, given its begin.
    """
    events: list[Event] = []
    moments = [(5_000.0 * k, at_line or 1) for k in range(int(before_us / 5_000))]
    now = before_us
    for epoch in range(n_epochs):
        for step in range(N_STEPS):
            events.append(event("train", now, STEP_US, _r=1, step_num=epoch * N_STEPS + step))
            events.append(event("net/dense/MatMul:MatMul", now + 100, STEP_US - 200))
            moments += [(now + at, 1) for at in (1_000, 6_000)]
            now += STEP_US
        events += others(now)
        moments += [(now + 5_000 * k + 2_500, at_line or 1) for k in range(int(gap_us / 5_000))]
        now += gap_us
    of_host = trace(plane("/host:CPU", line("python", *events)), session(duration_us=now))
    return Analysis(of_host, None if at_line is None else source_map(moments))


def validation(now_us: float, *, begun_us: float = 0.0) -> list[Event]:
    """Marked steps of a validation or an evaluation, which began so long before the first of them."""
    begun = [{"begun_ns": round(begun_us * 1e3)} if begun_us else {}, *({} for _ in range(9))]
    return [event("test", now_us + 10_000 * k, 9_000, _r=1, step_num=k, **begun[k]) for k in range(10)]
