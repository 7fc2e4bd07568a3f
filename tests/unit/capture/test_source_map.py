"""What a capture notes of a running program: graphs, layers, texts, lines; and that it costs and breaks nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.capture.scenario import run_scenario

pytestmark = pytest.mark.tensorflow

READ = """
from tfprof_widgets.read import read_source_map, SIDECAR
def maps(record):
    record.program.write()
    return [read_source_map(run) for run in record.run_dirs]
"""


def test_a_run_has_the_frames_of_its_graphs_and_the_lines_of_its_layers(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import keras\n\ndef head():\n    return keras.layers.Dense(1, name='head')\n")
    out = run_scenario(
        READ
        + """
import net
made = keras.Sequential([keras.Input((4,)), net.head()])
made.compile("sgd", "mse")
capture = started()
made.fit(*arrays(4), **FIT)
record = capture.stop()
(one,) = maps(record)
ops = one.ops.set_index("op")
names = [name for name in ops.index if "head" in name and "MatMul" in name and "gradient" not in name]
frame, files = int(ops["frame"][names[0]]), set()
while frame >= 0:
    files.add(one.files["file"][one.frames["file"][frame]])
    frame = int(one.frames["parent"][frame])
layer = one.layers[one.layers["name"] == "head"].iloc[0]
out.update(
    files=sorted(files), notices=record.notices, line=int(layer["line"]), file=one.files["file"][layer["file"]],
    text=one.files["text"][layer["file"]], title=one.files["title"][layer["file"]], path=layer["layer"],
    graphs=one.functions["graph"].tolist(), names=os.listdir(record.run_dirs[0]), warnings=one.warnings,
    library=[bool(one.files["text"][i]) for i in range(len(one.files)) if not one.files["is_user"][i]],
    n_bytes=record.cost.n_bytes, size=sum(p.stat().st_size for p in record.run_dirs[0].glob("*.xplane.pb")),
)
""",
        cwd=tmp_path,
    )
    assert "<string>" in out["files"], "the program that calls fit"
    assert out["line"] == 4
    assert out["file"] == str(tmp_path / "net.py")
    assert out["text"].startswith("import keras\n")
    assert out["title"] == "net.py"
    assert out["path"] == "sequential/head"
    assert "one_step_on_data" in out["graphs"]
    assert not any(out["library"]), "the texts of libraries stay out"
    assert out["notices"] == [] == out["warnings"]
    assert len(out["names"]) == 2, "nothing half written is left"
    assert out["n_bytes"] == out["size"], "the bound is about what the profiler writes"


def test_the_recorder_keeps_no_graph_and_no_layer_alive() -> None:
    out = run_scenario(
        """
import weakref
from tensorflow.python.framework.func_graph import FuncGraph
capture = started()
function = tf.function(lambda x: tf.sin(x))
function(tf.ones(3))
made = model()
made.fit(*arrays(2), **FIT)
record = capture.stop()
graphs = weakref.WeakSet(g for g in gc.get_objects() if isinstance(g, FuncGraph))
graph, layer = weakref.ref(function.get_concrete_function(tf.ones(3)).graph), weakref.ref(made.layers[0])
del function, made
gc.collect()
out.update(graph=graph() is None, layer=layer() is None)
"""
    )
    assert out == {"graph": True, "layer": True}


def test_each_window_has_a_map_and_together_they_count_once(tmp_path: Path) -> None:
    out = run_scenario(
        READ
        + f"""
capture = started(steps=lambda i: i in (2, 6), logdir={str(tmp_path / "logs")!r})
model().fit(*arrays(10), **FIT)
record = capture.stop()
from tfprof_widgets.trace import merge_source_maps
each = maps(record)
whole = open_traces(str(record.run_dirs[0].parent) + "/*").source_map
out.update(n=[len(one.ops) for one in each], merged=len(whole.ops), recorders=len(whole.recorders))
"""
    )
    assert len(out["n"]) == 2
    assert all(out["n"])
    assert out["merged"] == max(out["n"])
    assert out["recorders"] == 1


def test_what_goes_wrong_costs_the_map_and_nothing_else() -> None:
    out = run_scenario(
        READ
        + """
from tfprof_widgets.capture import captured as captured_program, captured as program_reader
def broken(*_):
    raise OSError(28, "No space left on device")
for owner, name in ((program_reader, "live_objects"), (captured_program, "write_whole")):
    kept = getattr(owner, name)
    setattr(owner, name, broken)
    capture = started()
    model().fit(*arrays(2), **FIT)
    record = capture.stop()
    (one,) = maps(record)
    setattr(owner, name, kept)
    out[name] = [record.program.notices, len(one.ops), open_traces(record.run_dirs[0]).trace.n_events]
