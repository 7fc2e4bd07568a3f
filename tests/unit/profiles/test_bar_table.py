"""A table with bars: each row has its bar and its line within the room, and no text becomes markup."""

from __future__ import annotations

import math
import re

from tfprof_widgets.export import BarRow, bar_table

ROWS = (
    BarRow("a", ("1", "2"), 50.0, (40.0, 400.0)),
    BarRow("b", ("3", "4"), 100.0, (80.0, 80.0)),
    BarRow("c", ("gone",)),
)


def test_bars_are_in_proportion_and_a_line_beyond_the_room_is_cut() -> None:
    drawn = bar_table("All.", ("name", "x", "y"), ROWS, longest=100 / 1.05, notices=())
    bars = re.findall(r'style="width:([\d.]+)%;height', drawn)
    lines = re.findall(r"margin-left:([\d.]+)%;width:([\d.]+)%", drawn)
    assert [float(bar) for bar in bars] == [50, 100]
    assert [tuple(map(float, line)) for line in lines] == [(40, 60), (80, 0)]


def test_nothing_is_drawn_in_a_style_that_an_untrusted_notebook_loses() -> None:
    drawn = bar_table("All.", ("name", "x", "y"), ROWS, longest=100, notices=())
    assert not re.search("position|currentColor|var\\(", drawn)


def test_a_single_cell_takes_the_place_of_the_bar() -> None:
    drawn = bar_table("All.", ("name", "x", "y"), ROWS, longest=100, notices=())
    assert '<td colspan="3">gone</td></tr>' in drawn
    assert drawn.count("aria-hidden") == 2


def test_texts_stay_texts() -> None:
    hostile = '<b>&"'
    row = BarRow(hostile, (hostile, hostile), math.nan, title=hostile)
    drawn = bar_table(hostile, ("", hostile), [row], longest=1, notices=(hostile,))
    assert "<b>" not in drawn
    assert drawn.count("&lt;b&gt;&amp;&quot;") == 7
