"""Traces of broken structure give a Profile or a TfProfError, in time and memory that their bytes allow."""

from __future__ import annotations

import random
import sys

import pytest

from tests.captures import committed
from tests.fuzz.message_trees import changed, content_of, json_text, tree_of_json, tree_of_message
from tests.fuzz.open_structures import run_case
from tests.fuzz.structures import steps_of_a_gpu, structure

N_IN_EVERY_RUN = 24
FOUND = ((3, 80155), (3, 94610))
"""Cases of long runs that broke the rule: frames in no file, times whose sums no whole number holds."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of files as Linux has them")


def test_a_tree_writes_as_the_bytes_that_it_was_read_from() -> None:
    for content in (steps_of_a_gpu(), committed.content("keras_fit")):
        assert content_of(tree_of_message(content)) == content
    document = {"a": [1, {"b": None}], "c": {}, "d": "x"}
    assert json_text(tree_of_json(document, 1).parts[0][1]) == '{"a":[1,{"b":null}],"c":[],"d":"x"}'


def test_a_change_leaves_the_tree_it_came_from_as_it_was() -> None:
    tree = tree_of_message(steps_of_a_gpu())
    outcomes = {content_of(changed(tree, tree, random.Random(k), 3)) for k in range(50)}
    assert len(outcomes) > 45
    assert content_of(tree) == steps_of_a_gpu()


def test_structures_are_the_same_every_time() -> None:
    assert [structure(1, number) for number in range(20)] == [structure(1, number) for number in range(20)]
    assert structure(1, 0) != structure(2, 0)


def test_a_slice_of_the_structures_is_shown_or_refused() -> None:
    n_profiles = sum(run_case(structure(0, number), is_shown=number % 10 == 0) for number in range(N_IN_EVERY_RUN))
    assert 0.3 * N_IN_EVERY_RUN < n_profiles < 0.98 * N_IN_EVERY_RUN  # both outcomes are reached


@pytest.mark.parametrize(("seed", "number"), FOUND)
def test_a_case_that_was_found_is_shown_or_refused(seed: int, number: int) -> None:
    run_case(structure(seed, number), is_shown=True)
