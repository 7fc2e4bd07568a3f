"""WorkersWatch: the steps of processes elsewhere, side by side, while they train."""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..analysis.columns.docstrings import tell_columns
from ..analysis.watched.anomalies import AnomalyFinder
from ..analysis.watched.bins import StepBins
from ..trace.watched import Steps
from .watch_borders import Borders
from .watch_loop import free_folder
from .watch_state import figures, head_of, latest_of
from .watch_table import steps_table

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.remote.steps_client import WorkerState
    from ..formats.watch_log.writer import WatchWriter
    from ..views.widgets.live import LiveView

TICK_S = 0.3
ROOM_BYTES = 256 * 2**20
_STATES = {"asked": "waiting", "running": "running", "idle": "idle", "lost": "lost"}


class WorkersWatch:
    """The steps of several training processes, side by side, from when it is made until `stop()`; `watch([...])` makes it.

    Each process must run `tfprof.serve()`. It is also a context manager, and shows itself as the widget.
    """

    def __init__(self, workers: Sequence[str], *, logdir: str | Path | None = None, token: str | None = None) -> None:
        from ..capture.remote.client import check_token
        from ..capture.remote.steps_client import StepsClient
        from ..formats.watch_log.writer import WatchWriter
        from ..trace.scratch import make_folder, remove_folder

        if isinstance(workers, str) or not workers:
            raise ValueError(f"workers={workers!r}: give a list of addresses, such as ['10.0.0.5:6009'].")
        check_token(token)
        self.started_ns = time.time_ns()
        if logdir is None:
            folder = make_folder(ROOM_BYTES)
            weakref.finalize(self, remove_folder, folder, os.getpid())
        else:
            folder = free_folder(Path(logdir).expanduser().absolute(), self.started_ns)
        self.folder = folder
        """The folder of its files; each worker has a folder in it, which `load` opens."""
        self._client = StepsClient(workers, token=token)
        self._workers = [
            _Worker(WatchWriter(folder / f"worker-{i}"), address, self.started_ns) for i, address in enumerate(workers)
        ]
        self._view: LiveView | None = None
        self._state = "running"
        self._over = threading.Event()
        self._client.start()
        context = contextvars.copy_context()
        run = weakref.WeakMethod(self._tick)
        self._thread = threading.Thread(
            target=context.run, args=(_follow, run, self._over), name="tfprof-workers-watch", daemon=True
        )
        self._thread.start()

    @property
    def states(self) -> pd.DataFrame:
        """They come in the order of the addresses. It always has a row for each."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "address": one.address,
                    "host": one.host_name,
                    "process_id": one.process_id,
                    "state": _STATES[one.state],
                    "words": one.words,
                    "n_steps": one.n_steps,
                    "n_missed": one.n_missed,
                }
                for one in self._client.states
            ]
        )

    @property
    def steps(self) -> pd.DataFrame:
        """Worker by worker, in the order of the addresses; the other columns are those of `WatchedRun.steps`. Empty where
        no step came.
        """
        import pandas as pd

        tables = []
        for worker in self._workers:
            table = steps_table(worker.writer.read_steps(0, worker.bins.n_rows))
            table.insert(0, "worker", worker.address)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def dashboard(self) -> LiveView:
        """The widget that shows them, which moves until `stop()`."""
        if self._view is None:
            from ..views.widgets.live import LiveView

            self._view = LiveView()
            self._push()
        return self._view

    def stop(self) -> None:
        """Ask the workers no more; what came stays. A second call does nothing."""
        if self._over.is_set():
            return
        self._over.set()
        self._thread.join(10.0)
        self._client.stop()
        self._state = "ended"
        self._tick()
        for worker in self._workers:
            worker.writer.close()

    def __enter__(self) -> WorkersWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        states = [one.state for one in self._client.states]
        told = ", ".join(f"{states.count(state)} {_STATES[state]}" for state in dict.fromkeys(states))
        return f"<WorkersWatch of {len(states)} workers: {told}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.dashboard()._repr_mimebundle_(**kwargs)

    def _tick(self) -> None:
        """Take what came, and show it."""
        for worker, rows in zip(self._workers, self._client.take(), strict=True):
            if len(rows):
                worker.add(rows)
        self._push()

    def _push(self) -> None:
        if self._view is None:
            return
        states, workers = self._client.states, self._workers
        names = [_name_of(state, states) for state in states]
        told = [(name, one) for name, worker in zip(names, workers, strict=True) for one in worker.finder.anomalies]
        slowest = max(
            workers, key=lambda worker: figures(worker.latest)["step_ms"] if worker.latest is not None else 0.0
        )
        head = head_of(
            title=f"{len(workers)} workers",
            state=self._state,
            columns=slowest.bins.columns(),
            n_steps=slowest.bins.n_steps,
            latest=slowest.latest,
            borders=Borders(),
            started_ns=self.started_ns,
            ended_ns=None,
            anomalies=[_of_worker(name, one) for name, one in told],
            windows=(),
            file=str(self.folder),
            notices=[f"{name}: {one.words}" for name, one in zip(names, states, strict=True) if one.state == "lost"],
        )
        head["marks"] = []
        head["workers"] = [
            {
                "name": name,
                "n_steps": worker.bins.n_steps,
                "state": _STATES[state.state],
                **{key: figures(worker.latest)[key] for key in ("step_ms", "wait_ratio")},
            }
            for name, state, worker in zip(names, states, workers, strict=True)
        ]
        columns = {
            f"{name}@{i}": values for i, worker in enumerate(workers) for name, values in worker.bins.columns().items()
        }
        self._view.push(head, bins=columns, samples={})


class _Worker:
    """What came of one worker."""

    def __init__(self, writer: WatchWriter, address: str, started_ns: int) -> None:
        self.writer, self.address = writer, address
        self.bins = StepBins(started_ns=started_ns, reread=writer.read_steps)
        self.finder = AnomalyFinder(n_cores=0)
        self.latest: Steps | None = None
        writer.add_event({"kind": "begin", "at_ns": started_ns, "step": None, "title": address})

    def add(self, rows: Steps) -> None:
        """Take the next steps."""
        self.writer.add_steps(rows)
        self.bins.add(rows)
        self.finder.add_steps(rows)
        self.latest = latest_of(self.latest, rows)


def _follow(tick: weakref.WeakMethod[Any], over: threading.Event) -> None:
    """Tick until it is over, or whoever watches is gone."""
    while not over.wait(TICK_S) and (now := tick()) is not None:
        with contextlib.suppress(Exception):
            now()
        del now


def _name_of(state: WorkerState, states: Sequence[WorkerState]) -> str:
    """The name of a worker's host, with its address where others run there, too."""
    same = sum(other.host_name == state.host_name for other in states)
    return state.host_name if state.host_name and same == 1 else state.address


def _of_worker(name: str, anomaly: Any) -> Any:
    from dataclasses import replace

    return replace(anomaly, title=f"{name}: {anomaly.title}", window=None)


tell_columns(WorkersWatch, "workers.")
