"""Widgets of this process -> a page of isolated outputs: how Colab and VS Code differ from JupyterLab, as a test host.

Each output is an iframe of an origin of its own with its own widget manager (that of the classic notebook, from the wheel
of `widgetsnbextension`) and the real front end of anywidget. The kernel is this process: it answers only inside `serve()`,
so between two calls it is as busy as a kernel that trains.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import comm
import ipywidgets
import pytest
from comm.base_comm import BaseComm
from ipywidgets.widgets.widget import _instances as instances
from ipywidgets.widgets.widget import _remove_buffers as remove_buffers
from playwright.sync_api import Browser, BrowserContext, Frame, Page, Route

from tests.browser.harness import NO_EVAL
from tfprof_widgets.show import referred

WAIT_S = 30
HERE = Path(__file__).parent
NOTEBOOK = "https://notebook.test/"
VERSION = {"version": "2.1.0"}


PACKAGES = Path(importlib.util.find_spec("anywidget").origin).parents[1]  # type: ignore[union-attr,arg-type]
"""Where this process has its wheels."""


class KernelSide:
    """The widgets' side of all comms: what they send waits here until an output takes it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.sent: deque[tuple[str, str, dict[str, Any], list[bytes]]] = deque()
        sent = self.sent

        class HostComm(BaseComm):
            def publish_msg(
                self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
            ) -> None:
                if msg_type != "comm_open":  # an output opens what it needs from the state of that moment
                    sent.append((msg_type, self.comm_id, data, [bytes(part) for part in buffers or ()]))

        patch.setattr(comm, "create_comm", lambda *args, **options: HostComm(*args, **options))

    def take(self, text: str) -> None:
        """Give a widget a message from the page."""
        message = json.loads(text)
        widget = instances.get(message["comm_id"])
        if widget is not None and widget.comm is not None:
            widget.comm.handle_msg({"content": message, "buffers": [], "metadata": VERSION, "header": {}})


