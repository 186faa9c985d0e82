"""Measures the store: how fast points become durable, how small they are, how fast charts are.

    python benchmarks/store.py [--url postgresql+psycopg://…] [--quick]
    python benchmarks/store.py --growth 8      cost a point at 10^5, 10^6, 10^7 and 10^8 points

Prints medians; reads are those of a store that remembers nothing, unless they say "again".
The metrics are a mixture as training logs have it: noisy 32-bit losses, accuracies, a learning rate, a
throughput in 64 bits, a counter.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import numpy as np
from databases import fresh
from sqlalchemy import Engine, text

from holter.server.database import connect
from holter.server.models import Base
from holter.server.store import Receipt, Store, StoreBusyError
from holter.types import Batch, Column, Delivery, FloatArray, SeriesKey

JITTER = 0.05
"""Of a step's length: as unevenly as steps follow each other."""
STEP, QUICK_STEP = 1.0, 0.3
"""Seconds. What a clock in microseconds takes grows with a step's length: its jitter is a share of it."""
NOISE = 0.03
"""Of a loss."""


def main() -> None:
    """Run every measurement and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--url", help="a PostgreSQL where databases may be made; default: SQLite")
    parser.add_argument("--quick", action="store_true", help="a tenth of the points")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--growth", type=int, metavar="POWER", help="how cost grows, up to 10^POWER points")
    arguments = parser.parse_args()
    if arguments.growth:
        return growth(arguments.url, range(5, arguments.growth + 1))
    scale = 10 if arguments.quick else 1
    with fresh(arguments.url) as url:
        engine = connect(url)
        store = Store(engine)
        store.start()
        found = {}
        for name, value in measurements(engine, store, scale):
            found[name] = value
            if not arguments.json:
                print(f"{name:58} {value:12,.3f}")
        if arguments.json:
            print(json.dumps(found))
        store.close()
        engine.dispose()


def growth(server: str | None, powers: range) -> None:
    """A run of 100 series, ever longer: what a point costs, and what readers wait for."""
    print("points   written and compacted ns  CPU ns  bytes  chart ms  part of it ms  series ms")
    for power in powers:
        with fresh(server) as url:
            engine = connect(url)
            found = "  ".join(f"{value:10.2f}" for value in _grown(engine, 10**power))
            print(f"10^{power}  {found}", flush=True)
            engine.dispose()


def _grown(engine: Engine, points: int) -> Iterator[float]:
    store = Store(engine)
    store.start()
    batches = list(_batches("grown", 100, points // 100, 1000))
    wall, cpu = time.perf_counter(), time.process_time()
    run = [receipt.result() for receipt in [_submit(store, one) for one in batches]][-1].run_id
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


def measurements(engine: Engine, store: Store, scale: int) -> Iterator[tuple[str, float]]:
    """Names with units, and what was measured."""
    wide = dict(run="W1", series=100, steps=10_000 // scale, rows=1000)
    yield from _writing(engine, store, **wide)
    yield from _writing(engine, store, run="W2", series=10_000 // scale, steps=100, rows=10)
    yield from _many_runs(engine, store, runs=50 // min(scale, 10), steps=1000)
    single = dict(series=1, steps=1_000_000 // scale, rows=10_000)
    yield from _writing(engine, store, run="L1M", **single)
    yield "L1M: least bytes a point, by the entropy of its clock and values", entropy(single["steps"], STEP)
    quick = f"L1M, a step each {QUICK_STEP:g} s"
    yield from _writing(engine, store, run=quick, **single, step_seconds=QUICK_STEP)
    yield f"{quick}: least bytes a point, by entropy", entropy(single["steps"], QUICK_STEP)
    yield from _live(store, series=2000, flushes=200 // scale)
    yield from _writing(engine, store, run="R20", series=20, steps=1_000_000 // scale, rows=10_000)
    yield from _reading(engine, store, scale)
    yield from _after_a_crash(engine, store, scale)


def _writing(
    engine: Engine,
    store: Store,
    *,
    run: str,
    series: int,
    steps: int,
    rows: int,
    step_seconds: float = STEP,
) -> Iterator[tuple[str, float]]:
    batches = list(_batches(run, series, steps, rows, step_seconds))
    before = _size(engine)
    begin = time.perf_counter()
    pending = [_submit(store, one) for one in batches]
    for receipt in pending:
        receipt.result()
    durable = time.perf_counter() - begin
    store.compact()
    whole = time.perf_counter() - begin
    points = series * steps
    yield f"{run}: {series} series x {steps} steps, durable, M points/s", points / durable / 1e6
    yield f"{run}: durable and compacted, M points/s", points / whole / 1e6
    yield f"{run}: bytes a point after compaction", (_size(engine) - before) / points


def _many_runs(engine: Engine, store: Store, *, runs: int, steps: int) -> Iterator[tuple[str, float]]:
    batches = [one for n in range(runs) for one in _batches(f"W3-{n}", 20, steps, steps)]
    before, begin = _size(engine), time.perf_counter()
    for receipt in [_submit(store, one) for one in batches]:
        receipt.result()
    durable = time.perf_counter() - begin
    store.compact()
    points = runs * 20 * steps
    yield f"W3: {runs} runs x 20 series x {steps} steps, durable, M points/s", points / durable / 1e6
    yield "W3: bytes a point after compaction", (_size(engine) - before) / points


def _after_a_crash(engine: Engine, store: Store, scale: int) -> Iterator[tuple[str, float]]:
    """What a fresh process finds in a log that was not compacted."""
    store.close()
    writer = Store(engine)
    writer.start()
    for receipt in [_submit(writer, one) for one in _batches("crash", 100, 10_000 // scale, 1000)]:
        run = receipt.result().run_id
    writer.close()
    yield "read of 1M points in the log, ms", _ms(lambda: Store(engine).read(run))


def _live(store: Store, *, series: int, flushes: int) -> Iterator[tuple[str, float]]:
    took = []
    for one in _batches("live", series, flushes, 1):
        begin = time.perf_counter()
        store.accept(one)
        took.append(time.perf_counter() - begin)
    yield f"live: flush of {series} series x 1 point, durable, ms", statistics.median(took) * 1e3
    small = list(_batches("small", 10, 2000, 1))
    begin = time.perf_counter()
    for receipt in [_submit(store, one) for one in small]:
        receipt.result()
    yield "live: flushes of 10 points, many waiting, a second", len(small) / (time.perf_counter() - begin)
    took = []
    for one in _batches("single", 10, 300, 1):
        begin = time.perf_counter()
        store.accept(one)
        took.append(time.perf_counter() - begin)
    yield "live: one flush of 10 points, ms", statistics.median(took) * 1e3


def _reading(engine: Engine, store: Store, scale: int) -> Iterator[tuple[str, float]]:
    ids = {run: store.accept(next(_batches(run, 1, 1, 1))).run_id for run in ("W1", "W2", "L1M", "R20")}
    store.compact()
    keys = [SeriesKey(f"m{n}") for n in range(20)]
    middle = 500_000 // scale

    def fresh(run: str, **reach: int) -> float:
        return _ms(lambda: Store(engine).chart(ids[run], keys, **reach))

    yield "read of one series of 1M points, ms", _ms(lambda: store.read(ids["L1M"]))
    yield "read of one series of 10k points, ms", _ms(lambda: store.read(ids["W1"], keys[:1]))
    yield "chart of 20 series x 10k to 1,000 points, ms", fresh("W1")
    yield "chart of 20 series x 1M to 1,000 points, ms", fresh("R20")
    for width in (1000, 20_000, 200_000):
        reach = dict(from_step=middle, to_step=middle + width // scale)
        yield f"chart of 20 series, {width} steps out of 1M, ms", fresh("R20", **reach)
    yield "chart of 20 out of 10k series x 100, ms", fresh("W2")
    yield "chart again, ms", _ms(lambda: store.chart(ids["R20"], keys))
    for run, what in (("W2", "10k series"), ("R20", "20 x 1M")):
        yield f"series of a run with {what}, ms", _ms(lambda run=run: Store(engine).series(ids[run]))
    yield "newest points of 10k series, with names, ms", _ms(lambda: _newest(Store(engine), ids["W2"]))
    yield "series of a run with 10k series again, ms", _ms(lambda: store.series(ids["W2"]))
    yield "newest points of 10k series again, with names, ms", _ms(lambda: _newest(store, ids["W2"]))


def _newest(store: Store, run_id: int) -> tuple[list[str], FloatArray]:
    """Columns of the newest points, and the names they belong to."""
    found = store.newest_points(run_id)
    return found.names.metric_list(), found.value


def _submit(store: Store, one: Delivery) -> Future[Receipt]:
    """As a source would: wait while the queue is full."""
    while True:
        try:
            return store.submit(one)
        except StoreBusyError:
            time.sleep(0.001)


def _ms(work: Callable[[], object]) -> float:
    took = []
    for _ in range(7):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    return statistics.median(took) * 1e3


def _batches(run: str, series: int, steps: int, rows: int, step_seconds: float = STEP) -> Iterator[Delivery]:
    random = np.random.default_rng(len(run) * 1000 + series)
    times = 1.7e9 + np.cumsum(step_seconds * random.normal(1.0, JITTER, steps)).round(6)
    values = [_values(n % 10, steps, random) for n in range(series)]
    for start in range(0, steps, rows):
        piece = slice(start, min(start + rows, steps))
        step = np.arange(piece.start, piece.stop, dtype=np.int64)
        columns = tuple(Column(key=SeriesKey(f"m{n}"), values=held[piece]) for n, held in enumerate(values))
        batch = Batch(steps=step, times=times[piece], columns=columns, attempt="0")
        yield Delivery(project="bench", run=run, writer="w", batch_id=f"{start}/{steps}", batch=batch)


def _values(kind: int, steps: int, random: np.random.Generator) -> FloatArray:
    at = np.arange(steps)
    if kind < 5:
        noise = random.normal(0, NOISE, steps)
        return (_level(steps) * (1 + noise)).astype(np.float32).astype(np.float64)
    if kind < 7:
        return (random.integers(0, 256, steps) / 256).astype(np.float64)
    if kind == 7:
        return np.asarray(1e-4 * (1 + np.cos(np.pi * at / steps)))
    return random.normal(4e4, 500, steps) if kind == 8 else at * 1.0


def _level(steps: int) -> FloatArray:
    return np.asarray(2 + 8 * np.exp(-np.arange(steps) / steps * 5))


def entropy(steps: int, step_seconds: float) -> float:
    """Bytes a point below which no codec comes: a clock's intervals and a loss, independent and normal.

    log2(sigma sqrt(2 pi e)) bits each, sigma in microseconds and in steps of the 32-bit value's mantissa.
    """
    bits = 0.5 * np.log2(2 * np.pi * np.e)
    level = _level(steps)
    clock = np.log2(step_seconds * JITTER * 1e6) + bits
    value = np.mean(np.log2(NOISE * level / np.spacing(level.astype(np.float32)))) + bits
    return float(clock + value) / 8


def _size(engine: Engine) -> int:
    """Bytes in use, without free pages: PostgreSQL's are the log's, which is written anew here."""
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
        whole = (
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname = ANY(:t)"
        )
        return int(connection.scalar(text(whole), {"t": list(Base.metadata.tables)}) or 0)


if __name__ == "__main__":
    main()
