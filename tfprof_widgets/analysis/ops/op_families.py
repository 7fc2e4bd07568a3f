"""Event and op names -> the family whose colour a slice gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..base.op_names import OpCategory, parse_op_name, parse_op_names

FAMILIES = ("tfdata", "image", "conv", "elem", "reduce", "optim", "move", "runtime", "python")
"""tf.data iterators; image decoding; convolution and matmul; element-wise; reductions, pooling, losses; optimizers;
copies, casts and transposes; executor and runtime; Python."""

_CODE = {name: code for code, name in enumerate(FAMILIES)}

# The first that matches decides, so the order matters: an optimizer's `ResourceApplyAdam` is no element-wise op.
_TYPES = {
    "tfdata": (r"Dataset|Iterator|Optional(GetValue|HasValue|FromValue|None)|.*Dataset(V\d)?$|MakeIterator",),
    "image": (
        r"Decode(And|Jpeg|Png|Gif|Bmp|Image|Raw|Webp)|Encode(Jpeg|Png)",
        r"Resize|CropAndResize|.*Image|Adjust|RGB|HSV",
    ),
    "optim": (r"(ResourceSparse|Resource|Sparse)?Apply[A-Z]|Assign(Add|Sub|Variable)|(Resource)?ScatterAdd",),
    "conv": (r".*Conv(?!er)(olution)?\d?D?|.*MatMul|.*Einsum|.*Gemm|CudnnRNN|.*LSTM|.*GRU",),
    "reduce": (
        r"(Arg)?(Sum|Mean|Max|Min|Prod|All|Any)$|ArgM|.*Pool|.*Softmax|.*CrossEntropy|BiasAddGrad",
        r".*BatchNorm|.*LayerNorm|.*Norm(alization)?$|.*NormV\d|Cum(sum|prod)|(Unsorted)?Segment|(In)?TopK|L2Loss|AddN",
    ),
    "move": (
        r"(Conjugate)?Transpose|Concat|Split|(Strided)?Slice|Gather|Scatter|(Mirror)?Pad|Reverse|Tile|Pack|Unpack",
        r"Reshape|ExpandDims|Squeeze|Copy|.*Mem[cC]py|_?(Host)?(Send|Recv)|Identity|Const$|Fill|.*ToMkl|.*MklTo|Cast",
        r"ZerosLike|OnesLike|BroadcastTo|Shape|Size|Rank|ReadVariableOp|Nccl|Collective",
    ),
    "runtime": (
        r"(Stateful)?PartitionedCall|If|While|NoOp|_?(Switch|Merge|Enter|Exit|LoopCond|NextIteration)|RemoteCall",
        r"Assert|VarIs|VarHandleOp|.*Resource|_?(Device)?(Arg|Retval)$",
    ),
}
_KERNELS = {
    "tfdata": (
        r"^(prefetch|parallelmap|parallelinterleave|mapandbatch|parallelbatch|parseexample)(produce|consume)",
        r"^iterator|instantiatedcapturedfunction|^makeiterator|dataset",
    ),
    "move": (
        r"^memcpy|^memset|transpose|copy|concat|nccl|shuffletensor|nchwtonhwc|nhwctonchw",
        r"swapdimension|gather|pad_",
    ),
    "conv": (r"gemm|conv(?!er[st])|cudnn|winograd|cutlass|dgrad|wgrad|fprop|xmma|matmul|\bdot",),
    "optim": (r"apply(adam|gradient|momentum|rms|ada)|adam",),
    "reduce": (r"reduc|softmax|pool|batchnorm|bn_|layernorm|argm|sum",),
    "python": (
        r"^(train|test|predict|evaluate|step|tracecontext)\b|^\$|\.py:|^tf\.|_step\b",
        r"one_step_on|multi_step_on|convert_to_tensor",
    ),
    "elem": (r"eigenmetakernel|elementwise|relu|sigmoid|tanh|bias|dropout|random|philox|fusion|add|mul",),
}
_BY_TYPE = tuple((family, re.compile("|".join(patterns))) for family, patterns in _TYPES.items())
_BY_KERNEL = tuple((family, re.compile("|".join(patterns))) for family, patterns in _KERNELS.items())
"""For names in small letters: to let `re` ignore the case takes five times as long."""

_OF_CATEGORY = {
    "convolution": "conv",
    "convolution fusion": "conv",
    "dot": "conv",
    "ragged-dot": "conv",
    "copy": "move",
    "data formatting": "move",
    "copy-start": "move",
    "copy-done": "move",
    "dynamic-slice": "move",
    "dynamic-update-slice": "move",
    "concatenate": "move",
    "gather": "move",
    "scatter": "move",
    "slice": "move",
    "pad": "move",
    "reverse": "move",
    "broadcast": "move",
    "infeed": "move",
    "outfeed": "move",
    "reduce": "reduce",
    "reduce-window": "reduce",
    "select-and-scatter": "reduce",
    "sort": "reduce",
    "while": "runtime",
    "call": "runtime",
    "conditional": "runtime",
    "non-fusion elementwise": "elem",
}
"""HLO categories that say what an op does; a fusion or a custom call may be anything."""
_COLLECTIVE = re.compile(r"all-(reduce|gather|to-all)|collective|reduce-scatter|send|recv|host ")
_FUSED = re.compile(r"^_?(Mkl|MklNative|Native|ITEX|OneDnn)?_?(Mkl|Native)?(Fused)?(?=[A-Z])")
"""What vendors put before the type of an op they took over."""
_PASS = re.compile(
    r"[\w ]*Pass(es)?$|Convert\w+To\w+$|[a-z_]+(-[a-z_0-9]+)+$|\w+_(expander|decomposer|rewriter|simplifier|inserter)$"
)
"""Names of compiler passes, which speak of the ops they change."""
_SUFFIX_TYPE = re.compile(r"[^:]*:(_?[A-Z]\w*)")
_BARE_TYPE = re.compile(r"_?[A-Z]\w+")
_RUNTIME = re.compile(
    r"^(Executor|Threadpool|TFE_|Eager|KernelAndDevice|Memory|FunctionRun|SessionRun|ProcessFunction|GraphRun|Schedule"
    r"|BaseCollective|cu[A-Z]|PjRt|Thunk|Validate|TaskDispatcher|CpuExecutable|BlockUntilReady|\w*Compiler::|IteratorGetNext)"
)


_DIGITS = bytes.maketrans(b"123456789", b"000000000")
"""Names of code differ in these alone by the thousand, and no pattern asks which they are."""
_OF_OP = {int(kind): "move" for kind in OpCategory if kind != OpCategory.UNKNOWN} | {int(OpCategory.TFDATA): "tfdata"}
"""By what a name stands for; what TensorFlow and JAX compute depends on the type."""
_COMPUTED = (int(OpCategory.TENSORFLOW), int(OpCategory.JAX))
_MOST_KEPT = 10_000


def families(names: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The family of each name: an event's name, `name:Type` of an op, or a bare op type. What is unknown is runtime.

    Pass unique names; each costs a few regular expressions.
    """
    parsed = parse_op_names(names)
    codes = [_family(*one) for one in zip(names, parsed.category.tolist(), parsed.type, strict=True)]
    return np.fromiter((_CODE[family] for family in codes), np.uint8, len(codes))


