"""Rules on the input pipeline, and the user's own statement rewritten where it is known."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pandas as pd

from ..card import (
    GENERAL,
    HOST,
    MEDIUM_GAIN,
    Advice,
    Claim,
    Fix,
    UserCall,
    behind,
    is_of_model,
    one_line,
    only_call,
    parsed,
    place_of,
    remark,
    rewritten,
    rule,
    step_highlight,
    user_files,
)
from ..common import US_PER_MS, milliseconds, number, percent, plural
from ..input.usage import slowest_below
from ..machine import FREE
from ..names import base_name, parse_op_names
from ..steps.spans import MIN_STEPS
from .causes import input_ops, runs_python
from .facts import OP_OVERHEAD_MS, StepPart
from .input_stages import AUTOTUNE, REBATCH, STAGES, sequential_words, stage_of, working
from .input_waste import MAPS, iterators_of, kept_ratio, late_cut, opens_many_files
from .run import DATA_GRAPH, Run, mapped_function

IDLE = 0.5
"""Of the wait for data: where the process computes less than this beside its ops, the pipeline waits itself."""
MOST_KEPT = 0.7
"""A filter that keeps more than this has little left to save."""
FEW_OPS = 0.3
"""Of the wait for data: where the ops of the input take no more, what calls them is the cost."""


def map_stage(run: Run, pipeline: pd.Series) -> str:
    """Why a map that calls its function in parallel already is slow, or the function itself: one of `STAGES`."""
    if _has_one_thread(run, pipeline):
        return "few_threads"
    if waits_idly(run):
        return "slow_map"
    if runs_python(run):
        return "python_map"
    if late_cut(run) is not None:
        return "cut_after"
    own_us, _ = input_ops(run)
    if not len(own_us):
        return "slow_map"
    waited_ms = float(run.results.steps.frame["input_ms"].sum())
    is_called_for_elements = own_us.sum() / US_PER_MS <= FEW_OPS * waited_ms and _batches_behind(run, pipeline)
    return "element_map" if is_called_for_elements else "slow_map"


def _batches_behind(run: Run, pipeline: pd.Series) -> bool:
    """Whether the map works on single elements, which are batched behind it."""
    names = names_of(run, pipeline)
    first = next((k for k, name in enumerate(names) if name in MAPS), len(names))
    return first < len(names) and (names[first] == "MapAndBatch" or any("Batch" in name for name in names[:first]))


def _has_one_thread(run: Run, pipeline: pd.Series) -> bool:
    """Whether an option of the dataset leaves one thread for all that could run in parallel."""
    settings = iterators_of(run, pipeline)["params"]
    return any(one.get("threadpool_size") == 1 and int(one.get("cpu_budget", 1)) > 1 for one in settings)


def waits_idly(run: Run) -> bool | None:
    """Whether the wait for data is for a disk, a network or a clock rather than a core; None where nobody sampled that or other
    programs took the cores."""
    load = run.load
    if load is None or load.is_busy:
        return None
    return load.own - run.steps.busy_ratio < IDLE * run.wait.ratio


Kind = Literal["pure", "random", "stateful", "unknown"]
_RANDOM = re.compile(
    r"Random|Multinomial|ParameterizedTruncatedNormal|TruncatedNormal|SampleDistorted|NonDeterministic|Stateful(Uniform|"
    r"StandardNormal|TruncatedNormal|Random)|Rng"
)
_STATEFUL = re.compile(
    r"(Eager)?PyFunc|Assign|\w*Variable|VarHandle|StatefulPartitionedCall|(If|While|Case)\Z|Timestamp|"
    r"\w*Queue|\w*Lookup\w*(Insert|Import|Remove)"
)
"""Ops that call Python, read what changes, or call functions that may."""
_SAME_EACH_EPOCH = re.compile(
    r"(?:Range|TensorSlice|(?:From)?Tensor|TFRecord|TextLine|FixedLengthRecord|Zip|Concatenate|(?:Parallel)?Map|MapAndBatch|"
    r"ParseExample|(?:Parallel|Padded|Re|Un)?[Bb]atch|Prefetch|Filter|FlatMap|Interleave|(?:Finite)?(?:Take|Skip)|Shard|Window|"
    r"Options|Root|Model|AssertCardinality)\Z"
)
"""What gives the same elements in the same order each time, of inputs that do."""


def kind_of_input(run: Run) -> Kind:
    """What functions of all datasets do, by their ops in graphs and those that ran: a trace does not say whose a function is."""
    source_map = run.source_map
    graphs = np.flatnonzero([DATA_GRAPH.match(name) is not None for name in source_map.functions["graph"]])
    noted = set(source_map.ops["type"][source_map.ops["graph"].isin(graphs)])
    kinds = noted | set(input_ops(run)[1])
    if "IteratorGetNext" in noted or any(map(_STATEFUL.match, kinds)):
        return "stateful"
    if any(map(_RANDOM.match, kinds)):
        return "random"
    return "pure" if noted else "unknown"


def names_of(run: Run, pipeline: pd.Series | None) -> list[str]:
    """The iterators of a pipeline, a consumer before what it consumes, without versions."""
    return [] if pipeline is None else [*map(base_name, iterators_of(run, pipeline)["name"].tolist())]


N_WAITING = 16
"""Calls at a time of a function that waits; AUTOTUNE takes one a core at most. Sleeping ones fit on few cores."""
_THREADS = f"options.threading.private_threadpool_size = {N_WAITING}"
_IF_IDLE: dict[bool | None, str] = {
    True: f" It waits more than it computes: num_parallel_calls={N_WAITING}, more than there are cores, with a thread for "
    f"each ({_THREADS}, of a tf.data.Options() for with_options).",
    None: f" Where it waits for a disk or a network: num_parallel_calls={N_WAITING}, and {_THREADS}.",
    False: "",
}


def input_fix(run: Run, stage: str, pipeline: pd.Series | None) -> Fix:
    """What to write."""
    is_idle, cut = waits_idly(run), late_cut(run) if stage == "cut_after" else None
    match stage:
        case "no_parallel_map":
            return _parallel(run)
        case "slow_map" | "cut_after" if cut is None:
            return _parallel(run) if is_idle else cheaper_map(run)
        case "python_map":
            return without_python(run)
        case "sequential_stage":
            return _of_stage(run, pipeline)
    thrown = percent(1 - (cut.kept if cut else kept_ratio(run)))
    words = _words(run, stage, cut=cut.words if cut else "", thrown=thrown)
    if stage == "no_prefetch":
        return _prefetch(run, words)
    if stage == "generator":
        words += _IF_IDLE[is_idle] or (
            " Where Python computes, one call runs at a time whatever is parallel: prepare the data before the training."
        )
    return Fix(words)


def _words(run: Run, stage: str, **parts: str) -> str:
    """What to do about a stage, with the name of the mapped function."""
    costly = mapped_function(run)
    function, place = (costly.words, behind(one_line(costly.place))) if costly else ("the mapped function", "")
    return STAGES[stage].words.format(function=function, place=place, **parts)


def map_call(run: Run) -> UserCall | None:
    """The call of `map` that is given the costly function."""
    costly = mapped_function(run)
    if costly is None:
        return None

    def gives_it(call: ast.Call) -> bool:
        given = call.args[0] if call.args else next((one.value for one in call.keywords if one.arg == "map_func"), None)
        if isinstance(given, ast.Lambda):
            return not costly.name.isidentifier() and given.lineno <= costly.line <= (given.end_lineno or 0)
        return isinstance(given, ast.Name) and given.id == costly.name

    return only_call(run.source_map, "map", gives_it)


def _parallel(run: Run) -> Fix:
    """A map that makes several elements at a time, in their order."""
    kind, call, is_idle = kind_of_input(run), map_call(run), waits_idly(run)
    words = _words(run, "no_parallel_map")
    words += {
        "pure": "",
        "random": " Random numbers are drawn by another element each time, also with a seed.",
        "stateful": " It calls Python or reads what changes: only where no call depends on those before it.",
        "unknown": " Only where no call depends on those before it.",
    }[kind]
    words += _IF_IDLE[is_idle]
    if runs_python(run) and not is_idle:
        words += " Where it computes in Python, which runs one call at a time, write it in ops of TensorFlow instead."
    if call is None or kind not in ("pure", "random"):
        return Fix(words)
    code = call.with_keyword("num_parallel_calls", str(N_WAITING) if is_idle else AUTOTUNE)
    return rewritten(words, call, code, _own_threads(call) if is_idle else "")


def _own_threads(call: UserCall) -> str:
    if not call.target or "tf" not in call.names:
        return ""
    return (
        f"\npipeline_options = tf.data.Options()\npipeline_{_THREADS}\n{call.target} = "
        f"{call.target}.with_options(pipeline_options)"
    )


def _prefetch(run: Run, words: str) -> Fix:
    """What `fit` is given, made ahead."""

    def takes_a_dataset(call: ast.Call) -> bool:
        given = {one.arg for one in call.keywords}
        return is_of_model(call) and len(call.args) == 1 and not given & {"x", "y", "batch_size"}

    call = only_call(run.source_map, "fit", takes_a_dataset)
    data = call.call.args[0] if call else None
    if call is None or not isinstance(data, ast.Name) or "tf" not in call.names or kind_of_input(run) == "stateful":
        return Fix(words)
    return Fix(
        words, f"{remark(f'before {call.place}')}{data.id} = {data.id}.prefetch({AUTOTUNE})", call.names | {data.id}
    )


def cheaper_map(run: Run) -> Fix:
    """A function that is the cost itself: its results are cached where they are known to be the same in each epoch."""
    told, call = _on_keeping(run, run.results.tf_data.bottleneck_pipeline)
    words = f"{_words(run, 'slow_map')} {told}"
    return rewritten(words, call, call.followed_by(".cache()")) if call else Fix(words)


def without_python(run: Run) -> Fix:
    """What a mapped function does in Python, done without."""
    told, _ = _on_keeping(run, run.results.tf_data.bottleneck_pipeline)
    return Fix(f"{_words(run, 'python_map')} {told}")


_KEPT = "keep its results by .cache() behind the map, if they fit in memory."
_WORDS: dict[Kind, str] = {
    "pure": f"It gives the same in each epoch: {_KEPT}",
    "random": "It draws random numbers: a cache behind it would give the same ones in each epoch. Cache what is before "
    "them, and draw them in a map behind that.",
    "stateful": f"Only where Python and what else it reads give the same in each epoch, {_KEPT}",
    "unknown": f"Only where nothing in it or before it is random or shuffled, {_KEPT}",
}


def _on_keeping(run: Run, pipeline: pd.Series | None) -> tuple[str, UserCall | None]:
    """Whether to keep what a map gives, and the call of it where that is safe, whichever of its maps it is."""
    names, kind = names_of(run, pipeline), kind_of_input(run)
    maps = [k for k, name in enumerate(names) if name in MAPS]
    if any("Cache" in name for name in names):
        return _on_cache(run, pipeline), None
    if kind != "pure" or not maps:
        return _WORDS[kind if maps or kind == "random" else "unknown"], None
    if not all(map(_SAME_EACH_EPOCH.match, names[maps[0] + 1 :])):
        return (
            "Something before it is shuffled or repeated: map first, and keep that by .cache() before the shuffle.",
            None,
        )
    if any("Take" in name for name in names[: maps[-1]]):
        return "Keep its results by .cache() behind take(): a cache that is not read to its end is thrown away.", None
    return _WORDS[kind], map_call(run)


def _on_cache(run: Run, pipeline: pd.Series | None) -> str:
    if throws_cache_away(run, pipeline):
        return f"There is a cache in this pipeline. {_TAKE_FIRST}"
    return (
        "There is a cache in this pipeline. What is before it runs in the first epoch alone, unless an epoch does not read "
        "all of it, which throws the cache away; what is behind it runs in each."
    )


_TAKE_FIRST = (
    "Put take() before cache(), .take(n).cache() in place of .cache().take(n): the cache is thrown away where an epoch ends "
    "before it is full, and all that is before it runs again in the next."
)


def throws_cache_away(run: Run, pipeline: pd.Series | None) -> bool:
    """Whether what a cache keeps was made again for a later iterator, as a take directly behind it ended the one before."""
    if pipeline is None:
        return False
    names, n_made = names_of(run, pipeline), iterators_of(run, pipeline)["n_iterators"].tolist()
    takes = [at for at, name in enumerate(names) if "Take" in name and "Cache" in "".join(names[at + 1 : at + 2])]
    below = [next((at for at in range(take + 1, len(names)) if "Cache" not in names[at]), take) for take in takes]
    return any(1 < n_made[at] <= n_made[0] and at > take for take, at in zip(takes, below, strict=True))


def _of_stage(run: Run, pipeline: pd.Series | None) -> Fix:
    """What to do about a stage that works alone, and the statement where one argument does it."""
    source_map, iterators = run.source_map, run.results.tf_data.iterators
    words = STAGES["no_prefetch"].words if pipeline is None else sequential_words(iterators, _working(run, pipeline))
    if words == REBATCH:
        call = only_call(source_map, "batch", _is_behind_unbatch)
        return rewritten(words, call, _rebatched(call) if call else "")
    if words.startswith("interleave"):
        call = only_call(source_map, "interleave", lambda call: any(one.arg == "cycle_length" for one in call.keywords))
        is_safe = call is not None and kind_of_input(run) in ("pure", "random") and "tf" in call.names
        return rewritten(words, call, call.with_keyword("num_parallel_calls", AUTOTUNE) if call and is_safe else "")
    return Fix(words)


def _is_behind_unbatch(call: ast.Call) -> bool:
    given = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "unbatch"


def _rebatched(call: UserCall) -> str:
    """`rebatch` in place of `unbatch` and `batch`; empty where it does not take the same arguments."""
    whole = call.call.func
    unbatched = whole.value if isinstance(whole, ast.Attribute) else None
    unbatch = unbatched.func if isinstance(unbatched, ast.Call) else None
    if not isinstance(unbatch, ast.Attribute) or len(call.call.args) > 2:
        return ""
    if {one.arg for one in call.call.keywords} - {"batch_size", "drop_remainder", "name"}:
        return ""
    return call.instead_of(unbatch.value, whole, ".rebatch")


HIDDEN_BY_PREFETCH = 0.5
"""A pipeline that never works ahead is hidden behind the step by a prefetch alone where its work takes up to this share of it."""

FILLS = 0.5
"""Of all the wait for data: where shuffles fill their buffers for so much of it, that is the cause."""


@rule("Speed up the input", claims=("input",))
def input_bound(run: Run) -> Iterator[Advice]:
    """The training waits for data; gain: the share of the step time spent waiting, without copies to a device (`h2d_bound`), as
    far as filters and cores let a fix win it."""
    steps, wait = run.steps, run.wait
    if not wait.is_long or _is_filling(run) or run.is_called_for_each_step:
        return
    part = steps.part("input", float(wait.ms.mean()))
    pipeline = run.results.tf_data.bottleneck_pipeline
    stage = "generator" if pipeline is None else _stage(run, pipeline, part.ratio)
    name = "" if pipeline is None else str(pipeline["bottleneck_name"])
    short = "" if pipeline is None else str(run.results.tf_data.iterators["name"].iloc[_working(run, pipeline)])
    stage, why, fix = _cause(run, stage, pipeline)
    waits = f"{_waits(run, part)}{f' in {short}' if short else ''}"
    if not wait.is_told and not throws_cache_away(run, pipeline):
        yield _beside_others(run, part, waits, fix)
        return
    yield run.advise(
        f"{waits}: {why}.",
        part,
        fix,
        steps.stretch(
            wait.ms, "input", view="timeline" if pipeline is None else "input_graph", op_names=_names(run, pipeline)
        ),
        gain=_won(run, stage, part.ratio),
        stage=stage,
        headline=STAGES[stage].headline if stage else "",
        bottleneck=name,
    )


_NEEDS_CORES = ("no_parallel_map", "few_threads")


def _won(run: Run, stage: str, ratio: float) -> float:
    """What a fix of a stage could win of a wait: with a filter its part, by more calls at once what the cores can take of it."""
    if stage == "filter_after":
        return ratio * (1 - kept_ratio(run))
    if stage == "cut_after" and (cut := late_cut(run)) is not None:
        return ratio * cut.work * (1 - cut.kept)
    load, steps_ms = run.load, float(run.results.steps.frame["step_time_ms"].sum())
    if stage not in _NEEDS_CORES or load is None or not steps_ms:
        return ratio
    own_us, _ = input_ops(run)
    computing = float(own_us.sum()) / US_PER_MS / steps_ms + run.steps.busy_ratio
    return min(ratio, 1 - min(computing, load.own) / min(load.quota or load.n_cores, load.n_cores))


def _waits(run: Run, part: StepPart) -> str:
    who = run.steps.device if run.steps.has_device else "model"
    return f"The {who} waits {number(part.ms)} of {number(part.step_ms)} ms a step for data ({percent(part.ratio)})"


def _cause(run: Run, stage: str, pipeline: pd.Series | None) -> tuple[str, str, Fix]:
    """The stage that its headline is about, why it is slow, and what to write."""
    debugging = only_call(run.source_map, "enable_debug_mode", lambda _: True)
    if debugging and runs_python(run):
        why = f"tf.data's debug mode ({debugging.place}) makes one element after another, in Python"
        return "", why, Fix("Leave tf.data.experimental.enable_debug_mode() out.")
    if "Cache" in ("" if pipeline is None else str(pipeline["bottleneck_name"])) and throws_cache_away(run, pipeline):
        why = "a cache behind it is thrown away in each epoch, as take() ends that before the cache is full"
        return "", why, Fix(_TAKE_FIRST)
    if opens_many_files(run) and stage in ("sequential_stage", "slow_read", "no_parallel_map"):
        why = "a file is opened for each record or two"
        return (
            "",
            why,
            Fix(
                "Write many records to a file, by one tf.io.TFRecordWriter for 100 MB and more, and interleave over these."
            ),
        )
    made = py_dataset(run) if stage == "generator" else ""
    if made:
        return "", f"{made} makes batches more slowly than they are trained on", _more_workers(run, made)
    if stage == "slow_map" and _cuts_arrays(run):
        return "", "Keras cuts each batch out of the arrays", Fix("Of larger batches fewer are cut.")
    return stage, f"{STAGES[stage].why}{_mostly_in_one(run, pipeline)}", input_fix(run, stage, pipeline)


_OF_ARRAYS = ("Dataset_map_grab_batch", "Dataset_map_permutation", "Dataset_flat_map_slice_batch_indices")


def _cuts_arrays(run: Run) -> bool:
    """Whether all functions of datasets are those by which Keras makes batches of arrays."""
    graphs = [one for one in run.source_map.functions["graph"] if DATA_GRAPH.match(one)]
    return _OF_ARRAYS[0] in graphs and set(graphs) <= {*_OF_ARRAYS}


_OF_ONE = 0.5
"""Of the work on all inputs of an interleave: one that takes more is slower than the others, of four and more."""


def _mostly_in_one(run: Run, pipeline: pd.Series | None) -> str:
    """That most of the work is on one of the inputs that an interleave reads at a time."""
    calls = getattr(run.results.tf_data, "calls", None)
    if pipeline is None or calls is None:
        return ""
    own = calls[calls["iterator"] == int(pipeline["bottleneck"])]
    ms = own.groupby(run.trace.name_id[own["event"].to_numpy()])["self_ps"].sum()
    share = float(ms.max() / max(ms.sum(), 1))
    if len(ms) < 4 or share < _OF_ONE:
        return ""
    return f", {percent(share)} of it in one of the {len(ms)} inputs that are read at a time"


def _beside_others(run: Run, part: StepPart, waits: str, there: Fix) -> Advice:
    """A wait that other programs may cause: it promises nothing."""
    others = run.load.others if run.load is not None else 0.0
    return run.advise(
        f"{waits}, while other programs took {number(others)} cores: without them it may wait less, or not at all.",
        part,
        Fix(f"Capture it on a machine that nothing else uses first. Where it waits there, too: {there.words}"),
        run.steps.stretch(run.wait.ms, "input", view="timeline"),
        gain=0.0,
        other_cores=others,
    )


_OF_KERAS = ("PyDataset", "Sequence")
FULL = 0.9
"""Of all cores: where the program and its processes take so much, more of them win nothing."""


def py_dataset(run: Run) -> str:
    """Such as `Rows.__getitem__ (train.py:9)`, where a class of the user's and no generator makes the batches; "" where not."""
    found = []
    for path, text in user_files(run.source_map) if run.is_keras_loop else ():
        if "from_generator(" in text:
            return ""
        classes = [node for node in ast.walk(parsed(text) or ast.Module([], [])) if isinstance(node, ast.ClassDef)]
        own = [one for one in classes if any(ast.unparse(base).rpartition(".")[2] in _OF_KERAS for base in one.bases)]
        methods = [(one.name, part) for one in own for part in one.body if isinstance(part, ast.FunctionDef)]
        found += [
            f"{name}.{part.name} ({place_of(run.source_map, path, part.lineno)})"
            for name, part in methods
            if part.name == "__getitem__"
        ]
    return found[0] if len(found) == 1 else "__getitem__ of your PyDataset" if found else ""


