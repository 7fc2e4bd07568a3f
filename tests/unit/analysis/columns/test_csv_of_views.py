"""The CSV files that views write in the browser have the columns of the tables of Python, called the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tfprof_widgets.analysis.columns.registry import TABLES

VIEWS = Path(__file__).parents[4] / "js" / "src" / "views"
COUNTS = {"n_ops", "n_hlo_ops"}
"""Of rows that stand for several; the tables of Python have none such."""


@pytest.mark.parametrize(
    ("view", "name"),
    [
        ("op_table", "ops"),
        ("kernel_table", "kernels"),
        ("hlo_table", "hlo_ops"),
        ("layer_table", "layers"),
        ("source_view", "source_lines"),
    ],
)
def test_the_csv_file_of_a_view_has_columns_of_its_table_in_order(view: str, name: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (VIEWS / view).rglob("*.ts")]
    (header,) = (found for text in texts for found in re.findall(r"const CSV_HEADER = \[([^\]]*)\]", text))
    columns = [one for one in re.findall(r'"(\w+)"', header) if one in TABLES[name].names or one not in COUNTS]
    assert len(columns) > 5
    assert columns == [one for one in TABLES[name].names if one in columns]
