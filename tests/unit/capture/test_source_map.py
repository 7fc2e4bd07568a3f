"""What a capture notes of sources: lines of layers and ops, whose files they are, their texts; it costs and breaks nothing."""

from __future__ import annotations

import gc
import linecache
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.capture.scenario import Scenario
from tfprof_widgets.capture import (
    UNKNOWN,
    LayerFacts,
    LayerRecord,
    Wanted,
    calls_of,
    captured,
    creation_lines,
    cut_text,
    frames,
    is_below,
    is_user_file,
    keras_layers,
    look_for_libraries,
    simple,
    text_of,
    title_of,
)
from tfprof_widgets.capture import frames as module


def layer(name: str, class_name: str = "Dense", **values: Any) -> LayerFacts:
    return LayerFacts(name, class_name, ("units", "activation", "use_bias"), {"use_bias": True}, values)


def lines(text: str, *layers: LayerFacts, **more: str) -> dict[str, int]:
    found = creation_lines(layers, {"a.py": text, **more})
    return {name: line for name, (_, line) in found.items()}


NAMED = "a = Dense(10)\nb = Dense(10, name='b')\nc = Dense(10, name=f'x{i}')\n"
EQUAL = "[\nDense(8),\nDense(8)]\n"


@pytest.mark.parametrize(
    ("text", "made", "expected"),
    [
        (
            "a = Dense(10)\nb = L.Dense(20)\nc = keras.layers.Dense(units=30)\n",
            [layer("dense", units=20), layer("dense_1", units=30), layer("dense_2", units=10)],
            {"dense": 2, "dense_1": 3, "dense_2": 1},
        ),
        (NAMED, [layer("b", units=10), layer("dense", units=10)], {"b": 2, "dense": 1}),
        (NAMED, [layer("x3", units=10)], {"x3": 3}),
        (
            "a = Dense(n, use_bias=False)\nb = Dense(n)\n",
            [layer("dense", use_bias=True), layer("dense_1", use_bias=False)],
            {"dense": 2, "dense_1": 1},
        ),
        (
            "for n in (1, 2):\n    Dense(n)\n",
            [layer("dense", units=1), layer("dense_1", units=2)],
            {"dense": 2, "dense_1": 2},
        ),
        (EQUAL, [layer("dense_1", units=8), layer("dense", units=8)], {"dense": 2, "dense_1": 3}),
        (
            EQUAL,
            [layer(f"dense_{i}", units=8) for i in range(4, 8)],
            {"dense_4": 2, "dense_5": 3, "dense_6": 2, "dense_7": 3},
        ),
        ("from keras.layers import Dense as D\nx = D(1)\n", [layer("dense", units=1)], {"dense": 2}),
        ("Dense(10)\n", [layer("dense", units=20), layer("conv2d", "Conv2D")], {}),
        ("this is no Python: Dense(\n", [layer("dense")], {}),
        ("Dense(*args, **kwargs)\n", [layer("any", units=3)], {"any": 1}),
    ],
    ids=[
        *("constants tell calls apart", "a name tells most", "a name that is made", "what is left out has its default"),
        *(
            "of a loop",
            "equal calls by order",
            "and again",
            "a class of another name",
            "no such call",
            "no Python",
            "any",
        ),
    ],
)
def test_a_layer_is_of_the_call_that_made_it(text: str, made: list[LayerFacts], expected: dict[str, int]) -> None:
    assert lines(text, *made) == expected


def test_the_newest_text_is_the_newest_layers() -> None:
    found = creation_lines([layer("dense_2")], {"old": "Dense(n)\n", "new": "\nDense(n)\n"})
    assert found == {"dense_2": ("new", 2)}


