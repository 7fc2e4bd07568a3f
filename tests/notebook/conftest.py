"""Kernels for the tests in this folder."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.provisioning import local_provisioner

from tests.warm_process import parent


class KernelProcess:
    """`ipykernel` forked from a process that has imported TensorFlow: a `Popen` to `jupyter_client`."""

    stdin = stdout = stderr = None

    def __init__(self, *arguments: str, cwd: Path, **variables: str) -> None:
        lines = (
            "import os, sys\nfrom ipykernel import kernelapp",
            "os.environ['JPY_PARENT_PID'] = str(os.getppid())",  # it ends when that process does
            f"sys.argv[1:] = {list(arguments)!r}\nkernelapp.launch_new_instance()",
        )
        with Path(os.devnull).open("r+") as nothing:
            files = (nothing.fileno(),) * 3
            self._forked = parent().start("\n".join(lines), cwd=cwd, variables=variables, files=files, leads_group=True)
        self.pid = self._forked.pid
        self.poll, self.kill = self._forked.poll, self._forked.kill

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """The status with which it ended."""
        return self._forked.wait()


@pytest.fixture(scope="package", autouse=True)
def forked_kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels begin with TensorFlow imported: to import it takes longer than most of what they run.

    Their temporary files are in a folder of the tests, unless a test has one of its own: a kernel is ended before it can remove
    them.
    """
    scratch = str(tmp_path_factory.mktemp("kernels"))

    def launch(command: list[str], *, env: dict[str, str], cwd: str | None = None, **_: Any) -> KernelProcess:
        _, _, module, *arguments = command
        assert module == "ipykernel_launcher"
        own = env.get("TMPDIR")
        folder = scratch if own is None or own == os.environ.get("TMPDIR") else own
        return KernelProcess(*arguments, cwd=Path(cwd or "."), **{**env, "TMPDIR": folder})

    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":
            patch.setattr(local_provisioner, "launch_kernel", launch)
        yield
