"""What a capture holds until its lines are asked for: what became of the program meanwhile changes nothing, or is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.capture.scenario import run_scenario
from tests.warm_process import run_python

pytestmark = pytest.mark.tensorflow

PROGRAM = """
from tensorflow.python.eager.polymorphic_function.atomic_function import RUNTIME_FUNCTION_REFS

def of_graph(source_map, name):
    graphs = source_map.functions.index[source_map.functions["graph"] == name]
    return source_map.ops[source_map.ops["graph"].isin(graphs)]

def lines(source_map, type_):
    '''The lines of the innermost frames of all ops of a type.'''
    frames = source_map.ops["frame"][source_map.ops["type"] == type_]
    return source_map.frames["line"][frames[frames >= 0]].tolist()

def names():
    return {name.decode() for _, name in RUNTIME_FUNCTION_REFS}
"""


def test_a_function_that_is_gone_is_read_as_one_that_lives() -> None:
    out = run_scenario(
        PROGRAM
        + """
found = {}
for is_kept in (True, False):
    weight = tf.ones((4, 4))
    @tf.function
    def inner(x):
        return tf.nn.relu(x)
    @tf.function
    def outer(x):
        x = tf.cond(tf.reduce_sum(x) > 0, lambda: inner(tf.matmul(x, weight)), lambda: x)
        return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.tanh(x)), (0, x))[1]
    capture = started()
    outer(tf.ones((2, 4)))
    program = capture.stop().program
    if not is_kept:
        del outer, inner
        gc.collect()
        out["held"] = program.held_bytes
    one = found[is_kept] = program.read()
    out["after"] = program.held_bytes
alive, dead = found[True], found[False]
# What the function does not need is not in its definition.
out["ops"] = [sorted(set(zip(one.ops["op"], one.ops["type"])) - {("cond/MatMul/b", "Const"), ("cond/input_0", "Const")})
              for one in (alive, dead)]
out["lines"] = [[lines(one, type_) for type_ in ("MatMul", "Relu", "Tanh")] for one in (alive, dead)]
out["shapes"] = [sorted(one.details["output_shapes"][one.ops["type"].isin(["Tanh", "Relu"])]) for one in (alive, dead)]
out["flops"] = [int(one.details["float_ops"].sum()) for one in (alive, dead)]
out["graphs"] = [len(one.functions) for one in (alive, dead)]
"""
    )
    assert out["held"] > 1000
    assert out["after"] == 0
    for name in ("ops", "lines", "shapes", "flops", "graphs"):
        alive, dead = out[name]
        assert alive == dead, name
    assert all(out["lines"][0])


@pytest.mark.parametrize("change", ["del runtime.RUNTIME_FUNCTION_REFS", "runtime.RUNTIME_FUNCTION_REFS = {b'f': 1}"])
def test_a_tensorflow_that_does_not_count_is_read_as_far_as_functions_live(change: str) -> None:
    out = run_scenario(
        f"""
from tfprof_widgets.capture import graphs as held_functions
import types
runtime = types.ModuleType("other")
runtime.RUNTIME_FUNCTION_REFS = {{}}
{change}
sys.modules["other"], held_functions._RUNTIME = runtime, "other"
@tf.function
def f(x):
    return tf.sin(x)
capture = started()
f(tf.ones(3))
one = capture.stop().program.read()
out.update(types=one.ops["type"].tolist(), notices=one.warnings)
"""
    )
    assert "Sin" in out["types"]
    assert out["notices"] == []


def test_only_what_ran_is_read() -> None:
    out = run_scenario(
        PROGRAM
        + """
@tf.function
def early(x):
    return tf.sin(x)
@tf.function
def ran(x):
    return tf.cos(x)
early(tf.ones(3))
program = (capture := started()) and [ran(tf.ones(3)), ran(tf.ones(4))] and capture.stop().program
@tf.function
def ran(x):
    return tf.tan(x)