def _more_workers(run: Run, made: str) -> Fix:
    load = run.load
    is_full = load is not None and load.own + load.children >= FULL * load.n_cores
    return Fix(
        f"Make {made} cheaper, or let it make several batches at once: workers=4 of the PyDataset where it waits for a disk or "
        "a network, with use_multiprocessing=True where it computes; max_queue_size is how many batches are ready at most."
        + (" No core is free as it is, so only a cheaper one wins time." if is_full else "")
    )


def _is_filling(run: Run) -> bool:
    """Whether shuffles fill their buffers in most of the time for which steps wait: `shuffle_fill` tells that."""
    fill = run.shuffle_fill
    return fill is not None and fill.ms >= FILLS * float(run.results.steps.frame["input_ms"].sum())


def works_ahead(run: Run) -> bool:
    """Whether the pipeline prepares batches while the model computes."""
    pipeline = run.results.tf_data.bottleneck_pipeline
    if pipeline is None:
        return False
    if "Generator" in str(pipeline["bottleneck_name"]) and py_dataset(run):  # Keras calls it ahead
        return True
    return bool(iterators_of(run, pipeline)["is_async"].any())


def _working(run: Run, pipeline: pd.Series) -> int:
    """The row of what holds a pipeline up."""
    return working(run.results.tf_data.iterators, int(pipeline["bottleneck"]))


