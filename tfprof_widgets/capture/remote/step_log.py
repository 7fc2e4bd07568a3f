"""The steps of this process -> what it answers to whoever asks for them, for as long as its server runs."""

from __future__ import annotations

import math
import os
import socket
import threading
import time

from ...trace.watched import STEP
from ..keras.patch import KerasPatch
from ..session.step_notes import drop_step_notes, keep_step_notes
from ..watched.recorder import StepRecorder
from ..watched.step_feed import StepFeed
from .messages import MESSAGES
from .step_ring import StepRing

MAX_REPLY_BYTES = 1 << 20
"""Of rows in one answer."""
TICK_S = 0.2
"""How often the steps are taken while somebody asks: tf.data tells of the waits for its latest 100 elements."""
REST_S = 2.0
"""How often while nobody does."""
_ASKED_S = 10.0


class StepLog:
    """Notes the steps of this process between `start` and `stop`: captured or not, in constant memory."""

    def __init__(self) -> None:
        self._recorder = StepRecorder()
        self._feed = StepFeed(self._recorder)
        self._ring = StepRing()
        self._patch = KerasPatch()
        self._asked_s = self._ended_s = -math.inf
        self._ticks = threading.Event()
        self._is_stopped = threading.Event()
        self._started_ns = time.time_ns()
        self._thread = threading.Thread(target=self._run, name="tfprof-steps", daemon=True)

    def start(self) -> None:
        """Begin to note."""
        self._patch.install()
        keep_step_notes(self._recorder)
        self._thread.start()

    def stop(self) -> None:
        """Note no more, and leave Keras as it was."""
        drop_step_notes(self._recorder)
        self._patch.remove()
        self._is_stopped.set()
        self._ticks.set()
        self._thread.join()

    def answer(self, content: bytes) -> bytes:
        """What a request is answered.

        Raises:
            ValueError: what was sent is no request.
        """
        try:
            request = MESSAGES["StepsRequest"].FromString(content)
        except Exception as error:  # whatever was sent to the port
            raise ValueError("this is no request for steps") from error
        was_asked_s, self._asked_s = self._asked_s, time.monotonic()
        if self._asked_s - was_asked_s > _ASKED_S:
            self._ticks.set()
        rows, first = self._ring.rows_since(request.since, at_most=MAX_REPLY_BYTES // STEP.itemsize)
        response = MESSAGES["StepsResponse"](
            rows=rows.tobytes(),
            first=first,
            n_steps=self._ring.n_steps,
            host_name=socket.gethostname(),
            process_id=os.getpid(),
            started_ns=self._started_ns,
            idle_s=time.monotonic() - self._ended_s if self._ring.n_steps else 0.0,
        )
        answer: bytes = response.SerializeToString()
        return answer

    def _run(self) -> None:
        while not self._is_stopped.is_set():
            is_asked = time.monotonic() - self._asked_s < _ASKED_S
            self._ticks.wait(TICK_S if is_asked else REST_S)
            self._ticks.clear()
            rows = self._feed.take()
            if len(rows):
                self._ring.add(rows)
                self._ended_s = time.monotonic()
