"""Stages of tf.data of two runs: one that is new, or gone, is in the names of all below it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.unit.analysis.comparison.drawn_runs import Run, diff_of
from tfprof_widgets.analysis import Quantities, numbered, pair_stages

INPUT = ["Root::Map", "Root", "Root::Map::Shuffle", "Root::Map::Shuffle::TensorSlice"]


def rows(*names: str) -> Quantities:
    labels = pd.DataFrame({"long_name": [f"Iterator::{name}" for name in names]})
    return Quantities.of(labels, numbered([tuple(name.split("::")) for name in names]), np.ones((len(names), 4)))


def paired(a: list[str], b: list[str]) -> dict[str, str]:
    found = pair_stages(rows(*a), rows(*b), "long_name").tolist()
    return {one: b[row] for one, row in zip(a, found, strict=True) if row >= 0}


@pytest.mark.parametrize("stage", ["Prefetch", "BatchV2::MemoryCache"])
def test_a_stage_that_is_new_leaves_those_below_it_what_they_are(stage: str) -> None:
    more = [name.replace("Root::", f"Root::{stage}::") for name in INPUT] + [f"Root::{stage}"]
    changed = dict(zip(INPUT, more, strict=False))
    assert paired(INPUT, more) == changed
    assert paired(more, INPUT) == {new: old for old, new in changed.items()}


def test_a_stage_is_the_same_in_another_version_and_below_each_of_several_equal_ones() -> None:
    a = ["Root", "Root::BatchV1", "Root::BatchV1::Prefetch", "Root::BatchV1::Prefetch::MapV2"]
    b = ["Root", "Root::Prefetch", "Root::Prefetch::BatchV2", "Root::Prefetch::BatchV2::Prefetch"]
    b.append("Root::Prefetch::BatchV2::Prefetch::MapV2")
    assert paired(a, b) == {"Root": "Root", a[1]: b[2], a[2]: b[3], a[3]: b[4]}


def test_what_is_another_stage_or_of_another_kind_is_no_pair() -> None:
    assert paired(["Root", "Root::Map"], ["Root", "Root::Filter"]) == {"Root": "Root"}
    ops = [pd.DataFrame({"name": names}) for names in (["model/Map"], ["other/Map"])]
    a, b = (Quantities.of(labels, [(labels["name"].iloc[0],)], np.ones((1, 4))) for labels in ops)
    assert pair_stages(a, b, "name").tolist() == [-1]


def test_a_pipeline_that_both_runs_have_stays_itself_beside_one_that_changed() -> None:
    other = ["Root", "Root::Zip", "Root::Zip[0]::Map", "Root::Zip[1]::Range"]
    more = [name.replace("Root::Map", "Root::Prefetch::Map") for name in INPUT]
    found = paired([*other, *INPUT[2:]], [*more[2:], *other])
    assert found == {**{name: name for name in other}, **dict(zip(INPUT[2:], more[2:], strict=True))}


def test_what_a_run_with_a_prefetch_more_does_is_told_of_each_stage() -> None:
    before = Run(seed=1, input_us=600)
    after = Run(seed=2, input_us=1_500, stages=("Root", "Prefetch", "Map"))
    diff = diff_of(before, after)
    of_iterators = dict(zip(diff.iterators["long_name"], diff.iterators["state"], strict=True))
    names = ("Iterator::Root", "Iterator::Root::Prefetch", "Iterator::Root::Prefetch::Map")
    assert of_iterators == dict(zip(names, ("same", "added", "slower"), strict=True))
    ops = diff.ops.set_index("name")
    assert ops.loc[names[2], "state"] == "slower"
    assert ops.loc[names[2], "a_name"] == "Iterator::Root::Map"
