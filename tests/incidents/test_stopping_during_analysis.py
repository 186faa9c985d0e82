"""A server stops in bounded time while a pass of the analysis takes long; the pass is repeated."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holter.server.analysis import worker as analysis
from holter.server.context import ServerContext
from holter.settings import Settings
from holter.types import Batch, Column, Delivery, SeriesKey


def test_a_long_pass_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()

    def find(*_: Any, **__: Any) -> list[Any]:
        began.set()
        go_on.wait(60)
        return []

    monkeypatch.setattr(analysis, "find", find)
    monkeypatch.setattr(analysis, "_CLOSE_SECONDS", 0.05)
    earlier = set(threading.enumerate())
    context = ServerContext(Settings(data_dir=tmp_path))
    context.start()
    batch = Batch(
        steps=np.arange(3), times=np.arange(3.0), columns=(Column(key=SeriesKey("loss"), values=np.ones(3)),)
    )
    context.store.accept(Delivery(project="p", run="r", writer="w", batch_id="1", batch=batch))
    assert began.wait(60)
    context.close()
    [thread] = [one for one in set(threading.enumerate()) - earlier if one.name == "analysis"]
    go_on.set()
    thread.join(60)
    assert not thread.is_alive()
    again = ServerContext(Settings(data_dir=tmp_path))
    began.clear()
    again.start()
    assert began.wait(60)  # it has not been recorded as done
    again.close()
