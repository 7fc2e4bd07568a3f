"""A trace file -> a Chrome trace of it as `Profile.to_chrome_trace` writes it; seconds and size as JSON on stdout.

Run as `python export_chrome.py FILE TARGET.json`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import tfprof_widgets as tfprof


def main(file: Path, target: Path) -> None:
    profile = tfprof.load(file)
    begin = time.perf_counter()
    profile.to_chrome_trace(target)
    print(json.dumps({"seconds": time.perf_counter() - begin, "n_bytes": target.stat().st_size}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
