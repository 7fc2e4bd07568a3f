"""What XProf's pod viewer says of runs of several hosts, in our categories."""

from __future__ import annotations

from collections.abc import Mapping
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
