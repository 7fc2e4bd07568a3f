"""The programs as registered: each fault is told apart, marked and short."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.warm_process import run_python

TELL = """
import inspect, json
from tests.nightly.diagnosis.kit import registered

def n_lines(build):
    source = inspect.getsource(build)
    return sum(bool(line.strip()) for line in source[source.index("def "):].splitlines())

print("@@" + json.dumps([
    [p.name, p.cause, p.words, len(p.lines), n_lines(p.build), list(inspect.signature(p.build).parameters)]
    for p in registered().values()
]))
"""


@pytest.fixture(scope="module")
def programs() -> list[list[Any]]:
    done = run_python(TELL)
    assert "@@" in done.stdout, done.stderr[-2000:]
    told: list[list[Any]] = json.loads(done.stdout.partition("@@")[2])
    return told


@pytest.mark.tensorflow
def test_there_are_many_faults_and_some_healthy_programs(programs: list[list[Any]]) -> None:
    causes = [cause for _, cause, *_ in programs if cause]
    assert len(set(causes)) == len(causes) >= 30
    assert len(programs) - len(causes) >= 6


@pytest.mark.tensorflow
def test_each_fault_is_one_sentence_with_words_and_marked_lines(programs: list[list[Any]]) -> None:
    for name, cause, words, n_marked, n_lines, parameters in programs:
        assert n_lines <= 24, name
        assert parameters == (["fixed"] if cause else []), name
        if cause:
            assert cause.endswith(".") and n_marked > 0, name
            assert re.compile(words).search("") is None, name
