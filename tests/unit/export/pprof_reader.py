"""A file of pprof's format read by the messages that come with TensorFlow, generated from the public definition."""

from __future__ import annotations

import gzip
import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Read:
    """What the file says, names instead of numbers."""

    profile: Any
    units: dict[str, str]
    """Of each sample type, in order."""
    default: str
    samples: list[tuple[tuple[str, ...], dict[str, int]]]
    """Names of functions, the outermost first, and values by sample type."""
    lines: list[tuple[tuple[str, int, str, int], ...]]
    """Of the stack of each sample, the outermost first: file, line, function, first line of the function."""

    def totals(self) -> dict[str, int]:
        """Of each sample type."""
        return {name: sum(values[name] for _, values in self.samples) for name in self.units}


@cache
def messages() -> Any:
    """TensorFlow's module of messages, loaded without TensorFlow."""
    found = importlib.util.find_spec("tensorflow")
    if found is None or not found.submodule_search_locations:
        pytest.skip("TensorFlow, whose definition of the format reads the file, is not installed")
    path = Path(found.submodule_search_locations[0]) / "tsl" / "profiler" / "protobuf" / "profile_pb2.py"
    spec = importlib.util.spec_from_file_location("profile_pb2_of_tensorflow", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_pprof(path: Path) -> Read:
    """Read the file, and check what readers rely on."""
    profile = messages().Profile()
    profile.ParseFromString(gzip.decompress(path.read_bytes()))
    texts = list(profile.string_table)
    assert texts[0] == ""
    assert len(set(texts)) == len(texts)
    functions = {one.id: one for one in profile.function}
    places = {one.id: one for one in profile.location}
    assert 0 not in functions.keys() | places.keys()
    assert (len(functions), len(places)) == (len(profile.function), len(profile.location))
    (mapping,) = profile.mapping
    assert {one.mapping_id for one in places.values()} <= {mapping.id}
    types = [texts[one.type] for one in profile.sample_type]
    stacks = []
    for sample in profile.sample:
        assert len(sample.value) == len(types)
        assert sample.location_id
        stack = []
        for number in reversed(sample.location_id):
            (line,) = places[number].line
            function = functions[line.function_id]
            stack.append((texts[function.filename], line.line, texts[function.name], function.start_line))
        stacks.append(tuple(stack))
    values = [dict(zip(types, sample.value, strict=True)) for sample in profile.sample]
    return Read(
        profile=profile,
        units={name: texts[one.unit] for name, one in zip(types, profile.sample_type, strict=True)},
        default=texts[profile.default_sample_type],
        samples=[(tuple(line[2] for line in stack), value) for stack, value in zip(stacks, values, strict=True)],
        lines=stacks,
    )
