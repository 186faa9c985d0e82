"""Names in logs that could deceive who reads them are stored with visible escapes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np

from holter.cli.agent.http_sink import encode_delivery
from holter.cli.report import dump_json
from holter.ingest.names import storable_label, storable_name, without_invalid_names
from holter.ingest.tailing.follower import Follower
from holter.server.ingest_http.json_body import LayoutCache
from holter.server.ingest_http.validate import delivery_from_msgpack
from holter.terminal_text import UNSAFE
from holter.types import Batch, Column, SeriesKey
from tests.support.log_reading import MemorySink
from tests.support.waiting import wait_for

HOSTILE = "a\x1b[2Jb\x9bc\u202ed\u2066e\u200ef\u2028g\nh"
VISIBLE = r"a\x1b[2Jb\x9bc\u202ed\u2066e\u200ef\u2028g\nh"


def test_escapes_are_visible_and_ordinary_names_stay() -> None:
    assert storable_name(HOSTILE) == storable_label(HOSTILE) == VISIBLE
    assert storable_name("\0\udcff") == "\ufffd\\udcff"
    ordinary = "größe µ/s \u4e2d \U0001f468\u200d\U0001f680 a\u00a0b"
    assert storable_name(ordinary) == ordinary


def test_series_keep_their_points_under_the_visible_name() -> None:
    columns = [Column(key=SeriesKey(name), values=np.ones(1)) for name in (HOSTILE, VISIBLE, "loss")]
    one, reports = without_invalid_names(
        Batch(steps=np.arange(1), times=np.zeros(1), columns=(columns[0], columns[2]))
    )
    assert ([column.key.metric for column in one.columns], reports) == ([VISIBLE, "loss"], [])
    # where that name is taken, two series must not become one
    both, reports = without_invalid_names(
        Batch(steps=np.arange(1), times=np.zeros(1), columns=tuple(columns))
    )
    assert [column.key.metric for column in both.columns] == [VISIBLE, "loss"]
    assert len(reports) == 1


def test_names_that_show_nothing_are_refused() -> None:
    names = ("\u200b", "\u200d\u2060", "\u3164", "\u00a0", "a\u200b", "\u4e2d")
    columns = tuple(Column(key=SeriesKey(name), values=np.ones(1)) for name in names)
    batch, reports = without_invalid_names(Batch(steps=np.arange(1), times=np.zeros(1), columns=columns))
    assert [column.key.metric for column in batch.columns] == ["a\u200b", "\u4e2d"]
    assert len(reports) == 4
    assert all("visible" in report.reason for report in reports)


def test_a_hostile_folder_is_followed_under_visible_names_that_a_server_accepts(
    tmp_path: Path, memory: MemorySink
) -> None:
    folder = tmp_path / HOSTILE
    folder.mkdir()
    rows = [{"step": step, "loss": 2.0, HOSTILE: 1.0} for step in range(50)]
    (folder / f"{HOSTILE}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    stop = threading.Event()
    thread = threading.Thread(target=Follower([tmp_path], memory, project="p", stop=stop).run)
    thread.start()
    try:
        wait_for(lambda: memory.deliveries)
    finally:
        stop.set()
        thread.join(60)
    for delivery in memory.deliveries:
        received = delivery_from_msgpack(encode_delivery(delivery), LayoutCache())
        names = [received.run, received.writer, received.batch_id]
        names += [column.key.metric for column in received.batch.columns]
        assert not [name for name in names if UNSAFE.search(name)]
        assert VISIBLE in names


def test_json_for_scripts_has_escapes_for_what_terminals_act_upon() -> None:
    for indent in (None, 2):
        text = dump_json({"run": HOSTILE}, indent=indent)
        assert not UNSAFE.search(text.replace("\n", ""))
        assert json.loads(text) == {"run": HOSTILE}
