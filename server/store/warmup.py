"""A write that is rolled back, so that no client waits while the first flush compiles its statements."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Engine

from holter.server.database import writing
from holter.server.store.cache import LruCache
from holter.server.store.read.latest import read_newest_points
from holter.server.store.read.snapshot import RunSnapshot
from holter.server.store.write.batch_writer import BatchWriter
from holter.server.store.write.encode import encode_delivery
from holter.types import Batch, Delivery, DenseColumns, SeriesKey, SeriesLayout


class _RolledBack(Exception):
    pass


def warm_up(engine: Engine, batch_writer: BatchWriter) -> None:
    """Compile every statement of a first flush and of a first query of newest points.

    Compiling takes ten times as long as running them. Leaves nothing behind in the database or the writer.
    Raises SQLAlchemyError where nothing can be written.
    """
    try:
        with writing(engine) as connection:
            (receipt,), _ = batch_writer.write(connection, [encode_delivery(_delivery())])
            read_newest_points(RunSnapshot(connection, receipt.run_id), LruCache(0))
            raise _RolledBack
    except _RolledBack:
        pass
    finally:
        batch_writer.clear()


def _delivery() -> Delivery:
    columns = DenseColumns(SeriesLayout([SeriesKey("loss"), SeriesKey("lr")]), np.zeros((2, 2)))
    batch = Batch(steps=np.arange(2), times=np.zeros(2), columns=columns)
    name = "holter: warm-up"
    return Delivery(project=name, run=name, writer=name, batch_id=name, batch=batch, finished=True)
