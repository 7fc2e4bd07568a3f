"""XProf on runs of several hosts, each a directory of files, all in one process of its own -> what its tools say."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tfprof_widgets.analysis import GUIDE_CATEGORIES, Facts

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
    "host_compute": "Host compute",
    "device_collectives": "Device collective communication",
    "compile": "Host compute",
    "input": "Input",
    "kernel_launch": "Kernel launch",
    "output": "Output",
    "other": "All others",
}
TOOLS = ("overview_page", "framework_op_stats", "kernel_stats", "input_pipeline_analyzer", "pod_viewer")
_RUN = """
import json, sys
from xprof.convert import raw_to_tool_data
jobs, tools = json.load(open(sys.argv[1]))
found = {}
for name, paths in jobs.items():
    for tool in tools:
        data, _ = raw_to_tool_data.xspace_to_tool_data(paths, tool, {"use_saved_result": False})
        found.setdefault(name, {})[tool] = json.loads(data)
json.dump(found, open(sys.argv[2], "w"))
"""


def xprof_of_runs(runs: Mapping[str, Mapping[str, bytes]]) -> dict[str, dict[str, Any]]:
    """For each run (files by host) the JSON of each tool."""
    with tempfile.TemporaryDirectory() as scratch:
        jobs: dict[str, list[str]] = {}
        for number, (name, files) in enumerate(runs.items()):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            for host, content in files.items():
                (folder / f"{host}.xplane.pb").write_bytes(content)
            jobs[name] = [str(folder / f"{host}.xplane.pb") for host in files]
        order, result = Path(scratch) / "jobs.json", Path(scratch) / "result.json"
        order.write_text(json.dumps([jobs, TOOLS]))
        command = [sys.executable, "-c", _RUN, str(order), str(result)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"XProf failed with status {done.returncode}: {done.stderr[-2000:]}")
        found: dict[str, dict[str, Any]] = json.loads(result.read_text())
        return found


def pod_steps(reading: Mapping[str, Any]) -> list[dict[str, dict[str, Any]]]:
    """Per aligned step the record of each host, by the host's name."""
    steps = reading["pod_viewer"]["podStatsSequence"]["podStatsMap"]
    return [{record["hostName"]: record for record in step["podStatsPerCore"].values()} for step in steps]


def in_guide(results: Facts) -> pd.DataFrame:
    """The steps of workers in the categories of the guide: D14 undone."""
    frame, guide = results.workers.frame, results.step_guide
    columns = [f"{name}_ms" for name in GUIDE_CATEGORIES]
    own = guide.loc[frame["own_step"], columns].reset_index(drop=True)
    return frame[["step", "host", "step_time_ms"]].join(own)
