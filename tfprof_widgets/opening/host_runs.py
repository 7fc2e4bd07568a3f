"""HostRuns: one function of each of many files, run by an executor, and once more where a process of it ended early."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from .host_pool import HostPool

MOST_WAITING = 256
"""So many files are handed to an executor ahead of its results."""
_ENDED = "the process that read it ended early, and so did a second one: it may need more memory than there is"

File = TypeVar("File")
Outcome = TypeVar("Outcome")


class HostRuns(Generic[File, Outcome]):
    """What comes of each file, whoever runs it. A file that may have ended a process is never read in this one."""

    def __init__(
        self,
        function: Callable[[File], Outcome],
        files: Sequence[File],
        *,
        failed: Callable[[File, str], Outcome],
        on_done: Callable[[int], None],
    ) -> None:
        """Say what to run; nothing runs yet.

        Args:
            function: that can be pickled.
            files: to run it on.
            failed: what comes of a file that it cannot be run on, for a reason.
            on_done: is told how many files more are done.
        """
        self._function, self._files, self._failed, self._on_done = function, files, failed, on_done
        self._done: dict[int, Outcome] = {}

    @property
    def left(self) -> list[int]:
        """The numbers of the files that are not done."""
        return [number for number in range(len(self._files)) if number not in self._done]

    @property
    def outcomes(self) -> list[Outcome]:
        """What came of each file, in their order, once none is left."""
        return [self._done[number] for number in range(len(self._files))]

    def here(self) -> None:
        """Run what is left in this process."""
        for number in self.left:
            self._keep(number, self._function(self._files[number]))

    def by_executor(self, executor: Executor, pool: HostPool) -> str:
        """Run by an executor of the caller; what it leaves when it breaks, by processes of this machine.

        Returns:
            What to tell of that, or nothing.
        """
        error = self._send(self.left, executor, is_own=False)
        if error is None:
            return ""
        n_left, reason = len(self.left), f"{type(error).__name__}: {error}"
        if not pool.can_start:
            self._give_up(self.left, f"the executor ended early ({reason})")
            return ""
        told = (
            f"The executor ended early ({reason}); {n_left:,} of {len(self._files):,} hosts were read on this machine."
        )
        return f"{told} {self.by_processes(pool)}".rstrip()

    def by_processes(self, pool: HostPool) -> str:
        """Run by processes of this machine.

        One that ends early takes the others along. What it may have been at is run once more, one file at a time, and given
        up where that ends its process too; the rest goes on with new processes.

        Returns:
            What to tell of that, or nothing.
        """
        n_again = 0
        while left := self.left:
            error = self._send(left, pool.executor(), is_own=True)
            if isinstance(error, OSError) and not n_again:
                return self._without_processes(error)
            if error is not None:
                # They take files in order, so it was at one of the first that are not done; one more was on its way.
                again = self.left[: pool.n_processes + 1]
                n_again += len(again)
                self._one_by_one(again, pool)
        if not n_again:
            return ""
        return (
            "Processes that read hosts ended early; "
            f"{n_again:,} of {len(self._files):,} hosts were read once more, one at a time."
        )

    def _one_by_one(self, numbers: Iterable[int], pool: HostPool) -> None:
        """Run each file while its process does nothing else: who is at it when it ends has ended it."""
        executor: Executor | None = None
        for number in numbers:
            executor = executor or pool.executor(1)
            error = self._send([number], executor, is_own=True)
            if error is not None:
                self._give_up(
                    [number], _ENDED if isinstance(error, BrokenExecutor) else f"{type(error).__name__}: {error}"
                )
                executor = None

    def _without_processes(self, error: OSError) -> str:
        n_left = len(self.left)
        self.here()
        return (
            f"No process could be started to read hosts ({error}): "
            f"{n_left:,} of {len(self._files):,} hosts were read in this one."
        )

    def _send(self, numbers: Sequence[int], executor: Executor, *, is_own: bool) -> BrokenExecutor | OSError | None:
        """Run files, so many at a time; returns what the executor broke with. An `OSError` is that no process can start."""
        waiting: dict[Future[Outcome], int] = {}
        n_sent = 0
        try:
            while n_sent < len(numbers) or waiting:
                while n_sent < len(numbers) and len(waiting) < MOST_WAITING:
                    waiting[executor.submit(self._function, self._files[numbers[n_sent]])] = numbers[n_sent]
                    n_sent += 1
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    number = waiting.pop(future)
                    self._keep(number, self._outcome(future, self._files[number]))
        except (BrokenExecutor, OSError) as error:
            return error
        except BaseException:
            if not is_own:  # a pool of our own cancels them as it ends
                for future in waiting:
                    future.cancel()
            raise
        return None

    def _outcome(self, future: Future[Outcome], file: File) -> Outcome:
        try:
            return future.result()
        except BrokenExecutor:
            raise
        except Exception as error:  # what the executor has to say: a worker that was killed, a package that it lacks
            return self._failed(file, f"{type(error).__name__}: {error}")

    def _give_up(self, numbers: Iterable[int], reason: str) -> None:
        for number in numbers:
            self._keep(number, self._failed(self._files[number], reason))

    def _keep(self, number: int, outcome: Outcome) -> None:
        self._done[number] = outcome
        self._on_done(1)
