"""What is noted of the graphs and variables of a real program besides its lines."""

from __future__ import annotations

import pytest

from .scenario import run_scenario

pytestmark = pytest.mark.tensorflow

READ = """
import tempfile
from tfprof_widgets.capture import graphs as graph_details, frames as live_variables
from tfprof_widgets.capture import CapturedProgram
from tfprof_widgets.read import read_source_map
from tfprof_widgets.trace import parse_shapes

def noted(batch_size=0):
    folder = pathlib.Path(tempfile.mkdtemp())
    program = CapturedProgram()
    program.batch_size = batch_size
    program.end([folder], writes=False)
    program.write()
    return read_source_map(folder), " ".join(program.notices)

def details_of(source_map, kind):
    ops = source_map.ops.assign(row=range(len(source_map.ops)))
    joined = source_map.details.merge(ops, left_on="op", right_on="row", suffixes=("", "_name"))
    return joined[joined["type"] == kind]
"""


def test_edges_shapes_and_devices_are_those_of_the_graph() -> None:
    out = run_scenario(
        READ
        + """
@tf.function
def f(x):
    with tf.device("/CPU:0"):
        a = tf.sin(x, name="a")
    two = tf.constant(np.ones((4, 2), "f4"))
    with tf.control_dependencies([tf.cos(x, name="c")]):
        return tf.matmul(a, two, name="b")
f(tf.ones((3, 4)))
found, notice = noted()
out["notice"] = notice
names = found.ops["op"].tolist()
out["edges"] = sorted(
    [names[op], slot, names[source], output]
    for op, slot, source, output in found.edges.itertuples(index=False) if names[op] == "b"
)
(product,) = details_of(found, "MatMul").to_dict("records")
out["shapes"] = [product["input_shapes"], product["output_shapes"]]
out["float_ops"] = product["float_ops"]
out["dtype"] = product["dtype"]
out["device"] = details_of(found, "Sin")["device"].tolist()
"""
    )
    assert out == {
        "notice": "",
        "edges": [["b", 0, "a", 0], ["b", 1, "Const", 0], ["b", 2, "c", -1]],
        "shapes": ["3x4;4x2", "3x2"],
        "float_ops": 2 * 3 * 4 * 2,
        "dtype": "float32",
        "device": ["/device:CPU:0"],
    }


def test_what_reads_an_argument_says_which_but_of_variables() -> None:
    out = run_scenario(
        READ
        + """
weights = tf.Variable(tf.ones((4, 2)))
@tf.function
def f(x, y):
    return tf.matmul(y, weights, name="product"), tf.subtract(y, x, name="difference")
f(tf.ones((3, 4)), tf.ones((3, 4)))
found, _ = noted()
names = found.ops["op"].tolist()
out["edges"] = sorted(
    [names[op], slot, output] for op, slot, source, output in found.edges.itertuples(index=False) if source < 0
)
"""
    )
    assert out == {"edges": [["difference", 0, 1], ["difference", 1, 0], ["product", 0, 1]]}


def test_open_dimensions_are_those_of_a_batch_where_they_come_from_one() -> None:
    out = run_scenario(
        READ
        + """
@tf.function(input_signature=[tf.TensorSpec((None, 6, 4))])
def f(x):
    rows = tf.reshape(x, (-1, 4))
    return tf.matmul(rows, tf.ones((4, 2)), name="rows"), tf.matmul(x[:, 0] * 1.0, tf.ones((4, 2)), name="first")
f(tf.ones((5, 6, 4)))
for size in (0, 5):
    found, _ = noted(batch_size=size)
    products = details_of(found, "MatMul")
    out[str(size)] = dict(zip(products["op_name"], products["float_ops"].tolist()))
"""
    )
    assert out == {"0": {"rows": 0, "first": 0}, "5": {"rows": 2 * 30 * 4 * 2, "first": 2 * 5 * 4 * 2}}


def test_what_reads_a_variable_knows_it_also_within_loops_and_functions() -> None:
    out = run_scenario(
        READ
        + """
outer, inner = tf.Variable(tf.ones((2, 2)), name="outer"), tf.Variable(1.0, name="inner", trainable=False)
@tf.function
def deep(x):
    return x * inner
@tf.function
def f(x):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, deep(x) @ outer), (0, x))[1]
f(tf.ones((2, 2)))
found, _ = noted()
reads = details_of(found, "ReadVariableOp")
out["read"] = sorted(set(found.variables["name"][row] for row in reads["variable"] if row >= 0))
out["unknown"] = int((reads["variable"] < 0).sum())
out["variables"] = found.variables[["name", "shape", "trainable"]].to_dict("list")
"""
    )
    assert out == {
        "read": ["inner", "outer"],
        "unknown": 0,
        "variables": {"name": ["outer", "inner"], "shape": ["2x2", "()"], "trainable": [True, False]},
    }


