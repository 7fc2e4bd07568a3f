"""Ops -> the tree of name scopes with their time, without what calls, inlining and Grappler add to names (semantics 13.1)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Float64, Int32, Int64
from ..common import dense_codes, first_of, numbered, plural, table_of_arrays, text_column
from ..names import CALL
from ..ops.ops import OpSums
from ..table import table

SCOPES = table(
    """
    scopes: a name scope by side, each after the one around it, the root first
        device            text   the side it ran on, `Device` or `Host`
        scope             text   its path, empty for the root
        name              text   the last part of the path
        parent            text   the scope around it, empty for a child of the root and for the root
        depth             int    how many scopes are around it
        total_time_us     float  self time of all ops in the scope and below
        self_time_us      float  self time of the ops directly in it
        backward_time_us  float  the part of the total that gradients take
        total_time_ratio  float  the total as part of the root's
        n_ops             int    ops in the scope and below
        occurrences       int    executions of those

    A gradient counts for the scope of its forward op, so that a layer is one scope. Times are microseconds over
    the whole capture. Empty where no op ran.
    """,
    of_facts=lambda facts: compute_scopes(facts.op_scopes, facts.op_sums),
    file="scopes",
    read="scopes.frame",
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPTIMIZERS = _words(
    """
    adadelta adafactor adagrad adam adam_w adamax adamw ftrl lamb lion loss_scale_optimizer momentum muon nadam rmsprop
    rm_sprop schedule_free_adam_w sgd gradient_descent adamweightdecay adam_weight_decay
    """
)
REWRITERS = _words(
    """
    ArithmeticOptimizer ConstantFolding LayoutOptimizer Remapper DependencyOptimizer LoopOptimizer MemoryOptimizer
    AutoMixedPrecision AutoMixedPrecisionMkl PinToHostOptimizer CommonSubgraphElimination FunctionOptimizer
    """
)
"""What Grappler's passes put into names."""
LOSSES = _words(
    """
    compile_loss loss losses
    binary_crossentropy binary_focal_crossentropy categorical_crossentropy categorical_focal_crossentropy
    sparse_categorical_crossentropy mean_squared_error mean_absolute_error mean_absolute_percentage_error
    mean_squared_logarithmic_error mse mae mape msle huber huber_loss log_cosh poisson kl_divergence
    kullback_leibler_divergence cosine_similarity hinge squared_hinge categorical_hinge dice tversky ctc circle
    softmax_cross_entropy_loss logistic_loss
    """
)
"""Scopes of losses: that of Keras' `compile`, and those that a loss opens which a step written by hand calls."""
METRICS = frozenset(("compile_metrics", "metrics", "metric"))
FUNCTIONS = _words(
    """
    sub mul truediv floordiv mod pow neg abs div_no_nan strided_slice packed range zeros ones zeros_like
    ones_like eye fill concat stack unstack split transpose convolution depthwise
    max_pool avg_pool moments batchnorm l2_normalize normalize
    stateless_dropout stateless_random_uniform stateless_random_normal stateless_truncated_normal random_uniform
    random_normal truncated_normal random_shuffle einsum tensordot matmul mean sum prod variance reduce_sum
    reduce_mean while cond case switch_case map map_fn scan clip_by_norm clip_by_value clip_by_global_norm
    global_norm embedding_lookup one_hot sigmoid_cross_entropy_loss softmax_cross_entropy_with_logits
    sparse_softmax_cross_entropy_with_logits assert assert_equal assert_less broadcast_weights cumsum
    gather boolean_mask resize random_flip_left_right update cond_grad while_grad optional iterator Tensordot
    Gelu TensorArrayUnstack TensorArrayV2Stack TensorArrayV2Read TensorArrayV2Write TensorArrayStack Pad
    Initializer read ReadVariableOp
    """
)
"""Scopes, without their numbers, that the Python functions of TensorFlow and Keras open for themselves."""
OPS = _words(
    """
    Abs Add AddN AddV2 ArgMax AvgPool AvgPool2d BatchMatMul BatchMatMulV2 BiasAdd BroadcastTo Cast Concat
    ConcatV2 Conv1D Conv2D Conv2DTranspose Conv3D DepthwiseConv2dNative Div Einsum Elu Erf Exp ExpandDims
    FusedBatchNorm FusedBatchNormV3 Gather GatherV2 LeakyRelu Log LogSoftmax MatMul Max MaxPool MaxPool2d
    MaxPool3d Maximum Mean Min Minimum Mul Neg Pad PadV2 Pow Prod RealDiv Relu Relu6 Reshape ResourceGather Rsqrt
    Select SelectV2 Selu Sigmoid Slice Softmax Softplus Softsign SparseSoftmaxCrossEntropyWithLogits
    SoftmaxCrossEntropyWithLogits Split SplitV Sqrt Square SquaredDifference Squeeze StridedSlice Sub Sum Tanh
    Tile TopKV2 Transpose UnsortedSegmentSum Repeat
    Swish Silu Hardswish Expm1 Floor Round Sign Shape Pack Unpack Fill Conv2DBackpropInput
    """
)
"""Ops that stand as scopes: of the reading of their operands, and of their gradients where they were fused away."""
AMBIGUOUS = FUNCTIONS | _words("add subtract multiply average maximum minimum dot reshape activation")
"""Names of layers that are rather those of an op or function where no such layer is expected."""
TWINS = _words(
    """
    dropout separable_conv2d depthwise_conv2d conv1d conv2d conv3d conv1d_transpose conv2d_transpose conv3d_transpose
    embedding softmax layer_normalization batch_normalization
    """
)
"""Names both of a layer and of a scope that TensorFlow's function opens within it."""
VENDOR = re.compile(r"_?(Mkl)?(Native)?(Fused)?(?=[A-Z])")
"""What oneDNN puts before the type of an op that it took over."""


