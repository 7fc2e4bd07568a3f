from tests.builders import event, line, plane, trace
from tfprof_widgets.analysis import EVENTS_COLUMNS, compute_events


def test_threads_of_the_same_name_share_a_label() -> None:
    whole = trace(plane("/host:CPU", line("pool", event("a", 0, 1)), line("pool", event("b", 0, 1))))
    assert compute_events(whole)["line"].tolist() == ["pool", "pool"]


def test_a_trace_without_events_gives_an_empty_frame() -> None:
    frame = compute_events(trace(plane("/host:CPU")))
    assert len(frame) == 0
    assert tuple(frame.columns) == EVENTS_COLUMNS
