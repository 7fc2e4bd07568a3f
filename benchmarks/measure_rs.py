"""XProf's tools as `xprof-rs` answers them -> seconds of each and peak memory of its server, as JSON on stdout.

Run as `python measure_rs.py FILE`. The server is new, so nothing is cached when the first tool is asked for; it keeps what it
read for the next ones, as a profile does. Its start is not timed. `xprof-rs` (Apache-2.0, from PyPI) is optional here.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from bench_load import TOOLS
from measure import TRACE_VIEWER_RESOLUTION, peak_bytes

START_S = 10
NOT_INSTALLED = "xprof-rs is not installed (pip install xprof-rs)"


def program() -> str:
    """Where `xprof-rs` is.

    Raises:
        RuntimeError: it is not installed.
    """
    found = shutil.which("xprof-rs", path=str(Path(sys.executable).parent)) or shutil.which("xprof-rs")
    if found is None:
        raise RuntimeError(NOT_INSTALLED)
    return found


def main(file: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "plugins/profile/run"
        run.mkdir(parents=True)
        shutil.copy(file, run / "vm.xplane.pb")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        where = ["--logdir", folder, "--host", "127.0.0.1", "--port", str(port)]
        server = subprocess.Popen([program(), *where], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            base = f"http://127.0.0.1:{port}/data/plugin/profile"
            _wait_for(f"{base}/runs")
            seconds = {tool: _seconds(base, tool) for tool in TOOLS}
            return {"seconds": seconds, "peak_bytes": peak_bytes(server.pid)}
        finally:
            server.kill()
            server.wait()


def _seconds(base: str, tool: str) -> float:
    asked = {"run": "run", "tag": tool, "host": "vm", "resolution": TRACE_VIEWER_RESOLUTION}
    begin = time.perf_counter()
    try:
        with urllib.request.urlopen(f"{base}/data?{urllib.parse.urlencode(asked)}", timeout=600) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{tool}: {error.read().decode(errors='replace')[:80]}") from error
    return time.perf_counter() - begin


def _wait_for(address: str) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            urllib.request.urlopen(address, timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