def test_of_equal_calls_those_beside_calls_that_made_the_same_model_are_taken() -> None:
    text = "def one():\n  Dense(8)\n  Dense(10)\ndef two():\n  Dense(16)\n  Dense(10)\ndef three():\n  Dense(10)\n"
    made = [layer("dense", units=8), layer("dense_1", units=10)]
    found = creation_lines(made, {"a": text}, model_of={"dense": "m", "dense_1": "m"})
    assert found == {"dense": ("a", 2), "dense_1": ("a", 3)}
    made = [layer("dense_2", units=16), layer("dense_3", units=10)]
    texts = {"a": text, "b": "Dense(10)\n"}
    found = creation_lines(made, texts, model_of={"dense_2": "m", "dense_3": "m"})
    assert found == {"dense_2": ("a", 5), "dense_3": ("a", 6)}


def test_of_more_calls_than_layers_the_nearest_are_taken() -> None:
    text = "Dense(10)\n\nDense(8)\nDense(10)\nDense(10)\nDense(9)\n\n\n\nDense(10)\n"
    made = [layer("dense", units=8), layer("dense_1", units=10), layer("dense_2", units=10), layer("dense_3", units=9)]
    model_of = dict.fromkeys(("dense", "dense_1", "dense_2", "dense_3"), "m")
    found = creation_lines(made, {"a": text}, model_of=model_of)
    assert {name: line for name, (_, line) in found.items()} == {"dense": 3, "dense_1": 4, "dense_2": 5, "dense_3": 6}


def test_the_only_function_with_a_call_for_each_layer_made_a_model() -> None:
    text = "def a():\n  Dense(8)\ndef b():\n  Dense(8)\n  Dense(1)\ndef c():\n  Dense(1)\n"
    made = [layer("dense", units=8), layer("dense_1", units=8), layer("dense_2", units=1)]
    model_of = {"dense": "a", "dense_1": "b", "dense_2": "b"}
    found = creation_lines(made, {"a": text}, model_of=model_of)
    assert {name: line for name, (_, line) in found.items()} == {"dense_1": 4, "dense_2": 5}


def test_layers_of_one_model_are_put_together_even_where_none_is_sure() -> None:
    text = "Dense(8)\ndef b():\n  Dense(8)\n  Dense(1)\ndef c():\n  Dense(1)\n"
    model_of = {"dense": "m", "dense_1": "m"}
    made = [layer("dense", units=8), layer("dense_1", units=1)]
    found = creation_lines(made, {"a": text}, model_of=model_of)
    assert {name: line for name, (_, line) in found.items()} == {"dense": 3, "dense_1": 4}


def test_the_call_in_a_loop_made_what_the_others_did_not() -> None:
    text = "[\nDense(8),\n*[Dense(8) for _ in range(3)],\nDense(8)]\n"
    made = [layer(name, units=8) for name in ("dense", "dense_1", "dense_2", "dense_3", "dense_4")]
    assert list(lines(text, *made).values()) == [4, 3, 3, 3, 2]
    assert lines(text, *made)["dense"] == 2


def test_a_function_in_a_loop_is_not_the_loop() -> None:
    (call,) = [call for _, call in calls_of("for i in x:\n  def f():\n    Dense(8)\n", "a", Wanted({"Dense"}, set()))]
    assert not call.is_repeated
    assert call.function_line == 2


def test_values_are_read_without_running_code_of_theirs() -> None:
    class Hostile:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    class Number(int):
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = int.__hash__

    assert simple(Hostile()) is UNKNOWN
    assert simple(Number(3)) is UNKNOWN
    assert simple((1, Hostile())) is UNKNOWN
    assert simple(list(range(1000))) is UNKNOWN
    assert simple([1, "a"]) == (1, "a")
    assert simple(True) is True


def test_a_model_of_a_library_is_at_the_line_that_asked_for_it() -> None:
    text = "x = 1\nbase = keras.applications.MobileNetV2(weights=None)\nnet = keras.Sequential([base])\n"
    names = ["mobilenetv2_1.00_224", "sequential_3", "other"]
    found = creation_lines([], {"a.py": text}, models=names)
    assert found == {"mobilenetv2_1.00_224": ("a.py", 2), "sequential_3": ("a.py", 3)}


