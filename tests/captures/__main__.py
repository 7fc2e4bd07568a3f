"""One kind of program, run here -> its trace in a folder: `python -m tests.captures KIND DIR`."""

from __future__ import annotations

import sys

from tests.captures import KINDS

if __name__ == "__main__":
    _, kind, directory = sys.argv
    KINDS[kind](directory)
