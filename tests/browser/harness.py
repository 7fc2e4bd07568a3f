"""A folder of notebooks -> JupyterLab or Notebook 7 on the loopback, driven in a headless Chromium."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import BlockingKernelClient
from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Route

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON_PATH = f"{ROOT}{os.pathsep}{Path(__file__).parent / 'quick_start'}"
"""Of a server and its kernels: this package, and what stands in for packages that are slow to import."""
SCREENSHOTS = ROOT / "build" / "screenshots"
NO_FEATURES = (
    "SpareRendererForSitePerProcess",  # a process beside each page, for the next one
    # Those that Playwright leaves out: of two such lists Chromium takes the last.
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "PaintHolding"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "ThirdPartyStoragePartitioning", "AimEnabled"),
    *("AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "PreconnectToSearch"),
)
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--in-process-gpu",
    "--disable-gpu-compositing",
    f"--disable-features={','.join(NO_FEATURES)}",
]
LOCAL = ("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:", "file:", "about:")
WAIT_S = 60
SIZE_PX = (1400, 1000)
NO_EVAL = "script-src 'self' 'unsafe-inline' blob:; worker-src 'self' blob:"
"""A Content-Security-Policy that refuses `eval` and `new Function`. JupyterLab itself needs them: there it is only reported
who else uses them."""
OPEN_NEXT = """async (path) => {
    globalThis.tfprofManager = undefined;
    globalThis.tfprofShowsNothing = false;
    await (await window.jupyterapp.commands.execute("docmanager:open", { path })).context.ready;
}"""
CLOSE = """async () => {
    const shown = window.jupyterapp.shell.currentWidget;
    shown.context.model.dirty = false;  // nobody is asked whether to save it
    await shown.context.sessionContext.shutdown();
    shown.dispose();
    globalThis.tfprofShowsNothing = true;
}"""
LAB_OPTIONS = {"lab": "LabApp", "notebook": "JupyterNotebookApp"}


class Server:
    """One Jupyter server with its own configuration, data and settings under `home`; a context manager."""

    def __init__(self, app: str, *, root: Path, home: Path) -> None:
        self.app, self.root, self.home = app, root, home
        self.token = secrets.token_hex(8)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]

    def __enter__(self) -> Server:
        settings = self.home / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        no_news = {"fetchNews": "false", "checkForUpdates": False}
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(no_news))
        (self.home / "scratch").mkdir()  # of kernels, which are ended before they can remove what they have there
        folders = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "IPYTHONDIR": "ipython",
            "TMPDIR": "scratch",
        }
        env = {**os.environ, **{name: str(self.home / folder) for name, folder in folders.items()}}
        # Kernels listen at files in it: a free port may be taken before they bind it, and the path of a socket has to be short.
        self.runtime = tempfile.TemporaryDirectory(prefix="jupyter-", ignore_cleanup_errors=True)
        env |= {"JUPYTER_RUNTIME_DIR": self.runtime.name, "JUPYTER_PREFER_ENV_PATH": "1"}
        env |= {"TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONPATH": PYTHON_PATH}
        self._log = (self.home / "server.log").open("w")
        self._process = subprocess.Popen(
            self._command(), cwd=self.root, env=env, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True
        )
        poll(self._answers, f"{self.app} did not start: {self.home / 'server.log'}")
        return self

    def _command(self) -> list[str]:
        app = LAB_OPTIONS[self.app]
        return [
            str(Path(sys.executable).parent / f"jupyter-{self.app}"),
            "--no-browser",
            "--allow-root",
            "--expose-app-in-browser",
            f"--port={self.port}",
            "--ip=127.0.0.1",
            f"--IdentityProvider.token={self.token}",
            "--KernelManager.transport=ipc",
            "--ServerApp.disable_check_xsrf=True",
            f"--ServerApp.root_dir={self.root}",
            f"--ServerApp.tornado_settings={json.dumps({'headers': {'Content-Security-Policy-Report-Only': NO_EVAL}})}",
            f"--{app}.workspaces_dir={self.home / 'workspaces'}",
            f"--{app}.user_settings_dir={self.home / 'settings'}",
        ]

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError((self.home / "server.log").read_text()[-3000:])
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            return self.api("status") is not None
        return False

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()
        self.runtime.cleanup()

    def api(self, path: str, *, method: str = "GET") -> Any:
        """The answer of one REST endpoint, decoded."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/{path}?token={self.token}", method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def url(self, notebook: str) -> str:
        """The address of a notebook under `root`, alone in its window."""
        folder = "doc/tree" if self.app == "lab" else "notebooks"
        return f"http://127.0.0.1:{self.port}/{folder}/{urllib.parse.quote(notebook)}?token={self.token}"


