"""Tables of runs and points: the log of accepted batches, and the chunks that compaction makes of it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base

# SQLite autoincrements INTEGER primary keys only; elsewhere ids have 64 bits
BigId = BigInteger().with_variant(Integer, "sqlite")


class Project(Base):
    """A namespace for runs."""

    __tablename__ = "project"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    created_at: Mapped[float]


class RunRecord(Base):
    """One training, however often it was restarted. `public_id` is the id in addresses.

    `revision` counts the commits of points, `stated` those of launch configuration; `attempt_state` is the
    state that assigns attempts. A run with `deleted_at` is hidden, and its rows are deleted in the
    background. Ids are never reused, so that cached data of a deleted run cannot be taken for another one's.
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
    """One launch of the job inside a run, numbered from 0. `name` is the launcher's id of it, if it has one.

    First and last step are those of the series that show progress; `points` counts the values written.
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
    """One process or file that logs into a run, with the state that assigns its rows to attempts.

    `stated`: the state has launch configuration that waits for the first row of its attempt.
    """

    __tablename__ = "writer"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(1000), primary_key=True)
    stated: Mapped[bool] = mapped_column(
        default=False
    )  # queried for all writers of a run, hence before the long column
    state: Mapped[list[Any]]


class ConfigRow(Base):
    """One setting of one launch. `labels` as in the series table, `value` as JSON text."""

    __tablename__ = "config"
    # a setting of all runs is read by its name. The index of SQLite has the values as well, since one search
    # in the table for each run takes longer than all else; PostgreSQL limits the size of what is indexed
    __table_args__ = (
        Index("ix_config_name", "name", info={"dialect": "postgresql"}),
        Index("ix_config_name_value", "name", "value", info={"dialect": "sqlite"}),
        {"sqlite_with_rowid": False},
    )
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
    """The idempotency key of a batch. Kept forever: the batch may be sent again after its compaction."""

    __tablename__ = "accepted_batch"
    __table_args__ = ({"sqlite_with_rowid": False},)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)


class LogEntry(Base):
    """One accepted batch as encoded columns, until compaction turns it into chunks.

    A higher id is a newer write: ids are never reused.
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
    """Steps and wall times shared by metrics that were logged together, stored once, identified by hash."""

    __tablename__ = "timeline"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    digest: Mapped[bytes] = mapped_column(LargeBinary(16))
    payload: Mapped[bytes] = mapped_column(LargeBinary)
    __table_args__ = (UniqueConstraint("run_id", "digest"),)


class Chunk(Base):
    """Up to 32,768 points of one series in one attempt, compressed, with their aggregates.

    Steps ascend, also across all chunks of a series and attempt; the log is newer than every chunk. Extremes
    are those of the finite values, None without any. `logged` is the number of points before downsampling,
    `points` the number after.
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
    """A run whose points were downsampled as of one of its revisions; `done_at` is None while it is in
    progress.

    Before step `whole_from` of `attempt`, and in older attempts, points may be missing; findings up to
    `last_step` of `attempt` are final. Up to step `seen_step` of `seen_attempt` (None: up to the same step),
    detection has seen all points.
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
    """Statistics of a run's series as encoded columns: of its chunks, and of its log up to `entry`.

    `names` are the names of these series, None until the first rewrite by a version that stores them.
    `generation` counts the rewrites of chunks and log rows by compaction and downsampling.
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
    """A location in a source that could not be parsed, stored so that nothing is skipped silently."""

    __tablename__ = "unreadable"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id"), index=True)
    source: Mapped[str] = mapped_column(String(1000), index=True)
    place: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(Text)
    seen_at: Mapped[float]