_WRAPPED = re.compile(r"(\w+)\((.*)\)")
_FUNCTIONS = frozenset(("jit", "pjit", "pmap"))
"""What stands around the name of a function, which is no scope."""
_TRANSPOSE = "transpose"


def unwrapped(outer: str) -> tuple[tuple[str, ...], bool]:
    """The scopes of a path, and whether it is of gradients."""
    scopes, is_backward = [], False
    for part in outer.split("/"):
        while wrapped := _WRAPPED.fullmatch(part):
            is_backward |= wrapped[1] == _TRANSPOSE
            part = "" if wrapped[1] in _FUNCTIONS else wrapped[2]
        if part:
            scopes.append(part)
    return tuple(scopes), is_backward


DATA_SCOPE = "tf.data"
"""The scope of tf.data iterators; `Iterator::Root::Map` lies in `tf.data/Root/Map`."""

_MOST_KNOWN = 2**15
"""So many names stay taken apart: several analyses ask for those of one trace, and hosts of one run have the same."""
_INSTANCE = re.compile(r"_\d+")
_NUMBERED = re.compile(r"_\d+\Z")
_GRADIENT = frozenset(("gradient_tape", "gradients"))
_BODIES = frozenset(("body", "cond", "then", "else", "branch", *(f"branch{i}" for i in range(100))))
"""What TensorFlow puts, with a number below it, before the names of a loop's or condition's inlined body."""
_CONTROL_FLOW = frozenset(("cond", "while", "case", "switch_case", "training", "If", "While"))
_DATA_TYPE = re.compile(
    r"Optional(FromValue|GetValue|HasValue|None)|(Make)?Iterator\w*|OneShotIterator|\w+Dataset(V\d+)?|Dataset"
)
_APPLY = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]")
_SUM = re.compile(r"AddN(_\d+)?|SimplifyAggregation_.*")
"""As a tape calls its sums, and what Grappler makes of them."""

