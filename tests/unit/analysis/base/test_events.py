import numpy as np

from tests.builders import event, line, plane, trace
from tfprof_widgets.analysis import TABLES, compute_events


def test_every_event_is_a_row_in_the_order_of_the_trace() -> None:
    whole = trace(
        plane(
            "/host:CPU", line("main", event("outer", 0, 10), event("inner", 2, 3)), line("other", event("outer", 1, 1))
        ),
        plane("/device:GPU:0", line("", event("kern", 0.0005, 4), id=7)),
    )
    frame = compute_events(whole, np.array([0, 0, -1, 1], np.int32))
    assert tuple(frame.columns) == TABLES["events"].names
    assert frame.to_numpy().tolist() == [
        ["/host:CPU", "main", "outer", 0.0, 10_000.0, 7_000.0, 0, 0],
        ["/host:CPU", "main", "inner", 2_000.0, 3_000.0, 3_000.0, 1, 0],
        ["/host:CPU", "other", "outer", 1_000.0, 1_000.0, 1_000.0, 0, -1],
        ["/device:GPU:0", "7", "kern", 0.5, 4_000.0, 4_000.0, 0, 1],
    ]
    assert all(frame[column].dtype == "category" for column in ("plane", "line", "name"))


def test_threads_of_the_same_name_share_a_label() -> None:
    whole = trace(plane("/host:CPU", line("pool", event("a", 0, 1)), line("pool", event("b", 0, 1))))
    assert compute_events(whole)["line"].tolist() == ["pool", "pool"]


def test_a_trace_without_events_gives_an_empty_frame() -> None:
    frame = compute_events(trace(plane("/host:CPU")))
    assert len(frame) == 0
    assert tuple(frame.columns) == TABLES["events"].names
