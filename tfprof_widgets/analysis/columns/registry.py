"""All public tables by the name under which a user reaches them."""

from __future__ import annotations

from . import input as input_tables
from . import memory, ops, runs, steps
from .column import Table

TABLES: dict[str, Table] = steps.TABLES | ops.TABLES | memory.TABLES | input_tables.TABLES | runs.TABLES
