"""Prints the scalars of all TensorBoard event files below a folder, by tag."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

values: dict[str, list[float]] = {}
for folder in {path.parent for path in Path(sys.argv[1]).glob("**/events.out.tfevents.*")}:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    for tag in events.Tags()["scalars"]:
        values.setdefault(tag, []).extend(event.value for event in events.Scalars(tag))
print(json.dumps(values))
