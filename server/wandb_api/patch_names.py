"""Names of the changed files in the patch that wandb's client uploads; its content is read past."""

from __future__ import annotations

from holter.client.git_state import MAX_CHANGED_NAMED

_HEADER = b"diff --git "
_MAX_LINE = 4096


class PatchNames:
    """Reads the output of `git diff` in pieces. `count` files are changed, the first ones have `names`."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.count = 0
        self._line = b""

    def feed(self, piece: bytes) -> None:
        """Read the next piece."""
        *lines, rest = piece.split(b"\n")
        for line in lines:
            self._read_line(self._line + line)
            self._line = b""
        self._line = (self._line + rest)[:_MAX_LINE]

    def _read_line(self, line: bytes) -> None:
        """Lines of content begin with a space, `+`, `-` or `\\`, so that only a header begins thus."""
        if line.startswith(_HEADER) and len(line) < _MAX_LINE:
            self.count += 1
            if len(self.names) < MAX_CHANGED_NAMED:
                self.names.append(_new_name(line[len(_HEADER) :].decode(errors="replace")))


def _new_name(stated: str) -> str:
    """The name in `a/NAME b/NAME`, the new one where both differ."""
    middle = len(stated) // 2
    before, after = stated[:middle].replace('"', ""), stated[middle + 1 :].replace('"', "")
    if before == after:  # diff.noprefix
        return after
    if before[2:] == after[2:]:
        return after[2:]
    return stated.rpartition(" b/")[2].replace('"', "")
