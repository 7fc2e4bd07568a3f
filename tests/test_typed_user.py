"""The program whose types `make lint` checks as a user's holds every public name."""

from __future__ import annotations

import ast
from pathlib import Path

import tfprof_widgets as tfprof

PROGRAM = Path(__file__).parent / "typed_user.py"


def test_the_program_uses_every_public_name() -> None:
    used = {
        ast.unparse(node) for node in ast.walk(ast.parse(PROGRAM.read_text("utf-8"))) if isinstance(node, ast.Attribute)
    }
    assert {f"tfprof.{name}" for name in tfprof.__all__} <= used
    assert {f"tfprof.experiments.{name}" for name in tfprof.experiments.__all__} <= used
    own = {"run", "take", "title"}
    assert {f"prof.{name}" for name in vars(tfprof.Profile) if not name.startswith("_") and name not in own} <= used
