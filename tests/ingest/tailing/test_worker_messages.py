"""Deliveries pass between processes unchanged, and a message creates objects of known types only."""

from __future__ import annotations

import os
import pickle
import threading
from multiprocessing import Pipe

import numpy as np
import pytest

from holter.ingest.file_tasks import FileTask
from holter.ingest.safe_pickles import MessageError, load_known_types
from holter.ingest.tailing.failures import FIRST_PAUSE, FileFailures
from holter.ingest.tailing.file_identity import FileIdentity
from holter.ingest.tailing.messages import (
    COLUMNS_PER_PIECE,
    MessageDecoder,
    MessageEncoder,
    Reply,
    Request,
    encode_reply,
)
from holter.ingest.tailing.remote_sink import RemoteSink
from holter.ingest.tailing.task_table import RunningTask
from holter.types import Batch, Column, ConfigKey, Cursor, Delivery, DenseColumns, SeriesKey, SeriesLayout


def delivery(columns: DenseColumns | tuple[Column, ...]) -> Delivery:
    return Delivery(
        project="p",
        run="r",
        writer="w",
        batch_id="b",
        batch=Batch(
            steps=np.arange(3),
            times=np.array([1.0, np.nan, 2.0]),
            columns=columns,
            config={ConfigKey("lr"): 0.1},
        ),
        cursor=Cursor(source="s", format="f", offset=7, identity=str(FileIdentity()), state={"a": [1, None]}),
    )


def test_many_columns_arrive_unchanged() -> None:
    rows = np.array([0, 2])
    keys = [SeriesKey(f"m{number}", (("rank", "1"),)) for number in range(COLUMNS_PER_PIECE + 5)]
    sparse = [Column(key=key, values=np.array([1.5, np.nan]), rows=rows) for key in keys]
    columns = (*sparse, Column(key=SeriesKey("all"), values=np.arange(3.0)))
    sent = delivery(columns)
    request = MessageDecoder().decode(MessageEncoder().encode(Request(1, "accept", (sent,), {"timeout": 3})))
    (arrived,) = request.arguments
    assert (request.method, request.named, arrived.cursor) == ("accept", {"timeout": 3}, sent.cursor)
    assert dict(arrived.batch.config) == dict(sent.batch.config)
    assert len(arrived.batch.columns) == len(columns)
    for got, expected in zip(arrived.batch.columns, columns, strict=True):
        assert got.key == expected.key
        assert np.array_equal(got.values, expected.values, equal_nan=True)
        assert (got.rows is None) == (expected.rows is None)
        assert expected.rows is None or np.array_equal(got.rows, expected.rows)


def test_a_layout_is_sent_once_and_forgotten_with_its_batches() -> None:
    encoder, decoder = MessageEncoder(), MessageDecoder()
    layout = SeriesLayout([SeriesKey("loss" * 100)])
    first = encoder.encode(Request(1, "accept", (delivery(DenseColumns(layout, np.ones((1, 3)))),), {}))
    second = encoder.encode(Request(2, "accept", (delivery(DenseColumns(layout, np.ones((1, 3)))),), {}))
    assert len(second) < len(first) - 300
    layouts = [decoder.decode(message).arguments[0].batch.columns.layout for message in (first, second)]
    assert layouts[0] is layouts[1]
    assert layouts[0].keys == layout.keys
    del layout
    decoder.decode(encoder.encode(Request(0, "lag", (), {})))
    assert decoder._layouts == {}


def test_a_message_runs_no_code() -> None:
    for content in (os.system, Request, print):
        with pytest.raises(MessageError, match="not part of a message"):
            load_known_types(pickle.dumps(content))
        with pytest.raises(MessageError, match="not part of a message"):
            MessageDecoder().decode(pickle.dumps(([], 0, (1, "accept", (content,), {}))))


def test_cursors_that_are_expected_are_asked_for_at_once_and_only_used_while_they_hold() -> None:
    ours, theirs = Pipe()
    sink = RemoteSink(theirs, waits=lambda _: None, on_request=lambda _: None, on_end=lambda: None)
    asked: list[tuple[str, object]] = []

    def answer() -> None:
        decoder = MessageDecoder()
        for _ in range(4):
            request = decoder.decode(ours.recv_bytes())
            asked.append((request.method, request.arguments[0]))
            value = [None, cursor("b", 2)] if request.method == "cursors" else cursor("b", 3)
            ours.send_bytes(encode_reply(Reply(request.number, value)))

    server = threading.Thread(target=answer)
    server.start()
    sink.expect_cursors(["a", "b"])
    assert sink.cursor("a") is None
    sink.save_cursor(cursor("b", 3))  # the expected one no longer holds
    assert [sink.cursor("b"), sink.cursor("a")] == [cursor("b", 3), cursor("b", 3)]
    server.join()
    assert [method for method, _ in asked] == ["cursors", "save_cursor", "cursor", "cursor"]


def cursor(source: str, offset: int) -> Cursor:
    return Cursor(source=source, format="f", offset=offset, identity="", state={})


def running(path: str, position: int) -> RunningTask:
    task = FileTask(path=path, phase="read")
    return RunningTask(version=1, thread=1, began=0.0, position=position, waiting=False, task=task)


def test_a_file_is_the_reason_when_the_process_dies_there_twice() -> None:
    failures, reasons = FileFailures().with_death([running("a", 5), running("b", 9)], 0.0)
    assert reasons == []
    assert failures.is_suspected("a")
    assert failures.is_suspected("b")
    failures, reasons = failures.with_death([running("b", 12)], 1.0)
    assert reasons == []  # it was read further: something else ended the process
    failures, reasons = failures.with_death([running("a", 5)], 2.0)
    assert [reason.task.path for reason in reasons] == ["a"]
    assert failures.is_aside("a", 2.0 + FIRST_PAUSE / 2)
    assert not failures.is_aside("a", 2.0 + FIRST_PAUSE)
    assert not failures.is_aside("b", 2.0)
    failures = failures.with_failure(running("a", 5), 20.0)
    assert failures.is_aside("a", 20.0 + 1.5 * FIRST_PAUSE)  # the pause is twice as long