def _stage(run: Run, pipeline: pd.Series, gain: float) -> str:
    if pipeline["is_device"]:
        return "of_device"
    one = run.results.tf_data.iterators.iloc[_working(run, pipeline)]
    stage = stage_of(str(one["name"]), one["params"])
    if stage != "generator" and not works_ahead(run) and gain <= HIDDEN_BY_PREFETCH:
        return "no_prefetch"
    is_map = stage in ("no_parallel_map", "slow_map")
    if (is_map or base_name(str(one["name"])) == "Filter") and kept_ratio(run) <= MOST_KEPT:
        return "filter_after"
    if stage == "no_parallel_map":
        # Python that waits lets others run: where it is not known to compute, calls in parallel may help.
        return "python_map" if runs_python(run) and waits_idly(run) is False else stage
    return map_stage(run, pipeline) if stage == "slow_map" else stage


def _names(run: Run, pipeline: pd.Series | None) -> tuple[str, ...]:
    """Names of ops that are the bottleneck."""
    if pipeline is None:
        return run.known("IteratorGetNext")
    events = list(run.results.tf_data.iterators["event_names"].iloc[int(pipeline["bottleneck"])])
    return run.known(*parse_op_names(events).name, *events)


_WON = 0.5
"""Of the time that is freed: a model cannot use all of it. 0.45 to 1.4 were seen on two cores."""