class Notebook:
    """An open notebook: its page, its kernel, and what went wrong in either."""

    def __init__(self, page: Page, server: Server, name: str) -> None:
        self.page, self.server, self.name = page, server, name
        self.refused: list[str] = []
        """Addresses outside this machine that the page asked for."""
        self.errors: list[str] = []
        """Uncaught errors and `console.error` lines since the notebook was open."""
        page.on("console", self._on_console)
        page.on("pageerror", self._on_page_error)
        page.context.route("**/*", self._on_request)
        self._client: BlockingKernelClient | None = None

    def _on_page_error(self, error: Error) -> None:
        self.errors.append(f"uncaught: {error.stack or error}")

    def _on_console(self, message: ConsoleMessage) -> None:
        source = message.location.get("url", "")
        is_our_eval = "unsafe-eval" in message.text and source.startswith("blob:")
        if message.type == "error" or is_our_eval:
            self.errors.append(f"{message.text[:500]} ({source})")

    def _on_request(self, route: Route) -> None:
        if route.request.url.startswith(LOCAL):
            route.continue_()
        else:
            self.refused.append(route.request.url)
            route.abort()

    def open(self) -> Notebook:
        """Load the page, unless it is a JupyterLab that shows nothing, and wait until the kernel is idle."""
        if self.page.evaluate("globalThis.tfprofShowsNothing"):
            self.page.evaluate(OPEN_NEXT, self.name)
        else:
            self.page.goto(self.server.url(self.name))
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=WAIT_S * 1000)
        self.page.wait_for_function("window.jupyterapp?.commands.hasCommand('notebook:run-all-cells')")
        self.wait_for_kernel("idle")
        # Notebook 7.6 itself throws ("reading 'schema'") while it loads, with no widget on the page yet.
        self.errors.clear()
        return self

    def wait_for_kernel(self, status: str, *, timeout_s: float = WAIT_S) -> None:
        """Wait until the browser knows the kernel to be `idle` or `busy`."""
        session = "jupyterapp.shell.currentWidget?.context?.sessionContext?.session"
        self.page.wait_for_function(f"{session}?.kernel?.status === {status!r}", timeout=timeout_s * 1000, polling=50)

    def run_all(self, *, timeout_s: float = 300) -> None:
        """Run every cell and wait for the last; a failing cell fails the test with its traceback."""
        finished = "jupyterapp.commands.execute('notebook:run-all-cells').then(ok => { window.tfprofRan = ok })"
        self.page.evaluate(f"window.tfprofRan = undefined; void {finished}")
        self.page.wait_for_function("window.tfprofRan !== undefined", timeout=timeout_s * 1000, polling=100)
        failed = self.page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"]')
        if not self.page.evaluate("window.tfprofRan"):
            raise AssertionError(f"a cell of {self.name} failed:\n" + "\n".join(failed.all_inner_texts()))

    def start_cell(self, index: int) -> None:
        """Start one cell and return while it runs."""
        self.page.evaluate(
            """index => {
                const notebook = window.jupyterapp.shell.currentWidget.content;
                notebook.deselectAll();
                notebook.activeCellIndex = index;
                void window.jupyterapp.commands.execute('notebook:run-cell');
            }""",
            index,
        )

    def run_cell(self, index: int, *, timeout_s: float = WAIT_S) -> None:
        """Run one cell and wait until the kernel has answered it."""
        count = self._execution_count(index)
        self.start_cell(index)
        self.wait_for_cell(index, before=count, timeout_s=timeout_s)

    def wait_for_cell(self, index: int, *, before: int | None = None, timeout_s: float = WAIT_S) -> None:
        """Wait until the kernel has answered a started cell, which had the number `before`.

        An idle kernel alone does not tell: the browser takes it for idle before the cell begins, and while it runs as soon as
        a message of a widget is answered beside it.
        """
        poll(
            lambda: self._execution_count(index) not in (before, None),
            f"cell {index} did not run",
            timeout_s=timeout_s,
        )
        self.wait_for_kernel("idle", timeout_s=timeout_s)

    def _execution_count(self, index: int) -> int | None:
        count = "i => window.jupyterapp.shell.currentWidget.content.widgets[i].model.executionCount"
        return self.page.evaluate(count, index)

    def save_with_widgets(self) -> None:
        """Have JupyterLab write the notebook with the state of its widgets, as its setting for that does."""
        save = "@jupyter-widgets/jupyterlab-manager:saveWidgetState"
        for command in (save, "docmanager:save", save):  # the first is a switch
            self.page.evaluate("name => window.jupyterapp.commands.execute(name)", command)
        path = self.server.root / self.name
        poll(lambda: "widget-state+json" in path.read_text(), f"{self.name} was saved without its widgets")

    def view(self, name: str) -> Locator:
        """The last shown widget of this name."""
        return self.page.locator(f'[data-tfprof="{name}"]').last

    def locate(self, view: str, name: str, nth: int = 0) -> tuple[float, float]:
        """Where on the screen a canvas view draws the `nth` mark on it with this name."""
        find = "(el, [name, nth]) => el.tfprofLocate(name, nth)"
        poll(
            lambda: self.view(view).evaluate(find, [name, nth]) is not None,
            f"{view} does not draw {name!r} [{nth}]",
            timeout_s=10,
        )
        answer = self.view(view).evaluate(find, [name, nth])
        return answer["x"], answer["y"]

    def reveal(self, name: str, nth: int = 0) -> None:
        """Pan and scroll the timeline to the `nth` slice of this name."""
        assert self.view("timeline").evaluate("(el, [name, nth]) => el.tfprofReveal(name, nth)", [name, nth])

    def value(self, expression: str, *, timeout_s: float = WAIT_S) -> Any:
        """A Python value of the notebook's kernel, as JSON, by a second client; waits while the kernel is busy."""
        answer = self._kernel().execute(
            "",
            silent=True,
            user_expressions={"x": f"__import__('json').dumps({expression}, default=str)"},
            reply=True,
            timeout=timeout_s,
        )
        result = answer["content"]["user_expressions"]["x"]
        assert result["status"] == "ok", f"{expression}: {result.get('evalue')}"
        return json.loads(ast.literal_eval(result["data"]["text/plain"]))

    def wait_for_value(self, expression: str, expected: Any) -> None:
        """Wait until a Python value of the kernel equals `expected`."""
        poll(
            lambda: self.value(expression) == expected,
            lambda: f"{expression} is {self.value(expression)!r}, not {expected!r}",
        )

    def _kernel(self) -> BlockingKernelClient:
        if self._client is None:
            (session,) = [s for s in self.server.api("sessions") if s["path"] == self.name]
            connection = Path(self.server.runtime.name) / f"kernel-{session['kernel']['id']}.json"
            self._client = BlockingKernelClient(connection_file=str(connection))
            self._client.load_connection_file()
            self._client.start_channels()
            self._client.wait_for_ready(timeout=WAIT_S)
            # Nobody reads the outputs here: left subscribed, this client has the kernel keep them all in its memory.
            self._client.iopub_channel.stop()
        return self._client

    def use_theme(self, theme: str) -> None:
        """Switch to `JupyterLab Dark` or `JupyterLab Light` and wait until the page has it."""
        self.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
        is_light = "false" if "Dark" in theme else "true"
        self.page.wait_for_selector(f'body[data-jp-theme-light="{is_light}"]', state="attached")

    def screenshot(self, name: str, of: Locator | None = None) -> Path:
        """Keep a picture of a view, or of the page, under build/screenshots."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        (of or self.page).screenshot(path=str(path))
        return path

    def close(self) -> None:
        """Have the page show nothing, and end the kernel."""
        if self._client is not None:
            self._client.stop_channels()
        try:
            self.page.evaluate(CLOSE)
        finally:
            self.page.remove_listener("console", self._on_console)
            self.page.remove_listener("pageerror", self._on_page_error)
            self.page.context.unroute("**/*", self._on_request)
            for session in self.server.api("sessions"):
                if session["path"] == self.name:
                    self.server.api(f"sessions/{session['id']}", method="DELETE")


@contextlib.contextmanager
def opened(
    browser: Browser, server: Server, name: str, *, size_px: tuple[int, int] = SIZE_PX, at_start: str = ""
) -> Iterator[Notebook]:
    """Open a notebook under `server.root` in a fresh browser profile; closed with its kernel at the end.

    `at_start` is a script that runs in the page before all others.
    """
    with page_of(browser, size_px=size_px, at_start=at_start) as page, opened_in(page, server, name) as notebook:
        yield notebook


@contextlib.contextmanager
def page_of(browser: Browser, *, size_px: tuple[int, int] = SIZE_PX, at_start: str = "") -> Iterator[Page]:
    """An empty page in a fresh browser profile, in which the script `at_start` runs before all others."""
    context = browser.new_context(viewport={"width": size_px[0], "height": size_px[1]})
    if at_start:
        context.add_init_script(at_start)
    try:
        yield context.new_page()
    finally:
        context.close()


@contextlib.contextmanager
def opened_in(page: Page, server: Server, name: str) -> Iterator[Notebook]:
    """The same in a page, which may have shown others; to load JupyterLab takes ten times as long as to open one in it.

    Nothing of ours may have failed in it or asked the network.
    """
    notebook = Notebook(page, server, name)
    try:
        yield notebook.open()
        # Jupyter's own words where a notebook was saved without the state of its widgets.
        errors = [error for error in notebook.errors if "widget model not found" not in error]
        assert (notebook.refused, errors) == ([], []), (notebook.refused, errors)
    except BaseException:
        with contextlib.suppress(Exception):  # the picture must not hide the failure it is of
            notebook.screenshot(f"failed-{Path(name).stem}-{server.app}")
        raise
    finally:
        notebook.close()


def write_notebook(path: Path, *cells: str) -> None:
    """A notebook of code cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


def poll(is_true: Any, message: Any, *, timeout_s: float = WAIT_S) -> None:
    """Ask until the answer is true; `message` is a sentence or a function that gives one."""
    deadline = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > deadline:
            raise AssertionError(message() if callable(message) else message)
        time.sleep(0.05)


@contextlib.contextmanager
def serving(folder: Path, *command: str, env: Mapping[str, str]) -> Iterator[str]:
    """The address of a server that runs in a folder, with `{port}` in its command for the port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = folder / "server.log"
    with path.open("w") as log:
        words = [word.format(port=port) for word in command]
        server = subprocess.Popen(words, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)

        def answers() -> bool:
            assert server.poll() is None, path.read_text()[-2000:]
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return True
            return False

        try:
            poll(answers, f"{command[0]} did not start")
            yield f"http://127.0.0.1:{port}/"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)
