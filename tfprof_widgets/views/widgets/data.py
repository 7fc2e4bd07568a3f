"""TraceData: the shared model that holds a profile's first pack, and sends the browser the parts and answers it asks for.

browser -> kernel   {kind: "parts?", keys: [...], encoding: "binary" | "base64"}
kernel -> browser   {kind: "part", key, data?} and a buffer, or {kind: "error", key, message}, in the order asked; parts that
                    take long to find unasked, too, before the cell ends
browser -> kernel   {kind: "call", id, name, encoding, ...}
kernel -> browser   {kind: "reply", id, ..., data?} and buffers, or {kind: "error", id, message}
"""

from __future__ import annotations

import base64
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import traitlets

from ..payload.embedding import embed
from ..payload.payload import Payload
from ..payload.wire import as_text
from .cells import after_the_cell
from .kept_once import KeptOnce
from .shell import kernel_shell

logger = logging.getLogger(__name__)

Message = dict[str, Any]
Call = Callable[[Message], tuple[Mapping[str, Any], Sequence[bytes]]]
"""From a message to what its reply holds (JSON-safe) and its buffers."""


class TraceData(KeptOnce):
    """What all views of one profile draw from: the first pack is state and survives saving, parts are sent when asked for."""

    large = ("overview", "embedded")

    data_id = traitlets.Unicode().tag(sync=True)
    """Names the decoded arrays in the page, so that views share them."""
    overview = traitlets.Unicode().tag(sync=True)
    """Base64 of the first pack."""
    embedded = traitlets.List().tag(sync=True)
    """`[key, base64]` of the parts that a notebook saves with the first pack; set once, after the output."""
    n_left_out = traitlets.Int().tag(sync=True)
    """How many parts neither the first pack nor `embedded` holds: what a page without a kernel lacks; -1 not known yet."""
    is_offline = traitlets.Bool().tag(sync=True)
    """Whether there is no kernel, and never will be, as in an exported page."""

    def __init__(self, payload: Payload) -> None:
        self.payload = payload
        self.calls: dict[str, Call] = {}
        """What the browser may ask for besides parts, by name."""
        super().__init__(data_id=uuid.uuid4().hex, overview=as_text(payload.overview), n_left_out=-1)
        self.on_msg(self._answer)
        if kernel_shell() is None:
            self._embed()
        else:  # not before the output of the cell is there
            after_the_cell(self._complete)

    def _complete(self) -> None:
        """Send what takes long to find as soon as it is found: the page cannot be heard before the cell has ended."""
        for key in self.payload.late_keys:
            self._reply({"key": key}, partial(self._part, key), False)
        self._embed()

    def _embed(self) -> None:
        """Put in what a saved notebook keeps; without it the views still work, so a failure is only told."""
        try:
            embedded = embed(self.payload, "steps")
            self.embedded, self.n_left_out = list(embedded.parts), embedded.n_left_out
        except Exception:  # must not turn a finished cell into a failed one
            logger.exception("could not put parts of a trace into the state of its widgets")

    def _answer(self, _widget: object, message: Message, _buffers: object) -> None:
        is_text = message.get("encoding") == "base64"
        if message.get("kind") == "parts?":
            for key in message.get("keys", ()):
                self._reply({"key": key}, partial(self._part, str(key)), is_text)
        elif message.get("kind") == "call":
            self._reply({"id": message.get("id")}, partial(self._call, message), is_text)

    def _part(self, key: str) -> tuple[Mapping[str, Any], Sequence[bytes]]:
        kept = next((text for name, text in self.embedded if name == key), None)
        return {"kind": "part"}, [self.payload.part(key) if kept is None else base64.b64decode(kept)]

    def _call(self, message: Message) -> tuple[Mapping[str, Any], Sequence[bytes]]:
        name = message.get("name")
        if name not in self.calls:
            raise KeyError(f"no call {name!r}; there are: {', '.join(self.calls) or 'none'}")
        head, buffers = self.calls[name](message)
        return {**head, "kind": "reply"}, buffers

    def _reply(
        self, address: Message, answer: Callable[[], tuple[Mapping[str, Any], Sequence[bytes]]], is_text: bool
    ) -> None:
        """Send an answer or, where there is none, why; buffers as text for a front end that drops them."""
        try:
            head, buffers = answer()
            if not is_text:
                self.send({**head, **address}, buffers=list(buffers))
            else:
                texts = [as_text(buffer) for buffer in buffers]
                data = {"data": texts[0] if head["kind"] == "part" else texts}
                self.send({**head, **address, **data})
        except Exception as error:  # the message crosses to the browser, which shows it in its place
            logger.exception("could not answer a view")
            self.send({**address, "kind": "error", "message": f"{type(error).__name__}: {error}"})
