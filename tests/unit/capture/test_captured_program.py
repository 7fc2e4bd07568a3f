"""What a capture holds and notes of a program's functions, graphs and variables, whatever becomes of the program meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.unit.capture.scenario import Scenario
from tests.warm_process import run_python
from tfprof_widgets.analysis import UserFiles
from tfprof_widgets.capture import CapturedProgram, FrameTable, HeldFunctions, NotedModels, ProgramReader, graphs
from tfprof_widgets.capture import captured as program_reader
from tfprof_widgets.read import read_source_map
from tfprof_widgets.trace import table_frame

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


def test_a_function_that_is_gone_is_read_as_one_that_lives(scenario: Scenario) -> None:
    out = scenario(
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


def test_a_tensorflow_that_does_not_count_is_read_as_far_as_functions_live(scenario: Scenario) -> None:
    out = scenario("""
from tfprof_widgets.capture import graphs as held_functions
import types
for name, more in {"without": {}, "odd": {"RUNTIME_FUNCTION_REFS": {b"f": 1}}}.items():
    runtime = types.ModuleType(name)
    vars(runtime).update(more)
    sys.modules[name], held_functions._RUNTIME = runtime, name
    @tf.function
    def f(x):
        return tf.sin(x)
    capture = started()
    f(tf.ones(3))
    one = capture.stop().program.read()
    out[name] = ["Sin" in one.ops["type"].tolist(), one.warnings]
""")
    assert out == {"without": [True, []], "odd": [True, []]}


def test_only_what_ran_is_read_of_functions_sessions_and_imported_graphs(scenario: Scenario) -> None:
    out = scenario(
        PROGRAM
        + """
v1 = tf.compat.v1
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
out["types"] = sorted(set(program.read().ops["type"]) & {"Sin", "Cos", "Tan"})

with tf.Graph().as_default() as graph:
    tf.identity(early(v1.placeholder(tf.float32, 3, name="x")), name="y")
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
out["of sessions"] = [one.warnings, sorted(set(one.ops["type"]) & {"Cos", "Tan", "PartitionedCall"})]
"""
    )
    assert out == {
        "graphs": ["ran", "ran"],  # two shapes
        "types": ["Cos"],
        "of sessions": [[], ["Cos", "PartitionedCall"]],
    }


@pytest.mark.parametrize("how", ["kept = made", "del made", "del made; keras.backend.clear_session()"])
def test_a_model_that_is_gone_keeps_its_layers_and_one_of_the_same_names_does_not_take_its_place(
    scenario: Scenario, how: str
) -> None:
    out = scenario(
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
reads = one.details[one.details["op"].isin(one.ops.index[one.ops["type"] == "ReadVariableOp"])]
out["reads"] = [bool((reads["variable"] >= 0).any()), one.warnings]
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
    is_known, notices = out["reads"]
    assert (is_known and not notices) or "which variables they use is not known" in notices[0]
    assert is_known or how != "kept = made"


def test_models_that_are_gone_cost_those_that_are_left_nothing(scenario: Scenario) -> None:
    out = scenario(
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


def test_what_is_held_goes_when_it_is_read_or_when_the_record_goes(scenario: Scenario) -> None:
    out = scenario(
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


def test_a_fork_does_not_read_the_program_of_its_parent(scenario: Scenario) -> None:
    out = scenario(
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
def test_a_log_directory_has_the_lines_when_the_process_ends_and_nobody_asked(
    scenario: Scenario, tmp_path: Path, end: str
) -> None:
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
    out = scenario(
        f"""
import tfprof_widgets as tfprof
prof = tfprof.load({str(tmp_path)!r})
out["lines"] = prof.source_lines["line"].tolist()
out["layers"] = prof.layers["layer"].tolist()
"""
    )
    assert out["lines"]
    assert any("dense" in layer for layer in out["layers"])


def test_many_captures_in_a_log_directory_do_not_all_wait_for_the_exit(scenario: Scenario, tmp_path: Path) -> None:
    out = scenario(
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


def test_edges_arguments_shapes_and_devices_are_those_of_the_graph(scenario: Scenario) -> None:
    out = scenario(
        READ
        + """
@tf.function
def f(x):
    with tf.device("/CPU:0"):
        a = tf.sin(x, name="a")
    two = tf.constant(np.ones((4, 2), "f4"))
    with tf.control_dependencies([tf.cos(x, name="c")]):
        return tf.matmul(a, two, name="b")
weights = tf.Variable(tf.ones((4, 2)))
@tf.function
def g(x, y):
    return tf.matmul(y, weights, name="product"), tf.subtract(y, x, name="difference")
