"""Source lines of two runs: a cell that was edited and run again is another file with the same lines."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfprof_widgets.analysis import Quantities, pair_lines

Row = tuple[str, int, str, str, str]


def rows(*lines: Row) -> Quantities:
    labels = pd.DataFrame(lines, columns=["file", "line", "function", "code", "bucket"]).assign(device="Host")
    return Quantities.of(labels, [(str(i),) for i in range(len(lines))], np.ones((len(lines), 4)))


def paired(a: Quantities, b: Quantities) -> list[int]:
    return pair_lines(a, b).tolist()


def test_unchanged_lines_and_buckets_are_pairs() -> None:
    one = rows(("m.py", 3, "f", "x = a @ b", ""), ("", 0, "", "", "tf.data"))
    other = rows(("", 0, "", "", "tf.data"), ("m.py", 3, "f", "x = a @ b", ""))
    assert paired(one, other) == [1, 0]


def test_a_moved_line_is_found_by_its_text() -> None:
    assert paired(rows(("m.py", 3, "f", "x = a @ b", "")), rows(("m.py", 9, "f", "x = a @ b", ""))) == [0]


def test_a_line_of_a_cell_that_ran_again_is_found() -> None:
    a = rows(("/tmp/ipykernel_1/1.py", 2, "f", "y = relu(x)", ""), ("/tmp/ipykernel_1/1.py", 3, "f", "z = y + 1", ""))
    b = rows(("/tmp/ipykernel_1/2.py", 4, "f", "y = relu(x)", ""), ("/tmp/ipykernel_1/2.py", 5, "f", "z = y + 2", ""))
    assert paired(a, b) == [0, -1]


def test_an_edited_line_is_found_by_its_place() -> None:
    assert paired(rows(("m.py", 3, "f", "x = a @ b", "")), rows(("m.py", 3, "f", "x = a @ c", ""))) == [0]


def test_equal_texts_in_several_places_are_not_guessed() -> None:
    a = rows(("m.py", 3, "f", "x = x + 1", ""))
    b = rows(("m.py", 5, "f", "x = x + 1", ""), ("m.py", 7, "f", "x = x + 1", ""))
    assert paired(a, b) == [-1]
