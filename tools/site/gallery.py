"""Captures in `tests/data` -> the self-contained pages of the gallery, as a user would export them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tfprof_widgets as tfprof
from tests.captures import committed

TITLES = {
    "h100_resnet_mixed": "ResNet50, mixed precision, one H100",
    "h100_cnn_input": "A small CNN behind a slow map, one H100",
    "h100_transformer_loop": "A transformer in a loop of its own, one H100",
    "h100_lstm": "Two LSTM layers, one H100",
    "h100_oom": "ResNet50 that runs out of memory",
    "v100": "BERT on eight V100, two of them busy",
    "keras_fit": "Keras fit on a CPU",
    "h100_resnet_xla": "ResNet50, mixed precision, compiled by XLA, one H100",
}
PROFILES = tuple(name for name in TITLES if name != "h100_resnet_xla")
"""Each is a page of its own."""
COMPARISON = ("h100_resnet_mixed", "h100_resnet_xla")
"""The same network before and after compilation."""
COMPARISON_PAGE = "comparison"
PAGES = (*PROFILES, COMPARISON_PAGE)
MOST_BYTES = 3_000_000


def load_capture(name: str, folder: Path) -> tfprof.Profile:
    """Open a capture of `tests/data`, unpacked in a folder of its own below `folder`."""
    run = folder / name
    if not run.exists():
        committed.unpack(name, run)
    profile = tfprof.load(run)
    profile.title = TITLES[name]
    return profile


def write_pages(folder: Path) -> Iterator[Path]:
    """Write `NAME.html` for each of `PAGES`.

    Raises:
        ValueError: a page has grown beyond what a reader should have to fetch.
    """
    profiles = {name: load_capture(name, folder) for name in {*PROFILES, *COMPARISON}}
    shown = {name: profiles[name] for name in PROFILES}
    for name, one in [*shown.items(), (COMPARISON_PAGE, tfprof.diff(*(profiles[name] for name in COMPARISON)))]:
        path = Path(one.to_html(folder / f"{name}.html"))
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(
                f"{path.name} has {path.stat().st_size:,} bytes; a page of the gallery has {MOST_BYTES:,}."
            )
        yield path
