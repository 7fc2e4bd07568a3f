"""A drawn run folder in which every view has something to show: kernels, copies, an XLA program, layers and source lines."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.browser.drawings import CLOSING, MARKUP, N_STEPS, STEP_US, memory, training
from tests.builders import Event, event, line, plane, session, space
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tfprof_widgets.read import SIDECAR

PROGRAM_ID = 1


@dataclass(frozen=True)
class Words:
    """The texts of a run, which may be anything."""

    layer: str = "dense"
    op_type: str = "MatMul"
    kernel: str = "volta_sgemm_128x64"
    hlo: str = "dot.1"
    program: str = "jit_step"
    code: str = "x = dense(x)"
    function: str = "train_step"
    title: str = "train.py"
    class_name: str = "Dense"
    marker: str = "train"
    iterator: str = "Iterator::Root::Map"
    allocator: str = "GPU_0_bfc"
    host: str = "worker-0"

    @property
    def op(self) -> str:
        """The op that all views know."""
        return f"net/{self.layer}/MatMul"


PLAIN = Words()
HOSTILE = Words(
    layer=MARKUP,
    # A name that TensorFlow would refuse still is an op when its type is in lower case (semantics 1.7, rule 4).
    op_type="fused",
    kernel=f"{MARKUP}kernel",
    hlo=f"{MARKUP}hlo",
    program=CLOSING,
    code=f"x = '{CLOSING}{MARKUP}'",
    function=MARKUP,
    title=f"{MARKUP}.py",
    class_name=CLOSING,
    marker=f"train {CLOSING}",
    iterator=f"Iterator::Root::{MARKUP}",
    allocator=MARKUP,
    host=MARKUP,
)
OTHER = "net/conv/Conv2D"
"""The other op, in another layer and on another line."""


def write_run(folder: Path, words: Words) -> Path:
    """Write the trace of eight steps and the notes beside it; the folder is what `load` takes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "host.xplane.pb").write_bytes(_trace(words))
    (folder / SIDECAR).write_bytes(gzip.compress(json.dumps(_notes(words)).encode()))
    return folder


def _trace(words: Words) -> bytes:
    host = [
        training(words.marker, words.op, OTHER, words.iterator),
        line(CLOSING if words == HOSTILE else "xla", *_compiled(words)),
        *memory(OTHER, words.op, words.allocator),
    ]
    streams = (line("Stream #7(Compute)", *_kernels(words)), line("Stream #8(MemcpyH2D)", *_copies(words)))
    device = plane("/device:GPU:0", *streams, device_vendor="Nvidia")
    program = module(
        words.program,
        computation(
            "main",
            instruction("p", "parameter"),
            instruction(words.hlo, "dot", reads="p p", op=f"{words.op}:{words.op_type}", source=f"{words.title}:2"),
            instruction("conv.2", "convolution", reads="p p", op=f"{OTHER}:Conv2D"),
        ),
    )
    duration_us = N_STEPS * STEP_US
    return space(
        session(duration_us=duration_us),
        metadata_plane({PROGRAM_ID: program}),
        plane("/host:CPU", *host),
        device,
        hostnames=[words.host],
    )


def _kernels(words: Words) -> list[Event]:
    details = "regs:32 static_shared:0 dynamic_shared:0 grid:1,2,3 block:4,5,6 occ_pct:62.5"
    events = []
    for i in range(N_STEPS):
        at = i * STEP_US
        ops = ((words.kernel, f"{words.op}:{words.op_type}"), ("conv_kernel", f"{OTHER}:Conv2D"))
        for k, (name, op) in enumerate(ops):
            events.append(event(name, at + 4500 + 1000 * k, 800, tf_op=op, kernel_details=details))
    return events


def _copies(words: Words) -> list[Event]:
    """What each step copies to the device for the op that all views know."""
    details = "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"
    ends = {"from": words.iterator, "to": words.op}
    return [event("MemcpyH2D", i * STEP_US + 4200, 100, memcpy_details=details, **ends) for i in range(N_STEPS)]


def _compiled(words: Words) -> list[Event]:
    names = (words.hlo, "conv.2")
    return [
        event(name, i * STEP_US + 7000 + 500 * k, 400, hlo_op=name, hlo_module=words.program, program_id=PROGRAM_ID)
        for i in range(N_STEPS)
        for k, name in enumerate(names)
    ]


def _notes(words: Words) -> dict[str, Any]:
    """What a capture notes of a program of three lines, the second of which makes `words.op` and the third `OTHER`."""
    text = f"def train_step(x):\n    {words.code}\n    return conv(x)\n"
    return {
        "version": 1,
        "recorder": "a",
        "ops": {"graph": [0, 0], "op": [words.op, OTHER], "type": [words.op_type, "Conv2D"], "frame": [0, 1]},
        "frames": {"parent": [-1, -1], "file": [0, 0], "line": [2, 3], "function": [words.function] * 2},
        "files": {"file": [f"/home/{words.title}"], "title": [words.title], "is_user": [True], "text": [text]},
        "layers": {
            "layer": ["net", f"net/{words.layer}", "net/conv"],
            "name": ["net", words.layer, "conv"],
            "class_name": ["Sequential", words.class_name, "Conv2D"],
            "model": ["net"] * 3,
            "file": [0] * 3,
            "line": [1, 2, 3],
        },
        "functions": {"graph": ["step"], "file": [0], "line": [1], "function": [words.function]},
        "samples": {"time_ns": [], "frame": []},
        "notices": [],
    }
