"""A slow stage of the input -> what to write instead: the user's own statement, or words where it is not known."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pandas as pd

from ..base.iterator_names import base_name
from ..base.wording import percent
from .code_text import remark
from .fix import Fix
from .input_stages import MAPS, kept_ratio, runs_python, waits_idly
from .mapped_function import mapped_function
from .mapped_kind import Kind, has_cache, is_same_each_epoch, kind_of_input, names_of
from .user_code import UserCall, is_of_model, only_call, rewritten

if TYPE_CHECKING:
    from .run import Run

N_WAITING = 16
"""Calls at a time of a function that waits; AUTOTUNE takes one a core at most. Sleeping ones fit on few cores."""
_AUTOTUNE = "tf.data.AUTOTUNE"
_THREADS = f"options.threading.private_threadpool_size = {N_WAITING}"
_MANY_CALLS = (
    f"It waits more than it computes: num_parallel_calls={N_WAITING}, more than there are cores, with a thread for "
    f"each ({_THREADS}, of a tf.data.Options() for with_options)."
)


def input_fix(run: Run, stage: str, short: str, pipeline: pd.Series | None) -> Fix:
    """What to write.

    Args:
        run: the run.
        stage: one of `STAGES`.
        short: the name of the iterator that is slow.
        pipeline: its row of `pipelines`; None where no pipeline was seen.
    """
    match stage:
        case "no_parallel_map":
            return _parallel(run)
        case "no_prefetch":
            return _prefetch(run)
        case "slow_map":
            return _parallel(run) if waits_idly(run) else cheaper_map(run)
        case "generator":
            return _generator(run)
        case "slow_read":
            return Fix(
                "Keep the files near to the machine, and read several at a time: interleave over their names with "
                f"num_parallel_calls={_AUTOTUNE}. Elements of several files then alternate, which is another order."
            )
        case "python_map":
            return without_python(run)
        case "element_map":
            return Fix(
                f"Batch first, and map whole batches: {_name(run)} as a function of a batch, such as "
                "tf.io.parse_example in place of tf.io.parse_single_example."
            )
        case "filter_after":
            return Fix(
                f"{percent(1 - kept_ratio(run))} of what {_name(run)} prepares is thrown away: where the filter can "
                "judge by what is there before the map, put it there."
            )
        case "few_threads":
            return Fix("Leave private_threadpool_size = 1 out of the dataset's options; 0 is one thread for each core.")
    return _of_stage(run, short, pipeline)


def _name(run: Run) -> str:
    costly = mapped_function(run)
    return costly.words if costly else "the mapped function"


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

    return only_call(run.results.source_map, "map", gives_it)


def _parallel(run: Run) -> Fix:
    """A map that makes several elements at a time, in their order."""
    kind, call, is_idle = kind_of_input(run), map_call(run), waits_idly(run)
    words = f"Let {_name(run)} run several times at once: map(..., num_parallel_calls={_AUTOTUNE}). The order of elements stays."
    words += {
        "pure": "",
        "random": " Random numbers are drawn by another element each time, also with a seed.",
        "stateful": " It calls Python or reads what changes: only where no call depends on those before it.",
        "unknown": " Only where no call depends on those before it.",
    }[kind]
    if is_idle:
        words += f" {_MANY_CALLS}"
    elif is_idle is None:
        words += f" Where it waits for a disk or a network: num_parallel_calls={N_WAITING}, and {_THREADS}."
    if runs_python(run) and not is_idle:
        words += " Where it computes in Python, which runs one call at a time, write it in ops of TensorFlow instead."
    if call is None or kind not in ("pure", "random"):
        return Fix(words)
    code = call.with_keyword("num_parallel_calls", str(N_WAITING) if is_idle else _AUTOTUNE)
    return rewritten(words, call, code, _own_threads(call) if is_idle else "")


def _own_threads(call: UserCall) -> str:
    if not call.target or "tf" not in call.names:
        return ""
    return (
        f"\npipeline_options = tf.data.Options()\npipeline_{_THREADS}\n{call.target} = "
        f"{call.target}.with_options(pipeline_options)"
    )


def _prefetch(run: Run) -> Fix:
    """What `fit` is given, made ahead."""
    words = (
        f"Add .prefetch({_AUTOTUNE}) as the last step of the pipeline: a batch is prepared while the model computes."
    )

    def takes_a_dataset(call: ast.Call) -> bool:
        given = {one.arg for one in call.keywords}
        return is_of_model(call) and len(call.args) == 1 and not given & {"x", "y", "batch_size"}

    call = only_call(run.results.source_map, "fit", takes_a_dataset)
    data = call.call.args[0] if call else None
    if call is None or not isinstance(data, ast.Name) or "tf" not in call.names or kind_of_input(run) == "stateful":
        return Fix(words)
    return Fix(
        words, f"{remark(f'before {call.place}')}{data.id} = {data.id}.prefetch({_AUTOTUNE})", call.names | {data.id}
    )


def cheaper_map(run: Run) -> Fix:
    """A function that is the cost itself: its results kept, where they are known to be the same in each epoch."""
    words = f"Make {_name(run)} cheaper: smaller images, whole batches at a time, or done once before the training."
    told, call = _on_keeping(run, run.results.tf_data.bottleneck_pipeline)
    words = f"{words} {told}"
    return rewritten(words, call, call.followed_by(".cache()")) if call else Fix(words)


def without_python(run: Run) -> Fix:
    """What a mapped function does in Python, done without."""
    told, _ = _on_keeping(run, run.results.tf_data.bottleneck_pipeline)
    return Fix(
        f"Write {_name(run)} in ops of TensorFlow: Python runs one call at a time, however many are made in parallel. {told}"
    )


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
    if has_cache(names):
        return _on_cache(names), None
    if kind != "pure" or not maps:
        return _WORDS[kind if maps or kind == "random" else "unknown"], None
    if not is_same_each_epoch(names[maps[0] + 1 :]):
        return (
            "Something before it is shuffled or repeated: map first, and keep that by .cache() before the shuffle.",
            None,
        )
    if any("Take" in name for name in names[: maps[-1]]):
        return "Keep its results by .cache() behind take(): a cache that is not read to its end is thrown away.", None
    return _WORDS[kind], map_call(run)


def _on_cache(names: list[str]) -> str:
    at = next(k for k, name in enumerate(names) if "Cache" in name)
    put = " Put take() before cache()." if any("Take" in name for name in names[:at]) else ""
    return (
        "There is a cache in this pipeline. What is before it runs in the first epoch alone, unless an epoch does not read "
        f"all of it, which throws the cache away; what is behind it runs in each.{put}"
    )


def _generator(run: Run) -> Fix:
    is_idle = waits_idly(run)
    how = f" {_MANY_CALLS}" if is_idle else ""
    if is_idle is None:
        how = f" Where it waits for a disk or a network: num_parallel_calls={N_WAITING}, and {_THREADS}."
    if is_idle is False:
        how = " Where Python computes, one call runs at a time whatever is parallel: prepare the data before the training."
    return Fix(
        "Let the generator give only names or numbers, and load their elements by tf.numpy_function in a map with "
        f"num_parallel_calls={_AUTOTUNE}; or read with a source of tf.data.{how}"
    )


def _of_stage(run: Run, short: str, pipeline: pd.Series | None) -> Fix:
    """What the table of the input says of the iterator, and the statement where one argument does it."""
    words = "" if pipeline is None else str(pipeline["suggestion"])
    words = words or f"Add .prefetch({_AUTOTUNE}) as the last step of the pipeline."
    source_map = run.results.source_map
    if ".rebatch(" in words:
        call = only_call(source_map, "batch", _is_behind_unbatch)
        return rewritten(words, call, _rebatched(call) if call else "")
    if base_name(short) == "Interleave":
        call = only_call(source_map, "interleave", lambda call: any(one.arg == "cycle_length" for one in call.keywords))
        is_safe = call is not None and kind_of_input(run) in ("pure", "random") and "tf" in call.names
        return rewritten(words, call, call.with_keyword("num_parallel_calls", _AUTOTUNE) if call and is_safe else "")
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