Scope = tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class OpScopes:
    """Where each op was made. All fields but `scopes` have one entry per op, in the order given."""

    name: tuple[str, ...]
    type: tuple[str, ...]
    scopes: tuple[Scope, ...]
    """The scopes that ops are in, once each, as components, outermost first; `DATA_SCOPE` and below for tf.data."""
    scope_id: Int32
    """The innermost scope, a row of `scopes`; of a gradient op that of the forward op."""
    leaf: tuple[str, ...]
    is_backward: Bool
    is_optimizer: Bool
    """Whether it belongs to the optimizer: by its outermost scope, or because it applies gradients to a variable."""
    is_input: Bool
    """Whether tf.data runs it: an iterator, or an op of a function that is mapped over a data set."""

    def __len__(self) -> int:
        return len(self.name)

    @cached_property
    def scope(self) -> tuple[Scope, ...]:
        return tuple(map(self.scopes.__getitem__, self.scope_id.tolist()))

    @cached_property
    def is_sum(self) -> Bool:
        """Whether it is one of the sums outside any scope by which a tape adds up gradients, where there are gradients."""
        found = np.zeros(len(self), np.bool_)
        if () in self.scopes and self.is_backward.any():
            rows = np.flatnonzero(self.scope_id == self.scopes.index(()))
            found[rows] = [_SUM.fullmatch(self.leaf[row]) is not None for row in rows.tolist()]
        return found


def numbered_scopes(scopes: Iterable[Scope]) -> tuple[tuple[Scope, ...], Int32]:
    """`OpScopes.scopes` and `scope_id` of the scope of each op."""
    number: dict[Scope, int] = {}
    ids = np.array([number.setdefault(scope, len(number)) for scope in scopes], np.int32)
    return tuple(number), ids


def op_scopes(
    names: Sequence[str],
    types: Sequence[str],
    *,
    is_input: Bool | None = None,
    optimizers: frozenset[str] = frozenset(),
) -> OpScopes:
    """The scope and role of each op; a condition around the optimizer, as of loss scaling, belongs to it."""
    known = OPTIMIZERS | {name.lower() for name in optimizers}
    roles = np.array([*map(_roles_of_type, dict.fromkeys(types))], np.bool_).reshape(-1, 2)
    is_data, is_apply = roles[numbered(types)].T
    placed = _Placed(names)
    of_input = is_data | placed.is_iterator
    if is_input is not None:
        of_input |= is_input
    placed.put_into_data(np.flatnonzero(of_input & ~placed.is_iterator))
    scopes, scope_id = placed.numbered()
    backward = placed.is_backward
    optimizer = ~of_input & ~backward
    of_optimizer = np.zeros(len(scopes), np.bool_)
    asked = np.flatnonzero(np.bincount(scope_id[optimizer], minlength=len(scopes)))
    of_optimizer[asked] = [_is_optimizer(scopes[i], known) for i in asked.tolist()]
    optimizer &= is_apply | of_optimizer[scope_id]
    around = _conditions_around(scopes, np.bincount(scope_id[optimizer], minlength=len(scopes)) > 0)
    optimizer |= around[scope_id] & ~backward
    return OpScopes(
        tuple(names), tuple(types), scopes, scope_id, tuple(placed.leaf), backward, optimizer, np.asarray(of_input)
    )


def _conditions_around(scopes: Sequence[Scope], has_optimizer: Bool) -> Bool:
    """Which scopes are of control flow alone that an optimizer's ops lie in, or within such a one."""
    outer = set()
    for i in np.flatnonzero(has_optimizer).tolist():
        first = tuple(itertools.takewhile(lambda part: without_number(part) in _CONTROL_FLOW, scopes[i]))[:1]
        outer |= {first} - {()}
    if not outer:
        return np.zeros(len(scopes), np.bool_)
    return np.array(
        [scope[:1] in outer and all(without_number(part) in _CONTROL_FLOW for part in scope) for scope in scopes],
        np.bool_,
    )


