"""`Advice`: one card, with its title, evidence, fix and gain; `rule` makes a function one that gives such."""

from __future__ import annotations

import ast
import builtins
import keyword
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from ..trace.arrays import Bool, Int64
from ..trace.source_map import SourceMap
from .common import PS_PER_NS

_BUILTIN = frozenset(dir(builtins))


@dataclass(frozen=True)
class Fix:
    """What to do: of an `Advice`. `str` gives both, the words first.

    Raises:
        ValueError: with code that has no words, or would not run as it is.
    """

    words: str = ""
    """In a sentence or two, empty where nothing is known to do; where pasted code would change what is trained, what changes."""
    code: str = ""
    """Statements that run as they are; empty where words alone say it."""
    names: frozenset[str] = frozenset()
    """Names of the user's program that the code uses."""
    replaces: str = ""
    """The statement of the user's that the code stands in place of, as it is written; empty where it is new."""

    def __post_init__(self) -> None:
        wrong = why_it_does_not_run(self.code, self.names) if self.code else ""
        if wrong or (self.code and not self.words):
            raise ValueError(f"{wrong or 'its code has no words'}: {self.words!r} {self.code!r}")

    def also(self, words: str) -> Fix:
        """The same with `words`, another sentence, behind its own."""
        return replace(self, words=f"{self.words} {words}")

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.words, self.code)))


def why_it_does_not_run(code: str, known: Iterable[str]) -> str:
    """Why code could not be pasted into a program that has some names; empty where it can."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    if not tree.body:
        return "it has comments alone"
    indices = {
        id(inner) for node in ast.walk(tree) if isinstance(node, ast.Subscript) for inner in ast.walk(node.slice)
    }
    if any(isinstance(node, ast.Constant) and node.value is ... and id(node) not in indices for node in ast.walk(tree)):
        return "it has ... in place of code"
    unknown = sorted(set(_unknown_names(tree, {*known, *_BUILTIN})))
    return f"nobody knows {', '.join(unknown)} in it" if unknown else ""


def _unknown_names(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """Names that a statement reads before one made them; those of its own functions and loops are its own."""
    for statement in tree.body:
        nodes = [*ast.walk(statement)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        loops = [node.target for node in nodes if isinstance(node, (ast.comprehension, ast.For))]
        own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {node.id for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Name)}
        yield from (one.id for one in names if isinstance(one.ctx, ast.Load) and one.id not in known | own)
        known |= {one.id for one in names if isinstance(one.ctx, ast.Store)}
        known |= {
            (one.asname or one.name).partition(".")[0]
            for node in nodes
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for one in node.names
        }


Severity = Literal["high", "medium", "low"]
ShareOf = Literal["step", "all steps", "sample", "time captured"]
TIME: dict[ShareOf, str] = {
    "step": "step time",
    "all steps": "time of all steps",
    "sample": "time of a sample",
    "time captured": "time captured",
}

HIGH_GAIN, MEDIUM_GAIN = 0.20, 0.05
"""From these shares of the step time on, advice is of severity high and medium: XProf's bounds for the wait for input."""
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")


@dataclass(frozen=True, kw_only=True)
class Highlight:
    """What to select in the views to see the evidence of an advice."""

    op_names: tuple[str, ...] = ()
    """Names of ops as in `Profile.ops`, or of events as in `Profile.events`."""
    time_range_ns: tuple[int, int] | tuple[()] = ()
    """Nanoseconds after the trace origin; `()` for the whole capture."""
    step: int | None = None
    """Row of `Profile.steps` in which it is seen well; None for no step."""
    view: str = "timeline"
    """The view that shows it best, such as `input_graph`: the name of the method of `Profile`."""
    host: str = ""
    """Of advice that a reduced profile has from its hosts the one that it is shown for; else empty."""
    stretches_ns: tuple[tuple[int, int], ...] = ()
    """The time within `step` that the advice is about, in nanoseconds after the trace origin, the longest where there are
    very many. `()` where it is about no time of a step.
    """
    n_stretches: int = 0
    """How many there are."""


