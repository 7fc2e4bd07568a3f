"""Captures of inputs on a CPU with one known fault each -> the cause and its fix.

Each is `cpu/NAME.tar.xz`, a saved profile.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import tfprof_widgets as tfprof

SAVED = Path(__file__).parent / "cpu"


@pytest.mark.parametrize(
    ("name", "title", "fix"),
    [
        (
            "crop_after_colours",
            "in MapAndBatch: most of what the mapped function computes is cut away in it",
            "Put the crop (crop.py:14) before the work of colours (crop.py:10): 75 % of what that makes is thrown away.",
        ),
        (
            "one_record_a_file",
            "in Interleave: a file is opened for each record or two",
            "Write many records to a file",
        ),
    ],
)
def test_what_the_input_does_in_vain_is_named(name: str, title: str, fix: str, tmp_path: Path) -> None:
    with tarfile.open(SAVED / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    first = tfprof.load(tmp_path).advice[0]
    assert (first.rule, first.severity) == ("input_bound", "high")
    assert title in first.title
    assert first.fix.words.startswith(fix)
    if name == "crop_after_colours":  # what is made of a whole image beyond a quarter of it
        assert first.gain_ratio <= 0.75 * first.evidence["input_ratio"]
