"""RunMetadata of one or several steps, the graph and tfprof's log -> a Trace and an `OpGraph`."""

from __future__ import annotations

from collections.abc import Mapping

from ...trace.op_graph import OpGraph
from ...trace.trace import Trace
from .graph_def import graph_nodes, read_graph_def
from .op_log import read_op_log
from .run_metadata_graph import op_graph_of
from .run_metadata_trace import step_trace
from .step_stats import read_step_stats


def read_run_metadata(
    steps: Mapping[int, bytes], *, graph: bytes | None = None, op_log: bytes | None = None
) -> tuple[Trace, OpGraph]:
    """Read what a session of TensorFlow 1 noted of its runs.

    Args:
        steps: from the number of each step to the bytes of its RunMetadata, or of its bare StepStats.
        graph: the bytes of the GraphDef, best of `graph.as_graph_def(add_shapes=True)`; without it types and edges come
            from what the executions are labelled with, and from the graphs of partitions where the session noted them.
        op_log: the bytes of an OpLogProto (`tfprof_log`): float operations, call stacks, trainable variables.

    Raises:
        EmptyTraceError: a message is empty, or holds no step stats.
        TraceError: some bytes are not what they should be; the message says which, and at which byte.
    """
    stats = read_step_stats(steps)
    nodes = read_graph_def(graph) if graph else None
    if nodes is None and stats.partitions:
        nodes = graph_nodes(stats.partitions)
    return step_trace(stats), op_graph_of(stats, nodes, read_op_log(op_log))
