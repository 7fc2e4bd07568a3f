"""Names of source files: whose they are, what they are called, and their text where it can be read without waiting."""

from __future__ import annotations

import linecache
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from tfprof_widgets.capture import captured, cut_text, frames, is_user_file, text_of, title_of

ANY_TIME = 2**63


def test_files_of_the_user_are_told_from_those_of_libraries() -> None:
    for name in ("/home/me/a.py", "/tmp/ipykernel_12/345.py", "<ipython-input-3-abc>", "<string>", __file__):
        assert is_user_file(name), name
    for name in (threading.__file__, pytest.__file__, captured.__file__, "<frozen importlib._bootstrap>", ""):
        assert not is_user_file(name), name


def test_a_text_is_cut_between_lines() -> None:
    assert cut_text("aä\nbc\nd", 100) == "aä\nbc\nd"
    assert cut_text("aä\nbc\nd", 6) == "aä\n"
    assert cut_text("aä\nbc\nd", 0) == ""


def test_titles_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert title_of(str(tmp_path / "lib" / "a.py")) == "lib/a.py"
    assert title_of("/elsewhere/a.py") == "/elsewhere/a.py"
    assert title_of("/tmp/ipykernel_1/2.py") == "<cell>"
    assert title_of("/tmp/ipython-input-2211332.py") == "<cell>"
    assert title_of("<ipython-input-7-0123abcd>") == "Cell [7]"
    assert title_of("/tmp/ipython-input-7-221133.py") == "Cell [7]"


@pytest.mark.timeout(30)
def test_nothing_that_would_have_to_be_waited_for_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "noise.py").write_bytes(bytes(range(256)))
    (tmp_path / "folder.py").mkdir()
    for name in ("pipe.py", "loop.py", "noise.py", "folder.py"):
        assert text_of(str(tmp_path / name), ANY_TIME) == ""


def test_no_file_is_read_that_is_too_large_for_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large.py").write_text("x = 1\n" * 10)
    monkeypatch.setattr(frames, "MAX_READ_BYTES", 59)
    assert text_of(str(tmp_path / "large.py"), ANY_TIME) == ""
    monkeypatch.setattr(frames, "MAX_READ_BYTES", 60)
    assert text_of(str(tmp_path / "large.py"), ANY_TIME) == "x = 1\n" * 10


def test_a_file_that_changed_is_read_again_and_one_that_is_gone_is_remembered(tmp_path: Path) -> None:
    file = tmp_path / "mod.py"
    file.write_text("a = 1\n")
    assert text_of(str(file), ANY_TIME) == "a = 1\n"
    file.write_text("b = 1000\n")
    assert text_of(str(file), ANY_TIME) == "b = 1000\n"
    file.unlink()
    assert text_of(str(file), ANY_TIME) == "b = 1000\n"


def test_the_text_of_a_file_that_is_gone_is_empty() -> None:
    assert text_of("/nowhere/a.py", ANY_TIME) == ""


def test_a_cell_has_its_number_as_title(monkeypatch: pytest.MonkeyPatch) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        name = shell.compile.cache("x = 1\n", 7)
        assert title_of(name) == "Cell [7]"
        assert text_of(name, ANY_TIME) == "x = 1\n"
        assert is_user_file(name)
    finally:
        linecache.cache.pop(name, None)
        InteractiveShell.clear_instance()
    assert "IPython" in sys.modules


def test_a_text_that_was_written_later_is_not_taken_for_the_one_that_ran(tmp_path: Path) -> None:
    file = tmp_path / "mod.py"
    file.write_text("a = 1\n")
    ended_ns = time.time_ns()
    for kept, later_s in (("", 10), ("a = 1\n", 20)):
        linecache.clearcache()
        if kept:
            file.write_text(kept)
            os.utime(file, ns=(ended_ns - 10**7,) * 2)
            linecache.getlines(str(file))
        file.write_text("b = 1000\n")
        os.utime(file, ns=(ended_ns + later_s * 10**9,) * 2)
        assert text_of(str(file), ended_ns) == kept
        assert text_of(str(file), ANY_TIME) == "b = 1000\n"
