"""What steps are called, where their marks say the same more than once."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfprof_widgets.analysis import distinct_names, kinds_of


def names(*marks: str, hosts: str = "") -> list[str]:
    found: list[str] = distinct_names(marks, np.array([*(hosts or "a" * len(marks))], np.object_)).tolist()
    return found


def test_numbers_that_start_again_are_of_another_epoch() -> None:
    assert names("train 0", "train 1", "test 0", "train 0", "train 1") == [
        "train 1·0",
        "train 1·1",
        "test 0",
        "train 2·0",
        "train 2·1",
    ]


def test_steps_of_one_number_are_counted() -> None:
    assert names("train 7", "train 7", "train 7") == ["train 0", "train 1", "train 2"]
    assert names("batch", "batch") == ["batch 0", "batch 1"]


def test_names_that_differ_stay_and_so_do_those_that_hosts_share() -> None:
    assert names("train 8", "train 0", "train 1") == ["train 8", "train 0", "train 1"]
    assert names("train 0", "train 0", "train 1", "train 1", hosts="abab") == [
        "train 0",
        "train 0",
        "train 1",
        "train 1",
    ]


def test_the_kind_of_a_step_is_its_name_without_epoch_and_number() -> None:
    assert kinds_of(pd.Series(["train 2·31", "train 4", "17", "batch"])).tolist() == ["train", "train", "", "batch"]
