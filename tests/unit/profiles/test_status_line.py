"""The line that tells how far a capture is: its words, the thread behind it, and how it shares a terminal with the program."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import tqdm.auto
import tqdm.std

from tfprof_widgets import experiments, progress
from tfprof_widgets.capture import Bounds, Standing
from tfprof_widgets.progress import Progress, StatusLine, TerminalLine, following, record_text, standing_text


@pytest.mark.parametrize(
    ("standing", "text"),
    [
        (Standing("recording", 1200, 8.21, 11.3 * 2**20), "tfprof: recording, step 1,200, 8.2 s, 11.3 MiB"),
        (Standing("recording", None, 0.0, 272), "tfprof: recording"),
        (Standing("waiting for step 10", 3, 0.0, 0), "tfprof: waiting for step 10, at step 3"),
        (Standing("paused", 30, 2.0, 2**20), "tfprof: paused, step 30, 2.0 s, 1.00 MiB"),
    ],
)
def test_the_words_of_a_running_capture(standing: Standing, text: str) -> None:
    assert standing_text(standing) == text


def record(n_steps: int, n_windows: int) -> Any:
    window = SimpleNamespace(n_steps=n_steps, start_ns=0, stop_ns=1_070_000_000)
    cost = SimpleNamespace(n_bytes=3 * 2**20)
    return SimpleNamespace(windows=(window,) * n_windows, cost=cost, notices=("No step met every=9.",))


def test_the_words_of_one_that_ended() -> None:
    assert record_text(record(20, 2)) == "tfprof: recorded 40 steps, 2.14 s, 3.00 MiB"
    assert record_text(record(0, 1)) == "tfprof: recorded 1.07 s, 3.00 MiB"
    assert record_text(record(0, 0)) == "tfprof: nothing was captured. No step met every=9."


class Heard(StatusLine):
    """A line that keeps what it is told."""

    is_seen = True

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def begin(self, text: str) -> None:
        self.texts.append(text)

    def say(self, text: str) -> None:
        self.texts.append(text)


class Capturing:
    """A capture that goes on and on."""

    n_asked = 0

    @property
    def standing(self) -> Standing:
        self.n_asked += 1
        return Standing("recording", self.n_asked, 0.0, 0)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "TICK_S", 0.01)


def wait_for(what: Any) -> None:
    end = time.monotonic() + 10
    while not what():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.usefixtures("fast")
def test_a_thread_tells_until_the_block_ends_or_fails_and_is_gone_then() -> None:
    before = threading.active_count()
    line, capture = Heard(), Capturing()
    with pytest.raises(KeyboardInterrupt), following(capture, line):  # type: ignore[arg-type]
        wait_for(lambda: len(line.texts) > 3)
        raise KeyboardInterrupt
    assert threading.active_count() == before
    assert line.texts[:3] == [f"tfprof: recording, step {n}" for n in (1, 2, 3)]
    assert line.texts[-1] == "tfprof: reading"


@pytest.mark.usefixtures("fast")
def test_a_line_that_fails_disturbs_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(Heard):
        def say(self, text: str) -> None:
            super().say(text)
            raise OSError("the front end is gone")

    line, capture = Broken(), Capturing()
    with following(capture, line):  # type: ignore[arg-type]
        wait_for(lambda: len(line.texts) > 1)
        time.sleep(0.05)
    assert len(line.texts) == 3
    assert capsys.readouterr().err == ""


def test_where_nobody_looks_there_is_no_thread_and_nothing_is_asked() -> None:
    capture = Capturing()
    before = threading.active_count()
    with following(capture, StatusLine()):  # type: ignore[arg-type]
        assert threading.active_count() == before
    assert capture.n_asked == 0


class Terminal:
    """What is on the screen of a terminal, to which any number of streams write."""

    def __init__(self) -> None:
        self.lines = [""]
        self._column = 0

    def take(self, text: str) -> None:
        for letter in text:
            if letter == "\n":
                self.lines.append("")
                self._column = 0
            elif letter == "\r":
                self._column = 0
            else:
                line = self.lines[-1].ljust(self._column)
                self.lines[-1] = line[: self._column] + letter + line[self._column + 1 :]
                self._column += 1

    @property
    def screen(self) -> list[str]:
        return [line.rstrip() for line in self.lines]


class Stream(io.StringIO):
    """A stream to it."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._terminal.take(text)
        return len(text)


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


@contextlib.contextmanager
def written_to(terminal: Terminal) -> Iterator[None]:
    with contextlib.redirect_stdout(Stream(terminal)), contextlib.redirect_stderr(Stream(terminal)):
        yield


def test_a_terminal_has_one_line_that_is_rewritten_and_taken_away_with_all_that_streams_were_given(
    terminal: Terminal,
) -> None:
    with written_to(terminal):
        with progress.status_line() as line:
            line.begin("tfprof: recording, step 1,000")
            assert terminal.screen == ["tfprof: recording, step 1,000"]
            assert "write" in vars(sys.stdout)
            line.say("tfprof: reading")
            assert terminal.screen == ["tfprof: reading"]
        assert terminal.screen == [""]
        assert "write" not in {*vars(sys.stdout), *vars(sys.stderr)}


