"""Bars of the packages progress and alive-progress, of which the end of each epoch is read."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.plain.bar_lines import named_metrics
from holter.ingest.console.plain.bar_steps import labels_of_bar
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.metric_names import is_metric_name

_PROGRESS = re.compile(
    r"\|[#\u2588-\u258f -]{2,80}\|? {0,4}(?P<open>\()?(?P<at>\d{1,9})/(?P<total>\d{1,9})"
    r"(?(open)\)| \[\d{1,3}%\] in [\d:.hms]{1,12} \([^)\r]{0,40}\)) (?P<values>[^\r]*)$"
)


def _progress(line: str, state: DialectState) -> LineValues | None:
    """`Processing |####| (391/391) Data: 0.01s | Loss: 1.2 | top1: 44.5`: the end of an epoch.

    So is `|████| 60/60 [100%] in 11.2s (5.35/s) val_loss: 1.7`. The second bar of an epoch is that of its
    evaluation.
    """
    match = _PROGRESS.search(line.rpartition("\r")[2])
    axis = axis_state(state)
    step = axis.get("step", axis.get("announced", [None])[0])
    if match is None or match["at"] != match["total"] or step is None:
        return None
    values = {name: value for name, value in named_metrics(match["values"]).items() if is_metric_name(name)}
    is_second = state.get("progress", [None])[0] == step and state["progress"][1] != match["total"]
    if not is_second:
        state["progress"] = [step, match["total"]]
    split = "eval" if is_second else ""
    measured = {metric_name(name.strip(), split): value for name, value in values.items()}
    return LineValues(int(step), measured, labels=labels_of_bar(state))


SIGNATURE = rb"\d/\d{1,9} \[\d{1,3}%\] in [\d:.hms]{1,12} \([^)\r\n]{0,40}\) [a-z]"
KINDS = (
    LineKind(pattern=re.compile(rb"\| {0,4}\(\d{1,9}/\d{1,9}\) [^\n]{0,200}?[Ll]oss: "), parse=_progress),
    LineKind(pattern=re.compile(SIGNATURE), parse=_progress),
)