class Spans(NamedTuple):
    """Some time of steps."""

    step: Int64
    """The row of the steps table of each."""
    start_ps: Int64
    """When each begins."""
    end_ps: Int64
    """When each ends."""

    def and_also(self, other: Spans) -> Spans:
        """These and `other` ones."""
        return Spans(*(np.concatenate(both) for both in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class Claim:
    """Which rows of `attribution` an advice is about, among those of its rule's categories."""

    rows: Bool | None = None
    """Which of all rows; None for all."""
    spans: Spans | None = None
    """It is about what of the rows lies in these; None for all of them."""
    is_outside: bool = False
    """Whether it is about what lies outside of these instead, in averaged steps."""
    n_before: int = 0
    """It is about no row of the first so many pieces of advice."""
    number: int = -1
    """Of the advice, once its rows are its own."""
    won: float = 1.0
    """The part of their time that the fix wins."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """One thing to change: an element of `Profile.advice`."""

    rule: str
    """The name of the rule that found it, such as `input_bound`."""
    severity: Severity
    """By `gain_ratio`: `high` from 0.20 on, `medium` from 0.05 on, `low` below, and where it is not about time."""
    title: str
    """Why: one sentence with the numbers."""
    evidence: Mapping[str, float | str]
    """The numbers, read-only; each name ends in its unit, such as `input_ms` or `input_ratio`. `estimate` says how
    `gain_ratio` was estimated, where it is no upper bound.
    """
    fix: Fix
    """What to do: `fix.words`, and `fix.code` where code runs as it is pasted, with your own names; `print` gives both."""
    selection: Highlight
    """What to select to see the evidence: a `Highlight` with `op_names`, `time_range_ns`, `step`, `view`, `host` and
    `stretches_ns`. All of the time that it is about: the rows of `Profile.attribution` whose `advice` is its place in the list.
    """
    gain_ratio: float
    """The share of the step time that the fix could win at most, in [0, 1]; 0 where it is not about time. With an
    `estimate` among the evidence about as much, or more.

    Of a run of several hosts it is a share of the step time of all of them, in a reduced profile as in one read whole:
    on the average of the hosts, each counted by the time of its steps, and 0 for those on which the rule found nothing.
    It is no more than the host where it costs most could win, and no sum. What hosts that wait for each other wait for
    one of them is not in it: the rule `straggler` tells that. `share_of` names what else than a step it is a share of,
    where it is.

    It is told from this capture: a bound of what these steps could have saved. What a fix wins is measured in another
    run, on a machine that other programs may slow down more or less by then, so it may come out above the bound.
    """
    stage: str = ""
    """For the rule `input_bound` what in the input is slow, such as `slow_map`, `no_prefetch` or `generator`; else empty."""
    headline: str = ""
    """What to do, in a few words."""
    share_of: ShareOf = "step"
    """What the gain is a share of: `step`, `all steps`, `sample` (larger batches make a step longer), or `time captured`."""
    claim: Claim = field(default=Claim(), repr=False, compare=False)
    """The time that it is about."""

    @property
    def bound(self) -> Literal["at most", "about"]:
        """How to read the gain: `at most` for a bound, `about` for an estimate."""
        return "about" if "estimate" in self.evidence else "at most"

    @property
    def without_gain(self) -> str:
        """What stands in place of a gain of 0: what has no fix may still be worth a change."""
        return "no speed-up" if self.fix.words else "gain not known"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"evidence": dict(self.evidence)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"evidence": MappingProxyType(state["evidence"])})

    def __repr__(self) -> str:
        return f"Advice({self.rule}, {self.severity}, {self.gain_ratio:.2f}: {self.title})"


def advise(
    rule: str,
    title: str,
    *,
    evidence: Mapping[str, float | str],
    fix: Fix,
    selection: Highlight,
    gain_ratio: float = 0.0,
    stage: str = "",
    headline: str = "",
    claim: Claim = Claim(),
) -> Advice:
    """Make an advice: its severity follows from the gain, which is limited to [0, 1]."""
    gain, known = min(max(float(gain_ratio), 0.0), 1.0), RULES.get(rule)
    return Advice(
        rule=rule,
        severity=severity_of(gain),
        title=title,
        evidence=MappingProxyType(dict(evidence)),
        fix=fix,
        selection=selection,
        gain_ratio=gain,
        stage=stage,
        headline=headline or ("" if known is None else known.headline),
        share_of="step" if known is None else known.share_of,
        claim=claim,
    )


def ns_range(start_ps: int, end_ps: int) -> tuple[int, int]:
    """The whole nanoseconds from the one in which something begins to the one in which it ends."""
    return start_ps // PS_PER_NS, -(-end_ps // PS_PER_NS)


def step_highlight(frame: pd.DataFrame, row: int, *, view: str, op_names: tuple[str, ...] = ()) -> Highlight:
    """Select a step, a row of the `steps` table or of a part of it, and ops."""
    start_ps, duration_ps, step = (int(frame[name].iloc[row]) for name in ("start_ps", "duration_ps", "step"))
    time_range = ns_range(start_ps, start_ps + duration_ps)
    return Highlight(op_names=op_names, time_range_ns=time_range, step=step, view=view)


def severity_of(gain_ratio: float) -> Severity:
    """The severity that a gain stands for."""
    if gain_ratio >= HIGH_GAIN:
        return "high"
    return "medium" if gain_ratio >= MEDIUM_GAIN else "low"


CAUSE, GENERAL, ANY_STEP, LAST = range(4)
"""Levels of rules: what is wrong; what makes many steps slow; what any step takes; where the rest of the time goes."""
OF_ANY_STEP = 0.25
COMPUTE = ("device_compute", "host_compute")
IDLE = ("dispatch", "kernel_launch", "sync", "other")
HOST = (*IDLE, "host_compute", "output")
COMPILING = ("compile",)
CALLED = (*HOST, *COMPILING, "device_compute", "copy_to_device")
"""Categories of a step's time that rules claim."""


@dataclass(frozen=True)
class Rule:
    """One rule, and all that is said of it: `rule` makes it of a function."""

    ask: Callable[[Any], Iterator[Advice]]
    headline: str
    """What it asks for, in a few words."""
    level: int = CAUSE
    claims: tuple[str, ...] = ()
    """The categories of `attribution` whose rows its time is of; () for a rule that is not about the time of steps."""
    explains: tuple[str, ...] = ()
    """Rules whose findings its cause leads to, too."""
    scope: Literal["host", "hosts", "program"] = "host"
    """What it needs: the events of one host, the tables of all hosts, or one program alone: its lines, its machine."""
    share_of: ShareOf = "step"
    fixes: Mapping[str, str] = field(default_factory=dict)
    """By framework the fix for its programs."""

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.ask.__name__


RULES: dict[str, Rule] = {}
"""Every rule by its name, once the modules of `advice` are loaded."""
_Asked = TypeVar("_Asked", bound=Callable[[Any], Iterator["Advice"]])


RARELY = "Read results once in many steps: each read waits for the device, and what stays there costs nothing."


def rule(
    headline: str, *, needs: Callable[[Any], bool] | None = None, least: float = 0.0, **said: Any
) -> Callable[[_Asked], _Asked]:
    """Make a rule of a function, asked where a run has what it `needs`: it says nothing that wins less than `least`; the fields
    of `Rule` say the rest."""

    def of(ask: _Asked) -> _Asked:
        @wraps(ask)
        def told(run: Any) -> Iterator[Advice]:
            for one in ask(run) if needs is None or needs(run) else ():
                if one.gain_ratio >= least:
                    yield one if one.rule else of_rule(one, ask.__name__)

        RULES[ask.__name__] = Rule(told, headline, **said)
        return cast(_Asked, told)

    return of


def of_rule(one: Advice, name: str) -> Advice:
    """Advice with what its rule says of it."""
    known = RULES[name]
    share_of = known.share_of if one.share_of == "step" else one.share_of
    return replace(one, rule=name, headline=one.headline or known.headline, share_of=share_of)


def ranked(found: Iterable[Advice], *, covered: float = 1.0) -> tuple[Advice, ...]:
    """The largest gain first, in percent, then the more severe, then causes before what makes any step slow or only says where
    time goes. The bound of what any step has counts a quarter: causes come before it, unless it is four times as much."""

    def order(one: Advice) -> tuple[float, int, int, float, str, str]:
        level = RULES[one.rule].level if one.rule in RULES else CAUSE
        gain = one.gain_ratio * (1.0 if one.share_of == "time captured" else covered)
        gain *= OF_ANY_STEP if level == ANY_STEP and one.bound == "at most" else 1.0
        return -round(gain, 2), SEVERITIES.index(one.severity), level, -gain, one.rule, one.title

    return tuple(sorted(found, key=order))


_MOST_CHARACTERS = 300


def remark(text: str) -> str:
    """A comment of one line; nothing where there is no text."""
    words = one_line(text)
    return f"# {words}\n" if words else ""


def one_line(text: str) -> str:
    """The same as part of a sentence."""
    words = " ".join(text.split()).replace("\x00", "")
    return words if len(words) <= _MOST_CHARACTERS else f"{words[:_MOST_CHARACTERS]}..."


def behind(place: str | None) -> str:
    """A place behind a name in a sentence: ` (train.py:3)`; "" for none."""
    return f" ({place})" if place else ""


def named(name: str, otherwise: str) -> str:
    """A name that can stand in code; another one where it cannot, such as `<lambda>`."""
    return name if name.isidentifier() and not keyword.iskeyword(name) else otherwise


COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
"""Before Python 3.12 these are functions of their own, of which nobody thinks as such."""


def place_of(source_map: SourceMap, path: str, line: int) -> str:
    """`train.py:7`; of a notebook's cell, whose path only its kernel knows, what the notebook shows: `Cell [3]:7`."""
    named = source_map.files["title"][(source_map.files["file"] == path) & (source_map.files["title"] != "")]
    return f"{last_part(path if named.empty else str(named.iloc[-1]))}:{line}"


def noted_place(source_map: SourceMap, table: Literal["layers", "functions"], key: str, name: str) -> str:
    """`file:line` of the last row of a table whose column `key` is `name`; empty where none has a file."""
    rows: pd.DataFrame = getattr(source_map, table)
    found = rows[(rows[key] == name) & (rows["file"] >= 0)]
    return "" if found.empty else f"{last_part(title_of(source_map, found['file'].iloc[-1]))}:{found['line'].iloc[-1]}"


def title_of(source_map: SourceMap, file: int) -> str:
    """What the notebook shows of a file, by its row, or its path."""
    row = source_map.files.iloc[file]
    return str(row["title"] or row["file"])


def line_text(text: str, line: int) -> str:
    """A line of a text (from 1) without indentation, empty where it has none such."""
    lines = text.split("\n")
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def last_part(path: str) -> str:
    """The name of a file without its directories."""
    return path.replace("\\", "/").rpartition("/")[2]


def result_is_used(text: str, function: str) -> bool:
    """Whether a file calls a function of its own and does something with what it returns; False of a text that is no Python."""
    tree = parsed(text)
    if tree is None:
        return False
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in alone)
    return any(function in (getattr(one.func, "id", ""), getattr(one.func, "attr", "")) for one in calls)


@lru_cache(16)
def parsed(text: str) -> ast.Module | None:
    """A file or a cell, whose lines that are not Python count as blank; None where it is no Python."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in text.split("\n")]
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def definitions_around(text: str, line: int) -> list[_Definition]:
    """The classes and functions of a file in which a line (from 1) is, the outermost first; none of a text that is no Python."""
    nodes = ast.walk(parsed(text) or ast.Module([], []))
    return [one for one in nodes if isinstance(one, _Definition) and one.lineno <= line <= (one.end_lineno or 0)]


_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)
"""Statements that can be pasted in place of the user's."""
_MOST_CODE = 2_000


@dataclass(frozen=True, eq=False)
class UserCall:
    """A call in the user's source."""

    place: str
    """`train.py:7`, the line of its statement."""
    call: ast.Call
    statement: ast.stmt
    text: str
    """Of the file."""
    names: frozenset[str]
    """That the statement uses, and `tf` where the program calls TensorFlow so."""

    @property
    def target(self) -> str:
        """The name that the statement gives its result; empty where it does not."""
        one = self.statement
        targets = one.targets if isinstance(one, ast.Assign) else []
        return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""

    def argument(self, name: str) -> ast.expr | None:
        """What the call is given by that name; None where it is not."""
        return next((one.value for one in self.call.keywords if one.arg == name), None)

    def with_keyword(self, name: str, value: str) -> str:
        """The statement with another argument of the call, or with a new one behind all others."""
        known = self.argument(name)
        if known is not None:
            return self._edited(_begin(known), _end(known), value)
        last = max([*map(_end, self.call.args), *(_end(one.value) for one in self.call.keywords)], default=None)
        if last is None:
            line, column = _end(self.call)
            return self._edited((line, column - 1), (line, column - 1), f"{name}={value}")
        return self._edited(last, last, f", {name}={value}")

    def followed_by(self, text: str) -> str:
        """The statement with something right behind the call."""
        return self._edited(_end(self.call), _end(self.call), text)

    def instead_of(self, first: ast.expr, last: ast.expr, text: str) -> str:
        """The statement with something in place of what is between the ends of two parts of it."""
        return self._edited(_end(first), _end(last), text)

    def _edited(self, begin: tuple[int, int], end: tuple[int, int], text: str) -> str:
        """Empty where that is no statement any more, as amid comments and brackets."""
        lines = self.text.encode().splitlines(keepends=True)  # positions are in bytes
        starts = [sum(map(len, lines[:row])) for row in range(len(lines) + 1)]
        low, high, first, last = (
            starts[line - 1] + column for line, column in (begin, end, _begin(self.statement), _end(self.statement))
        )
        data = self.text.encode()
        indent = data[starts[self.statement.lineno - 1] : first]
        padded = (indent if indent.isspace() else b"") + data[first:low] + text.encode() + data[high:last]
        code = textwrap.dedent(padded.decode())
        return "" if len(code) > _MOST_CODE or why_it_does_not_run(code, self.names) else code


def rewritten(words: str, call: UserCall | None, code: str, more: str = "") -> Fix:
    """A fix whose code stands in place of the user's statement; words alone where there is none."""
    if call is None or not code:
        return Fix(words)
    text = ast.get_source_segment(call.text, call.statement, padded=True) or ""
    return Fix(words, f"{remark(f'in place of {call.place}')}{code}{more}", call.names, textwrap.dedent(text))


def user_files(source_map: SourceMap) -> Iterator[tuple[str, str]]:
    """Path and text of each file of the user's."""
    files = source_map.files[source_map.files["is_user"].astype(bool)]
    yield from zip(files["file"].tolist(), files["text"].tolist(), strict=True)


def only_call(source_map: SourceMap, method: str, is_one: Callable[[ast.Call], bool]) -> UserCall | None:
    """The only call of a method in the user's files of which something holds; None where there are none or several."""
    trees = [(path, text, tree) for path, text in user_files(source_map) if (tree := parsed(text)) is not None]
    found = [
        (path, text, statement, call)
        for path, text, tree in trees
        for statement, call in _calls(tree, method)
        if is_one(call)
    ]
    if len(found) != 1:
        return None
    path, text, statement, call = found[0]
    if not isinstance(statement, _SIMPLE):
        return None
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    names |= {"tf"} if any(_has_tf(tree) for _, _, tree in trees) else set()
    return UserCall(place_of(source_map, path, statement.lineno), call, statement, text, frozenset(names))


def is_of_model(call: ast.Call) -> bool:
    """Whether a call of `compile` or `fit` is one of a model, not of a regular expression or an array."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    return not (isinstance(receiver, ast.Name) and receiver.id in ("re", "regex"))


def _calls(tree: ast.Module, method: str) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """Calls of a method, each with the innermost statement that it is part of."""
    of_node: dict[int, ast.stmt] = {}
    for statement in (node for node in ast.walk(tree) if isinstance(node, ast.stmt)):  # outer ones first
        of_node.update((id(node), statement) for node in ast.walk(statement))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
            yield of_node[id(node)], node


def _has_tf(tree: ast.Module) -> bool:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    return any(one.name == "tensorflow" and one.asname == "tf" for node in imports for one in node.names)


def _begin(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


@dataclass(frozen=True)
class FoundAdvice:
    """What the rules said."""

    advice: tuple[Advice, ...]
    """In the order of `ranked`; empty where nothing is wrong or nothing can be judged."""
    notices: tuple[str, ...] = ()
    """A sentence on each error that rules failed with; mostly none."""