def test_layers_that_several_functions_may_have_made_have_no_line() -> None:
    """One made them all; a guess would charge those that never ran."""
    text = """def ran():
    return Sequential([Dense(n, activation="relu") for n in sizes])
def never_ran():
    first = Dense(n, activation="relu")
    return Dense(n, activation="relu")(first)
class Neither(Model):
    def __init__(self):
        self.dense = Dense(n, activation="relu")
"""
    made = [layer("dense" if i == 0 else f"dense_{i}", units=8 * i, activation="relu") for i in range(6)]
    assert creation_lines(made, {"a": text}, model_of={one.name: "m" for one in made}) == {}
    assert creation_lines([], {"a": "def f():\n  ResNet50()\ndef g():\n  ResNet50()\n"}, models=["resnet50"]) == {}


class FakeLayer:
    def __init__(self, name: Any, *parts: Any) -> None:
        self.name = name
        self._layers = list(parts)


class FakeOptimizer:
    def __init__(self, name: str) -> None:
        self.name = name


def found() -> list[LayerRecord]:
    return keras_layers(gc.get_objects())


@pytest.fixture
def fake_keras(monkeypatch: pytest.MonkeyPatch) -> None:
    keras = SimpleNamespace(
        layers=SimpleNamespace(Layer=FakeLayer), optimizers=SimpleNamespace(Optimizer=FakeOptimizer)
    )
    monkeypatch.setitem(sys.modules, "keras", keras)


def test_without_keras_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    assert found() == []


@pytest.mark.usefixtures("fake_keras")
def test_layers_are_named_by_their_way_from_the_outermost() -> None:
    shared = FakeLayer("shared")
    model = FakeLayer("net", FakeLayer("block", shared), shared)
    optimizer = FakeOptimizer("my_adam")
    assert found() == [
        LayerRecord("", optimizer.name, "FakeOptimizer", ""),
        LayerRecord("net", model.name, "FakeLayer", "net"),
        LayerRecord("net/block", "block", "FakeLayer", "net"),
        LayerRecord("net/block/shared", "shared", "FakeLayer", "net"),
        LayerRecord("net/shared", "shared", "FakeLayer", "net"),
    ]


@pytest.mark.usefixtures("fake_keras")
def test_layers_that_hold_each_other_end() -> None:
    outer, inner, owner = FakeLayer("outer"), FakeLayer("inner"), FakeLayer("owner")
    owner._layers, outer._layers, inner._layers = [outer], [inner], [outer]
    assert [record.layer for record in found()] == ["owner", "owner/outer", "owner/outer/inner"]


@pytest.mark.usefixtures("fake_keras")
def test_more_layers_than_the_bound_are_said_to_be_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MAX_RECORDS", 50)
    layer = FakeLayer("leaf")
    for _ in range(40):  # 2**40 ways to the innermost
        layer = FakeLayer("node", layer, layer)
    with caplog.at_level(logging.WARNING):
        assert len(found()) == 50
    assert "only the first 50 layers" in caplog.text


@pytest.mark.usefixtures("fake_keras")
def test_a_layer_whose_constructor_has_not_run_costs_nothing_but_its_name() -> None:
    layer = FakeLayer.__new__(FakeLayer)
    assert found() == [LayerRecord("", "", type(layer).__name__, "")]


@pytest.mark.usefixtures("fake_keras")
def test_no_property_of_a_users_layer_is_run() -> None:
    class Hostile(FakeLayer):
        @property
        def _layers(self) -> list[Any]:  # type: ignore[override]
            raise RuntimeError("no")

        @_layers.setter
        def _layers(self, _: list[Any]) -> None: ...

    hostile = Hostile("hostile")
    assert found() == [LayerRecord("hostile", "hostile", "Hostile", "hostile")]
    assert hostile.name


