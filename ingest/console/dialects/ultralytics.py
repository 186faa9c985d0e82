"""Ultralytics YOLO: rows below a header, `1/100  2.5G  1.2  3.4  1.1  16  640: 100%|██████████| 4/4`.

A file may have them without their bars. The row of an epoch is redrawn with running means; the first complete
one counts, until the next header. Its evaluation is the row `all`; so are rows of classes below it, which the
last evaluation has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number

_NUMBER = r"(?:\d[\d.]{0,20}(?:e[-+]\d\d)?|nan|inf)"
_HEADER = re.compile(r"\b(Epoch\s{1,40}(?:GPU_mem|gpu_mem)\s.{1,300})$")
_ROW = re.compile(
    rf"(?:^|\s)(\d{{1,6}})/(\d{{1,6}})((?:\s{{1,40}}{_NUMBER}[GMK]?){{2,20}})(?::\s{{1,40}}100%|\s{{0,40}}$)"
)
_CLASSES = re.compile(r"Class {1,40}Images {1,40}(?:Instances|Labels|Targets) (.{1,200})")
_ALL = re.compile(rf"^\s{{0,60}}all((?:\s{{1,40}}{_NUMBER}){{3,20}})\s*$")
_AMOUNTS = 2
"""Numbers of a row that state how much data it is of: images and instances."""
_MOST_CLASSES = 100
"""Rows of classes that are read below a row `all`: COCO has 80."""
_NOT_METRICS = frozenset({"Instances", "Size", "labels", "img_size"})


def _header(line: str, state: DialectState) -> LineValues | None:
    if (match := _HEADER.search(line)) is not None:
        state["columns"] = match[1].split()[1:]
        state.pop("below all", None)
        state.pop("drawn", None)
    return None


def _row(line: str, state: DialectState) -> LineValues | None:
    match = _ROW.search(line)
    if match is None or state.get("drawn") == int(match[1]):
        return None
    state["epoch"] = state["drawn"] = int(match[1])
    values = {}
    for name, text in zip(state.get("columns", ()), match[3].split(), strict=False):
        number = parse_number(text.rstrip("GMK"))  # memory in GB, as printed
        if number is not None and name not in _NOT_METRICS:
            values[f"train/{name}"] = number
    return LineValues(state["epoch"], values)


def _classes(line: str, state: DialectState) -> LineValues | None:
    if (match := _CLASSES.search(line)) is not None:
        names = re.split(r":(?=\s|$)", match[1], maxsplit=1)[0]
        state.pop("below all", None)
        state["classes"] = _names_in_groups(names)
    return None


def _names_in_groups(text: str) -> list[str]:
    """The names of the scores: those of a second group, of masks or key points, have its name before them.

    `Box(P  R  mAP50) Mask(P  R  mAP50)` are the same scores of two results.
    """
    names: list[str] = []
    group = ""
    for word in text.split():
        opened, _, name = word.rstrip(")").rpartition("(")
        group = opened or group
        names.append(f"{group}/{name}" if group and name in names else name)
        group = "" if word.endswith(")") else group
    return names


def _all(line: str, state: DialectState) -> LineValues | None:
    match = _ALL.match(line)
    if match is None or "epoch" not in state:
        return None
    state["below all"] = 0
    return _scores(match[1].split()[_AMOUNTS:], "val", state)


def _scores(cells: Sequence[str], prefix: str, state: DialectState) -> LineValues:
    """The scores of a row of an evaluation, at the step of the last epoch."""
    pairs = zip(state.get("classes", ()), map(parse_number, cells), strict=False)
    values = {f"{prefix}/{name}": number for name, number in pairs if number is not None}
    return LineValues(int(state["epoch"]), values)


def _class(line: str, state: DialectState) -> LineValues | None:
    """The scores of a class, in a row with as many numbers as the row `all` above it."""
    cells, count = line.split(), _AMOUNTS + len(state.get("classes", ()))
    rows, name = state.get("below all", _MOST_CLASSES), " ".join(cells[:-count])
    amounts = cells[-count:][:_AMOUNTS]
    if rows >= _MOST_CLASSES or not name or not all(map(str.isdecimal, amounts)):
        return None
    state["below all"] = rows + 1
    return _scores(cells[_AMOUNTS - count :], f"val/{name}", state)


DIALECT = ConsoleDialect(
    name="ultralytics",
    signature=re.compile(rb"Epoch {1,40}(?:GPU_mem|gpu_mem) {1,40}\w{1,40}"),
    kinds=(
        LineKind(pattern=re.compile(rb"Epoch {1,40}(?:GPU_mem|gpu_mem)"), parse=_header),
        LineKind(pattern=re.compile(rb"Class {1,40}Images"), parse=_classes),
        LineKind(pattern=re.compile(rb" all {1,40}\d"), parse=_all),
        LineKind(pattern=re.compile(rb"[\dn]: {1,40}100%"), parse=_row),
        # without a bar behind it
        LineKind(
            pattern=re.compile(rb"(?m)^ {1,40}\d{1,6}/\d{1,6} {1,40}[\d.]{1,20}[GMK]?[ \d.enaif+-]{5,300}$"),
            parse=_row,
        ),
        LineKind(
            pattern=re.compile(rb"(?m) \d{1,9} {1,40}\d{1,9}(?: {1,40}\d[\d.e+-]{0,10}){2,20}[ \r]{0,40}$"),
            parse=_class,
        ),
    ),
)