ran(tf.ones(3))
out["graphs"] = program.read().functions["graph"].tolist()
out["types"] = sorted(set(program.read().ops["type"]))
"""
    )
    assert out["graphs"] == ["ran", "ran"], "two shapes"
    assert "Cos" in out["types"]
    assert not {"Sin", "Tan"} & set(out["types"])


def test_graphs_of_sessions_and_imported_ones_are_read_and_later_ones_are_not() -> None:
    out = run_scenario(
        PROGRAM
        + """
v1 = tf.compat.v1
@tf.function
def inner(x):
    return tf.sin(x)
with tf.Graph().as_default() as graph:
    tf.identity(inner(v1.placeholder(tf.float32, 3, name="x")), name="y")
definition = graph.as_graph_def()
imported = v1.wrap_function(lambda x: v1.import_graph_def(definition, {"x": x}, ["y:0"]), [tf.TensorSpec(3)])
with tf.Graph().as_default() as graph:
    tf.cos(v1.import_graph_def(definition, {"x": v1.placeholder(tf.float32, 3, name="x")}, ["y:0"])[0], name="z")
capture = started()
imported(tf.ones(3))
with v1.Session(graph=graph) as session:
    session.run("z:0", {"x:0": [1, 2, 3]})
program = capture.stop().program
with tf.Graph().as_default() as later:
    tf.tan(v1.placeholder(tf.float32, 3, name="x"), name="z")
one = program.read()
out["warnings"] = one.warnings
out["types"] = sorted(set(one.ops["type"]) & {"Cos", "Tan", "PartitionedCall"})
"""
    )
    assert out == {"warnings": [], "types": ["Cos", "PartitionedCall"]}


@pytest.mark.parametrize("how", ["del made", "del made; keras.backend.clear_session()"])
def test_a_model_that_is_gone_keeps_its_layers_and_one_of_the_same_names_does_not_take_its_place(how: str) -> None:
    out = run_scenario(
        PROGRAM
        + f"""
import functools
def build(kind, size):
    net = keras.Sequential([keras.Input((4,)), kind(size, name="first"), keras.layers.Dense(1, name="last")], name="net")
    net.compile("sgd", "mse")
    return net
made = build(keras.layers.Dense, 6)
capture = started()
made.fit(*arrays(4), **FIT)
program = capture.stop().program
{how}
gc.collect()
made = build(functools.partial(keras.layers.Dense, use_bias=False), 9)
made.fit(*arrays(4), **FIT)
one = program.read()
out["layers"] = one.layers[one.layers["model"] == "net"][["layer", "class_name"]].to_numpy().tolist()
out["shapes"] = one.variables.set_index("name")["shape"].to_dict()
out["lines"] = len(lines(one, "MatMul"))
out["notices"] = one.warnings
"""
    )
    assert [path for path in out["layers"] if "input" not in path[0]] == [
        ["net", "Sequential"],
        ["net/first", "Dense"],
        ["net/last", "Dense"],
    ]
    assert out["shapes"].get("net/first/kernel") == "4x6", out["shapes"]
    assert "net/first/bias" in out["shapes"], "the later model has none"
    assert out["lines"] > 0


def test_models_that_are_gone_cost_those_that_are_left_nothing() -> None:
    out = run_scenario(
        PROGRAM
        + """
class Window(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        window.append(capture.stop().program)
def trained(name, *callbacks):
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, name="last")], name=name)
    made.compile("sgd", "mse")
    made.fit(*arrays(2), callbacks=[*callbacks], **FIT)
def forget():
    keras.backend.clear_session()
    gc.collect()
window = []
capture = started()
trained("gone")
forget()
trained("trains", Window())
forget()
one = window[0].read()
out.update(layers=one.layers["layer"].tolist(), notices=[text for text in one.warnings if "Layers" in text])
"""
    )
    assert {"gone/last", "trains/last"} <= set(out["layers"])
    assert out["notices"] == []


def test_what_reads_which_variable_is_told_or_said_to_be_unknown() -> None:
    out = run_scenario(
        PROGRAM
        + """
for name in ("alive", "dead"):
    made = model()
    capture = started()
    made.fit(*arrays(2), **FIT)
    program = capture.stop().program
    if name == "dead":
        del made
        keras.backend.clear_session()
        gc.collect()
    one = program.read()
    reads = one.details[one.details["op"].isin(one.ops.index[one.ops["type"] == "ReadVariableOp"])]
    out[name] = [bool((reads["variable"] >= 0).any()), one.warnings]
