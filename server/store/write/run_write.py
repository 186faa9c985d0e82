"""What the deliveries of one transaction do to one run: attempts, log entries, news. It runs no statement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from holter.server.store.encoding.block import PointBlock, batch_to_block, encode_body
from holter.server.store.run_config import limit_config
from holter.server.store.types import Commit, Receipt, SeriesRefusal
from holter.server.store.write.encode import EncodedDelivery, encode_batch
from holter.server.store.write.run_state import AttemptRecord, RunState, none_if_nan, add_progress
from holter.server.store.write.series_limits import group_refusals, refused_series
from holter.types import Batch, ConfigKey, ConfigValue, DenseColumns, IntArray, SeriesKey, Unreadable

_LIVE_WITHIN = 300.0


@dataclass(frozen=True, eq=False, slots=True)
class PendingLogEntry:
    """A row of the log before its series have ids: `places` are those of the series in the run."""

    attempt: int
    step_min: int
    step_max: int
    points: int
    places: IntArray
    body: bytes


@dataclass(slots=True)
class RunWrite:
    """One run's share of a transaction, and what is to be written for it."""

    run: RunState
    now: float
    most_series: int
    full: SeriesRefusal | None = None  # the project keeps as many bytes as it may
    parcels: list[EncodedDelivery] = field(default_factory=list)
    entries: list[PendingLogEntry] = field(default_factory=list)
    new: list[SeriesKey] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)  # attempts
    writers: set[str] = field(default_factory=set)
    undone: list[bytes] = field(default_factory=list)  # digests of batches that were refused as a whole
    config: dict[tuple[int, ConfigKey], ConfigValue] = field(default_factory=dict)
    notes: list[Unreadable] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    fresh: bool = False
    stated: bool = False  # something is said of a launch, or settled
    told: bool = False  # something came that tells how the run goes on
    renamed: bool = False
    begun: bool = False
    finished: bool = False

    def take(self, fresh: set[tuple[int, bytes]]) -> list[Receipt]:
        """Decide about the parcels, in their order; `fresh`: run and digest of the new batches."""
        attempts = self.run.attempts
        names, started = dict(attempts.names), dict(attempts.started)
        receipts = []
        for one in self.parcels:
            receipts.append(self._receipt(one, fresh=(self.run.id, one.digest) in fresh))
            fresh.discard((self.run.id, one.digest))  # the same batch twice in one transaction
        self.begun = len(attempts.started) > len(started)
        self.renamed = names != attempts.names or started != attempts.started
        return receipts

    def _receipt(self, one: EncodedDelivery, *, fresh: bool) -> Receipt:
        writers, writer = self.run.attempts.writers, one.delivery.writer
        refused: tuple[SeriesRefusal, ...] = ()
        if fresh and one.block is not None:
            whole = one
            one, refused = self._screened(one)
            self._note(whole, refused)
            if not one.points:
                self.undone.append(whole.digest)
        self.finished |= one.delivery.finished
        self.fresh |= fresh and not (refused and not one.points)
        if fresh and one.block is None and one.batch.config and not refused:
            self.told = True
            self._split(one)
        if fresh and one.block is not None:
            attempt = self._append(one, one.block)
        elif writer in writers:
            attempt = writers[writer].attempt
        else:
            attempt = max(self.run.attempts.started, default=0)
        return Receipt(
            run_id=self.run.id,
            public_id=self.run.public_id,
            attempt=attempt,
            accepted=one.points,
            duplicate=not fresh,
            refused=refused,
        )

    def _screened(self, one: EncodedDelivery) -> tuple[EncodedDelivery, tuple[SeriesRefusal, ...]]:
        """The parcel without the series that are refused; those that are new get their places."""
        columns = one.batch.columns
        if self.full is not None:
            refusal = replace(self.full, series=len(columns))
            return _without(one, {column.key for column in columns}), (refusal,)
        if isinstance(columns, DenseColumns):
            if columns.shape in self.run.shapes:
                return one, ()
            new = [key for key in columns.shape.keys if key not in self.run.places]
        else:
            new = [column.key for column in columns if column.key not in self.run.places]
        refused = refused_series(self.run, one.batch, new, self.most_series) if new else {}
        added = [key for key in new if key not in refused] if refused else new
        self.new += added
        self.run.place(added)
        return (_without(one, refused.keys()), group_refusals(refused)) if refused else (one, ())

    def _note(self, one: EncodedDelivery, refused: Sequence[SeriesRefusal]) -> None:
        for refusal in refused:
            if refusal.what not in self.run.told:
                self.run.told.add(refusal.what)
                cursor = one.delivery.cursor
                source = one.delivery.writer if cursor is None else cursor.source
                self.notes.append(Unreadable(source=source, location=refusal.what, reason=refusal.reason))

    def _append(self, one: EncodedDelivery, block: PointBlock) -> int:
        """Put a delivery's points into the log; the attempt of its last row."""
        pieces = self._split(one)
        for attempt, piece in pieces:
            if piece.columns is one.batch.columns:
                self._append_piece(attempt, piece, block, one.body)
            elif len(piece.columns):
                part = batch_to_block(piece, np.arange(len(piece.columns)))
                self._append_piece(attempt, piece, part, encode_body(part))
        return pieces[-1][0]

    def _split(self, one: EncodedDelivery) -> list[tuple[int, Batch]]:
        """The stretches of a delivery by attempt; what is said of those is kept."""
        batch, writer, attempts = one.batch, one.delivery.writer, self.run.attempts
        none_if_nan = attempts.writers.get(writer)
        self.stated |= bool(batch.config or (none_if_nan and none_if_nan.config))
        if batch.config:
            config, refused = limit_config(batch.config, none_if_nan.config if none_if_nan else ())
            batch = replace(batch, config=config)
            self._note(one, [SeriesRefusal(what=what, series=0, reason=why) for what, why in refused.items()])
        pieces = attempts.split(writer, batch)
        if writer in attempts.writers:  # not where a launch is named before its first row
            self.writers.add(writer)
        for attempt, piece in pieces:
            self.config |= {(attempt, key): value for key, value in piece.config.items()}
        return pieces

    def _append_piece(self, attempt: int, piece: Batch, block: PointBlock, body: bytes) -> None:
        run, places = self.run, self.run.places_of(piece.columns)
        points = len(block.values)
        self.entries.append(
            PendingLogEntry(attempt, int(piece.steps.min()), int(piece.steps.max()), points, places, body)
        )
        add_progress(run, attempt, places, block)
        facts = run.facts.setdefault(attempt, AttemptRecord())
        tells = run.tells(places)
        self.told |= tells
        facts.add(piece.times if tells else piece.times[:0], points)
        facts.name = facts.name or piece.attempt
        self.touched.add(attempt)
        last_time = none_if_nan(float(piece.times[-1]))
        last_step = int(piece.steps[-1]) if tells else run.progress[attempt].step_range(run.aside)[1]
        self.commits.append(
            Commit(
                run_id=run.id,
                public_id=run.public_id,
                attempt=attempt,
                last_step=last_step,
                last_time=last_time,
                points=points,
                live=last_time is not None and abs(self.now - last_time) < _LIVE_WITHIN,
            )
        )


def _without(one: EncodedDelivery, refused: Collection[SeriesKey]) -> EncodedDelivery:
    kept = tuple(column for column in one.batch.columns if column.key not in refused)
    return encode_batch(one.delivery, replace(one.batch, columns=kept))
