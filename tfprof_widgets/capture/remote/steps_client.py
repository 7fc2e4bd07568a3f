"""Addresses of workers -> the steps of all, asked for some times a second on one thread, and how each worker is."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ...trace.bounds import clean_text
from ...trace.watched import OTHER, STEP, Steps
from .messages import MESSAGES, STEPS_METHOD, TOKEN_KEY
from .server import import_grpc
from .step_ring import MAX_KEPT

POLL_S = 0.3
"""From the answer of a worker to the next request."""
ANSWER_S = 3.0
"""How long one answer may take."""
LOST_S = 8.0
"""A worker that lets requests run out of time for so long is lost: one that traces a function may not answer for seconds."""
IDLE_S = 5.0
"""And three times its last step: a worker that has ended no step for so long does not train."""
_TICK_S = 0.05
_RECONNECT_MS = 1000
_MOST_SHOWN = 200

WorkerStateName = Literal["asked", "running", "idle", "lost"]


@dataclass(frozen=True)
class WorkerState:
    """How one worker is."""

    address: str
    state: WorkerStateName = "asked"
    """`asked`: it has not answered yet; `idle`: it answers, and ends no steps."""
    words: str = ""
    """Why it is idle or lost, a clause; empty where it runs."""
    host_name: str = ""
    process_id: int = 0
    n_steps: int = 0
    """How many it has noted since its server began."""
    n_missed: int = 0
    """How many of these were not kept there any more, or not taken here in time."""


class StepsClient:
    """Asks workers for their steps between `start` and `stop`; one that does not answer is lost until it does.

    Args:
        addresses: of the workers, `host:port` each.
        token: what workers that were started with one ask for.

    Raises:
        CaptureError: gRPC is missing.
    """

    def __init__(self, addresses: Sequence[str], *, token: str | None = None) -> None:
        self._grpc = import_grpc()
        metadata = () if token is None else ((TOKEN_KEY, token.encode()),)
        self._workers = [_Worker(self._grpc, address, metadata) for address in addresses]
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tfprof-workers", daemon=True)

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more."""
        self._is_stopped.set()
        self._thread.join()
        for worker in self._workers:
            worker.channel.close()

    @property
    def states(self) -> tuple[WorkerState, ...]:
        """How each worker is, in the order of the addresses; from any thread."""
        return tuple(worker.state for worker in self._workers)

    def take(self) -> list[Steps]:
        """Return the steps of each worker that have come since the last call, the oldest first, on the worker's own clock."""
        return [worker.take() for worker in self._workers]

    def _run(self) -> None:
        while not self._is_stopped.wait(_TICK_S):
            for worker in self._workers:
                worker.go_on(time.monotonic())


class _Worker:
    """The conversation with one worker: at most one request at a time."""

    def __init__(self, grpc: Any, address: str, metadata: Any) -> None:
        bounds = ("grpc.initial_reconnect_backoff_ms", "grpc.min_reconnect_backoff_ms", "grpc.max_reconnect_backoff_ms")
        self.channel = grpc.insecure_channel(address, options=[(name, _RECONNECT_MS) for name in bounds])
        self.state = WorkerState(address)
        self._grpc, self._metadata = grpc, metadata
        self._ask = self.channel.unary_unary(STEPS_METHOD)
        self._call: Any = None
        self._due_s = self._answered_s = -1.0
        self._since = self._started_ns = 0
        self._last_step_s = 0.0
        self._lock = threading.Lock()
        self._rows: list[Steps] = []

    def go_on(self, now_s: float) -> None:
        """Send the next request where it is due, or take its answer where that has come."""
        if self._call is None:
            if now_s >= self._due_s:
                request = MESSAGES["StepsRequest"](since=self._since).SerializeToString()
                self._call = self._ask.future(request, timeout=ANSWER_S, metadata=self._metadata)
        elif self._call.done():
            call, self._call = self._call, None
            self._due_s = now_s + POLL_S
            try:
                self._note(call.result(), now_s)
            except self._grpc.RpcError as error:
                self._fail(error, now_s)
            except Exception:  # an answer that is no message of ours
                self._lose("what answers there sends no steps")

    def take(self) -> Steps:
        """The rows that have come since the last call."""
        with self._lock:
            rows, self._rows = self._rows, []
        return np.concatenate(rows) if rows else np.empty(0, STEP)

    def _note(self, content: bytes, now_s: float) -> None:
        response = MESSAGES["StepsResponse"].FromString(content)
        rows = np.frombuffer(response.rows, STEP).copy()
        if response.started_ns != self._started_ns:
            self._started_ns = response.started_ns
            if self._since:  # another process has the address now, which counts its own steps
                self._since, self._due_s = 0, now_s
                return
        n_missed = max(response.first - self._since, 0)
        self._since = response.first + len(rows)
        if len(rows) and self._since < response.n_steps:
            self._due_s = now_s  # more than one answer holds
        self._answered_s = now_s
        rows["kind"] = np.minimum(rows["kind"], OTHER)
        n_missed += self._keep(rows[np.isfinite(rows["duration_us"]) & (rows["duration_us"] >= 0)])
        if len(rows):
            self._last_step_s = float(rows["duration_us"][-1]) / 1e6
        idle = self._idle(response)
        self.state = replace(
            self.state,
            state="idle" if idle else "running",
            words=idle,
            host_name=clean_text(response.host_name)[:_MOST_SHOWN],
            process_id=response.process_id,
            n_steps=response.n_steps,
            n_missed=self.state.n_missed + n_missed,
        )

    def _keep(self, rows: Steps) -> int:
        """Keep rows until they are taken; how many of older ones were dropped for them."""
        n_dropped = 0
        with self._lock:
            if len(rows):
                self._rows.append(rows)
            while sum(map(len, self._rows)) > 2 * MAX_KEPT:
                n_dropped += len(self._rows.pop(0))
        return n_dropped

    def _fail(self, error: Any, now_s: float) -> None:
        codes = self._grpc.StatusCode
        details = " ".join(str(error.details()).split())[:_MOST_SHOWN]
        silent_s = now_s - self._answered_s
        if error.code() == codes.DEADLINE_EXCEEDED:
            if self._answered_s < 0:
                self._lose("it does not answer")
            elif silent_s > LOST_S:
                self._lose(f"it has not answered for {silent_s:.0f} s")
        elif error.code() == codes.UNIMPLEMENTED:
            self._lose("a server runs there, but no `tfprof.serve()` that tells steps")
        elif error.code() == codes.UNAUTHENTICATED:
            self._lose(details)
        else:
            self._lose(f"it cannot be reached, or has ended ({details})")

    def _lose(self, why: str) -> None:
        self.state = replace(self.state, state="lost", words=why)

    def _idle(self, response: Any) -> str:
        """Why a worker that answers does not train; empty where it does."""
        if not response.n_steps:
            return "it has had no step since it serves: a loop of its own needs tfprof.trace_steps() or tfprof.step()"
        if response.idle_s > IDLE_S + 3 * self._last_step_s:
            return f"it has ended no step for {response.idle_s:,.0f} s"
        return ""
