"""The metadata that a session of TensorFlow 1 returned -> a profile."""

from __future__ import annotations

import pytest

import tfprof_widgets as tfprof
from tests.unit.profiles.sessions import run
from tfprof_widgets.errors import TraceError

pytestmark = pytest.mark.tensorflow


def test_metadata_of_a_session_make_the_same_profile_as_messages_or_bytes() -> None:
    out = run(
        """
        graph, train = built()
        runs = {}
        with graph.as_default(), v1.Session() as running:
            running.run(v1.global_variables_initializer())
            for step in (3, 4):
                runs[step] = v1.RunMetadata()
                running.run(train, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=runs[step])
        made = tfprof.from_run_metadata(runs, graph=graph)
        out["steps"] = steps(made)
        ops = made.run.results.op_graph.ops.set_index("name")
        out["float_ops"] = int(ops.float_ops["Square"])
        from tensorflow.python.profiler import tfprof_logger
        whole = tfprof_logger.merge_default_with_oplog(built()[0], None, runs[3])
        wanted = {entry.name: entry.float_ops for entry in whole.log_entries if entry.float_ops}
        out["as_tfprof"] = ops.float_ops[ops.float_ops > 0].to_dict() == wanted
        as_bytes = {step: one.SerializeToString() for step, one in runs.items()}
        definition = graph.as_graph_def(add_shapes=True)
        a = tfprof.from_run_metadata(as_bytes, graph=definition).run.results.op_graph
        b = tfprof.from_run_metadata(runs, graph=definition.SerializeToString()).run.results.op_graph
        out["different"] = same(a, b)
        out["one"] = steps(tfprof.from_run_metadata(runs[3]))
        from tensorflow.core.profiler import tfprof_log_pb2
        log = tfprof_log_pb2.OpLogProto()
        log.log_entries.add(name="product", float_ops=7, types=["mine"])
        ops = tfprof.from_run_metadata(runs[3], graph=graph, op_log=log).run.results.op_graph.ops.set_index("name")
        out["own"] = [int(ops.float_ops["product"]), "mine" in ops.op_types["product"], bool(ops.frame["product"] >= 0)]
        """
    )
    assert out == {
        "steps": [3, 4],
        "float_ops": 16 * 4,
        "different": [],
        "one": [0],
        "as_tfprof": True,
        "own": [7, True, True],
    }


def test_what_is_no_metadata_is_told_of() -> None:
    with pytest.raises(TypeError, match="run_metadata is a int"):
        tfprof.from_run_metadata(3)
    with pytest.raises(TypeError, match="graph is a str"):
        tfprof.from_run_metadata(b"", graph="graph.pb")
    with pytest.raises(TypeError, match="no number of a step"):
        tfprof.from_run_metadata({"first": b""})
    for content in (b"", b"\xff" * 40, b"{}"):
        with pytest.raises(TraceError):
            tfprof.from_run_metadata(content)
