"""XProf's pod viewer on the files of one or several hosts, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CATEGORIES = {
    "1": ["device_compute"],
    "2": ["device_to_device"],
    "3": ["device_collectives"],
    # XProf never fills compilation: what it shows as host compute is ours and compilation together.
    "4": ["host_compute", "compile"],
    "5": ["kernel_launch"],
    "6": ["input"],
    "7": ["output"],
    "9": ["other"],
}
"""Our categories by the ids of the pod viewer."""
NAMES = {
    "device_compute": "Device compute",
    "device_to_device": "Device to device",
    "device_collectives": "Device collective communication",
    "host_compute": "Host compute",
    "compile": "Host compute",
    "kernel_launch": "Kernel launch",
    "input": "Input",
    "output": "Output",
    "other": "All others",
}
_RUN = """
import json, sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data(sys.argv[2:], "pod_viewer", {"use_saved_result": False})
open(sys.argv[1], "w").write(data if isinstance(data, str) else data.decode())
"""


def pod_records(files: Mapping[str, bytes]) -> list[dict[str, dict[str, Any]]]:
    """Per aligned step the record of each host, by the host's name."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for host, content in files.items():
            path = Path(scratch) / f"{host}.xplane.pb"
            path.write_bytes(content)
            paths.append(str(path))
        result = Path(scratch) / "result.json"
        command = [sys.executable, "-c", _RUN, str(result), *paths]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"XProf failed with status {done.returncode}: {done.stderr[-2000:]}")
        steps = json.loads(result.read_text())["podStatsSequence"]["podStatsMap"]
    return [{record["hostName"]: record for record in step["podStatsPerCore"].values()} for step in steps]
