"""The fits of scikit-learn's search for parameters: `[CV 2/3] END ...C=1, gamma=2;, score=0.8 total time=1s`.

A line has the fold, the parameters and the result of a fit. They are no steps of a training: the fits are
counted.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_numbers

_FIT = re.compile(r"\[CV \d{1,4}/\d[^\]]{0,20}\] END [^;]*;, (?P<results>[^;]{1,400}) total time= *\d")
_RESULT = re.compile(r"(?P<name>\w{1,60})(?:=|: )(?P<values>\([^()]{1,100}\)|[^\s,()]{1,30})")
_OF_DATA = re.compile(r"(?P<data>train|test)=(?P<value>[^\s,()]{1,30})")
_COUNT = "fits"


def _begin_launch(state: DialectState) -> None:
    """Forget the fits of the launch before."""
    state.pop(_COUNT, None)


def _fit(line: str, state: DialectState) -> LineValues | None:
    """The results of a fit, each for the data of the test, and for those of the training if it is stated."""
    match = _FIT.search(line)
    if match is None:
        return None
    texts: list[tuple[str, str]] = []
    for result in _RESULT.finditer(match["results"]):
        name, of_data = result["name"], _OF_DATA.findall(result["values"])
        if of_data:  # `score=(train=0.9, test=0.8)`
            texts += [(name if data == "test" else f"{data}/{name}", value) for data, value in of_data]
        else:
            texts.append((name, result["values"]))
    if not texts:
        return None
    state[_COUNT] = state.get(_COUNT, 0) + 1
    return LineValues(state[_COUNT], parse_numbers(texts))


FITS = LineKind(
    pattern=re.compile(rb"\[CV \d{1,4}/\d[^\n\]]{0,20}\] END "), parse=_fit, begin_launch=_begin_launch
)
"""The line of a fit."""