class _Placed:
    """Names, taken apart: what is in front of the last slash once for all ops that share it."""

    def __init__(self, names: Sequence[str]) -> None:
        self.leaf: list[str] = []
        number: dict[str, int] = {}
        places = []
        for outer, _, leaf in map(str.rpartition, names, itertools.repeat("/")):
            self.leaf.append(leaf)
            places.append(number.setdefault(outer, len(number)))
        self._place: Int64 = np.array(places, np.int64)
        walks = [*map(_walk, number)]
        self._scopes = [scope for scope, _, _ in walks]
        """Of all places, which may repeat."""
        self.is_backward = np.array([is_backward for _, is_backward, _ in walks], np.bool_)[self._place]
        self.is_iterator = np.fromiter(map(str.startswith, names, itertools.repeat("Iterator::")), np.bool_, len(names))
        is_own = np.array([walk is not None for _, _, walk in walks], np.bool_)[self._place] | self.is_iterator
        is_own |= np.array([leaf[:1] in "_" for leaf in self.leaf], np.bool_)  # a copy's number, or nothing
        for row in np.flatnonzero(is_own).tolist():
            place = _place_of_iterator if self.is_iterator[row] else _place
            scope, self.leaf[row], self.is_backward[row] = place(names[row])
            self._place[row] = len(self._scopes)
            self._scopes.append(scope)

    def put_into_data(self, rows: Int64) -> None:
        """Move the scopes of some ops into that of tf.data."""
        places, of_row = np.unique(self._place[rows], return_inverse=True)
        self._place[rows] = len(self._scopes) + of_row
        self._scopes += [(DATA_SCOPE, *self._scopes[place]) for place in places.tolist()]

    def numbered(self) -> tuple[tuple[Scope, ...], Int32]:
        """`OpScopes.scopes` and `scope_id`."""
        code, n = dense_codes(self._place)
        first = np.sort(first_of(code, n))
        scopes, ids = numbered_scopes(self._scopes[place] for place in self._place[first].tolist())
        of_code = np.zeros(n, np.int32)
        of_code[code[first]] = ids
        return scopes, of_code[code]


@lru_cache(maxsize=4096)
def _roles_of_type(op_type: str) -> tuple[bool, bool]:
    """Whether ops of a type are of tf.data, and whether they apply gradients."""
    return _DATA_TYPE.fullmatch(op_type) is not None, _APPLY.match(op_type) is not None


@lru_cache(_MOST_KNOWN)
def without_number(component: str) -> str:
    """A scope's name as it was asked for: TensorFlow appends `_1`, `_2`, ... to a name that is taken."""
    return _NUMBERED.sub("", component) if component[-1:].isdigit() else component


@lru_cache(_MOST_KNOWN)
def _place(name: str) -> tuple[Scope, str, bool]:
    """Scope of a name and the op's own name in it, as its function's author made them; whether it is a gradient's."""
    outer, _, last = name.rpartition("/")
    if not last or (last[0] == "_" and _INSTANCE.fullmatch(last)):
        parts = [part for part in name.split("/") if part]
        while len(parts) > 1 and _INSTANCE.fullmatch(parts[-1]):
            parts.pop()
        outer, last = "/".join(parts[:-1]), parts[-1] if parts else name
    scope, is_backward, walk = _walk(outer)
    return walk.scope_of(last) if walk else scope, last, is_backward


def _place_of_iterator(name: str) -> tuple[Scope, str, bool]:
    return (DATA_SCOPE, *name.split("::")[1:]), name.rpartition("::")[2], False


@lru_cache(_MOST_KNOWN)
def _walk(outer: str) -> tuple[Scope, bool, _Walk | None]:
    """The scope around an op, whether gradients are computed there, and the walk where the op's own name goes on with it."""
    if "(" in outer:  # no name of TensorFlow
        return *unwrapped(outer), None
    parts = [part for part in outer.split("/") if part]
    is_backward = parts[:1] == ["gradient_tape"]
    own = parts[is_backward:]
    if (own or not is_backward) and not any(map(_is_special, own)):  # nearly always
        return tuple(map(_forward, own)) if is_backward else tuple(own), is_backward, None
    walk = _Walk(parts)
    return walk.scope, walk.is_backward, walk if walk.asks_for_name else None


@lru_cache(_MOST_KNOWN)
def _is_special(part: str) -> bool:
    """Whether a component of a path may mean more than a scope."""
    bare = without_number(part)
    return part in _GRADIENT or part in _BODIES or bare in _CONTROL_FLOW or _is_added(part)


