"""The vectors that the tests of the browser's arithmetic read are what Python computes now."""

from __future__ import annotations

import pytest

from tests.make_vectors import FOLDER, VECTORS, text_of


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_is_what_python_computes_now(name: str) -> None:
    written = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert written == text_of(VECTORS[name]()), "make them anew: python -m tests.make_vectors"


def test_every_vector_is_of_something() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(VECTORS)
