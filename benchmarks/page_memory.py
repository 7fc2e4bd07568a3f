"""A page or a process -> the memory it holds."""

from __future__ import annotations

import contextlib
from pathlib import Path

from playwright.sync_api import Browser, Frame, Page


def page_bytes(page: Page | Frame) -> dict[str, int]:
    """After a collection: JavaScript objects, what ArrayBuffers hold, and what the browser keeps for both.

    Args:
        page: a page, or a frame of another origin than the page that it is in.
    """
    cdp = (page if isinstance(page, Page) else page.page).context.new_cdp_session(page)
    cdp.send("HeapProfiler.enable")
    cdp.send("HeapProfiler.collectGarbage")
    usage = cdp.send("Runtime.getHeapUsage")
    cdp.detach()
    heap, buffers = int(usage["usedSize"]), int(usage.get("backingStorageSize", 0))
    return {"heap": heap, "buffers": buffers, "total": heap + buffers + int(usage.get("embedderHeapUsedSize", 0))}


def renderer_bytes(browser: Browser) -> dict[str, int]:
    """Resident memory of the largest page process, now and at its peak."""
    cdp = browser.new_browser_cdp_session()
    infos = cdp.send("SystemInfo.getProcessInfo")["processInfo"]
    cdp.detach()
    found = [process_bytes(info["id"]) for info in infos if info["type"] == "renderer"]
    return max(found, key=lambda one: one["peak"], default={"now": 0, "peak": 0})


def process_bytes(pid: int) -> dict[str, int]:
    """Resident memory of a process, now and at its peak; zeros when it is gone."""
    fields = {"VmRSS": 0, "VmHWM": 0}
    with contextlib.suppress(FileNotFoundError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name = line.split(":")[0]
            if name in fields:
                fields[name] = int(line.split()[1]) * 1024
    return {"now": fields["VmRSS"], "peak": fields["VmHWM"]}
