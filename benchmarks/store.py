"""Measures the store: how fast points become durable, bytes per point, and how fast charts are read.

    python benchmarks/store.py [--url postgresql+psycopg://…] [--quick]
    python benchmarks/store.py --growth 8      cost per point at 10^5, 10^6, 10^7 and 10^8 points

Prints medians; reads are those of a store with empty caches, except those marked "cached". The metrics are a
mixture as in training logs: noisy 32-bit losses, accuracies, a learning rate, a 64-bit throughput, a counter.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import numpy as np
from databases import temporary_database
from sqlalchemy import Engine, text

from holter.server.database import connect
from holter.server.models import Base
from holter.server.store import Receipt, Store, StoreBusyError
from holter.types import Batch, Column, Delivery, FloatArray, SeriesKey

JITTER = 0.05
"""Standard deviation of step times, as a fraction of a step."""
STEP_SECONDS, SHORT_STEP_SECONDS = 1.0, 0.3
"""The entropy of times grows with the step time, since their jitter is a fraction of it."""
NOISE = 0.03
"""Standard deviation of a loss, as a fraction of its level."""


def main() -> None:
    """Run every measurement and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--url", help="a PostgreSQL server where databases may be created; default: SQLite")
    parser.add_argument("--quick", action="store_true", help="a tenth of the points")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--growth", type=int, metavar="POWER", help="how cost grows, up to 10^POWER points")
    arguments = parser.parse_args()
    if arguments.growth:
        return measure_growth(arguments.url, range(5, arguments.growth + 1))
    scale = 10 if arguments.quick else 1
    with temporary_database(arguments.url) as url:
        engine = connect(url)
        store = Store(engine)
        store.start()
        results = {}
        for name, value in measure(engine, store, scale):
            results[name] = value
            if not arguments.json:
                print(f"{name:58} {value:12,.3f}")
        if arguments.json:
            print(json.dumps(results))
        store.close()
        engine.dispose()


def measure_growth(server: str | None, powers: range) -> None:
    """Print the cost per point and the times of reads for a run of 100 series, at several lengths."""
    print("points   written and compacted ns  CPU ns  bytes  chart ms  500 steps ms  series ms")
    for power in powers:
        with temporary_database(server) as url:
            engine = connect(url)
            cells = "  ".join(f"{value:10.2f}" for value in _measure_length(engine, 10**power))
            print(f"10^{power}  {cells}", flush=True)
            engine.dispose()