class _Walk:
    """The scope around an op, component by component, without what was added to it."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._path = _Path()
        self.is_backward = self._is_restart = False
        for part in parts:
            self._pass(part)
        self.scope = tuple(self._path.parts)
        middle = self.scope[len(self.scope) // 2 :][:1]
        self.asks_for_name = self._is_restart or (self.is_backward and any(map(self._path.folds, middle)))
        """Whether the scope of an op here depends on its own name."""

    def _pass(self, part: str) -> None:
        if _is_added(part):
            if part not in REWRITERS and all(without_number(one) in _CONTROL_FLOW for one in self._path.parts):
                self._path = _Path()  # the loop that calls a function is no scope of the function's
        elif part in _GRADIENT:
            self.is_backward = self._is_restart = True
        elif self._path.parts and self._path.parts[-1] in _BODIES and _INSTANCE.fullmatch(part):
            self._path.pop()
            self._is_restart = True
        else:
            if self._is_restart:
                self._path.restart(part)
                self._is_restart = False
            if self.is_backward:
                part = _forward(part)
                self._path.fold(part)
            self._path.append(part)

    def scope_of(self, last: str) -> Scope:
        """The scope of an op of this name here: within loops its name tells where its path begins again."""
        if not self._is_restart and not self._path.folds(_forward(last)):
            return self.scope
        path = _Path()
        for part in self._path.parts:
            path.append(part)
        if self._is_restart:
            path.restart(last)
        if self.is_backward:
            path.fold(_forward(last))
        return tuple(path.parts)


@lru_cache(_MOST_KNOWN)
def _is_added(part: str) -> bool:
    """Whether a call of a function or rewriting of graphs put this into a path."""
    return part in REWRITERS or CALL.fullmatch(part) is not None


def _forward(part: str) -> str:
    return part.removesuffix("_grad") or part


class _Path:
    """Components, and where each first occurs: keeps names with many restarts linear."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._first: dict[str, int] = {}

    def append(self, part: str) -> None:
        self._first.setdefault(part, len(self.parts))
        self.parts.append(part)

    def pop(self) -> None:
        part = self.parts.pop()
        if self._first[part] == len(self.parts):
            del self._first[part]

    def restart(self, part: str) -> None:
        """Go back to where the path that now begins with `part` began before, if it did."""
        begin = self._first.get(part)
        while begin is not None and len(self.parts) > begin:
            self.pop()

    def fold(self, part: str) -> None:
        """Turn `a/b/while/a/b`, before another `while`, into `a/b`: names about the gradient of a loop repeat its own."""
        if self.folds(part):
            half = len(self.parts) // 2
            while len(self.parts) > half:
                self.pop()

    def folds(self, part: str) -> bool:
        half = len(self.parts) // 2
        return (
            half > 0
            and len(self.parts) % 2 == 1
            and self.parts[half] == part
            and without_number(part) in _CONTROL_FLOW
            and self.parts[:half] == self.parts[half + 1 :]
        )


def _is_optimizer(scope: Scope, known: frozenset[str]) -> bool:
    """Whether the outermost scope that is no control flow is an optimizer's, or the update of one variable."""
    for part in scope:
        bare = without_number(part)
        if bare in _CONTROL_FLOW:
            continue
        return bare == "update" or bare.lower() in known or part.lower() in known
    return False


MAX_SCOPE_DEPTH = 1_000
MAX_PATH_CHARS = 32 * 2**20
"""How long all paths together may be: hostile names would fill the memory with the beginnings of themselves."""


@dataclass(frozen=True, eq=False, repr=False)
class Scopes:
    """The name scopes of a trace as one tree, whose root "" holds everything."""

    frame: pd.DataFrame
    """One row per side and scope, `SCOPES`, devices first, after its parent: `total_time_us` with all below, `self_time_us` of
    its own ops, `backward_time_us` gradients' part of the total; `parent` "" for the root."""
    entries: pd.DataFrame
    """One row per scope, after its parent: `scope` (path, "" for the root), `name`, `parent` (row, -1 for the root), `depth`."""
    op_entry: Int32
    """For each op its innermost scope, a row of `entries`."""
    n_folded_ops: int
    """How many ops are charged to a scope around their own, which is beyond `MAX_DEPTH` or `MAX_PATH_CHARS`."""

    def __repr__(self) -> str:
        return f"Scopes({plural(len(self.entries) - 1, 'name scope')})"


