"""What traces and HLO's metadata say of a framework op -> name and type as TensorFlow's own graph has them.

framework_op("jit(train)/jit(main)/dense/dot_general", "") -> ("dense/dot_general", "dot_general")
"""

from __future__ import annotations

import re
from functools import lru_cache

from .op_names import parse_op_name

_WRAPPERS = re.compile(r"\A(?:(?:p?jit|xla_call|pmap)\([^()/]*\)/|(?:__|a_)?inference_[^/]*/|cluster_\d+(?:_\d+)*/)+")
"""What the compiler puts around a whole program: scopes of no layer."""
CALL = re.compile(r"(?:Stateful)?PartitionedCall(?:_\d+)?|replica_\d+")
"""What the call of a function puts before the names of ops in it, and the copy of a model on one device."""
_BODY = r"(?P<flow>[^/]+)/(?:then|else|body|cond|branch\d*)/_\d+/(?:(?P=flow)/)?"
"""The same of the inlined body of a condition or loop: `cond/then/_7/cond/`."""
_CALLS = re.compile(rf"(?:(?:{CALL.pattern})/)*(?:{_BODY})?")


def without_calls(op_name: str) -> str:
    """The name of an op in its function: `dense/MatMul` of `StatefulPartitionedCall/dense/MatMul`."""
    return _CALLS.sub("", op_name, count=1)


@lru_cache(maxsize=65536)
def framework_op(op_name: str, op_type: str) -> tuple[str, str]:
    """Name and type of a framework op.

    The name is that of the node in the traced graph, scopes included; an uncompiled run shows it behind the name of the
    op that called the function (`StatefulPartitionedCall/dense/MatMul`). Of several names that a compiler pass joined by
    `;` the first counts. Without a type it is derived from the name as in semantics 1.7.
    """
    name = op_name.partition(";")[0].strip().rstrip(":")
    name = _WRAPPERS.sub("", name) or name
    _, kind, _ = parse_op_name.__wrapped__(f"{name}:{op_type}")  # kept here, and asked for nowhere else
    return name, kind or op_type or "Unknown"