@pytest.mark.usefixtures("fake_keras")
def test_a_keras_that_is_not_whole_costs_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = FakeLayer("alone")
    monkeypatch.delattr(sys.modules["keras"], "optimizers")
    assert found() == [LayerRecord("alone", layer.name, "FakeLayer", "alone")]
    monkeypatch.setattr(sys.modules["keras"], "layers", None)
    assert found() == []


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Roots of this test alone."""
    look_for_libraries()
    yield
    look_for_libraries()


def installed(folder: Path, name: str) -> Path:
    """A package with one module and what pip leaves of its installation, unpacked into a folder."""
    (folder / name).mkdir(parents=True)
    module = folder / name / "__init__.py"
    module.write_text("")
    known = folder / f"{name}-1.0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (known / "RECORD").write_text(f"{name}/__init__.py,,\n{name}-1.0.dist-info/METADATA,,\n../bin/tool,,\n")
    return module


def test_a_package_on_the_path_is_a_library_and_what_lies_beside_it_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = installed(tmp_path, "unpacked")
    (tmp_path / "mine").mkdir()
    assert is_user_file(str(module)), "nothing tells that Python would find it"
    monkeypatch.syspath_prepend(tmp_path)
    look_for_libraries()
    assert not is_user_file(str(module))
    for name in ("mine/net.py", "work.py", "unpacked_too/a.py"):
        assert is_user_file(str(tmp_path / name)), name


def test_a_framework_that_was_never_installed_is_known_by_its_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = type(sys)("keras")
    kit.__file__ = str(tmp_path / "keras" / "__init__.py")
    monkeypatch.setitem(sys.modules, "keras", kit)
    assert not is_user_file(str(tmp_path / "keras/src/utils/traceback_utils.py"))
    assert is_user_file(str(tmp_path / "work.py"))


def test_packages_of_debian_and_colab_are_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = ["/usr/local/lib/python3.12/dist-packages", "/usr/lib/python3/dist-packages"]
    monkeypatch.setattr(frames.site, "getsitepackages", lambda: folders)
    frames._library_roots.cache_clear()
    look_for_libraries()
    for folder in folders:
        assert not is_user_file(f"{folder}/keras/src/layers/layer.py")
    assert is_user_file("/content/train.py")
    frames._library_roots.cache_clear()


@pytest.mark.parametrize(
    "name",
    ["site-packages-demo/train.py", "site-packages/train.py", "dist-packages/train.py", "lib/python3.12/train.py"],
)
def test_the_name_of_a_folder_alone_makes_no_library(tmp_path: Path, name: str) -> None:
    assert is_user_file(str(tmp_path / name))


@pytest.mark.parametrize(
    "name", ["/tmp/ipykernel_12/345.py", "/tmp/ipython-input-1234.py", "<ipython-input-3-abc>", "<stdin>"]
)
def test_cells_are_the_users(name: str) -> None:
    assert is_user_file(name)


def test_a_project_that_holds_its_environment_and_an_editable_install(tmp_path: Path) -> None:
    """A Python of its own in the project's folder, into which the project is installed as editable."""
    project = tmp_path / "project"
    environment = project / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    installed(packages, "einops")
    (packages / "__editable__.mine-1.0.pth").write_text(f"{project / 'src'}\n")
    (project / "src" / "mine").mkdir(parents=True)
    mine = project / "src" / "mine" / "net.py"
    mine.write_text("")
    (project / "train.py").write_text(
        "import runpy, sys\n"
        "import einops, mine.net\n"
        "known = runpy.run_path(sys.argv[1])\n"
        "for file in (__file__, mine.net.__file__, einops.__file__, runpy.__file__):\n"
        "    print(known['is_below'](file, known['library_roots']()))\n"
    )
    command = [str(environment / "bin" / "python"), "train.py", frames.__file__]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=project, env=os.environ | {"PYTHONPATH": ""}
    )
    assert run.stdout.split() == ["False", "False", "True", "True"], run.stderr


def test_what_begins_with_the_name_of_a_root_is_not_in_it() -> None:
    roots = ("/usr/lib/site-packages", "/kit/six.py")
    assert is_below("/usr/lib/site-packages/a.py", roots)
    assert is_below("/kit/six.py", roots)
    assert not is_below("/usr/lib/site-packages-demo/a.py", roots)
    assert not is_below("/kit/six.pyx", roots)


