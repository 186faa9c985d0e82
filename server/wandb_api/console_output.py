"""The printed output of a run: lines of NCCL, the kernel and schedulers become records, as in files of text.

Values of training that a program prints are not read: the client sends them as history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO

from holter.types import Batch

OUTPUT_ATTRIBUTE = "wandb.output"
_PREFIX = re.compile(r"(?:ERROR )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)? ")
"""What the client writes before each line."""
_MAX_LINE = 64 * 1024


@dataclass(frozen=True, slots=True)
class OutputRecords:
    """Batches from lines of output that begin at line `offset`, and the attributes to be stored for them."""

    offset: int
    batches: list[Batch] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)


def read_output(
    lines: Sequence[object], offset: int, attributes: Mapping[str, str], attempt: str
) -> OutputRecords:
    """Read further lines of output. `attributes` have the reader's state, which the result replaces."""
    texts = [_PREFIX.sub("", line, count=1)[:_MAX_LINE] for line in lines if isinstance(line, str)]
    if not texts:
        return OutputRecords(offset)
    # loads 10 MB of formats
    from holter.ingest.console.console_reader import ConsoleReader  # noqa: PLC0415
    from holter.ingest.stdout.system_text import SYSTEM_DIALECTS  # noqa: PLC0415

    before = attributes.get(OUTPUT_ATTRIBUTE, "{}")
    reader = ConsoleReader(SYSTEM_DIALECTS[0].followed_by(*SYSTEM_DIALECTS[1:]), json.loads(before))
    content = BytesIO("".join(f"{text.rstrip()}\n" for text in texts).encode(errors="replace"))
    batches = [replace(item, attempt=attempt) for item in reader.read(content) if isinstance(item, Batch)]
    state = json.dumps(reader.state())
    changed = {OUTPUT_ATTRIBUTE: state} if state != before else {}
    return OutputRecords(offset, batches, changed)