"""
    )
    assert out["alive"] == [True, []]
    is_known, notices = out["dead"]
    assert is_known or "which variables they use is not known" in notices[0]


def test_what_is_held_goes_when_it_is_read_or_when_the_record_goes() -> None:
    out = run_scenario(
        PROGRAM
        + """
def captured():
    function = tf.function(lambda x: tf.sin(x) + 1)
    capture = started()
    function(tf.ones(3))
    record = capture.stop()
    name = function.get_concrete_function(tf.ones(3)).name.decode()
    del function, capture
    gc.collect()
    return record, name
record, name = captured()
out["read"] = [name in names(), record.program.read() is not None and name in names()]
record, name = captured()
out["gone"] = [name in names()]
del record
gc.collect()
out["gone"].append(name in names())
kept = tf.function(lambda x: tf.cos(x))
capture = started()
kept(tf.ones(3))
capture.stop().program.read()
out["works"] = float(kept(tf.zeros(3))[0])
"""
    )
    assert out == {"read": [True, False], "gone": [True, False], "works": 1.0}


def test_a_fork_does_not_read_the_program_of_its_parent() -> None:
    out = run_scenario(
        """
made = model()
capture = started()
made.fit(*arrays(2), **FIT)
program = capture.stop().program
receiver, sender = os.pipe()
held, go_on = threading.Event(), threading.Event()
def reading():
    with program._lock:
        held.set()
        go_on.wait()
threading.Thread(target=reading).start()
held.wait()
gc.collect()
gc.disable()  # TensorFlow's objects must not be freed in a fork: its threads, for which they wait, are not there
if not os.fork():
    one = program.read()
    os.write(sender, json.dumps([one.is_empty, one.warnings]).encode())
    os._exit(0)
os.wait()
out["child"] = json.loads(os.read(receiver, 10_000))
go_on.set()
out["parent"] = len(program.read().ops)
"""
    )
    is_empty, (warning,) = out["child"]
    assert is_empty
    assert "fork" in warning
    assert out["parent"] > 0


@pytest.mark.parametrize("end", ["", "raise RuntimeError"])
def test_a_log_directory_has_the_lines_when_the_process_ends_and_nobody_asked(tmp_path: Path, end: str) -> None:
    run_python(
        f"""
import sys
import numpy as np, keras, tfprof_widgets as tfprof
def main():
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    with tfprof.profile(logdir={str(tmp_path)!r}):
        made.fit(np.ones((32, 4)), np.ones((32, 1)), verbose=0)
main()
from pathlib import Path
assert not list(Path({str(tmp_path)!r}).rglob("tfprof.sources*"))
{end}
"""
    )
    out = run_scenario(
        f"""
import tfprof_widgets as tfprof
prof = tfprof.load({str(tmp_path)!r})
out["lines"] = prof.source_lines["line"].tolist()
out["layers"] = prof.layers["layer"].tolist()
"""
    )
    assert out["lines"]
    assert any("dense" in layer for layer in out["layers"])


def test_many_captures_in_a_log_directory_do_not_all_wait_for_the_exit(tmp_path: Path) -> None:
    out = run_scenario(
        PROGRAM
        + f"""
from tfprof_widgets.capture import captured as captured_program
captured_program.MAX_WAITING = 1
out["written"], out["held"] = [], []
for i in range(4):
    capture = started(logdir={str(tmp_path)!r})
    function = tf.function(lambda x: tf.sin(x) + 1)
    function(tf.ones(3))
    capture.stop()
    del function, capture
    gc.collect()
    out["held"].append(len([name for name in names() if "lambda" in name]))
    out["written"].append(len(list(pathlib.Path({str(tmp_path)!r}).rglob("tfprof.sources*"))))
"""
    )
    assert out == {"written": [0, 0, 1, 2], "held": [1, 2, 2, 2]}
    assert len(list(tmp_path.rglob("tfprof.sources*"))) == 4, "at the exit"
