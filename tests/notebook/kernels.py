"""Cells -> what a real kernel sends of them: one after the other as a front end asks, or as a whole notebook."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client import BlockingKernelClient, KernelManager
from nbclient import NotebookClient
from traitlets.config import Config

Kernel = tuple[KernelManager, BlockingKernelClient]


@contextmanager
def sockets() -> Iterator[Config]:
    """What has a kernel listen at files: a port that was free when it was chosen may be taken when the kernel binds it."""
    with tempfile.TemporaryDirectory(prefix="kernel-", ignore_cleanup_errors=True) as folder:
        yield Config(KernelManager={"transport": "ipc", "connection_file": f"{folder}/kernel.json"})


@contextmanager
def started_kernel(folder: Path, **environment: str) -> Iterator[Kernel]:
    """A kernel that answers, and its client."""
    with sockets() as config:
        manager = KernelManager(kernel_name="python3", config=config)
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("PYTEST_CURRENT_TEST", raising=False)  # with it ipykernel leaves alone what C++ writes
            manager.start_kernel(cwd=str(folder), env=os.environ | environment)
        client = manager.blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        yield manager, client
        client.stop_channels()
        if manager.is_alive():
            manager.shutdown_kernel(now=True)


def messages(client: BlockingKernelClient, request: str) -> Iterator[dict[str, Any]]:
    """What comes of a request, until the kernel has done it."""
    while True:
        message: dict[str, Any] = client.get_iopub_msg(timeout=120)
        if message["parent_header"].get("msg_id") == request:
            yield message
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return


def printed(client: BlockingKernelClient, code: str, until: str = "") -> str:
    """What code prints, until it is done or has printed a word."""
    return printed_by(client, client.execute(code), until)


def printed_by(client: BlockingKernelClient, request: str, until: str = "") -> str:
    """The same of code that runs already."""
    text = ""
    for message in messages(client, request):
        assert message["msg_type"] != "error", "\n".join(message["content"]["traceback"])
        text += message["content"].get("text", "")
        if until and until in text:
            break
    return text


def execute(notebook: nbformat.NotebookNode, folder: Path, *, allow_errors: bool = False) -> None:
    """Run all cells in a folder as `nbconvert --execute` does; without `allow_errors` the first that fails raises."""
    options = {"timeout": 300, "kernel_name": "python3", "allow_errors": allow_errors}
    with sockets() as config:
        NotebookClient(notebook, config=config, resources={"metadata": {"path": str(folder)}}, **options).execute()


def executed_cells(sources: Mapping[str, str], folder: Path, *, allow_errors: bool = True) -> dict[str, Any]:
    """Cells by their names, executed in a notebook."""
    make: Any = nbformat.v4
    notebook = make.new_notebook(cells=[make.new_code_cell(source) for source in sources.values()])
    execute(notebook, folder, allow_errors=allow_errors)
    return dict(zip(sources, notebook.cells, strict=True))