"""
    )
    for notices, n_ops, n_events in out.values():
        assert len(notices) == 1
        assert "No space left" in notices[0]
        assert n_ops == 0
        assert n_events > 0


def test_no_object_of_the_program_is_asked_and_none_costs_the_map() -> None:
    out = run_scenario(
        READ
        + """
ran = []
class Meta(type):
    def __getattribute__(cls, name):
        ran.append(name)
        return super().__getattribute__(name)
    def __subclasscheck__(cls, other): ran.append("subclass")
    def __eq__(cls, other): ran.append("eq"); raise RuntimeError
    def __hash__(cls): ran.append("hash"); raise RuntimeError
class Hostile(metaclass=Meta):
    def __getattribute__(self, name):
        ran.append(name)
        raise RuntimeError(name)
class Half(keras.Model):
    def __init__(self):
        raise RuntimeError
class Named(keras.layers.Layer):
    @property
    def name(self):
        ran.append("name")
        return "named"
    @name.setter
    def name(self, value):
        pass
class Function:
    def __call__(self, x):
        return x
    def __getattr__(self, name):
        if name.startswith("__wrapped") and asked:
            ran.append(name)
            return self
        raise AttributeError(name)
asked = False
def circle(x):
    return x
kept = [Hostile(), Half.__new__(Half), Named(), tf.function(Function()), tf.function(circle)]
circle.__wrapped__ = circle
asked = True
made = model()
capture = started()
made.fit(*arrays(2), **FIT)
ran.clear()
record = capture.stop()
seen = list(ran)
(one,) = maps(record)
out.update(ran=seen, notices=record.notices, names=one.layers["name"].tolist(), n=len(one.ops))
"""
    )
    assert out["ran"] == []
    assert out["notices"] == []
    assert "dense" in out["names"]
    assert out["n"] > 0


def test_layers_are_known_where_the_graphs_are_not() -> None:
    out = run_scenario(
        READ
        + """
from tfprof_widgets.capture import GraphTable
def broken(*_, **__):
    raise RuntimeError("no graphs")
GraphTable.add = broken
made = model()
capture = started()
made.fit(*arrays(2), **FIT)
record = capture.stop()
(one,) = maps(record)
out.update(notices=one.warnings, names=one.layers["name"].tolist())
"""
    )
    (notice,) = out["notices"]
    assert "no graphs" in notice
    assert "dense" in out["names"]


def test_a_bound_says_how_many_ops_it_left_out() -> None:
    out = run_scenario(
        READ
        + """
from tfprof_widgets.capture import graphs as source_graphs
source_graphs.MAX_OPS = 10
capture = started()
model().fit(*arrays(2), **FIT)
(one,) = maps(capture.stop())
out.update(notices=one.warnings, n=len(one.ops))
"""
    )
    assert 0 < out["n"] <= 10
    (notice,) = out["notices"]
    assert f"{out['n']} of " in notice
    assert "graph ops" in notice


@pytest.mark.nightly
def test_a_stop_notes_a_model_of_many_layers_in_a_small_part_of_its_first_training() -> None:
    out = run_scenario(
        """
made = keras.Sequential([keras.layers.Dense(8) for _ in range(30)])
made.compile("adam", "mse")
begin = time.process_time()
made.fit(*arrays(2), **FIT)
out["fit_s"] = time.process_time() - begin
times = []
for _ in range(3):
    capture = started()
    program = capture.program
    program.see(made)
    capture.stop()
    begin = time.process_time()
    program.end([], writes=False)
    times.append(time.process_time() - begin)
out["s"] = min(times)
"""
    )
    assert out["s"] < 0.02 * out["fit_s"]


def test_many_short_windows_have_one_map_of_what_ran_in_any_of_them() -> None:
    out = run_scenario(
        READ
        + """
capture = started(steps=lambda i: i % 2 == 0)
for i in trace_steps(range(30)):
    time.sleep(0.01)
function = tf.function(lambda x: tf.sin(x))
for i in trace_steps(range(2)):
    function(tf.ones(i + 1))
record = capture.stop()
found = maps(record)
out.update(windows=len(record.windows), ops=found[0].ops["op"].tolist(), same=len({len(one.ops) for one in found}))
"""
    )
    assert out["windows"] > 2
    assert "Sin" in out["ops"]
    assert out["same"] == 1


def test_an_exception_in_the_users_code_leaves_a_map() -> None:
    out = run_scenario(
        READ
        + """
capture = started()
try:
    model().fit(*arrays(2), **FIT)
    1 / 0
except ZeroDivisionError:
    record = capture.stop(outcome="exception")
out["n"] = len(maps(record)[0].ops)
"""
    )
    assert out["n"] > 0