def test_what_else_lies_on_the_path_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path / "sound", "sound")
    damaged = installed(tmp_path / "damaged", "damaged")
    (damaged.parent.parent / "damaged-1.0.dist-info" / "RECORD").write_bytes(b"\xff\xfe,,\n")
    gone = tmp_path / "gone"
    looked = Path.glob

    def glob(self: Path, pattern: str) -> Iterator[Path]:
        if self == gone:
            raise OSError(107, "Transport endpoint is not connected")
        return iter(looked(self, pattern))

    monkeypatch.setattr(Path, "glob", glob)
    odd: list[object] = [b"bytes", Path("here"), 5, [], str(gone), str(tmp_path / "damaged"), str(tmp_path / "sound")]
    monkeypatch.setattr(sys, "path", [*odd, *sys.path])
    look_for_libraries()
    assert not is_user_file(str(tmp_path / "sound" / "sound" / "__init__.py"))
    assert is_user_file(str(tmp_path / "gone" / "work.py"))


ANY_TIME = 2**63


def test_files_of_the_user_are_told_from_those_of_libraries() -> None:
    for name in ("/home/me/a.py", "/tmp/ipykernel_12/345.py", "<ipython-input-3-abc>", "<string>", __file__):
        assert is_user_file(name), name
    for name in (threading.__file__, pytest.__file__, captured.__file__, "<frozen importlib._bootstrap>", ""):
        assert not is_user_file(name), name


def test_a_text_is_cut_between_lines() -> None:
    assert cut_text("aä\nbc\nd", 100) == "aä\nbc\nd"
    assert cut_text("aä\nbc\nd", 6) == "aä\n"
    assert cut_text("aä\nbc\nd", 0) == ""


def test_titles_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert title_of(str(tmp_path / "lib" / "a.py")) == "lib/a.py"
    assert title_of("/elsewhere/a.py") == "/elsewhere/a.py"
    assert title_of("/tmp/ipykernel_1/2.py") == "<cell>"
    assert title_of("/tmp/ipython-input-2211332.py") == "<cell>"
    assert title_of("<ipython-input-7-0123abcd>") == "Cell [7]"
    assert title_of("/tmp/ipython-input-7-221133.py") == "Cell [7]"


@pytest.mark.timeout(30)
def test_nothing_that_would_have_to_be_waited_for_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "noise.py").write_bytes(bytes(range(256)))
    (tmp_path / "folder.py").mkdir()
    for name in ("pipe.py", "loop.py", "noise.py", "folder.py"):
        assert text_of(str(tmp_path / name), ANY_TIME) == ""


def test_no_file_is_read_that_is_too_large_for_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large.py").write_text("x = 1\n" * 10)
    monkeypatch.setattr(frames, "MAX_READ_BYTES", 59)
    assert text_of(str(tmp_path / "large.py"), ANY_TIME) == ""
    monkeypatch.setattr(frames, "MAX_READ_BYTES", 60)
    assert text_of(str(tmp_path / "large.py"), ANY_TIME) == "x = 1\n" * 10


def test_a_file_that_changed_is_read_again_and_one_that_is_gone_is_remembered(tmp_path: Path) -> None:
    file = tmp_path / "mod.py"
    file.write_text("a = 1\n")
    assert text_of(str(file), ANY_TIME) == "a = 1\n"
    file.write_text("b = 1000\n")
    assert text_of(str(file), ANY_TIME) == "b = 1000\n"
    file.unlink()
    assert text_of(str(file), ANY_TIME) == "b = 1000\n"


def test_the_text_of_a_file_that_is_gone_is_empty() -> None:
    assert text_of("/nowhere/a.py", ANY_TIME) == ""


def test_a_cell_has_its_number_as_title(monkeypatch: pytest.MonkeyPatch) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        name = shell.compile.cache("x = 1\n", 7)
        assert title_of(name) == "Cell [7]"
        assert text_of(name, ANY_TIME) == "x = 1\n"
        assert is_user_file(name)
    finally:
        linecache.cache.pop(name, None)
        InteractiveShell.clear_instance()
    assert "IPython" in sys.modules