@rule("Let the input compute less", level=GENERAL, claims=("host_compute",), explains=("small_batch",), scope="program")
def input_competes(run: Run) -> Iterator[Advice]:
    """Without a device, the input computes on the cores of the model, which never waits for it; gain: about half the share of
    this process' time on cores that functions of the input take."""
    steps, load = run.steps, run.load
    if len(steps) < MIN_STEPS or steps.has_device or run.wait.is_told or load is None:
        return
    # Where others take the cores, it is not the input that leaves none.
    if load.free >= FREE or load.is_busy:
        return
    input_ms = float(input_ops(run)[0].sum()) / US_PER_MS
    frame = run.results.steps.frame
    core_ms = float(frame["step_time_ms"].sum()) * load.own
    share = input_ms / core_ms if core_ms else 0.0
    # More than the process computed is no computing: Python that sleeps, or reads.
    if share > 1 or _WON * share < MEDIUM_GAIN:
        return
    costly = mapped_function(run)
    each_ms = input_ms / len(frame)
    yield run.advise(
        f"Functions of the input compute for {number(each_ms)} ms a step on cores that the model needs: {percent(share)} of what "
        "this process takes of them, and none is free.",
        None,
        cheaper_map(run),
        view="step_chart",
        gain=_WON * share,
        estimate="half of the time on cores that is freed",
        line=costly.place if costly else "",
    )


