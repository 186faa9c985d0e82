"""Tables of runs and points: the log of accepted batches, and the chunks that compaction makes of it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base

# SQLite gives rowids only to INTEGER primary keys; everywhere else ids are 64 bits
BigId = BigInteger().with_variant(Integer, "sqlite")


class Project(Base):
    """A namespace for runs."""

    __tablename__ = "project"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    created_at: Mapped[float]


class RunRecord(Base):
    """One training, however often it was restarted. `public_id` is what addresses show.

    `revision` counts the commits of its points, `stated` those that say how launches are set up;
    `attempt_state` is how its attempts are told apart.
    With `deleted_at` it is on its way out: nobody sees it, and what belongs to it goes bit by bit.
    An id is never used again: what is remembered of a deleted run must not be taken for another one's.
    """

    __tablename__ = "run"
    __table_args__ = (UniqueConstraint("project_id", "name"), {"sqlite_autoincrement": True})
    id: Mapped[int] = mapped_column(primary_key=True)
    public_id: Mapped[str] = mapped_column(String(16), unique=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"), index=True)
    name: Mapped[str] = mapped_column(String(500))
    created_at: Mapped[float]
    updated_at: Mapped[float]
    finished_at: Mapped[float | None]
    revision: Mapped[int] = mapped_column(BigInteger, default=0)
    stated: Mapped[int] = mapped_column(BigInteger, default=0)
    attempt_state: Mapped[dict[str, Any]] = mapped_column(default=dict)
    deleted_at: Mapped[float | None]


class Attempt(Base):
    """One launch of the job inside a run, numbered from 0. `name` is the launch's own word, if it has one.

    The steps are those of the series that tell its progress; `points` counts the values written.
    """

    __tablename__ = "attempt"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str | None] = mapped_column(String(200))
    first_step: Mapped[int] = mapped_column(BigInteger)
    last_step: Mapped[int] = mapped_column(BigInteger)
    first_time: Mapped[float | None]
    last_time: Mapped[float | None]
    points: Mapped[int] = mapped_column(BigInteger, default=0)


class WriterRow(Base):
    """One process or file that logs into a run, and what is remembered of it to tell attempts apart.

    `stated`: with it waits what it said of a launch that no row has told the attempt of yet.
    """

    __tablename__ = "writer"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(1000), primary_key=True)
    stated: Mapped[bool] = mapped_column(default=False)  # before what is long: it is asked of all of a run's
    state: Mapped[list[Any]]


class ConfigRow(Base):
    """One setting of one launch. `labels` as a series has them, `value` as JSON text."""

    __tablename__ = "config"
    __table_args__ = ({"sqlite_with_rowid": False},)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    labels: Mapped[str] = mapped_column(String(400), primary_key=True, default="[]")
    value: Mapped[str] = mapped_column(Text)


class SeriesRow(Base):
    """One metric of one run with its labels (JSON text, sorted by name)."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("run_id", "metric", "labels"), {"sqlite_autoincrement": True})
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    metric: Mapped[str] = mapped_column(String(500))
    labels: Mapped[str] = mapped_column(Text, default="[]")


class AcceptedBatch(Base):
    """The idempotency key of a batch, kept for good: the batch may come again after its compaction."""

    __tablename__ = "accepted_batch"
    __table_args__ = ({"sqlite_with_rowid": False},)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)


class LogEntry(Base):
    """One accepted batch, as encoded columns; lives until compaction has made chunks of it.

    A higher id is a newer write: ids are never used again.
    """

    __tablename__ = "log"
    __table_args__ = (Index("ix_log_place", "run_id", "id"), {"sqlite_autoincrement": True})
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    attempt: Mapped[int]
    step_min: Mapped[int] = mapped_column(BigInteger)
    step_max: Mapped[int] = mapped_column(BigInteger)
    points: Mapped[int]
    payload: Mapped[bytes] = mapped_column(LargeBinary)


class Timeline(Base):
    """Steps and wall times shared by the metrics logged together, stored once, found by their hash."""

    __tablename__ = "timeline"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    digest: Mapped[bytes] = mapped_column(LargeBinary(16))
    payload: Mapped[bytes] = mapped_column(LargeBinary)
    __table_args__ = (UniqueConstraint("run_id", "digest"),)


class Chunk(Base):
    """Up to 32,768 points of one series in one attempt, compressed, with their aggregates.

    Steps ascend and stand once, also in all chunks of a series in an attempt together; the log is newer
    than every chunk. Extremes are those of the finite values, None without any. `logged` is how many
    points there were where these stand: more than `points` once retention has thinned them.
    """

    __tablename__ = "chunk"
    __table_args__ = (Index("ix_chunk_series_place", "series_id", "attempt", "step_min"),)
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"))
    attempt: Mapped[int]
    step_min: Mapped[int] = mapped_column(BigInteger)
    step_max: Mapped[int] = mapped_column(BigInteger)
    points: Mapped[int]
    logged: Mapped[int]
    nonfinite: Mapped[int]
    value_min: Mapped[float | None]
    value_max: Mapped[float | None]
    timeline_id: Mapped[int] = mapped_column(ForeignKey("timeline.id"), index=True)
    pyramid: Mapped[bytes] = mapped_column(LargeBinary)
    payload: Mapped[bytes] = mapped_column(LargeBinary)


class DownsamplingRow(Base):
    """A run whose points were thinned, as of one of its revisions. `done_at` is None while it goes on.

    What stands before step `whole_from` of `attempt`, or in an older attempt, may have fewer points than
    were logged; up to `last_step` of `attempt`, what detection has said stays said. Up to step `seen_step`
    of `seen_attempt` (None: to the same place) it had seen everything while it was whole.
    """

    __tablename__ = "thinning"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    revision: Mapped[int] = mapped_column(BigInteger)
    attempt: Mapped[int]
    whole_from: Mapped[int] = mapped_column(BigInteger)
    last_step: Mapped[int] = mapped_column(BigInteger)
    seen_attempt: Mapped[int | None]
    seen_step: Mapped[int | None] = mapped_column(BigInteger)
    begun_at: Mapped[float]
    done_at: Mapped[float | None]


class SummaryRow(Base):
    """The series of a run in numbers, as columns: those of its chunks, and those of its log up to `entry`.

    `names` are the names of these, None as long as nothing was exchanged since Holter keeps them here.
    `generation` counts the exchanges of chunks and log rows: by compaction, by thinning.
    """

    __tablename__ = "summary"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    generation: Mapped[int] = mapped_column(BigInteger)
    entry: Mapped[int] = mapped_column(BigInteger)
    chunks: Mapped[bytes] = mapped_column(LargeBinary)
    log: Mapped[bytes] = mapped_column(LargeBinary)
    names: Mapped[bytes | None] = mapped_column(LargeBinary)


class SourceCursor(Base):
    """How far a watched source has been read. Written in the transaction that stores what was read."""

    __tablename__ = "source_cursor"
    source: Mapped[str] = mapped_column(String(1000), primary_key=True)
    format: Mapped[str] = mapped_column(String(50))
    offset: Mapped[int] = mapped_column(BigInteger)
    identity: Mapped[str] = mapped_column(String(200))
    state: Mapped[dict[str, Any]]
    updated_at: Mapped[float]


class UnreadableRow(Base):
    """A place in a source that could not be understood, kept so that nothing is skipped in silence."""

    __tablename__ = "unreadable"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id"), index=True)
    source: Mapped[str] = mapped_column(String(1000), index=True)
    place: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(Text)
    seen_at: Mapped[float]