def test_a_text_that_was_written_later_is_not_taken_for_the_one_that_ran(tmp_path: Path) -> None:
    file = tmp_path / "mod.py"
    file.write_text("a = 1\n")
    ended_ns = time.time_ns()
    for kept, later_s in (("", 10), ("a = 1\n", 20)):
        linecache.clearcache()
        if kept:
            file.write_text(kept)
            os.utime(file, ns=(ended_ns - 10**7,) * 2)
            linecache.getlines(str(file))
        file.write_text("b = 1000\n")
        os.utime(file, ns=(ended_ns + later_s * 10**9,) * 2)
        assert text_of(str(file), ended_ns) == kept
        assert text_of(str(file), ANY_TIME) == "b = 1000\n"


READ = """
from tfprof_widgets.read import read_source_map, SIDECAR
def maps(record):
    record.program.write()
    return [read_source_map(run) for run in record.run_dirs]
"""


def test_a_run_has_the_frames_of_its_graphs_and_the_lines_of_its_layers(scenario: Scenario, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import keras\n\ndef head():\n    return keras.layers.Dense(1, name='head')\n")
    out = scenario(
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


def test_what_goes_wrong_costs_its_part_of_the_map_and_nothing_else(scenario: Scenario) -> None:
    out = scenario(
        READ
        + """
from tfprof_widgets.capture import GraphTable, captured, graphs
def broken(*_, **__):
    raise OSError(28, "No space left on device")
def told(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    made, capture = model(), started()
    made.fit(*arrays(2), **FIT)
    record = capture.stop()
    (one,) = maps(record)
    setattr(owner, name, before)
    n_events = open_traces(record.run_dirs[0]).trace.n_events
    return [record.program.notices, len(one.ops), "dense" in " ".join(one.layers["name"]), n_events > 0]
out.update(objects=told(captured, "live_objects", broken), file=told(captured, "write_whole", broken),
           graphs=told(GraphTable, "add", broken), bound=told(graphs, "MAX_OPS", 10))
"""
    )
    notices = {}
    for kind, ((notices[kind],), *_, has_events) in out.items():
        assert has_events
        assert kind == "bound" or "No space left" in notices[kind]
    assert [out[kind][1] for kind in ("objects", "file", "graphs")] == [0, 0, 0]
    assert [out[kind][2] for kind in ("graphs", "bound")] == [True, True], "layers are known where the graphs are not"
    assert 0 < out["bound"][1] <= 10
    assert f"{out['bound'][1]} of " in notices["bound"]
    assert "graph ops" in notices["bound"]


def test_no_object_of_the_program_is_asked_and_none_costs_the_map(scenario: Scenario) -> None:
    out = scenario(
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


@pytest.mark.nightly
def test_a_stop_notes_a_model_of_many_layers_in_a_small_part_of_its_first_training(scenario: Scenario) -> None:
    out = scenario(
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


def test_windows_have_one_map_of_what_ran_in_any_of_them_and_together_they_count_once(
    scenario: Scenario, tmp_path: Path
) -> None:
    out = scenario(
        READ
        + f"""
capture = started(steps=lambda i: i % 2 == 0, logdir={str(tmp_path)!r})
for i in trace_steps(range(30)):
    time.sleep(0.01)
function = tf.function(lambda x: tf.sin(x))
for i in trace_steps(range(2)):
    function(tf.ones(i + 1))
record = capture.stop()
each = maps(record)
whole = open_traces(str(record.run_dirs[0].parent) + "/*").source_map
out.update(n=[len(one.ops) for one in each], ops=each[0].ops["op"].tolist(), merged=len(whole.ops))
out["recorders"] = len(whole.recorders)
"""
    )
    assert len(out["n"]) > 2
    assert set(out["n"]) == {out["merged"]}
    assert "Sin" in out["ops"]
    assert out["recorders"] == 1
