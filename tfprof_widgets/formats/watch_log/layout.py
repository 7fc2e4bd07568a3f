"""The names of what is in the folder of a training that was watched, and how much each file may hold."""

from __future__ import annotations

HEADER, STEPS, SAMPLES, EVENTS, WINDOWS = "watch.json", "steps.bin", "samples.bin", "events.jsonl", "windows"
FOLDER = "tfprof-watch-"
"""What the name of a folder in a `logdir` begins with; its time follows."""
FORMAT = "tfprof watch"
VERSION = 1

MAX_HEADER_BYTES = 2**16
MAX_STEP_BYTES = 2**30
"""33.5 million steps."""
MAX_SAMPLE_BYTES = 2**28
"""Six weeks at one a second."""
MAX_EVENT_BYTES = 2**26
MAX_LINE_BYTES = 2**18
"""Of one event."""
MAX_EVENTS = 200_000
MAX_COLUMNS = 64
"""Of samples."""
