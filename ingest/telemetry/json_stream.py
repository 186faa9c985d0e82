"""JSON documents one below the other, over one line or many, put together line by line."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from holter.ingest.rows import LogRow
from holter.ingest.telemetry.line_reader import LineReader

_LONGEST = 512 * 1024
_decode = msgspec.json.Decoder().decode


class DocumentReader(LineReader):
    """Reads one growing text of documents: each begins a line with its bracket, and ends one.

    What stands between them may name the moment of those below.
    """

    expected = "a document"

    def __init__(self, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self.moment: float = state.get("moment", float("nan"))
        self._begun: str = state.get("begun", "")

    @abstractmethod
    def of_document(self, found: Any) -> Iterator[LogRow]:
        """What a document says."""

    def own_state(self) -> Mapping[str, Any]:
        """The last moment between documents, and the document that has begun."""
        moment = {} if self.moment != self.moment else {"moment": self.moment}
        return {**moment, **({"begun": self._begun} if self._begun else {})}

    def rows(self, line: str) -> Iterator[LogRow]:
        """What the document says whose last line this is."""
        if line[:1] in ("{", "["):
            if self._begun:
                self.blame("expected the end of the document above, found the beginning of another")
            self._begun = ""
        elif not self._begun:
            moment = self.clock.read(line[:100])
            self.moment = moment if moment == moment else self.moment
            return
        self._begun += line + "\n"
        if len(self._begun) > _LONGEST:
            self._begun = ""
            self.blame(f"expected a document of at most {_LONGEST} characters")
        elif line[-1:] in ("}", "]") and line[:1] in ("{", "[", "}", "]"):
            text, self._begun = self._begun, ""
            try:
                found = _decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                self.blame(f"expected a document; {error}"[:200])
                return
            yield from self.of_document(found)
