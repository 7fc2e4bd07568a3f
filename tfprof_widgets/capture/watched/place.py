"""A thread that trains -> the user's line that it is at, in words: `Cell [12], line 8, in on_train_batch_end`."""

from __future__ import annotations

from ..source.line_sampler import user_place
from ..source.running_frames import running_frames
from ..source.source_files import title_of


def place_of(thread_id: int) -> str:
    """Where a thread is; "" where no frame of it is the user's."""
    found = user_place(running_frames().get(thread_id))
    if found is None:
        return ""
    code, line = found
    return f"{title_of(code.co_filename)}, line {line}, in {code.co_name}"