class WidgetHost:
    """A page with one frame per output; see `widget_host`."""

    def __init__(self, context: BrowserContext, kernel: KernelSide, *, drops_buffers: bool, packages: Path) -> None:
        self.context, self.kernel, self.drops_buffers = context, kernel, drops_buffers
        self.refused: list[str] = []
        self.errors: list[str] = []
        self.n_dropped = 0
        """Messages that lost their buffers on the way."""
        self.asked: list[dict[str, Any]] = []
        """What the page has sent, oldest first."""
        self._waiting: deque[str] = deque()
        self._outputs: list[Frame] = []
        self._known: list[set[str]] = []
        self._scripts = {
            "manager.js": (packages / "widgetsnbextension/static/extension.js").read_text(encoding="utf-8"),
            "anywidget.js": (packages / "anywidget/nbextension/index.js").read_text(encoding="utf-8"),
        }
        context.route("**/*", self._answer)
        context.expose_binding("toKernel", lambda _source, text: self._waiting.append(text))
        self.page: Page = context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.goto(NOTEBOOK)

    def _answer(self, route: Route) -> None:
        address = route.request.url
        name = address.rsplit("/", 1)[-1]
        if address.startswith(("data:", "blob:")):
            route.continue_()
        elif address == NOTEBOOK:
            route.fulfill(body="<!doctype html><title>notebook</title><body>", content_type="text/html")
        elif ".test/" in address and name in self._scripts:
            route.fulfill(body=self._scripts[name], content_type="text/javascript")
        elif ".test/output" in address:
            headers = {"content-type": "text/html", "content-security-policy": NO_EVAL}
            route.fulfill(path=HERE / "widget_host.html", headers=headers)
        elif address.endswith("favicon.ico"):
            route.fulfill(body="", content_type="image/x-icon")
        else:
            self.refused.append(address)
            route.abort()

    def new_output(self, *, saved: dict[str, Any] | None = None) -> Frame:
        """An empty output; `saved` is the widget state that a notebook file holds, for a page with no kernel."""
        number = len(self._outputs)
        if saved is not None:
            self.context.add_init_script(f"window.savedWidgets = {json.dumps(saved)}")
        address = f"https://output-{number}.test/output"
        self.page.evaluate(
            """address => {
                const frame = document.createElement("iframe");
                frame.src = address;
                frame.style = "width: 100%; height: 950px; border: 0";
                document.body.append(frame);
            }""",
            address,
        )
        frame = self._until(lambda: next((f for f in self.page.frames if f.url == address), None), "no frame")
        self._until(lambda: frame.evaluate("window.hostReady ?? false"), "no widget manager")
        self._outputs.append(frame)
        self._known.append(set())
        return frame

    def show(self, widget: ipywidgets.Widget) -> Frame:
        """Display a widget in an output of its own, which gets the models that the widget refers to and no other."""
        frame = self.new_output()
        for model in reversed(referred(widget)):
            self._open(len(self._outputs) - 1, model)
        frame.evaluate("id => void window.showWidget(id)", widget.model_id)
        return frame

    def _open(self, output: int, model: ipywidgets.Widget) -> None:
        state, paths, buffers = remove_buffers(model.get_state())
        self._known[output].add(model.model_id)
        data = {"state": state, "buffer_paths": paths}
        self._send(output, "comm_open", model.model_id, data, buffers)

    def _send(self, output: int, kind: str, comm_id: str, data: dict[str, Any], buffers: list[Any]) -> None:
        if buffers and self.drops_buffers:
            self.n_dropped += 1
            buffers = []
        texts = [base64.b64encode(bytes(part)).decode() for part in buffers]
        self._outputs[output].evaluate("parts => window.fromKernel(...parts)", [kind, comm_id, data, texts])

    def serve(self, until: Callable[[], Any], message: str | Callable[[], str], *, timeout_s: float = WAIT_S) -> Any:
        """Let the kernel answer until something is true; returns what it is."""

        def step() -> Any:
            while self._waiting:
                text = self._waiting.popleft()
                self.asked.append(json.loads(text)["data"])
                self.kernel.take(text)
            self._deliver()
            return until()

        return self._until(step, message, timeout_s=timeout_s)

    def hear(self, until: Callable[[], Any], message: str | Callable[[], str]) -> Any:
        """Let the page hear what the kernel tells, which answers nothing, until something is true; returns what it is."""

        def step() -> Any:
            self._deliver()
            return until()

        return self._until(step, message)

    def _deliver(self) -> None:
        while self.kernel.sent:
            kind, comm_id, data, buffers = self.kernel.sent.popleft()
            for output, known in enumerate(self._known):
                if comm_id not in known:
                    continue
                for model in reversed(referred(instances[comm_id])) if comm_id in instances else ():
                    if model.model_id not in known:  # what a widget refers to by now
                        self._open(output, model)
                self._send(output, kind, comm_id, data, buffers)

    def _until(self, ask: Callable[[], Any], message: str | Callable[[], str], *, timeout_s: float = WAIT_S) -> Any:
        deadline = time.monotonic() + timeout_s
        while not (answer := ask()):
            if time.monotonic() > deadline:
                raise AssertionError(message() if callable(message) else message)
            self.page.wait_for_timeout(20)
        return answer


def saved_state(root: ipywidgets.Widget) -> dict[str, Any]:
    """What a notebook file holds of a widget, by the rules of `jupyter.widgets`: no binary buffers that a front end lost."""
    models = {}
    for model in referred(root):
        state, _, _ = remove_buffers(model.get_state())
        kind = {f"model_{part}": state[f"_model_{part}"] for part in ("name", "module", "module_version")}
        models[model.model_id] = {**kind, "state": state}
    mime = "application/vnd.jupyter.widget-state+json"
    return {mime: {"version_major": 2, "version_minor": 0, "state": models}}


@contextlib.contextmanager
def widget_host(
    browser: Browser, kernel: KernelSide, *, drops_buffers: bool = False, packages: Path = PACKAGES
) -> Iterator[WidgetHost]:
    """A host page with the front ends of installed packages; with `drops_buffers` it loses every binary buffer, as some do."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    try:
        yield WidgetHost(context, kernel, drops_buffers=drops_buffers, packages=packages)
    finally:
        context.close()