f(tf.ones((3, 4)))
g(tf.ones((3, 4)), tf.ones((3, 4)))
found, out["notice"] = noted()
names = [*found.ops["op"], "argument"]
out["edges"] = sorted(
    [names[op], slot, names[source], output] for op, slot, source, output in found.edges.itertuples(index=False)
    if names[op] in ("b", "difference", "product") and "ReadVariableOp" not in names[source]
)
(product,) = (row for row in details_of(found, "MatMul").to_dict("records") if row["op_name"] == "b")
out["shapes"] = [product["input_shapes"], product["output_shapes"]]
out["float_ops"] = product["float_ops"]
out["dtype"] = product["dtype"]
out["device"] = details_of(found, "Sin")["device"].tolist()
"""
    )
    assert out == {
        "notice": "",
        "edges": [
            *(["b", 0, "a", 0], ["b", 1, "Const", 0], ["b", 2, "c", -1]),
            *(["difference", 0, "argument", 1], ["difference", 1, "argument", 0], ["product", 0, "argument", 1]),
        ],
        "shapes": ["3x4;4x2", "3x2"],
        "float_ops": 2 * 3 * 4 * 2,
        "dtype": "float32",
        "device": ["/device:CPU:0"],
    }


def test_open_dimensions_are_those_of_a_batch_where_they_come_from_one(scenario: Scenario) -> None:
    out = scenario(
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


def test_what_reads_a_variable_knows_it_also_within_loops_and_functions(scenario: Scenario) -> None:
    out = scenario(
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


def test_the_variables_of_models_are_their_weights_once_each(scenario: Scenario) -> None:
    out = scenario(
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


def test_what_is_left_out_is_told_of_and_without_details_names_and_lines_are_noted(scenario: Scenario) -> None:
    out = scenario(
        READ
        + """
kept = [tf.Variable(float(i), name=f"v{i}") for i in range(5)]
@tf.function
def f(x):
    return tf.sin(tf.sin(x)) * x + sum(kept)
f(tf.ones((3,)))
def broken(self, operation):
    raise RuntimeError("insides have changed")
of, graph_details.StaticShapes.of = graph_details.StaticShapes.of, broken
found, out["broken"] = noted()
out["n_broken"] = [len(found.ops) > 0, len(found.details), len(found.warnings)]
graph_details.StaticShapes.of = of
graph_details.MAX_EDGES, live_variables.MAX_VARIABLES = 3, 2
found, out["notice"] = noted()
out["n"] = [len(found.edges), len(found.variables)]
"""
    )
    assert "insides have changed" in out["broken"]
    assert out["n_broken"] == [True, 0, 1]
    assert "Of the edges between graph ops the first 3 of " in out["notice"]
    assert "The first 2 of 5 variables were read" in out["notice"]
    assert out["n"] == [3, 2]


def test_hostile_variables_layers_and_statistics_cost_nothing_but_themselves(scenario: Scenario) -> None:
    out = scenario(
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


def test_nothing_of_the_program_is_kept_alive_or_printed(scenario: Scenario) -> None:
    out = scenario(
        READ
        + """
import contextlib, io, weakref
capture, function, made = started(), tf.function(lambda x: tf.sin(x)), model()
function(tf.ones(3))
made.fit(*arrays(2), **FIT)
record, told = capture.stop(), io.StringIO()
with contextlib.redirect_stderr(told), contextlib.redirect_stdout(told):
    noted(batch_size=8)
out["told"] = told.getvalue()
alive = [weakref.ref(one) for one in (function.get_concrete_function(tf.ones(3)).graph, made.layers[0], made)]
del function, made
gc.collect()
out["alive"] = [one() is not None for one in alive[:2]]
keras.backend.clear_session()
gc.collect()
out["model"] = alive[2]() is not None
"""
    )
    assert out == {"told": "", "alive": [False, False], "model": False}


Counts = dict[tuple[int, bytes], int]


class Runtime:
    """TensorFlow's counts and context, which knows the functions of its counts and no others."""

    function_scope_id = 1

    def __init__(self, counts: Counts) -> None:
        self.counts, self.removed = counts, list[bytes]()

    def remove_function(self, name: bytes) -> None:
        if name == b"of before the reset":
            raise ValueError("Tried to remove non-existent function")
        self.removed.append(name)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    made = Runtime({(1, b"kept"): 1, (1, b"dropped"): 1})
    monkeypatch.setattr(graphs, "_counts", lambda: made.counts)
    monkeypatch.setattr(graphs, "_context", lambda: made)
    return made


