"""Facts -> `Overview`: how long a step takes, how stable it is, what limits it, on what machine."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..trace.arrays import Bool, Float64, Int64
from ..trace.capture_facts import unrecorded_remedy, unrecorded_verdict
from .advice.causes import locked_ms
from .advice.computing import NO_COMPUTE
from .advice.run import Run
from .common import PS_PER_MS, milliseconds, number, percent, plural
from .facts import Facts
from .hosts.hosts import Environment
from .input.pipeline import INPUT_HIGH
from .layers.layers import KnownLayers, find_layers
from .layers.scopes import VENDOR
from .memory.memory import judge_memory
from .out_of_memory.failure import MemoryFailure
from .steps.categories import GUIDE_PREFIX, STEP_CATEGORIES
from .steps.spans import MIN_STEPS, Averaged, kinds_of
from .steps.steps import batch_words, batches_of, ran_on_device
from .table import table
from .verdict import MARKING, UNTOLD_INPUT, Verdict, idle_of, judge, op_time_of, untold

BREAKDOWN = table(
    """
    overview.breakdown: a category of the step time
        category  text   as the columns of the steps table are called
        ms        float  mean a step
        std_ms    float  standard deviation between steps
        ratio     float  part of the step time
    """,
    browser="category ms ratio",
)

_OF_DEVICES = ("device_compute", "device_to_device", "device_collectives", "copy_to_device", "output")
"""What limits a step whatever the cores of the host do."""
MOST = 0.5
"""A verdict on steps that are less than this of the time from the first step to the last says so first."""


@dataclass(frozen=True, eq=False, repr=False)
class Overview:
    """The figures that you want first: what `Profile.overview` gives. Without steps, times and ratios of steps are 0 and
    `verdict` says why.
    """

    n_steps: int
    """How many steps were captured: rows of `Profile.steps`."""
    n_steps_averaged: int
    """How many of them the averages are over; `left_out` says why not all."""
    step_time_avg_ms: float
    """Mean time of an averaged step, in ms."""
    step_time_std_ms: float
    """Sample standard deviation, 0 for a single step."""
    step_time_min_ms: float
    """The shortest averaged step, in ms."""
    step_time_max_ms: float
    """The longest averaged step, in ms."""
    step_time_median_ms: float
    """The median averaged step, in ms; where steps are of two kinds, of the shorter kind."""
    typical_steps: tuple[int, ...]
    """Row of `Profile.steps` of the averaged step that is nearest to the median; where steps are of two kinds one of each. Empty
    without averaged steps.
    """
    slow_steps: str
    """Where steps are of two kinds how many are of the longer one, and how long these take; else empty."""
    is_averaged: Bool
    """For each row of `Profile.steps` whether the averages include it: an array of bool."""
    left_out: str
    """Which steps the averages leave out and why, such as those that compile, and how many of the averaged ones compile;
    empty where all are in and none does.
    """
    is_inferred: bool
    """Whether any step was found by what repeats, rather than marked."""
    breakdown: pd.DataFrame
    """What an averaged step is made of: the table `overview.breakdown`."""
    limiter: str
    """The category that limits the steps, such as `input`; empty where there are none."""
    verdict: str
    """What limits the steps, in one sentence."""
    kind: str
    """The kind of that, such as `Host-bound`; empty where no part of a step is most of it, and without steps."""
    headline: str
    """The verdict without its kind, in shares of a step in place of times."""
    batches: str
    """How many batches an averaged step takes in one call, and the time of each; empty for one, and where nothing tells of more.
    """
    verdict_detail: str
    """That other programs took the cores, what else the breakdown says, and what the averages are over; or, without steps, what
    to do."""
    busy_ratio: float
    """Share of the step time in which the device (on a machine without one: the CPU) computes."""
    covered_ratio: float
    """Share of the time captured that lies in steps of the kind that the averages are over; 1 without steps."""
    compute_16bit_ratio: float
    """Share of 16-bit kernels in device compute time; NaN where no device computed, or the trace does not tell (TPU)."""
    compute_32bit_ratio: float
    """Share of all other kernels in it; NaN likewise."""
    host_time_ratio: float
    """Share of op time spent on the CPU; with `device_time_ratio` it adds up to 1, or both are 0 without ops."""
    device_time_ratio: float
    """Share of op time spent on devices."""
    host_eager_ratio: float
    """Share of eagerly run ops, outside of any `tf.function`, in the op time of the CPU."""
    device_eager_ratio: float
    """The same of devices."""
    device_idle_ratio: float
    """Share of the time from the first to the last event of a device in which nothing ran on it; NaN without a device."""
    host_idle_ratio: float
    """Share of the time from the first to the last op of a CPU thread in which it ran none, summed over threads: high in a
    healthy program too. NaN without ops on the CPU."""
    device_duty_cycle_ratio: float
    """On a TPU the share of the time in which its cores did something else than wait for the host; NaN elsewhere."""
    tf_functions: pd.DataFrame
    """What calls of `tf.function`s cost: the table `overview.tf_functions`."""
    findings: tuple[str, ...]
    """What else is wrong beside what limits the steps, a sentence each: memory that is nearly full or fragmented."""
    environment: Environment
    """The machine, as far as the trace tells: `hosts`, `device_type`, `n_devices`, `device_memory_bytes`, versions, and
    more.
    """

    def __repr__(self) -> str:
        return f"Overview({plural(self.n_steps, 'step')}: {self.verdict})"


_PLAIN = ("float", "str", "bool", "tuple[str, ...]", "tuple[int, ...]")
IN_BROWSER = [one for one in fields(Overview) if one.type in _PLAIN and not one.name.startswith("step_time")]
"""The figures and sentences that the browser gets under these names."""


def compute_overview(facts: Facts, *, failure: MemoryFailure | None = None) -> Overview:
    """Sum a capture up. Differs from XProf: averages are over all complete steps without compiling or a first outlier (D3),
    bfloat16 is 16-bit (D9), host and device shares are of time (D10)."""
    steps, environment = facts.steps, facts.environment
    averaged, left_out, _ = facts.averaged_steps
    chosen = steps.frame[averaged]
    times = _step_times(chosen)
    kinds = _kinds(chosen["step_time_ms"].to_numpy(np.float64))
    breakdown = _breakdown(chosen, times["step_time_avg_ms"])
    limit, busy_ratio, load = _judged(facts, chosen, breakdown, times["step_time_avg_ms"])
    memory = judge_memory(facts.memory.summary)
    said, detail = _without_steps(environment, steps.frame, failure) or (
        _in_all(facts, chosen, limit),
        " ".join(filter(None, (load, *memory, _detail(steps.frame, breakdown, limit.limiter, left_out)))),
    )
    return Overview(
        n_steps=len(steps),
        n_steps_averaged=len(chosen),
        **times,
        step_time_median_ms=kinds[0].median_ms if kinds else 0.0,
        typical_steps=tuple(int(np.flatnonzero(averaged)[one.nearest]) for one in kinds),
        slow_steps="" if len(kinds) < 2 else f"{kinds[1].n} of {len(chosen)} steps: {milliseconds(kinds[1].median_ms)}",
        is_averaged=averaged,
        left_out=left_out,
        is_inferred=bool((steps.frame["source"] == "inferred").any()),
        breakdown=breakdown,
        limiter=limit.limiter,
        verdict=said.sentence,
        kind=said.kind,
        headline=said.headline,
        batches=batch_words(*(chosen[name].to_numpy() for name in ("n_batches", "step_time_ms"))),
        verdict_detail=detail,
        covered_ratio=facts.coverage.ratio,
        busy_ratio=busy_ratio,
        compute_16bit_ratio=steps.compute_16bit_ratio,
        compute_32bit_ratio=steps.compute_32bit_ratio,
        **vars(op_time_of(facts.op_shares, facts.op_sums.self_ps)),  # host and device have the same names there
        **vars(idle_of(facts.idle_times)),
        tf_functions=facts.tf_functions,
        findings=() if failure is not None else memory,
        environment=environment,
    )


def _judged(facts: Facts, chosen: pd.DataFrame, breakdown: pd.DataFrame, step_ms: float) -> tuple[Verdict, float, str]:
    """The verdict, the share of the step in which the device, or the CPU, computes, and what others took of the cores."""
    kind = "TPU" if "TPU" in facts.environment.device_type else "GPU"
    has_device = ran_on_device(chosen)
    run = Run(facts)
    verdict = judge(
        dict(zip(breakdown["category"], breakdown["ms"], strict=True)),
        step_ms,
        has_device=has_device,
        device=kind,
        # A device takes its data without the threads of the host, whose waking is what short waits are elsewhere.
        waits=has_device or run.wait.is_told,
        python_ms=float(chosen[f"{GUIDE_PREFIX}other_ms"].mean()) if len(chosen) else 0.0,
        locked_ms=locked_ms(run) if len(chosen) and facts.has_events else 0.0,
        most=_most(facts, chosen) if len(chosen) and facts.has_events else {},
        batches=batches_of(chosen["n_batches"].to_numpy(np.int64)),
    )
    # What a device takes is the same beside any program.
    load = "" if run.load is None or verdict.limiter in _OF_DEVICES else run.load.sentence
    ratio = dict(zip(breakdown["category"], breakdown["ratio"], strict=True))
    return verdict, ratio["device_compute" if has_device else "host_compute"], load


def _most(facts: Facts, chosen: pd.DataFrame) -> dict[str, str]:
    """By category the op type, or the optimizer, that has more than half of it; of waiting for data the stage."""
    # No layer: the first view waits for no source map.
    rows, types = facts.attribution, facts.op_shares.type
    places = find_layers(facts.named_scopes, KnownLayers({}, {}, {}))
    is_optimizer = np.array(places.kind, np.str_)[places.entry] == "optimizer"
    kinds, kind = np.unique(np.array([VENDOR.sub("", one) for one in types], np.str_), return_inverse=True)
    averaged = np.append(facts.is_averaged, False)[rows.step]
    found = {}
    for name in ("device_compute", "host_compute"):
        own = averaged & (rows.category == STEP_CATEGORIES.index(name))
        whole, is_op = float(rows.time_ps[own].sum()), own & (rows.op >= 0)
        time_ps = np.bincount(rows.op[is_op], rows.time_ps[is_op], len(types))
        by_type = np.bincount(kind, time_ps, len(kinds)) * ~np.isin(kinds, NO_COMPUTE)
        if time_ps[is_optimizer].sum() > MOST * whole > 0:
            found[name] = "in the optimizer"
        elif len(kinds) and by_type.max() > MOST * whole > 0:
            found[name] = f"in {kinds[int(by_type.argmax())]}"
    iterators, stage = facts.tf_data.iterators["name"], facts.tf_data.bottleneck
    return found if stage < 0 or _anew(facts, chosen) else found | {"input": f"for {iterators.iloc[stage]}"}


def _in_all(facts: Facts, chosen: pd.DataFrame, limit: Verdict) -> Verdict:
    """What limits the steps, after where most of the time is."""
    anew = _anew(facts, chosen)

    def said(words: str, *, in_shares: bool) -> str:
        outside = _outside(facts, chosen, in_shares=in_shares)
        if outside and anew:  # what these wait for is making it
            return f"{outside}. {anew}"
        among = f"{outside}. In them: " if outside else ""
        compiling = _in_compiling(facts.steps.frame, facts.averaged_steps, in_shares=in_shares)
        return " ".join(filter(None, (f"{among}{compiling}{words}", anew)))

    sentence, headline = said(limit.sentence, in_shares=False), said(limit.headline, in_shares=True)
    return Verdict(limit.limiter, limit.kind if limit.sentence in sentence else "", sentence, headline)


_MANY = 5
"""So many pipelines are none of a training and its validations."""


def _anew(facts: Facts, chosen: pd.DataFrame) -> str:
    """That there is a pipeline for each step, be it of a hook."""
    if not facts.has_events or len(facts.tf_data.pipelines) < max(len(chosen), _MANY):
        return ""
    return "There is a new pipeline for each step, as each call of predict or evaluate makes one."


def _outside(facts: Facts, chosen: pd.DataFrame, *, in_shares: bool) -> str:
    """That most of the time from the first step to the last is no such step, before what limits the steps."""
    coverage, kinds = facts.coverage, kinds_of(chosen["name"])
    which = "training steps" if "train" in kinds else "steps"
    whole_ps = coverage.captured_ps - coverage.edges_ps
    if coverage.between_ps <= (1 - MOST) * whole_ps or len(chosen) < MIN_STEPS:
        return ""
    between, whole = (milliseconds(ps / PS_PER_MS) for ps in (coverage.between_ps, whole_ps))
    times = "" if in_shares else f" ({between} of {whole})"
    return f"{percent(coverage.between_ps / whole_ps)} of the time from the first step to the last is outside of {which}{times}"


def _in_compiling(frame: pd.DataFrame, chosen: Averaged, *, in_shares: bool) -> str:
    """That most of the time of steps is in those that compile again and are not averaged, before what limits the others."""
    time_ms = frame["step_time_ms"].to_numpy()
    compiling_ms = float(time_ms[chosen.compiles_again].sum())
    whole_ms = compiling_ms + float(time_ms[chosen.is_averaged].sum())
    n = int(chosen.compiles_again.sum())
    if n < MIN_STEPS or compiling_ms <= MOST * whole_ms:
        return ""
    times = "" if in_shares else f" ({milliseconds(compiling_ms)} of {milliseconds(whole_ms)})"
    return f"{n} steps compile again and take {percent(compiling_ms / whole_ms)} of the time of all steps{times}. In the others: "


def _step_times(chosen: pd.DataFrame) -> dict[str, float]:
    """Fields of `Overview` on the step time, all 0 without steps."""
    times = chosen["step_time_ms"]
    n = len(times)
    return {
        "step_time_avg_ms": float(times.mean()) if n else 0.0,
        "step_time_std_ms": float(times.std(ddof=1)) if n > 1 else 0.0,
        "step_time_min_ms": float(times.min()) if n else 0.0,
        "step_time_max_ms": float(times.max()) if n else 0.0,
    }


_APART = 2.0
"""Of two kinds, each of two steps or more, the shortest of the longer takes so many times what the longest of the others does."""


class _KindOfSteps(NamedTuple):
    n: int
    median_ms: float
    nearest: int
    """Which of all steps is nearest to that, in the middle where several are."""

    @classmethod
    def of(cls, time_ms: Float64, rows: Int64) -> _KindOfSteps:
        median_ms = float(np.median(time_ms[rows]))
        order = np.lexsort((np.abs(rows - rows.mean()), np.abs(time_ms[rows] - median_ms)))
        return cls(len(rows), median_ms, int(rows[order[0]]))


def _kinds(time_ms: Float64) -> list[_KindOfSteps]:
    """The steps, or where no more than half of them take far longer than all others, those others and these."""
    n = len(time_ms)
    order = np.argsort(time_ms, kind="stable")
    ordered = time_ms[order]
    edges = np.arange((n + 1) // 2, n - 1)
    apart = ordered[edges] / np.maximum(ordered[edges - 1], 1e-9) if len(edges) else np.zeros(1)
    edge = int(edges[apart.argmax()]) if n > MIN_STEPS and apart.max() >= _APART else n
    return [_KindOfSteps.of(time_ms, np.sort(rows)) for rows in (order[:edge], order[edge:]) if len(rows)]


def _breakdown(chosen: pd.DataFrame, average: float) -> pd.DataFrame:
    columns, nothing = chosen[[f"{category}_ms" for category in STEP_CATEGORIES]], np.zeros(len(STEP_CATEGORIES))
    ms = columns.mean().to_numpy() if len(columns) else nothing
    std = columns.std(ddof=1).to_numpy() if len(columns) > 1 else nothing
    ratio = ms / average if average else nothing
    return pd.DataFrame({"category": list(STEP_CATEGORIES), "ms": ms, "std_ms": std, "ratio": ratio})


def _detail(frame: pd.DataFrame, breakdown: pd.DataFrame, limiter: str, left_out: str) -> str:
    categories = breakdown["category"].tolist()
    told = "other" if limiter not in categories else limiter
    figures = zip(categories, breakdown["ms"].tolist(), breakdown["ratio"].tolist(), strict=True)
    rest = sorted((one for one in figures if one[0] != told and one[2] >= 0.01), key=lambda one: -one[2])
    parts = [f"{name.replace('_', ' ')} {number(ms)} ms ({percent(ratio)})" for name, ms, ratio in rest[:3]]
    sentences = [f"Then {', '.join(parts)}."] if parts else []
    if left_out:
        sentences.append(left_out)
    if (frame["source"] == "inferred").any():
        sentences.append("Steps were detected automatically; mark them for exact times.")
    return " ".join(sentences)


def _without_steps(
    environment: Environment, frame: pd.DataFrame, failure: MemoryFailure | None
) -> tuple[Verdict, str] | None:
    """Verdict and detail of a capture that has no step to judge; None where it has."""
    if failure is not None:
        return untold(failure.sentence), " ".join(f"{action.words.rstrip('.:')}." for action in failure.actions[:1])
    if environment.unrecorded:
        return untold(unrecorded_verdict(environment.unrecorded)), unrecorded_remedy(environment.unrecorded)
    if frame.empty and not environment.n_events:
        return untold("Nothing was recorded."), "The capture holds no events: no op ran while it was on."
    if frame.empty:
        nothing = (
            "No steps found: nothing in this capture was marked as a step, and no call on the main thread repeats for a fair "
            "share of it."
        )
        return untold(nothing), f"Mark steps with {MARKING[environment.framework]}."
    return None


KEEPS_UP = 0.02
"""An input that costs less of a step than this is nothing to be alarmed about."""


def input_words(overview: Overview, otherwise: str) -> str:
    """Whether steps wait for data."""
    parts = overview.breakdown
    of = dict(zip(parts["category"].tolist(), parts["ms"].tolist(), strict=True))
    if (framework := overview.environment.framework) != "TensorFlow" and not of["input"]:
        return UNTOLD_INPUT.format(framework=framework)
    if overview.environment.unrecorded:
        return f"How long steps wait for data is not known: {overview.environment.unrecorded} is not recorded."
    if not overview.n_steps_averaged:
        return otherwise
    ms, ratio = of["input"], of["input"] / overview.step_time_avg_ms
    if ratio < KEEPS_UP:
        return f"The input keeps up: it costs {milliseconds(ms)} of a step."
    device = "TPU" if "TPU" in overview.environment.device_type else "GPU"
    who = device if of["device_compute"] > 0 else "model"
    bound = "Input-bound: the" if ratio >= INPUT_HIGH else "The"
    whole = number(overview.step_time_avg_ms)
    return f"{bound} {who} waits {number(ms)} of {whole} ms a step for data ({percent(ratio)})."
