"""TraceData: the shared model that holds a profile's payload and streams its detail to the browser on request."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import ipywidgets
import traitlets

from .payload import Payload
from .wire import as_text

logger = logging.getLogger(__name__)


class TraceData(ipywidgets.Widget):  # type: ignore[misc]
    """What all views of one profile draw from. The overview is state and survives saving; detail is sent when asked for."""

    _model_name = traitlets.Unicode("WidgetModel").tag(sync=True)
    _model_module = traitlets.Unicode("@jupyter-widgets/base").tag(sync=True)

    data_id = traitlets.Unicode().tag(sync=True)
    """Names the decoded arrays in the page, so that views share them."""
    overview = traitlets.Unicode().tag(sync=True)
    """Base64 of the overview pack."""
    is_complete = traitlets.Bool().tag(sync=True)
    """Whether the overview holds every row, so that there is no detail to ask for."""
    n_chunks = traitlets.Int().tag(sync=True)
    """How many detail packs there are."""

    def __init__(self, payload: Payload) -> None:
        self._payload = payload
        super().__init__(
            data_id=uuid.uuid4().hex,
            overview=as_text(payload.overview),
            is_complete=payload.is_complete,
            n_chunks=payload.n_chunks,
        )
        self.on_msg(self._answer)

    def _answer(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        if message.get("kind") != "detail?":
            return
        try:
            for index in range(max(0, int(message.get("from", 0))), self.n_chunks):
                chunk = self._payload.chunk(index)
                head = {"kind": "detail", "index": index, "count": self.n_chunks}
                if message.get("encoding") == "base64":
                    self.send({**head, "data": as_text(chunk)})
                else:
                    self.send(head, buffers=[chunk])
        except Exception as error:  # the message crosses to the browser, which shows it in its place
            logger.exception("could not send the detail of a trace")
            self.send({"kind": "error", "message": f"{type(error).__name__}: {error}"})