def test_what_is_held_and_let_go_leaves_the_counts_as_they_were(runtime: Runtime) -> None:
    held = HeldFunctions()
    held.hold()
    assert runtime.counts == {(1, b"kept"): 2, (1, b"dropped"): 2}
    runtime.counts[1, b"new"] = 1
    runtime.counts[1, b"dropped"] -= 1
    held.hold()
    assert held.names == {"kept", "dropped", "new"}
    held.release()
    assert runtime.counts == {(1, b"kept"): 1, (1, b"new"): 1}
    assert runtime.removed == [b"dropped"]


def test_what_only_another_capture_holds_is_not_held_again(runtime: Runtime) -> None:
    first = HeldFunctions()
    first.hold()
    runtime.counts[1, b"dropped"] -= 1
    second = HeldFunctions()
    second.hold()
    assert second.names == {"kept"}
    runtime.counts[1, b"new"] = 1
    first.release()
    assert runtime.removed == [b"dropped"]
    second.hold()
    assert second.names == {"kept", "new"}, "although there are as many as before"


def test_a_function_that_goes_while_others_are_being_held_is_left_out(runtime: Runtime) -> None:
    class Collected(Counts):
        def __iter__(self) -> Iterator[tuple[int, bytes]]:
            yield from [*super().__iter__(), (1, b"gone by now")]

    runtime.counts = Collected(runtime.counts)
    held = HeldFunctions()
    held.hold()
    assert held.names == {"kept", "dropped"}


def test_letting_go_outlives_a_runtime_that_was_reset(runtime: Runtime) -> None:
    runtime.counts |= {(1, b"of before the reset"): 1, (2, b"of another context"): 1, (1, b"forgotten"): 1}
    held = HeldFunctions()
    held.hold()
    del runtime.counts[1, b"forgotten"]
    runtime.counts[1, b"of before the reset"] = runtime.counts[2, b"of another context"] = 1
    held.release()
    assert runtime.counts == {(1, b"kept"): 1, (1, b"dropped"): 1}
    assert not runtime.removed


def test_a_fork_holds_and_lets_go_of_nothing(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldFunctions()
    held.hold()
    before = dict(runtime.counts)
    monkeypatch.setattr(graphs, "os", SimpleNamespace(getpid=lambda: -1))
    held._lock.acquire()  # by a thread that the fork lacks
    runtime.counts[1, b"of the fork"] = 1
    held.hold()
    held.release()
    assert runtime.counts == before | {(1, b"of the fork"): 1}


def written(folder: Path) -> CapturedProgram:
    program = CapturedProgram()
    program.end([folder], writes=False)
    program.write()
    return program


def test_a_program_of_which_nothing_is_known_writes_what_the_reader_reads(tmp_path: Path) -> None:
    assert written(tmp_path).notices == ()
    one = read_source_map(tmp_path)
    assert one.warnings == ()
    assert len(one.recorders[0]) == 32


def test_a_run_that_is_gone_is_not_written_to(tmp_path: Path) -> None:
    assert written(tmp_path / "missing").notices == ()
    assert not (tmp_path / "missing").exists()


def test_large_files_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(program_reader, "MAX_FILE_BYTES", 8)
    for name, text in (("a.py", "x = 1\ny = 2\n"), ("b.py", "z\n")):
        (tmp_path / name).write_text(text)
    reader = ProgramReader(NotedModels(), until_ns=time.time_ns())
    for name in ("a.py", "b.py"):
        reader._frames.add(-1, str(tmp_path / name), 1, "f")
    found = reader.source_map("", table_frame("facts", {}), [])
    assert found.files["text"].tolist() == ["x = 1\n", "z\n"]
    assert "1 of 2 source files" in found.warnings[0]


def test_frames_below_the_same_callers_are_one_row() -> None:
    table = FrameTable()
    first = table.add(-1, "a.py", 1, "<module>")
    assert table.add(first, "b.py", 2, "f") == table.add(first, "b.py", 2, "f")
    assert table.add(-1, "b.py", 2, "f") != table.add(first, "b.py", 2, "f")
    assert table.frames["parent"] == [-1, 0, -1]


def test_where_libraries_lie_is_noted_for_whoever_opens_the_trace_elsewhere(tmp_path: Path) -> None:
    written(tmp_path)
    users = UserFiles.of_map(read_source_map(tmp_path))
    assert not users.has(pytest.__file__)
    assert not users.has(str(Path(pytest.__file__).parent.parent / "never_imported" / "net.py"))
    assert users.has(str(tmp_path / "site-packages" / "train.py"))
