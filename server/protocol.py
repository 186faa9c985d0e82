"""HTTP as uvicorn speaks it, but for a client that sends request after request and reads no answers."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Bounded(HttpToolsProtocol):
    """Reads no further while requests wait for the one before them.

    uvicorn reads on with each answer, many requests at a time: they would be held without bound.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)


class _Flow(FlowControl):
    def __init__(self, transport: asyncio.Transport, waiting: Any) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        # a request that others wait behind has been read whole: it does not need what is held back
        if not self._waiting:
            super().resume_reading()
