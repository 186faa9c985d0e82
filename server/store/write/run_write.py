"""The effect of a transaction's deliveries on one run: attempts, log entries, commits; runs no SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from holter.server.store.encoding.block import PointBlock, batch_to_block, encode_body
from holter.server.store.encoding.merge import count_repeats
from holter.server.store.run_config import limit_config
from holter.server.store.types import Commit, Receipt, SeriesRefusal
from holter.server.store.write.encode import EncodedDelivery, encode_batch
from holter.server.store.write.run_state import AttemptRecord, RunState, add_progress, none_if_nan
from holter.server.store.write.series_limits import group_refusals, refused_series
from holter.types import Batch, ConfigKey, ConfigValue, DenseColumns, IntArray, SeriesKey, Unreadable

_LIVE_WITHIN = 300.0


@dataclass(frozen=True, eq=False, slots=True)
class PendingLogEntry:
    """A row of the log before its series have ids: `indices` are those of the series in the run."""

    attempt: int
    step_min: int
    step_max: int
    points: int
    indices: IntArray
    body: bytes


@dataclass(slots=True)
class RunWrite:
    """One run's part of a transaction: its deliveries, and the rows to write for them."""

    run: RunState
    now: float
    max_series: int
    quota_refusal: SeriesRefusal | None = None  # the project has reached its quota of bytes
    deliveries: list[EncodedDelivery] = field(default_factory=list)
    entries: list[PendingLogEntry] = field(default_factory=list)
    new: list[SeriesKey] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)  # attempts
    writers: set[str] = field(default_factory=set)
    rejected_digests: list[bytes] = field(default_factory=list)  # of batches refused entirely
    config: dict[tuple[int, ConfigKey], ConfigValue] = field(default_factory=dict)
    notes: list[Unreadable] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    has_new_batches: bool = False
    has_config: bool = False  # launch configuration was stated or settled
    has_progress: bool = False  # points that show progress of the training, or configuration
    renamed: bool = False
    attempt_started: bool = False
    finished: bool = False

    def apply(self, fresh: set[tuple[int, bytes]]) -> list[Receipt]:
        """Process the deliveries in order; `fresh` has run and digest of the batches that are new."""
        attempts = self.run.attempts
        names, started = dict(attempts.names), dict(attempts.started)
        receipts = []
        for encoded in self.deliveries:
            receipts.append(self._receipt(encoded, fresh=(self.run.id, encoded.digest) in fresh))
            fresh.discard((self.run.id, encoded.digest))  # the same batch may be in the transaction twice
        self.attempt_started = len(attempts.started) > len(started)
        self.renamed = names != attempts.names or started != attempts.started
        return receipts

    def _receipt(self, encoded: EncodedDelivery, *, fresh: bool) -> Receipt:
        writers, writer = self.run.attempts.writers, encoded.delivery.writer
        refused: tuple[SeriesRefusal, ...] = ()
        accepted = encoded.points - encoded.repeats
        if fresh and encoded.block is not None:
            original = encoded
            encoded, refused = self._apply_limits(encoded)
            self._note_refusals(original, refused)
            if not encoded.points:
                accepted = 0
                self.rejected_digests.append(original.digest)
        self.finished |= encoded.delivery.finished
        self.has_new_batches |= fresh and not (refused and not encoded.points)
        if fresh and encoded.block is None and encoded.batch.config and not refused:
            self.has_progress = True
            self._split(encoded)
        if fresh and encoded.block is not None:
            attempt, accepted, labelled = self._append_points(encoded, encoded.block)
            refused += labelled
        elif writer in writers:
            attempt = writers[writer].attempt
        else:
            attempt = max(self.run.attempts.started, default=0)
        return Receipt(
            run_id=self.run.id,
            public_id=self.run.public_id,
            attempt=attempt,
            accepted=accepted,
            duplicate=not fresh,
            refused=refused,
        )

    def _apply_limits(self, encoded: EncodedDelivery) -> tuple[EncodedDelivery, tuple[SeriesRefusal, ...]]:
        """Return the delivery without refused series; new ones are added to the run."""
        columns = encoded.batch.columns
        if self.quota_refusal is not None:
            refusal = replace(self.quota_refusal, series=len(columns))
            return _without_series(encoded, {column.key for column in columns}), (refusal,)
        if isinstance(columns, DenseColumns):
            if columns.layout in self.run.layouts:
                return encoded, ()
            new = [key for key in columns.layout.keys if key not in self.run.series_index]
        else:
            new = [column.key for column in columns if column.key not in self.run.series_index]
        refused = refused_series(self.run, encoded.batch, new, self.max_series) if new else {}
        added = [key for key in new if key not in refused] if refused else new
        self.new += added
        self.run.add_series(added)
        return (
            (_without_series(encoded, refused.keys()), group_refusals(refused)) if refused else (encoded, ())
        )

    def _note_refusals(self, encoded: EncodedDelivery, refused: Sequence[SeriesRefusal]) -> None:
        for refusal in refused:
            if refusal.what not in self.run.reported_refusals:
                self.run.reported_refusals.add(refusal.what)
                cursor = encoded.delivery.cursor
                source = encoded.delivery.writer if cursor is None else cursor.source
                self.notes.append(Unreadable(source=source, location=refusal.what, reason=refusal.reason))

    def _append_points(
        self, encoded: EncodedDelivery, block: PointBlock
    ) -> tuple[int, int, tuple[SeriesRefusal, ...]]:
        """Append a delivery's points to the log.

        Returns the attempt of its last row, the number of points without repeats, and the refusals of series
        that have another name than in the delivery, since their writer is told apart from another one.
        """
        pieces = self._split(encoded)
        stored, refused = 0, dict[SeriesKey, SeriesRefusal]()
        for attempt, piece in pieces:
            if piece.columns is encoded.batch.columns:
                stored += encoded.points - encoded.repeats
                self._append_piece(attempt, piece, block, encoded.body)
                continue
            piece = self._without_refused(piece, refused)
            if len(piece.columns):
                part = batch_to_block(piece, np.arange(len(piece.columns)))
                stored += len(part.values) - (count_repeats(part) if encoded.repeats else 0)
                self._append_piece(attempt, piece, part, encode_body(part))
        if refused and not stored:
            self.rejected_digests.append(encoded.digest)
        refusals = group_refusals(refused)
        self._note_refusals(encoded, refusals)
        return pieces[-1][0], stored, refusals

    def _without_refused(self, piece: Batch, refused: dict[SeriesKey, SeriesRefusal]) -> Batch:
        """Return the piece without refused series, which are added to `refused`, others to the run."""
        new = [column.key for column in piece.columns if column.key not in self.run.series_index]
        if not new:
            return piece
        refused |= refused_series(self.run, piece, new, self.max_series)
        added = [key for key in new if key not in refused]
        self.new += added
        self.run.add_series(added)
        return piece.with_columns(tuple(column for column in piece.columns if column.key not in refused))

    def _split(self, encoded: EncodedDelivery) -> list[tuple[int, Batch]]:
        """Split a delivery by attempt, and collect the configuration of each."""
        batch, writer, attempts = encoded.batch, encoded.delivery.writer, self.run.attempts
        state = attempts.writers.get(writer)
        self.has_config |= bool(batch.config or (state and state.config))
        if batch.config:
            accepted, refused = limit_config(batch.config, state.config if state else ())
            batch = replace(batch, config=accepted)
            self._note_refusals(
                encoded,
                [SeriesRefusal(what=subject, series=0, reason=reason) for subject, reason in refused.items()],
            )
        pieces = attempts.split(writer, batch)
        if writer in attempts.writers:  # absent if a launch is named before its first row
            self.writers.add(writer)
        for attempt, piece in pieces:
            self.config |= {(attempt, key): value for key, value in piece.config.items()}
        return pieces

    def _append_piece(self, attempt: int, piece: Batch, block: PointBlock, body: bytes) -> None:
        run, indices = self.run, self.run.indices_of(piece.columns)
        points = len(block.values)
        self.entries.append(
            PendingLogEntry(attempt, int(piece.steps.min()), int(piece.steps.max()), points, indices, body)
        )
        add_progress(run, attempt, indices, block)
        record = run.attempt_records.setdefault(attempt, AttemptRecord())
        is_progress = run.counts_as_progress(indices)
        self.has_progress |= is_progress
        record.add(piece.times if is_progress else piece.times[:0], points)
        record.name = record.name or piece.attempt
        self.touched.add(attempt)
        last_time = none_if_nan(float(piece.times[-1]))
        last_step = (
            int(piece.steps[-1]) if is_progress else run.progress[attempt].step_range(run.own_step_series)[1]
        )
        self.commits.append(
            Commit(
                run_id=run.id,
                public_id=run.public_id,
                attempt=attempt,
                last_step=last_step,
                last_time=last_time,
                points=points,
                live=last_time is not None and abs(self.now - last_time) < _LIVE_WITHIN,
                has_nonfinite=not np.isfinite(block.values).all(),
                columns=piece.columns,
            )
        )


def _without_series(encoded: EncodedDelivery, refused: Collection[SeriesKey]) -> EncodedDelivery:
    columns = tuple(column for column in encoded.batch.columns if column.key not in refused)
    return encode_batch(encoded.delivery, replace(encoded.batch, columns=columns))
