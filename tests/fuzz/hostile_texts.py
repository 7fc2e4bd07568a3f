"""Random numbers -> texts that would do something in a page that took them for more than text, and awkward ones."""

from __future__ import annotations

import random

MARKUP = (
    "<img src=x onerror=window.tfprofHacked=1>",
    "</script><script>window.tfprofHacked=2</script>",
    "<svg onload=window.tfprofHacked=3>",
    "<iframe srcdoc='<script>parent.tfprofHacked=4</script>'></iframe>",
    "\"><img src=x onerror='window.tfprofHacked=5'>",
    "' onmouseover=window.tfprofHacked=6 autofocus onfocus=window.tfprofHacked=6 x='",
    "<a href=javascript:window.tfprofHacked=7>click</a>",
    "javascript:window.tfprofHacked=8",
    "</style><style>*{display:none!important}</style>",
    "<!--<script>window.tfprofHacked=9</script>",
    "<base href=//example.invalid/><meta http-equiv=refresh content='0;url=//example.invalid'>",
    "<link rel=stylesheet href=//example.invalid/x.css>",
    "</textarea></title><body onload=window.tfprofHacked=10>",
    "<math><mtext></p><style><img src=x onerror=window.tfprofHacked=11></style>",
    "<details open ontoggle=window.tfprofHacked=12>",
    "${window.tfprofHacked=13}`+(window.tfprofHacked=13)+`",
    "{{constructor.constructor('window.tfprofHacked=14')()}}",
    "\\u003cimg src=x onerror=window.tfprofHacked=15\\u003e",
    "&lt;img src=x onerror=window.tfprofHacked=16&gt;",
    "];window.tfprofHacked=17;[",
    '");window.tfprofHacked=18;//',
    "data:text/html,<script>parent.tfprofHacked=19</script>",
)
"""What sets `tfprofHacked` when it is run."""
AWKWARD = (
    "",
    " ",
    "\0",
    "\u2028\u2029",
    "\u202ereversed",
    "a\u0301" * 200,
    "\U0001f4a9" * 50,
    "\ufeff\u200b",
    "__proto__",
    "constructor",
    "toString",
    "null",
    "NaN",
    "-1",
    "//",
    "a/" * 300,
    ":",
    "::::",
    "%s%n%x",
    "\r\n\t",
    "'\"`\\",
    "x" * 5000,
    "\x1b[31m",
)


def text(rng: random.Random) -> str:
    """Markup mostly."""
    return rng.choice(MARKUP) if rng.random() < 0.8 else rng.choice(AWKWARD)


def op_name(rng: random.Random) -> str:
    """An op of any type; a name that TensorFlow would refuse still is an op when its type is in lower case."""
    return f"{text(rng)}:fused"
