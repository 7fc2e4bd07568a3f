"""A folder -> what a stranger's first minutes need: import, capture, dashboard and page, each in seconds, printed as JSON.

Run by a Python that has the package and TensorFlow and nothing of this checkout.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

LEAST_PAGE_BYTES = 150_000


def main(folder: Path) -> None:
    """Train, capture, show and write a page, as the README does; an assertion says what is missing."""
    told: dict[str, float] = {}
    begin = time.perf_counter()

    def note(name: str) -> None:
        nonlocal begin
        told[name] = time.perf_counter() - begin
        begin = time.perf_counter()

    import tfprof_widgets as tfprof

    note("import_s")
    import keras
    import tensorflow as tf

    note("import_tensorflow_s")
    data = tf.data.Dataset.from_tensors((tf.ones((32, 64)), tf.ones((32, 1)))).repeat(50)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(128), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data, verbose=0)
    note("first_epoch_s")
    with tfprof.profile() as prof:
        model.fit(data, verbose=0)
    note("captured_epoch_s")
    assert len(prof.steps) == 50
    assert prof.overview.verdict
    note("analysis_s")
    assert prof.dashboard().model_id
    note("dashboard_s")
    page = prof.to_html(folder / "page.html")
    note("page_s")
    told["page_bytes"] = page.stat().st_size
    assert told["page_bytes"] > LEAST_PAGE_BYTES
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