@rule("Use all cores", claims=("host_compute",))
def few_threads(run: Run) -> Iterator[Advice]:
    """The program set fewer threads for an op than there are cores; gain: of the share of ops what more threads would save."""
    steps, noted = run.steps, run.results.noted
    if len(steps) < MIN_STEPS or steps.has_device or run.eager.is_hot:
        return
    n_threads, n_cpus = (_whole(noted.get(name, "")) for name in ("intra_op_threads", "n_cpus"))
    if not 0 < n_threads < n_cpus:
        return
    computing, claim = run.free("compute", "few_threads", run.ran(OP_OVERHEAD_MS, of_model=True))
    gain = computing.ratio * (1 - n_threads / n_cpus)
    if gain < MEDIUM_GAIN:
        return
    yield run.advise(
        f"TensorFlow was told to use {plural(n_threads, 'thread')} for an op, of {n_cpus} cores: ops compute for {computing}.",
        computing,
        Fix(
            "Leave the numbers of threads out, or set 0, one thread a core, before anything runs.",
            "import tensorflow as "
            "tf\n\ntf.config.threading.set_intra_op_parallelism_threads(0)\ntf.config.threading.set_inter_op_parallelism_threads(0)",
        ),
        gain=gain,
        claim=claim,
    )


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


_PREPARES = frozenset(
    ("Map", "ParallelMap", "MapAndBatch", "ParseExample", "Interleave", "ParallelInterleave", "Generator")
)
_REPEATS = frozenset(("Repeat", "ForeverRepeat", "FiniteRepeat"))