def _measure_length(engine: Engine, points: int) -> Iterator[float]:
    store = Store(engine)
    store.start()
    batches = list(_build_batches("growth", 100, points // 100, 1000))
    wall, cpu = time.perf_counter(), time.process_time()
    run = [receipt.result() for receipt in [_submit(store, delivery) for delivery in batches]][-1].run_id
    store.compact()
    yield (time.perf_counter() - wall) / points * 1e9
    yield (time.process_time() - cpu) / points * 1e9
    yield _size(engine) / points
    keys = [SeriesKey(f"m{n}") for n in range(20)]
    middle = points // 200
    yield _ms(lambda: Store(engine).chart(run, keys))
    yield _ms(lambda: Store(engine).chart(run, keys, from_step=middle, to_step=middle + 500))
    yield _ms(lambda: Store(engine).series(run))
    store.close()


def measure(engine: Engine, store: Store, scale: int) -> Iterator[tuple[str, float]]:
    """Yield the name, with unit, and the value of every measurement."""
    wide = dict(run="W1", series=100, steps=10_000 // scale, rows=1000)
    yield from _measure_writes(engine, store, **wide)
    yield from _measure_writes(engine, store, run="W2", series=10_000 // scale, steps=100, rows=10)
    yield from _measure_many_runs(engine, store, runs=50 // min(scale, 10), steps=1000)
    single = dict(series=1, steps=1_000_000 // scale, rows=10_000)
    yield from _measure_writes(engine, store, run="L1M", **single)
    yield (
        "L1M: minimum bytes per point, by the entropy of times and values",
        entropy_bytes(single["steps"], STEP_SECONDS),
    )
    short_steps = f"L1M, {SHORT_STEP_SECONDS:g} s per step"
    yield from _measure_writes(engine, store, run=short_steps, **single, step_seconds=SHORT_STEP_SECONDS)
    yield (
        f"{short_steps}: minimum bytes per point, by entropy",
        entropy_bytes(single["steps"], SHORT_STEP_SECONDS),
    )
    yield from _measure_live_writes(store, series=2000, flushes=200 // scale)
    yield from _measure_writes(engine, store, run="R20", series=20, steps=1_000_000 // scale, rows=10_000)
    yield from _measure_reads(engine, store, scale)
    yield from _measure_log_read(engine, store, scale)


def _measure_writes(
    engine: Engine,
    store: Store,
    *,
    run: str,
    series: int,
    steps: int,
    rows: int,
    step_seconds: float = STEP_SECONDS,
) -> Iterator[tuple[str, float]]:
    batches = list(_build_batches(run, series, steps, rows, step_seconds))
    before = _size(engine)
    start = time.perf_counter()
    pending = [_submit(store, delivery) for delivery in batches]
    for receipt in pending:
        receipt.result()
    durable = time.perf_counter() - start
    store.compact()
    compacted = time.perf_counter() - start
    points = series * steps
    yield f"{run}: {series} series x {steps} steps, durable, M points/s", points / durable / 1e6
    yield f"{run}: durable and compacted, M points/s", points / compacted / 1e6
    yield f"{run}: bytes per point after compaction", (_size(engine) - before) / points


def _measure_many_runs(engine: Engine, store: Store, *, runs: int, steps: int) -> Iterator[tuple[str, float]]:
    batches = [delivery for n in range(runs) for delivery in _build_batches(f"W3-{n}", 20, steps, steps)]
    before, start = _size(engine), time.perf_counter()
    for receipt in [_submit(store, delivery) for delivery in batches]:
        receipt.result()
    durable = time.perf_counter() - start
    store.compact()
    points = runs * 20 * steps
    yield f"W3: {runs} runs x 20 series x {steps} steps, durable, M points/s", points / durable / 1e6
    yield "W3: bytes per point after compaction", (_size(engine) - before) / points


def _measure_log_read(engine: Engine, store: Store, scale: int) -> Iterator[tuple[str, float]]:
    """Measure a read of a log that was not compacted, as after a crash."""
    store.close()
    writer = Store(engine)
    writer.start()
    for receipt in [
        _submit(writer, delivery) for delivery in _build_batches("crash", 100, 10_000 // scale, 1000)
    ]:
        run = receipt.result().run_id
    writer.close()
    yield "read of 1M points in the log, ms", _ms(lambda: Store(engine).read(run))


def _measure_live_writes(store: Store, *, series: int, flushes: int) -> Iterator[tuple[str, float]]:
    durations = []
    for delivery in _build_batches("live", series, flushes, 1):
        start = time.perf_counter()
        store.accept(delivery)
        durations.append(time.perf_counter() - start)
    yield f"live: flush of {series} series x 1 point, durable, ms", statistics.median(durations) * 1e3
    small = list(_build_batches("small", 10, 2000, 1))
    start = time.perf_counter()
    for receipt in [_submit(store, delivery) for delivery in small]:
        receipt.result()
    yield "live: flushes of 10 points, many at once, per second", len(small) / (time.perf_counter() - start)
    durations = []
    for delivery in _build_batches("single", 10, 300, 1):
        start = time.perf_counter()
        store.accept(delivery)
        durations.append(time.perf_counter() - start)
    yield "live: one flush of 10 points, ms", statistics.median(durations) * 1e3


def _measure_reads(engine: Engine, store: Store, scale: int) -> Iterator[tuple[str, float]]:
    ids = {run: store.accept(next(_build_batches(run, 1, 1, 1))).run_id for run in ("W1", "W2", "L1M", "R20")}
    store.compact()
    keys = [SeriesKey(f"m{n}") for n in range(20)]
    middle = 500_000 // scale

    def chart_ms(run: str, **steps: int) -> float:
        return _ms(lambda: Store(engine).chart(ids[run], keys, **steps))

    yield "read of one series of 1M points, ms", _ms(lambda: store.read(ids["L1M"]))
    yield "read of one series of 10k points, ms", _ms(lambda: store.read(ids["W1"], keys[:1]))
    yield "chart of 20 series x 10k to 1,000 points, ms", chart_ms("W1")
    yield "chart of 20 series x 1M to 1,000 points, ms", chart_ms("R20")
    for width in (1000, 20_000, 200_000):
        steps = dict(from_step=middle, to_step=middle + width // scale)
        yield f"chart of 20 series, {width} steps out of 1M, ms", chart_ms("R20", **steps)
    yield "chart of 20 out of 10k series x 100, ms", chart_ms("W2")
    yield "chart of 20 series x 1M, cached, ms", _ms(lambda: store.chart(ids["R20"], keys))
    for run, title in (("W2", "10k series"), ("R20", "20 x 1M")):
        yield f"series of a run with {title}, ms", _ms(lambda run=run: Store(engine).series(ids[run]))
    yield "newest points of 10k series, with names, ms", _ms(lambda: _newest(Store(engine), ids["W2"]))
    yield "series of a run with 10k series, cached, ms", _ms(lambda: store.series(ids["W2"]))
    yield "newest points of 10k series, with names, cached, ms", _ms(lambda: _newest(store, ids["W2"]))


def _newest(store: Store, run_id: int) -> tuple[list[str], FloatArray]:
    """The metrics and values of the newest points."""
    newest = store.newest_points(run_id)
    return newest.names.metric_list(), newest.value


def _submit(store: Store, delivery: Delivery) -> Future[Receipt]:
    """Submit a delivery; wait while the queue is full, as sources do."""
    while True:
        try:
            return store.submit(delivery)
        except StoreBusyError:
            time.sleep(0.001)


def _ms(work: Callable[[], object]) -> float:
    durations = []
    for _ in range(7):
        start = time.perf_counter()
        work()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations) * 1e3


def _build_batches(
    run: str, series: int, steps: int, rows: int, step_seconds: float = STEP_SECONDS
) -> Iterator[Delivery]:
    random = np.random.default_rng(len(run) * 1000 + series)
    times = 1.7e9 + np.cumsum(step_seconds * random.normal(1.0, JITTER, steps)).round(6)
    values = [_values(n % 10, steps, random) for n in range(series)]
    for start in range(0, steps, rows):
        selection = slice(start, min(start + rows, steps))
        step = np.arange(selection.start, selection.stop, dtype=np.int64)
        columns = tuple(
            Column(key=SeriesKey(f"m{n}"), values=column[selection]) for n, column in enumerate(values)
        )
        batch = Batch(steps=step, times=times[selection], columns=columns, attempt="0")
        yield Delivery(project="bench", run=run, writer="w", batch_id=f"{start}/{steps}", batch=batch)


def _values(kind: int, steps: int, random: np.random.Generator) -> FloatArray:
    index = np.arange(steps)
    if kind < 5:
        noise = random.normal(0, NOISE, steps)
        return (_level(steps) * (1 + noise)).astype(np.float32).astype(np.float64)
    if kind < 7:
        return (random.integers(0, 256, steps) / 256).astype(np.float64)
    if kind == 7:
        return np.asarray(1e-4 * (1 + np.cos(np.pi * index / steps)))
    return random.normal(4e4, 500, steps) if kind == 8 else index * 1.0


def _level(steps: int) -> FloatArray:
    return np.asarray(2 + 8 * np.exp(-np.arange(steps) / steps * 5))


def entropy_bytes(steps: int, step_seconds: float) -> float:
    """The lower bound of bytes per point for any codec: independent normal time intervals and losses.

    log2(sigma sqrt(2 pi e)) bits each, with sigma in microseconds and in units of the 32-bit mantissa.
    """
    bits = 0.5 * np.log2(2 * np.pi * np.e)
    level = _level(steps)
    time_bits = np.log2(step_seconds * JITTER * 1e6) + bits
    value_bits = np.mean(np.log2(NOISE * level / np.spacing(level.astype(np.float32)))) + bits
    return float(time_bits + value_bits) / 8


def _size(engine: Engine) -> int:
    """Bytes in use without free pages; in PostgreSQL the log, which has most of them, is rewritten first."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            pages, free, size = (
                int(connection.scalar(text(f"PRAGMA {name}")) or 0)
                for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * size
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM FULL log"))
        connection.execute(text("VACUUM"))
        query = (
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname = ANY(:t)"
        )
        return int(connection.scalar(text(query), {"t": list(Base.metadata.tables)}) or 0)


if __name__ == "__main__":
    main()
