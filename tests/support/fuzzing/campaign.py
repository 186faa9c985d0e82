"""Reads many mutated inputs in worker processes, and finds those that exceed a limit.

Limits of each input: nothing is raised but what the target may refuse with; processor time of 5 s per MB,
or more as far as this machine is slower than usual; 300 MB of memory beyond what the process had after it
read the unchanged samples.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.fuzzing.targets import FuzzTarget, targets
from tests.support.machine_speed import is_within, slowness

SECONDS_PER_MB = 5.0
SHORTEST = 0.5
"""Seconds that any input may take, however short: the clock of a busy machine errs by tenths.

Both are larger as far as this machine is slower than the one that they were chosen on.
"""
MAX_MEMORY = 300 * 2**20
"""Bytes that reading may take beyond what the process had before."""
_ENDLESS = 30.0
"""Seconds of processor time after which reading an input is stopped."""
_MAX_ADDRESSES = 6 * 2**30
_CHUNK = 500
_SHRINK_SECONDS = 10.0


class TooSlowError(BaseException):
    """Reading was stopped; no reader catches it."""


class Problem(NamedTuple):
    """An input that exceeds a limit; `content` is a shorter one with the same problem."""

    target: str
    index: int
    name: str
    kind: str
    content: bytes
    detail: str

    def __str__(self) -> str:
        return (
            f"{self.target} #{self.index} ({self.name}): {self.kind}: {self.detail}\n{self.content[:2000]!r}"
        )


class Cost(NamedTuple):
    """What reading an input took: the part of the time that it may take, or bytes of memory."""

    amount: float
    index: int
    size: int


_NOTHING = Cost(0, 0, 0)


@dataclass
class Summary:
    """The inputs of one target so far: their number, the slowest and the hungriest, and the problems.

    `alike` counts problems at the same place as ones that are in `problems`.
    """

    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: Cost = _NOTHING
    hungriest: Cost = _NOTHING
    problems: list[Problem] = field(default_factory=list)
    alike: int = 0

    def add(self, other: Summary) -> None:
        self.inputs += other.inputs
        self.refused += other.refused
        self.seconds += other.seconds
        self.slowest = max(self.slowest, other.slowest)
        self.hungriest = max(self.hungriest, other.hungriest)
        self.problems += other.problems
        self.alike += other.alike


def make_input(target: FuzzTarget, seed: int, index: int) -> tuple[str, bytes]:
    """The name and content of an input, which depend on the arguments alone."""
    chance = random.Random(f"{seed}/{target.name}/{index}")
    sample = chance.choice(target.seeds)
    others = [chance.choice(target.seeds).content, chance.choice(_everything())]
    return sample.name, target.make(sample, chance, others)


@cache
def _everything() -> list[bytes]:
    return [
        seed.content for target in targets().values() for seed in target.seeds if len(seed.content) < 20_000
    ]


def share_out(total: int, chosen: Sequence[str]) -> dict[str, int]:
    """How many of `total` inputs each target gets, at least one."""
    shares = {name: targets()[name].share for name in chosen}
    return {name: max(1, round(total * share / sum(shares.values()))) for name, share in shares.items()}


def run_campaign(
    total: int,
    *,
    seed: int = 0,
    workers: int = 2,
    chosen: Sequence[str] = (),
    first: int = 0,
    report: Callable[[str, Summary], None] = lambda name, summary: None,
) -> dict[str, Summary]:
    """Read `total` inputs, beginning with number `first` of each target; a summary by target.

    Ctrl-C ends it early, with the summaries so far.

    Raises RuntimeError naming the inputs that were read when a worker process died.
    """
    numbers = share_out(total, chosen or list(targets()))
    chunks = [
        (name, seed, first + begin, min(_CHUNK, number - begin))
        for name, number in numbers.items()
        for begin in range(0, number, _CHUNK)
    ]
    chunks.sort(key=lambda chunk: (chunk[2], chunk[0]))  # every target early, the last chunks short
    summaries = {name: Summary() for name in numbers}
    if _ROOT not in sys.path:  # pytest imports tests without it, worker processes cannot
        sys.path.append(_ROOT)
    with tempfile.TemporaryDirectory() as folder:
        pool = ProcessPoolExecutor(
            workers, multiprocessing.get_context("spawn"), initializer=_start_worker, initargs=(folder,)
        )
        with pool:
            pending = {pool.submit(_read_chunk, *chunk): chunk[0] for chunk in chunks}
            try:
                for done in as_completed(pending):
                    summaries[pending[done]].add(done.result())
                    report(pending[done], done.result())
            except BrokenProcessPool as error:
                last = sorted(path.read_text() for path in Path(folder).iterdir())
                raise RuntimeError(f"a worker process died while it read one of: {last}") from error
            except KeyboardInterrupt:  # what was read so far is worth knowing
                pool.shutdown(wait=False, cancel_futures=True)
    return summaries


_ROOT = str(Path(__file__).parents[3])
_worker: dict[str, Any] = {"known": Counter(), "slowness": 1.0}
_ALIKE = 3
"""Problems at one place that are shrunken and shown; others are counted."""


def _start_worker(folder: str) -> None:
    warnings.simplefilter("ignore")  # e.g. of numpy, about overflows in damaged numbers
    resource.setrlimit(resource.RLIMIT_DATA, (_MAX_ADDRESSES, _MAX_ADDRESSES))
    signal.signal(signal.SIGPROF, _stop_reading)
    for target in targets().values():
        for sample in target.seeds:
            with contextlib.suppress(*target.refuses):
                target.read(sample.name, sample.content, 0)
    gc.collect()
    _worker["slowness"] = slowness()
    _worker["progress"] = os.open(Path(folder) / str(os.getpid()), os.O_WRONLY | os.O_CREAT)


def _stop_reading(*_: object) -> None:
    raise TooSlowError


def _read_chunk(name: str, seed: int, first: int, number: int) -> Summary:
    """Read consecutive inputs of one target."""
    target, summary = targets()[name], Summary(inputs=number)
    for index in range(first, first + number):
        sample, content = make_input(target, seed, index)
        os.pwrite(_worker["progress"], f"{name} seed {seed} #{index}".ljust(99).encode(), 0)
        measured = measure(target, sample, content, index)
        summary.refused += measured.refused
        summary.seconds += measured.seconds
        summary.slowest = max(
            summary.slowest, Cost(measured.seconds / _allowed(measured.size), index, len(content))
        )
        summary.hungriest = max(summary.hungriest, Cost(measured.memory, index, len(content)))
        if measured.kind:
            shorter = _shrink(target, sample, content, index, measured.kind)
            summary.problems.append(Problem(name, index, sample, measured.kind, shorter, measured.detail))
    return summary


def _is_known(name: str, measured: Measured) -> bool:
    """Whether enough problems of this kind were found at the same place, the last line of our own code."""
    lines = [line for line in measured.detail.splitlines() if ".editable/holter" in line]
    _worker["known"][name, measured.kind, *lines[-1:]] += 1
    return bool(_worker["known"][name, measured.kind, *lines[-1:]] > _ALIKE)


class Measured(NamedTuple):
    """The outcome of reading one input of `size` bytes; `kind` is the limit that it exceeds, "" if none."""

    seconds: float
    memory: int
    size: int
    refused: bool = False
    kind: str = ""
    detail: str = ""


def _allowed(size: int) -> float:
    return max(SHORTEST, SECONDS_PER_MB * size / 1e6)


def _is_quick(seconds: float, size: int) -> bool:
    """Whether that is allowed; how fast the machine is, is measured at the start and when it matters."""
    return seconds <= _allowed(size) * _worker["slowness"] or is_within(seconds, _allowed(size))


def measure(target: FuzzTarget, sample: str, content: bytes, index: int) -> Measured:
    """Read an input and compare what it takes with the limits; what was too slow is read again."""
    measured = _measure_once(target, sample, content, index)
    for _ in range(2):
        if measured.kind != "slow" or measured.seconds >= _ENDLESS:
            break
        measured = _measure_once(target, sample, content, index)
    return measured


def _measure_once(target: FuzzTarget, sample: str, content: bytes, index: int) -> Measured:
    kind = detail = ""
    refused, size = False, len(content)
    _forget_peak()
    before = _memory("VmHWM")  # what earlier inputs left behind is not this one's
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, _ENDLESS)
        size = max(size, target.read(sample, content, index) or 0)
    except target.refuses:
        refused = True
    except TooSlowError:
        kind, detail = "slow", "".join(traceback.format_exc(limit=-4))
    except Exception as error:
        kind, detail = type(error).__name__, traceback.format_exc(limit=-4)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - began
    memory = _memory("VmHWM") - before
    if not kind and not _is_quick(seconds, size):
        kind, detail = "slow", f"{seconds:.2f} s for {size} bytes"
    if not kind and memory > MAX_MEMORY:
        kind, detail = "hungry", f"{memory / 2**20:.0f} MiB for {len(content)} bytes"
    return Measured(seconds, memory, size, refused, kind, detail)


def _forget_peak() -> None:
    """Let the kernel measure the peak of the memory anew."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _memory(name: str) -> int:
    """Bytes of memory of this process, as the kernel names them (proc(5)); 0 where it does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))
    return 0


def _shrink(target: FuzzTarget, sample: str, content: bytes, index: int, kind: str) -> bytes:
    """A shorter input with the same problem: parts are left out as long as it stays."""
    deadline = time.monotonic() + _SHRINK_SECONDS
    size = len(content) // 2
    while size and time.monotonic() < deadline:
        shorter = next(_without_a_part(target, sample, content, index, kind, size, deadline), None)
        if shorter is None:
            size //= 2
        else:
            content = shorter
    return content


def _without_a_part(
    target: FuzzTarget, sample: str, content: bytes, index: int, kind: str, size: int, deadline: float
) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        if time.monotonic() > deadline:
            return
        shorter = content[:start] + content[start + size :]
        if _measure_once(target, sample, shorter, index).kind == kind:
            yield shorter