@rule(
    "Make one iterator for all steps",
    claims=("input", *HOST, "copy_to_device"),
    explains=("idle_border", "input_bound"),
)
def new_iterator(run: Run) -> Iterator[Advice]:
    """A loop makes an iterator in each step; gain: about the time from making each until its batch is there, of a usual step."""
    steps, spent_ms = run.steps, run.new_iterator_ms
    if not len(steps) or not spent_ms.any():
        return
    part = StepPart("new_iterator", float(np.median(spent_ms)), steps.median_ms)
    if part.ratio < MEDIUM_GAIN:
        return
    n = int((spent_ms > 0).sum())
    yield run.advise(
        f"{n} of {plural(len(steps), 'step')} make an iterator of their own, which begins the data anew and takes {part} to give "
        "its first batch.",
        part,
        Fix(
            "Make one iterator, iter(...), before the loop, and take next(iterator) in each step. Each step then "
            "gets the next batch; an iterator made anew begins the data from its start."
        ),
        by=spent_ms,
        ops=run.known("IteratorGetNext"),
        claim=Claim(spans=run.new_iterators),
        estimate="the first batch of each iterator; its threads take more beside the step",
    )


@rule("Shuffle before elements are prepared", share_of="time captured", scope="program")
def shuffle_fill(run: Run) -> Iterator[Advice]:
    """A shuffle fills its buffer at the begin of each epoch while the training waits; gain: its share of the time captured."""
    fill = run.shuffle_fill
    if fill is None or run.new_iterator_ms.any():
        return
    iterators = run.results.tf_data.iterators
    shuffle = iterators.iloc[fill.row]
    below = [str(name) for name in iterators["name"].iloc[slowest_below(iterators, fill.row)]]
    prepared = next((name for name in below if base_name(name) in _PREPARES), "")
    repeated = any(base_name(name) in _REPEATS for name in below)
    size = number(float(shuffle["buffer_size"])) if shuffle["buffer_size"] > 0 else "its"
    by = f", which {prepared} prepares" if prepared else ""
    yield run.advise(
        f"The training waits {milliseconds(fill.ms)} of the {milliseconds(fill.ms / fill.ratio)} captured "
        f"({percent(fill.ratio)}) until {shuffle['name']} has filled its buffer of {size} elements{by}: "
        f"{plural(fill.n_times, 'time')}, before the first batch of each iterator.",
        None,
        _smaller_fill(run, shuffle, prepared, is_repeated=repeated),
        step_highlight(
            run.results.steps.frame,
            int(run.results.steps.frame["input_ms"].to_numpy().argmax()),
            view="input_graph",
            op_names=tuple(shuffle["event_names"]),
        ),
        gain=fill.ratio,
        settings=str(shuffle["settings"]),
    )


def _smaller_fill(run: Run, shuffle: pd.Series, prepared: str, *, is_repeated: bool) -> Fix:
    costly, size = mapped_function(run) if prepared else None, int(shuffle["buffer_size"])
    smaller = f", such as of {max(size // 10, 1):,} elements," if size > 0 else ""
    words = (
        f"Shuffle elements, names or indices first, and prepare them afterwards{f' by {costly.words}' if costly else ''}: a full "
        "buffer then costs little, and the order is as random."
        if prepared
        else f"A smaller buffer{smaller} is full sooner; it shuffles less."
    )
    behind_repeat = " Shuffle before repeat(): behind it the buffer takes the same elements several times."
    return Fix(words + behind_repeat * is_repeated)