def test_the_variables_of_models_are_their_weights_once_each() -> None:
    out = run_scenario(
        READ
        + """
L = keras.layers
shared = L.Dense(4, name="shared")
frozen = L.Dense(4, name="frozen", trainable=False)
encoder = keras.Sequential([L.Input((4,)), L.Dense(4, name="inner"), L.BatchNormalization(name="norm")], name="encoder")
x = L.Input((4,))
net = keras.Model(x, frozen(shared(shared(encoder(x))) + L.Dropout(0.5)(x)), name="net")
net.compile("adam", "mse", metrics=["mae"])
net.fit(np.ones((8, 4), "f4"), np.ones((8, 4), "f4"), **FIT)
own = tf.Variable(3.0, name="own")
found, _ = noted()
table = found.variables
out["n_params"] = sum(int(np.prod(parse_shapes(text)[0])) for text in table["shape"][table["layer"] != ""])
out["count"] = net.count_params()
out["layers"] = sorted(set(table["layer"]))
out["frozen"] = sorted(set(table["trainable"][table["layer"] == "net/frozen"].tolist()))
out["others"] = table["name"][table["layer"] == ""].tolist()
"""
    )
    assert out["n_params"] == out["count"]
    assert out["layers"] == ["", "net/encoder/inner", "net/encoder/norm", "net/frozen", "net/shared"]
    assert out["frozen"] == [False]
    assert out["others"] == ["own"]


def test_what_is_left_out_is_told_of() -> None:
    out = run_scenario(
        READ
        + """
kept = [tf.Variable(float(i), name=f"v{i}") for i in range(5)]
@tf.function
def f(x):
    return tf.sin(tf.sin(x)) * x + sum(kept)
f(tf.ones((3,)))
graph_details.MAX_EDGES, live_variables.MAX_VARIABLES = 3, 2
found, out["notice"] = noted()
out["n"] = [len(found.edges), len(found.variables)]
"""
    )
    assert "Of the edges between graph ops the first 3 of " in out["notice"]
    assert "The first 2 of 5 variables were read" in out["notice"]
    assert out["n"] == [3, 2]


def test_hostile_variables_layers_and_statistics_cost_nothing_but_themselves() -> None:
    out = run_scenario(
        READ
        + """
class Hostile:
    _trainable_variables = 3
    def __getattr__(self, name):
        raise SystemExit(name)
class Layer(keras.layers.Layer):
    def __init__(self):
        super().__init__(name="<b>&")
        self.w = self.add_weight(shape=(2,), name='"<script>')
        self.__dict__["_layers"] = [self, Hostile(), 3]
layer = Layer()
class Subclass(type(tf.Variable(1.0))):
    @property
    def name(self):
        raise SystemExit("name")
    shape = dtype = trainable = name
odd = Subclass(2.0, name="odd")
@tf.function
def f(x):
    return tf.matmul(x, x)
f(tf.ones((2, 2)))
from tensorflow.python.framework import ops
ops._stats_registry._registry.pop("MatMul,flops")
@ops.RegisterStatistics("MatMul", "flops")
def broken(graph, node):
    raise RuntimeError(graph.anything)
found, out["notice"] = noted()
out["names"] = found.variables["name"].tolist()
out["layers"] = found.variables["layer"].tolist()
out["float_ops"] = details_of(found, "MatMul")["float_ops"].tolist()
"""
    )
    assert out["notice"] == ""
    assert out["float_ops"] == [0]
    assert any("<script>" in name for name in out["names"])
    assert "odd" in out["names"]


def test_nothing_of_the_program_is_kept_alive_or_printed() -> None:
    out = run_scenario(
        READ
        + """
import contextlib, io, weakref
made = model()
made.fit(*arrays(2), **FIT)
told = io.StringIO()
with contextlib.redirect_stderr(told), contextlib.redirect_stdout(told):
    noted(batch_size=8)
out["told"] = told.getvalue()
alive = weakref.ref(made)
del made
keras.backend.clear_session()
gc.collect()
out["alive"] = alive() is not None
"""
    )
    assert out == {"told": "", "alive": False}


def test_where_details_cannot_be_had_names_and_lines_are_still_noted() -> None:
    out = run_scenario(
        READ
        + """
@tf.function
def f(x):
    return tf.sin(x)
f(tf.ones((3,)))
def broken(self, operation):
    raise RuntimeError("insides have changed")
graph_details.StaticShapes.of = broken
found, out["notice"] = noted()
out["n"] = [len(found.ops) > 0, len(found.details), len(found.warnings)]
"""
    )
    assert "insides have changed" in out["notice"]
    assert out["n"] == [True, 0, 1]