def compute_scopes(scopes: OpScopes, sums: OpSums) -> Scopes:
    """Build the tree of scopes, without what function calls, loops and graph rewriting add to names (see `op_scopes`)."""
    tree, entry = _Tree.of(scopes.scopes)
    entries, op_entry = tree.entries(), entry[scopes.scope_id]
    depth = np.fromiter(map(len, scopes.scopes), np.int64, len(entry))
    n_folded = int((entries["depth"].to_numpy()[entry] < depth)[scopes.scope_id].sum())
    return Scopes(_frame(entries, op_entry, scopes.is_backward, sums), entries, op_entry, n_folded)


@dataclass
class _Tree:
    """Scopes by number, each after its parent; number 0 is the root."""

    name: list[str]
    parent: list[int]
    scope: list[str]
    n_chars: int = 0

    @classmethod
    def of(cls, scopes: Sequence[tuple[str, ...]]) -> tuple[_Tree, Int32]:
        tree = cls([""], [-1], [""])
        child: dict[tuple[int, str], int] = {}
        entry = [tree._add(scope[:MAX_SCOPE_DEPTH], child) for scope in scopes]
        return tree, np.array(entry, np.int32)

    def _add(self, scope: tuple[str, ...], child: dict[tuple[int, str], int]) -> int:
        at = 0
        for part in scope:
            inner = child.get((at, part))
            if inner is None:
                path = f"{self.scope[at]}/{part}" if at else part
                if self.n_chars + len(path) > MAX_PATH_CHARS:
                    return at
                self.n_chars += len(path)
                inner = child[at, part] = len(self.name)
                self.name.append(part)
                self.parent.append(at)
                self.scope.append(path)
            at = inner
        return at

    def entries(self) -> pd.DataFrame:
        depth = np.zeros(len(self.name), np.int32)
        for i, parent in enumerate(self.parent[1:], 1):  # parents come first; one turn per scope
            depth[i] = depth[parent] + 1
        return table_of_arrays(
            {
                "scope": np.array(self.scope, np.object_),
                "name": np.array(self.name, np.object_),
                "parent": np.array(self.parent, np.int32),
                "depth": depth,
            }
        )


def _frame(entries: pd.DataFrame, op_entry: Int32, is_backward: Bool, sums: OpSums) -> pd.DataFrame:
    rows, figures = [], []
    parent, depth = entries["parent"].to_numpy(np.int32), entries["depth"].to_numpy(np.int32)
    for chosen in (sums.is_device, ~sums.is_device):
        own = sums.self_us[chosen]
        columns = [own, np.where(is_backward[chosen], own, 0.0), np.ones(len(own)), sums.count[chosen]]
        counts = [np.bincount(op_entry[chosen], c, minlength=len(entries)) for c in columns]
        direct: Float64 = np.stack(counts).astype(np.float64)
        total = _with_descendants(direct, parent, depth)
        ratio = total[0] / total[0, 0] if total[0, 0] > 0 else np.zeros(len(entries))
        rows.append(np.flatnonzero(total[2] > 0))
        figures.append(np.stack([total[0], direct[0], total[1], ratio, total[2], total[3]])[:, rows[-1]])
    row, figure = np.concatenate(rows), np.concatenate(figures, axis=1)
    scope = entries["scope"].to_numpy()
    found = {
        "device": np.repeat(["Device", "Host"], [len(one) for one in rows]),
        "scope": text_column(scope[row]),
        "name": text_column(entries["name"].to_numpy()[row]),
        "parent": pd.Series(scope[np.maximum(parent, 0)[row]], dtype=str),
        "depth": depth[row],
        "total_time_us": figure[0],
        "self_time_us": figure[1],
        "backward_time_us": figure[2],
        "total_time_ratio": figure[3],
        "n_ops": figure[4].astype(np.int64),
        "occurrences": figure[5].astype(np.int64),
    }
    return pd.DataFrame({name: found[name] for name in SCOPES.names})


def _with_descendants(direct: Float64, parent: Int32, depth: Int32) -> Float64:
    """Sums over each node and all below it; `direct` is of shape (columns, nodes)."""
    total = direct.copy()
    order = np.argsort(depth, kind="stable")
    begin = np.searchsorted(depth[order], np.arange(int(depth.max()) + 2))
    for level in range(int(depth.max()), 0, -1):  # at most MAX_DEPTH turns
        rows = order[begin[level] : begin[level + 1]]
        for column in total:
            np.add.at(column, parent[rows], column[rows])
    return total
