"""A graph of TensorFlow 1 -> its GraphDef, and the log that TensorFlow's first profiler makes of it, as bytes."""

from __future__ import annotations

import logging
from typing import Any

from ..source.graph_flops import without_deprecations

_logger = logging.getLogger(__name__)


def graph_bytes(graph: Any) -> bytes:
    """The GraphDef of a `tf.Graph`, with the shapes that are known.

    Raises:
        ValueError: the graph takes more than the 2 GiB that a GraphDef can hold.
    """
    return bytes(graph.as_graph_def(add_shapes=True).SerializeToString())


def op_log_bytes(graph: Any, run_metadata: bytes = b"", op_log: bytes = b"") -> bytes:
    """The op log of a `tf.Graph`: call stacks, trainable variables, and float operations by registered statistics.

    Args:
        graph: the graph. It is not changed, unlike by TensorFlow's own functions, which write shapes into it.
        run_metadata: what one run noted; its shapes complete those that the graph leaves open.
        op_log: a log of the user's own (types and float operations by op), which is extended.
    """
    from tensorflow.core.profiler import tfprof_log_pb2
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.profiler import tfprof_logger

    given = tfprof_log_pb2.OpLogProto.FromString(op_log)
    for entry in given.log_entries:
        entry.ClearField("code_def")  # its texts are numbered by a table that the new log does not have
    run = config_pb2.RunMetadata.FromString(run_metadata)
    with without_deprecations():
        counted = _counted(graph, run, given) if run_metadata else given
        # Some metadata, if empty: without any TensorFlow writes to stderr of how many ops it knows no shape.
        whole = tfprof_logger.merge_default_with_oplog(graph, counted, config_pb2.RunMetadata())
    return bytes(whole.SerializeToString())


def _counted(graph: Any, run: Any, given: Any) -> Any:
    """The log with float operations, as far as the shapes of a run tell them, counted in a copy of the graph."""
    from tensorflow.python.framework import importer, ops
    from tensorflow.python.profiler import tfprof_logger

    try:
        copy = ops.Graph()
        with copy.as_default():
            importer.import_graph_def(graph.as_graph_def(), name="")
        return tfprof_logger.merge_default_with_oplog(copy, given, run, add_trace=False, add_trainable_var=False)
    except Exception:  # ops of libraries that are not loaded, graphs beyond 2 GiB: static shapes are left
        _logger.info("float operations are counted without the shapes of a run", exc_info=True)
        return given