def op_families(names: Sequence[str], types: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The family of each framework op: that of its type; where the type says nothing, as of a call, that of the name.

    Args:
        names: names of ops, which hold those of their layers.
        types: their types, one for each; empty where it is not known.
    """
    found = [_family_of_op(*one) for one in zip(names, types, strict=True)]
    return np.fromiter((_CODE[family] for family in found), np.uint8, len(found))


def hlo_families(categories: Sequence[str], op_types: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The family of each HLO op: what its category says, else that of the framework op it is most of.

    Args:
        categories: their `leading_categories`, such as `convolution`; `loop fusion` where nothing is known of its program.
        op_types: types of framework ops, one for each.
    """
    found = [_hlo_family(*one) for one in zip(categories, op_types, strict=True)]
    return np.fromiter((_CODE[family] for family in found), np.uint8, len(found))


def _family_of_op(name: str, op_type: str) -> str:
    if known := _OF_CATEGORY.get(op_type):
        return known
    of_type = _family_of_type(op_type) if op_type else "runtime"
    return of_type if of_type != "runtime" else _family(name, *parse_op_name(name)[:2])


def _hlo_family(category: str, op_type: str) -> str:
    if category == "non-fusion elementwise" and _family_of_type(op_type) == "optim":
        return "optim"
    if known := _OF_CATEGORY.get(category):
        return known
    if _COLLECTIVE.match(category):
        return "move"
    return "elem" if op_type == category else _family_of_type(op_type)


def _family(name: str, category: int, op_type: str) -> str:
    if known := _OF_CATEGORY.get(name):
        return known
    if category in _COMPUTED:
        return _family_of_type(op_type)
    # Bytes, as those are translated many times faster than text.
    return _OF_OP.get(category) or _family_of_code(name.encode("utf-8", "replace").translate(_DIGITS).decode())


@lru_cache(_MOST_KEPT)
def _family_of_code(name: str) -> str:
    """Of a kernel or a function of the runtime, by its name with any numbers in it."""
    if _RUNTIME.match(name) or _PASS.match(name):
        return "runtime"
    if suffix := _SUFFIX_TYPE.fullmatch(name):
        return _family_of_type(suffix[1])
    if _BARE_TYPE.fullmatch(name) and (known := _known_family(name)):
        return known
    small = name.lower()
    for family, pattern in _BY_KERNEL:
        if pattern.search(small):
            return family
    return _family_of_type(name) if re.fullmatch(r"[A-Z]\w+", name) else "runtime"


def _family_of_type(op_type: str) -> str:
    """Of an op of no other kind TensorFlow has hundreds that work element by element."""
    return _known_family(op_type) or "elem"


@lru_cache(_MOST_KEPT)
def _known_family(op_type: str) -> str:
    """By the patterns of types; empty where none matches."""
    bare = _FUSED.sub("", op_type)
    return next((family for family, pattern in _BY_TYPE if pattern.match(bare) or pattern.match(op_type)), "")
