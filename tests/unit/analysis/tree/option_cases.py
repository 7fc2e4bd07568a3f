"""Options of tfprof by view, as tables: what `test_against_tfprof.py` compares and `tfprof_nets.py` asks tfprof for."""

from __future__ import annotations

from typing import Any

from tfprof_widgets.analysis import DETAILS, FIGURES, TreeView

Options = dict[str, Any]

WHOLE: Options = {
    "max_depth": 10000,
    "step": -1,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": [*FIGURES, *(name for name in DETAILS if name != "tensor_value")],
}
"""What a case does not say; tfprof itself would show nothing of it, and ten levels of that."""

_LIMITS: dict[str, tuple[int, ...]] = {
    "min_bytes": (1, 1000),
    "min_peak_bytes": (1, 500),
    "min_residual_bytes": (1, 64),
    "min_output_bytes": (1, 256),
    "min_micros": (1, 20, 1000),
    "min_accelerator_micros": (1, 10),
    "min_cpu_micros": (1, 50),
    "min_params": (1, 100),
    "min_float_ops": (1, 1000),
    "min_occurrence": (1, 2, 4),
}
_SELECTS = ([], ["micros"], ["accelerator_micros"], ["cpu_micros", "params"], ["bytes", "float_ops"], ["tensor_value"])
_SELECTS += (["peak_bytes", "residual_bytes", "output_bytes"], ["occurrence", "device"], ["input_shapes", "op_types"])


def _common(depths: tuple[int, ...]) -> dict[str, Options]:
    """Cases of options whose values mean the same in every view."""
    cases: dict[str, Options] = {"whole": {}}
    cases |= {f"depth {n}": {"max_depth": n} for n in depths}
    cases |= {f"{name} {value}": {name: value} for name, values in _LIMITS.items() for value in values}
    cases |= {f"step {n}": {"step": n} for n in (0, 3, 7)}
    cases |= {f"by {name}": {"order_by": name} for name in (*FIGURES, "occurrence")}
    cases |= {f"select {' '.join(names) or 'nothing'}": {"select": names} for names in _SELECTS}
    types = {"MatMul": ["MatMul"], "variables": ["_trainable_variables"], "devices": [".*gpu:0"], "none": ["Nothing"]}
    types |= {"two": ["Conv2D.*", "(Mat)?Mul"], "own": ["my_.*"], "no list": []}
    cases |= {f"types {key}": {"account_type_regexes": regexes} for key, regexes in types.items()}
    cases["displayed only"] = {"account_displayed_op_only": True, "min_params": 1}
    cases["displayed only of a step"] = {"account_displayed_op_only": True, "step": 3, "min_micros": 2}
    cases["limits together"] = {"min_micros": 1, "min_bytes": 4, "min_cpu_micros": 1, "min_output_bytes": 1}
    return cases


def _named(names: dict[str, list[str]]) -> dict[str, Options]:
    """Cases of each of the options of names, with expressions for one view."""
    cases = {
        f"{option} {key}": {f"{option}_name_regexes": regexes}
        for option in ("start", "trim", "show", "hide")
        for key, regexes in names.items()
    }
    cases |= {
        f"displayed only, {option} {key}": {f"{option}_name_regexes": regexes, "account_displayed_op_only": True}
        for option in ("start", "trim", "show", "hide")
        for key, regexes in names.items()
    }
    return cases | {f"{option} no list": {f"{option}_name_regexes": []} for option in ("start", "show")}


_OP_NAMES = {
    "a scope": ["(layer_1|rnn)"],
    "below a scope": ["train/.*"],
    "gradients": [".*_grad/.*", ".*Grad.*"],
    "some ops": [".*MatMul.*", ".*/read", ".*while.*"],
    "part of a name": ["rai", "Mat"],
    "all": [".*"],
}
_OF_NAMES: dict[str, Options] = {
    "a part of the tree": {
        "start_name_regexes": ["train.*"],
        "hide_name_regexes": [".*/update.*", ".*Const.*"],
        "trim_name_regexes": [".*_grad/.*"],
        "order_by": "micros",
        "max_depth": 5,
    },
    "the parameters": {
        "account_type_regexes": ["_trainable_variables"],
        "select": ["params"],
        "account_displayed_op_only": True,
        "order_by": "params",
        "min_params": 10,
    },
    "the slow ones of a step": {
        "step": 7,
        "min_micros": 5,
        "order_by": "cpu_micros",
        "show_name_regexes": [".*MatMul.*", ".*Conv.*", ".*while.*"],
        "account_displayed_op_only": True,
    },
    "types below a start": {
        "account_type_regexes": ["MatMul", "Conv2D", "Const"],
        "start_name_regexes": [".*layer_1.*", ".*rnn.*"],
        "min_occurrence": 1,
        "order_by": "float_ops",
    },
}

CASES: dict[TreeView, dict[str, Options]] = {
    "scope": _common((0, 1, 2, 3, 10))
    | _named(_OP_NAMES)
    | _OF_NAMES
    | {
        "types scopes": {"account_type_regexes": ["_kTFScopeParent"]},
        "types ops with children": {"account_type_regexes": ["Const"], "max_depth": 4},
    },
    "graph": _common((0, 1, 2, 3, 10)) | _named(_OP_NAMES) | _OF_NAMES,
    "op": _common((0, 1, 2, 5, 30))
    | _named(
        {
            "a type": ["MatMul"],
            "some types": ["Re.*", "V.*"],
            "part of a name": ["Mat"],
            "no type": ["Nothing"],
            "all": [".*"],
        }
    )
    | {
        "a part of the list": {
            "start_name_regexes": ["M.*"],
            "trim_name_regexes": ["S.*"],
            "max_depth": 7,
            "min_bytes": 1,
        },
        "types and names": {"account_type_regexes": ["[A-M].*"], "hide_name_regexes": ["Const"], "min_occurrence": 2},
        "by params, displayed only": {"order_by": "params", "account_displayed_op_only": True, "min_params": 1},
        "by number, two or more": {"order_by": "occurrence", "min_occurrence": 2},
        "by flops of a step": {"order_by": "float_ops", "step": 0, "min_float_ops": 1},
    },
    "code": _common((1, 2, 3, 4, 10))
    | _named(
        {
            "a net": ["tfprof_nets.py:.*:(dense|conv|rnn)_net"],
            "gradients": [".*gradient.*"],
            "this file": ["tfprof_nets.*"],
            "library": ["[a-su-z].*"],
            "part of a name": ["tfprof"],
        }
    )
    | {
        "own lines by time": {"show_name_regexes": ["tfprof_nets.*"], "order_by": "micros", "min_micros": 1},
        "types in own lines": {"account_type_regexes": ["MatMul", "Conv2D"], "show_name_regexes": ["tfprof_nets.*"]},
        "a step's gradients": {"start_name_regexes": [".*gradient.*"], "step": 0, "order_by": "bytes", "max_depth": 6},
        "variables": {"account_type_regexes": ["_trainable_variables"], "min_params": 1, "order_by": "params"},
    },
}
"""Cases by view and name."""

COUNTED_TWICE: Options = {"account_type_regexes": ["MatMul", "Mat.*"]}
"""Two expressions that match the same ops, which tfprof counts twice in the op and code views."""


def file_name(case: str) -> str:
    """The name of a case as the stem of a file; the options of tfprof's output end at a comma."""
    return case.replace(" ", "_").replace(",", "")
