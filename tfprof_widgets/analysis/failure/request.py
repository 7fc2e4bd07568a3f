"""The message of an exception about memory -> what was asked for, of which allocator, by which op."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ...trace.dtypes import ITEM_BYTES

_TENSOR = re.compile(
    r"when allocating tensor with shape ?\[(?P<shape>[^\]]{0,400})\] and type (?P<dtype>\w+) on (?P<device>\S+)"
    r"(?: by allocator (?P<allocator>[^\[\n]{1,400}))?"
)
_ARRAY = re.compile(
    r"Unable to allocate .{1,40}? for an array with shape \((?P<shape>[^)]{0,400})\) and data type (?P<dtype>\S+)"
)
_BYTES = re.compile(
    r"(?:trying to allocate|[Ff]ailed to allocate request for [^(\n]{0,40}\(|[Ff]ailed to allocate) ?(\d{1,18}) ?(?:bytes|B\))"
)
_ORDINAL = re.compile(r"on device ordinal (\d{1,4})")
_NODE = re.compile(r"\{\{node ([^}\n]{1,400})\}\}")
_EAGER = re.compile(r"\[Op:([^\]\s]{1,200})\]")
_WRAPPED = re.compile(r"function_node __wrapped__\w{1,200}?_device_(\S{1,200}?)\}\}")
_COPY = re.compile(r"copying input tensor from \S+ to (\S+) in order to run (\w+)")
_SIZES = ITEM_BYTES | {"float": 4, "double": 8, "half": 2, "float128": 16, "longdouble": 16, "datetime64": 8}
"""Bytes of an element, by TensorFlow's names and by NumPy's."""
_MAX_BYTES = 2**63


@dataclass(frozen=True, kw_only=True)
class FailedRequest:
    """The request that failed, as far as the message tells it."""

    requested_bytes: float
    """NaN where neither a size nor a shape with its type is told; without what an allocator adds to fill its blocks."""
    shape: tuple[int, ...] | None
    """None where it is not told; () is that of a number."""
    dtype: str
    """As TensorFlow or NumPy call it."""
    op: str
    """Name of the op in its graph, or the type of one that Python called; "" where it is not told."""
    allocator: str
    device: str
    """Short, such as "GPU:0"; "" where it is not told."""
    first_line: str

    @property
    def is_vague(self) -> bool:
        """Whether the message tells neither a size, nor an op, nor an allocator."""
        return math.isnan(self.requested_bytes) and not self.op and not self.allocator


def parse_failure(text: str) -> FailedRequest:
    """Read what TensorFlow, XLA or NumPy say; of another text its first line remains."""
    found = _TENSOR.search(text) or _ARRAY.search(text)
    named = found.groupdict() if found else {}
    shape = _shape(named["shape"]) if found else None
    dtype = named.get("dtype", "")
    told = _BYTES.search(text)
    copied = _COPY.search(text)
    wrapped = _WRAPPED.search(text)
    device = named.get("device") or (copied[1] if copied else wrapped[1] if wrapped else "")
    ordinal = _ORDINAL.search(text)
    node, eager = _NODE.search(text), _EAGER.search(text)
    op = node[1] if node else copied[2] if copied else eager[1] if eager else ""
    return FailedRequest(
        requested_bytes=float(told[1]) if told and not found else _bytes(shape, dtype),
        shape=shape,
        dtype=dtype,
        # The function that Keras made is no op that anybody knows.
        op="" if op.startswith("__inference_") else op,
        allocator=(named.get("allocator") or "").strip(),
        device=_short(device) or (f"GPU:{ordinal[1]}" if ordinal else ""),
        first_line=next((line.strip() for line in text.splitlines() if line.strip()), ""),
    )


def _shape(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        return None
    return tuple(int(part) for part in parts)


def _bytes(shape: tuple[int, ...] | None, dtype: str) -> float:
    size = _SIZES.get(dtype.partition("[")[0])
    if shape is None or size is None:
        return math.nan
    n_bytes = math.prod(shape) * size
    return float(n_bytes) if n_bytes <= _MAX_BYTES else math.nan


def _short(device: str) -> str:
    """`GPU:0` for `/job:localhost/replica:0/task:0/device:GPU:0`."""
    return device.rpartition("device:")[2] if "device:" in device else ""
