"""Captures one after another in one process, as in a notebook's kernel: what each leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario

pytestmark = [pytest.mark.tensorflow, pytest.mark.nightly]


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    return run_scenario("""
        import ctypes, psutil, weakref
        import tfprof_widgets as tfprof
        from tfprof_widgets.show import close_unseen

        x, y = arrays(5)
        trained = model()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)
        folders = [pathlib.Path(os.environ["TMPDIR"]), pathlib.Path("/dev/shm")]

        def files():
            return {str(path) for folder in folders for path in folder.glob(f"tfprof-*-{os.getpid()}-*")}

        def captured():
            with tfprof.profile() as profile:
                trained.fit(x, y, **FIT)
            for table in ("steps", "ops", "layers", "source_lines"):
                getattr(profile, table)
            dashboard = profile.dashboard()
            dashboard._repr_mimebundle_()
            close_unseen(dashboard.shown_data())
            return [weakref.ref(each) for each in (profile, profile.capture, profile.trace)]

        captured()
        gc.collect()
        threads, kept = set(threading.enumerate()), files()
        sizes, alive = [], []
        for _ in range(6):
            alive += captured()
            gc.collect()
            trim(0)
            sizes.append(psutil.Process().memory_info().rss)
        out["alive"] = sum(each() is not None for each in alive)
        out["threads"] = [thread.name for thread in set(threading.enumerate()) - threads]
        out["files"] = sorted(files() - kept)
        out["growth"] = sizes[-1] - sizes[2]
    """)


def test_no_profile_outlives_the_last_reference_to_it(run: dict[str, Any]) -> None:
    assert run["alive"] == 0


def test_no_thread_and_no_file_is_left(run: dict[str, Any]) -> None:
    assert run["threads"] == []
    assert run["files"] == []


def test_memory_stays_flat(run: dict[str, Any]) -> None:
    assert run["growth"] < 15 * 2**20
