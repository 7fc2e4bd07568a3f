"""A cell that showed a view -> one more output of it, empty to look at: the script that draws the view where no manager does.

nbconvert puts the state of widgets into its page and leaves the drawing to a widget manager that the page fetches. Without
a network nothing would appear. This script has the bundle in that state draw the views (`js/src/data/page.ts`); in a
live front end it does nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from .cells import after_the_cell
from .library import built
from .shell import kernel_shell

HIDDEN = "lm-Widget lm-mod-hidden"
"""Class of what holds a script: JupyterLab hides it, and so do pages of nbconvert, which show the text of scripts where they take
out the tags."""
_waiting: set[int] = set()
"""Shells in whose running cell a view was shown."""


def publish_after_cell() -> None:
    """Have the script published when the running cell ends, once a cell; nothing happens outside a kernel."""
    found: Any = kernel_shell()
    if found is None or id(found) in _waiting:
        return
    _waiting.add(id(found))

    def publish() -> None:
        _waiting.discard(id(found))
        found.display_pub.publish({"text/html": _script(), "text/plain": ""})

    after_the_cell(publish)


@cache
def _script() -> str:
    code = built("page.js").replace("</script", "<\\/script")
    return f'<div class="{HIDDEN}"><script type="module">{code}</script></div>'