def test_what_the_program_prints_is_whole_and_above_the_line(terminal: Terminal) -> None:
    with written_to(terminal), TerminalLine() as line:
        line.begin("tfprof: recording")
        print("loss", 0.5)
        print("warning", file=sys.stderr)
        assert terminal.screen == ["loss 0.5", "warning", ""]
        line.say("tfprof: reading")
        assert terminal.screen == ["loss 0.5", "warning", "tfprof: reading"]
    assert terminal.screen == ["loss 0.5", "warning", ""]


def test_a_line_that_the_program_has_begun_is_left_alone(terminal: Terminal) -> None:
    with written_to(terminal), TerminalLine() as line:
        line.begin("tfprof: recording")
        print("\r 3/40 [=>...]", end="")
        line.say("tfprof: recording, step 3")
        assert terminal.screen == [" 3/40 [=>...]"]
        print("\r40/40 [=====]")
        line.say("tfprof: reading")
        assert terminal.screen == ["40/40 [=====]", "tfprof: reading"]


def test_what_is_written_past_python_takes_its_place(terminal: Terminal) -> None:
    with written_to(terminal), TerminalLine() as line:
        line.begin("tfprof: recording")
        terminal.take("I0000 profiler_session.cc:117] Profiler session initializing.\n")
    assert terminal.screen == ["I0000 profiler_session.cc:117] Profiler session initializing.", ""]


def test_a_narrow_terminal_has_no_second_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    with written_to(terminal), TerminalLine() as line:
        line.begin("tfprof: recording, step 12")
        assert terminal.screen == ["tfprof: rec"]


def test_a_stream_of_the_programs_own_keeps_the_way_it_writes(terminal: Terminal) -> None:
    def write(text: str) -> int:
        terminal.take(text.upper())
        return len(text)

    with written_to(terminal):
        own: Any = sys.stdout
        own.write = write
        with TerminalLine() as line:
            line.begin("tfprof: recording")
            print("loud")
            assert terminal.screen == ["LOUD", ""]
        assert own.write is write


def test_what_the_program_puts_over_the_line_stays_when_it_ends(terminal: Terminal) -> None:
    with written_to(terminal):
        stream: Any = sys.stdout
        other: Any = sys.stderr
        with TerminalLine() as line:
            line.begin("tfprof: recording")
            beneath = stream.write
            kept: list[str] = []

            def write(text: str) -> int:
                kept.append(text)
                return int(beneath(text))

            stream.write = write
            del other.write
        print("loss 0.5")
        assert terminal.screen == ["loss 0.5", ""]
        assert "".join(kept) == "loss 0.5\n"


@pytest.mark.parametrize("stream", [None, io.StringIO(), "closed"])
def test_without_an_open_terminal_there_is_nothing_to_see(monkeypatch: pytest.MonkeyPatch, stream: Any) -> None:
    if stream == "closed":
        stream = io.StringIO()
        stream.close()
    monkeypatch.setattr(progress, "kernel_shell", lambda: None)
    monkeypatch.setattr(sys, "stderr", stream)
    assert not progress.status_line().is_seen


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How much was done and how much there was of each bar when it was closed, in a process that somebody watches."""
    bars: list[tuple[int, int]] = []

    class Bar(tqdm.std.tqdm):  # type: ignore[type-arg, misc]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options | {"file": io.StringIO()})

        def close(self) -> None:
            if not self.disable:
                bars.append((self.n, self.total))
            super().close()

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    monkeypatch.setattr(progress, "_SLOW_S", 0.0)
    return bars


@pytest.mark.parametrize("n_done", [0, 11, 12])
def test_an_experiment_that_met_its_bound_of_time_ends_complete(closed: list[tuple[int, int]], n_done: int) -> None:
    with experiments.progress_of("input", Bounds(2, 10, 3), n_variants=2) as bar:
        for _ in range(n_done):
            bar.tell(1)
    assert closed == [(n_done, n_done)]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("ablate", "ablation"),
        ("without_callbacks", "callbacks"),
        ("input_only", "input"),
        ("batch_sizes", "batch sizes"),
    ],
)
def test_the_bar_of_an_experiment_says_what_is_measured(name: str, title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def bar(what: str, **_: Any) -> Progress:
        raise KeyError(what)

    monkeypatch.setattr(experiments, "Progress", bar)
    with pytest.raises(KeyError, match=f"^'{title}'$"):
        experiments.measured(name, lambda _: [], Bounds(2, 10, 3), (), 1, lambda _: "")


def test_what_failed_ends_where_it_failed_of_all_that_turned_out_to_be_there(closed: list[tuple[int, int]]) -> None:
    with pytest.raises(KeyError), experiments.progress_of("input", Bounds(2, 10, 3), n_variants=2) as bar:
        bar.tell(0, 100)
        bar.tell(5, 20)
        raise KeyError
    assert closed == [(5, 132)]


def test_what_is_quick_or_seen_by_nobody_has_no_bar(
    closed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress("quick", unit="rows", total=1, after_s=60) as bar:
        bar.tell(1)
    monkeypatch.setattr(progress, "is_watched", lambda: False)
    with Progress("unseen", unit="rows", total=1) as bar:
        bar.tell(1)
    assert closed == []


def test_a_terminal_is_watched_and_a_file_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "kernel_shell", lambda: None)
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal, raising=False)
        assert progress.is_watched() is is_terminal
