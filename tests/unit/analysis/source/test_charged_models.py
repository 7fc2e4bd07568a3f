"""How much of the op time of models that people bring is charged to a line, a layer or a part that is named."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.unit.analysis.source.model_programs import MODELS
from tests.unit.analysis.source.source_programs import results_of
from tfprof_widgets.analysis import EAGER_SEVERAL, EAGER_UNKNOWN, NOT_TRACED, UNATTRIBUTED

pytestmark = [pytest.mark.tensorflow, pytest.mark.nightly]


@pytest.mark.parametrize("name", MODELS)
def test_99_percent_of_the_ops_and_of_their_time_is_charged(name: str, tmp_path: Path) -> None:
    results = results_of(name, tmp_path)
    layers, lines, totals = results.layers, results.source_lines, results.op_sums
    ops = pd.DataFrame(
        {
            "name": results.op_shares.name,
            "us": totals.self_us,
            "layer": layers.entries["layer"].to_numpy()[layers.op_entry],
            "bucket": lines.entries["bucket"].to_numpy()[lines.op_entry],
        }
    )[totals.count > 0]
    no_line = ops["bucket"].isin([NOT_TRACED, EAGER_SEVERAL, EAGER_UNKNOWN])
    rest = ops[no_line & (ops["layer"] == UNATTRIBUTED)].sort_values("us", ascending=False)
    assert rest["us"].sum() <= 0.01 * ops["us"].sum(), rest.to_string()
    assert len(rest) <= 0.01 * len(ops), rest.to_string()
    sums = ops[ops["name"].str.fullmatch(r"(.*/)?AddN(_\d+)?")]
    kinds = layers.entries.set_index("layer")["kind"]
    assert len(sums)
    assert set(kinds[sums["layer"]]) <= {"layer", "loss"}, sums.to_string()
