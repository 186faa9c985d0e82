"""Plants causes into simulated runs, and measures which are named first with the finding that follows.

    python benchmarks/planted_causes.py [--runs 60] [--seed 1] [--only rate] [--write]

Every run has its own random level, noise, schedule, data mixture, interval of logging and position of the
cause, and logs all the series that could be causes. The loss follows a cause after 0 to 20 points, as a spike
that decays or settles higher, or as a slow rise. Counterexamples have changes that have nothing to do with
the event, or no change at all. `--write` puts the table into docs/measurements/causes.md.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from page_sections import DOCS, write_section
from planted_faults.fault import Random, build_run, build_series
from planted_faults.ranks import NOISES as RANK_NOISES
from planted_faults.ranks import ROWS, STEPS_PER_ROW, build_timings
from simulated_losses import NOISES, noise_unit, power

from holter.detectors import find
from holter.types import ConfigKey, ConfigValue, Finding, FloatArray, IntArray, Kind, RunData, Severity

POINTS = 3000
NOISE_NAMES = ("normal", "correlated by 0.6", "Gamma 4", "Student's t5", "8-bit training")
_SPEED_KINDS = frozenset({Kind.THROUGHPUT_REGRESSION, Kind.STRAGGLER, Kind.COMM_SLOWDOWN})
HEADER = (
    "| planted | runs | event found | cause named first | not named | wrong cause named |\n"
    "|---|---|---|---|---|---|"
)


@dataclass
class CausedRun:
    """A run while it is built: its curves over `POINTS` rows, and the event that a cause has.

    `causes`: the codes that are right to be named, all of them where there are several; none: nothing is.
    `onset` is the row of the event. `words`: what the sentence of the cause must contain.
    """

    curves: dict[str, FloatArray]
    onset: int
    spacing: int
    causes: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    attempt: IntArray = field(default_factory=lambda: np.zeros(POINTS, dtype=np.int64))
    rollback: int = 0
    config: dict[ConfigKey, dict[int, ConfigValue]] = field(default_factory=dict)

    def data(self) -> RunData:
        """The run as detectors receive it."""
        rows = np.arange(POINTS) - self.rollback * self.attempt
        run = build_run(
            *(
                build_series(name, value, rows * self.spacing, attempt=self.attempt)
                for name, value in self.curves.items()
            )
        )
        return replace(run, config=self.config)


Plant = Callable[[Random, CausedRun], None]
"""Adds a change, and what follows from it, to a healthy run."""


def healthy(random: Random, noise: str) -> CausedRun:
    """A run in which nothing happens."""
    level = power(random, POINTS)
    size = float(np.exp(random.uniform(np.log(0.003), np.log(0.05)))) * noise_unit(level)
    at = np.arange(POINTS)
    warm_up = int(random.integers(20, 300))
    schedules = {
        "constant": np.ones(POINTS),
        "cosine": 0.55 + 0.45 * np.cos(np.pi * at / POINTS),
        "linear": 1 - 0.9 * at / POINTS,
        "decay at the end": 1 - 0.9 * np.clip((at - 0.8 * POINTS) / (0.2 * POINTS), 0, 1),
    }
    shape = schedules[str(random.choice(list(schedules)))]
    share = float(random.uniform(0.1, 0.6))
    drawn = share + random.choice([0.0, 0.01, 0.03]) * random.standard_normal(POINTS)
    return CausedRun(
        curves={
            "loss": level + size * NOISES[noise](random, POINTS),
            "lr": float(random.choice([3e-4, 1e-3, 0.1])) * np.minimum(at / warm_up, 1.0) * shape,
            "batch_size": np.full(POINTS, float(random.choice([32, 512, 2048]))),
            "seq_length": np.full(POINTS, float(random.choice([512, 2048, 4096]))),
            "max_grad_norm": np.full(POINTS, float(random.choice([0.5, 1.0]))),
            "mix/code": drawn,
            "mix/web": 1 - drawn,
            "grad_norm": np.exp(0.2 * random.standard_normal(POINTS)),
            "loss_scale": np.full(POINTS, 65536.0),
        },
        onset=int(random.integers(POINTS // 3, POINTS - 900)),
        spacing=int(random.choice([1, 1, 5, 10])),
    )


def add_event(random: Random, run: CausedRun, *, slowly: bool | None = None) -> None:
    """A rise of the loss at the onset: a spike that decays, one that settles higher, or a slow rise."""
    loss, at = run.curves["loss"], np.arange(POINTS) - run.onset
    noise = float(np.std(np.diff(loss))) / 2**0.5
    height = max(float(random.uniform(8, 30)) * noise, 0.1 * abs(float(np.median(loss[-500:]))))
    since = np.maximum(at, 0)
    if (random.random() < 0.25) if slowly is None else slowly:
        shape = np.clip(since / random.uniform(100, 500), 0, 1)
    else:
        settled = random.uniform(0.2, 0.6) * (random.random() < 0.5)
        shape = (at >= 0) * (settled + (1 - settled) * np.exp(-since / random.uniform(5, 150)))
    loss += height * shape
    run.curves["grad_norm"] *= 1 + 3 * (at >= 0) * np.exp(-since / 20)


def lag(random: Random) -> int:
    """Points between a cause and what follows."""
    return int(random.choice([0, 0, 1, 2, 3, 5, 8, 13, 20]))


def set_rate(random: Random, run: CausedRun, row: int) -> None:
    """The learning rate leaves its schedule: at once for good, for some points, or as a climb."""
    factor, rate = float(np.exp(random.uniform(np.log(1.5), np.log(20)))), run.curves["lr"]
    shape = random.choice(["lasting", "short", "climb"])
    if shape == "lasting":
        rate[row:] *= factor
    elif shape == "short":
        rate[row : row + int(random.integers(2, 60))] *= factor
    else:
        length = int(random.integers(10, 40))
        rate[row:] *= factor ** np.clip((np.arange(POINTS - row) + 1) / length, 0, 1)


def set_batch(random: Random, run: CausedRun, row: int) -> None:
    """Another batch size: smaller, seldom larger."""
    run.curves["batch_size"][row:] *= random.choice([1 / 16, 1 / 8, 1 / 4, 1 / 2, 2, 4])


def set_length(random: Random, run: CausedRun, row: int) -> None:
    """Longer sequences."""
    run.curves["seq_length"][row:] *= random.choice([2, 4, 8])


def set_mixture(random: Random, run: CausedRun, row: int) -> None:
    """Another share of one dataset."""
    moved = float(random.uniform(0.1, 0.35)) * (1 if random.random() < 0.7 else -0.5)
    run.curves["mix/code"][row:] += moved
    run.curves["mix/web"][row:] -= moved


def set_clipping(random: Random, run: CausedRun, row: int) -> None:
    """A higher limit of the gradient norm, or none."""
    run.curves["max_grad_norm"][row:] *= random.choice([0.0, 5.0, 20.0, 100.0])


def set_scale(random: Random, run: CausedRun, row: int) -> None:
    """Gradients overflow: the loss scale is halved several times."""
    halvings = int(random.integers(3, 9))
    run.curves["loss_scale"][row:] *= 0.5 ** np.minimum(np.arange(POINTS - row) + 1, halvings)


SET = {
    "learning_rate": set_rate,
    "batch_size": set_batch,
    "sequence_length": set_length,
    "mixture": set_mixture,
    "gradient_clipping": set_clipping,
    "loss_scale": set_scale,
}
_SETTINGS: Mapping[str, tuple[ConfigValue, ConfigValue, str]] = {
    "optimizer.beta2": (0.95, 0.999, "hyperparameter"),
    "model.dropout": (0.0, 0.3, "hyperparameter"),
    "train.precision": ("bf16", "fp16", "precision"),
    "data.seed": (1, 2, "mixture"),
    "lr": (3e-4, 3e-3, "learning_rate"),
    "global_batch_size": (512, 64, "batch_size"),
    "seq_length": (2048, 8192, "sequence_length"),
    "clip_grad": (1.0, 0.0, "gradient_clipping"),
}


def caused_by(code: str) -> Plant:
    """A logged change, and the event shortly after it."""

    def plant(random: Random, run: CausedRun) -> None:
        SET[code](random, run, run.onset - lag(random))
        add_event(random, run)
        run.causes = frozenset({code})

    return plant


def restart(random: Random, run: CausedRun, row: int) -> None:
    """A new attempt, with a rollback, and settings that differ from launch to launch."""
    run.attempt = (np.arange(POINTS) >= row).astype(np.int64)
    run.rollback = int(random.choice([0, 20, 100]))
    run.curves["lr"][row:] = run.curves["lr"][row - run.rollback : POINTS - run.rollback].copy()
    run.config = {ConfigKey(name): {0: before, 1: before} for name, (before, _, _) in _SETTINGS.items()}
    run.config |= {
        ConfigKey("hostname"): {0: "n17", 1: "n23"},
        ConfigKey("output_dir"): {0: "/out/a", 1: "/out/b"},
        ConfigKey("job_id"): {0: 1, 1: 2},
    }


def restarted_with_settings(random: Random, run: CausedRun) -> None:
    """A restart with one to three other settings, and the event right after it."""
    restart(random, run, run.onset - int(random.choice([0, 0, 1, 3, 8])))
    names = list(random.choice(list(_SETTINGS), int(random.integers(1, 4)), replace=False).tolist())
    for name in names:
        run.config[ConfigKey(name)][1] = _SETTINGS[name][1]
    add_event(random, run, slowly=False)
    run.causes = frozenset({"restart_settings"} if len(names) > 1 else {_SETTINGS[names[0]][2]})
    run.words = tuple(names)


def two_changes(random: Random, run: CausedRun) -> None:
    """Two changes at one step: neither may be named alone."""
    row = run.onset - lag(random)
    both = random.choice(["learning_rate", "batch_size", "sequence_length", "mixture"], 2, replace=False)
    for code in both.tolist():
        SET[code](random, run, row)
    add_event(random, run)
    run.causes = frozenset(both.tolist())


def no_change(random: Random, run: CausedRun) -> None:
    """An event without any change."""
    add_event(random, run)


def change_long_before(random: Random, run: CausedRun) -> None:
    """A change 150 to 900 points before an event that it has nothing to do with."""
    SET[str(random.choice(list(SET)))](random, run, run.onset - int(random.integers(150, 900)))
    add_event(random, run)


def changes_anywhere(random: Random, run: CausedRun) -> None:
    """Three changes anywhere, and an event that has nothing to do with them."""
    for code in random.choice(list(SET), 3, replace=False).tolist():
        SET[code](random, run, int(random.integers(200, POINTS - 200)))
    add_event(random, run)


def busy_schedule(random: Random, run: CausedRun) -> None:
    """Batches that grow and warm restarts of the learning rate all the time, and an event among them."""
    period, at = int(random.integers(150, 500)), np.arange(POINTS)
    run.curves["batch_size"] = 64.0 + 32 * (at // period)
    run.curves["lr"] = 1e-3 * (0.55 + 0.45 * np.cos(np.pi * ((at + period // 2) % period) / period))
    add_event(random, run)


def restart_without_changes(random: Random, run: CausedRun) -> None:
    """A restart with the same settings 30 to 400 points before an event."""
    restart(random, run, run.onset - int(random.integers(30, 400)))
    add_event(random, run)


LOSS_PLANTS: Mapping[str, Plant] = {
    "learning rate": caused_by("learning_rate"),
    "batch size": caused_by("batch_size"),
    "sequence length": caused_by("sequence_length"),
    "data mixture": caused_by("mixture"),
    "gradient clipping": caused_by("gradient_clipping"),
    "loss scale": caused_by("loss_scale"),
    "restart with other settings": restarted_with_settings,
    "two changes at once": two_changes,
    "no change": no_change,
    "a change long before": change_long_before,
    "three changes anywhere": changes_anywhere,
    "changes all the time": busy_schedule,
    "restart without changes before": restart_without_changes,
}


def slow_rank(random: Random, *, rank_is_slow: bool) -> tuple[RunData, str]:
    """A run whose throughput falls since one rank is slow, or all are; and the name of that rank."""
    ranks, onset = int(random.choice([4, 8, 16])), int(random.integers(ROWS // 3, ROWS // 2))
    cost = RANK_NOISES[str(random.choice(["steady", "noisy"]))](random, ROWS, ranks)
    slow = int(random.integers(ranks))
    rise = float(np.log1p(random.uniform(0.15, 0.5)))
    cost[onset:, slow if rank_is_slow else slice(None)] += rise
    timings = build_timings(random, cost, waits_only=False)
    timings = [
        replace(
            each,
            key=each.key._replace(
                labels=(("host", f"n{int(dict(each.key.labels)['rank']) // 2}"), *each.key.labels)
            ),
        )
        for each in timings
    ]
    steps = STEPS_PER_ROW * ROWS
    seconds = np.repeat(np.exp(cost).max(axis=1) + 0.1, STEPS_PER_ROW)
    speed = 1e5 / seconds * np.exp(0.01 * random.standard_normal(steps))
    run = build_run(
        *timings, build_series("tokens_per_s", speed, np.arange(steps), seconds=np.cumsum(1e5 / speed))
    )
    return run, str(slow) if rank_is_slow else ""


@dataclass
class CauseScore:
    """Counts of runs, found events, and named causes."""

    runs: int = 0
    found: int = 0
    right: int = 0
    wrong: int = 0

    def row(self, name: str, *, has_cause: bool) -> str:
        """A row of the table; shares of found events."""
        found = max(self.found, 1)
        right = f"{self.right / found:.1%}" if has_cause else "-"
        rest = self.found - self.right - self.wrong
        shares = f"{right} | {rest / found:.1%} | {self.wrong / found:.1%}"
        return f"| {name} | {self.runs} | {self.found} | {shares} |"


def event_of(run: CausedRun, findings: list[Finding]) -> Finding | None:
    """The first finding on the loss that begins with the event."""
    onset = (run.onset - run.rollback * int(run.attempt[run.onset])) * run.spacing
    near = (
        each
        for each in findings
        if each.kind not in _SPEED_KINDS
        and each.metric in ("loss", "loss_scale")
        and -15 * run.spacing <= each.start_step - onset <= 300 * run.spacing
        and each.attempt == int(run.attempt[run.onset])
    )
    return next(near, None)


def judge(score: CauseScore, run: CausedRun, findings: list[Finding], *, show: bool) -> None:
    """Count a run."""
    score.runs += 1
    event = event_of(run, findings)
    if event is None:
        return
    score.found += 1
    named = [cause for cause in event.clear_causes if cause.code != "restart"]
    codes = {cause.code for cause in named}
    if event.kind is Kind.LOSS_SCALE_COLLAPSE and not codes:
        codes = {"loss_scale"}  # its summary says so
    text = event.summary
    is_right = codes == run.causes if len(run.causes) > 1 else bool(codes) and codes <= run.causes
    is_right &= all(word in text for word in run.words)
    if is_right:
        score.right += bool(run.causes)
    elif codes or event.clear_causes:
        score.wrong += 1
    if show and not (is_right if run.causes else not event.clear_causes):
        print(f"    {sorted(run.causes)}: {text}")
        for cause in event.causes:
            print(f"        {cause.score} {cause.code} {cause.sentence}")


def judge_ranks(score: CauseScore, rank: str, findings: list[Finding], *, show: bool) -> None:
    """Count a run whose throughput fell."""
    score.runs += 1
    reported = [each for each in findings if each.kind in _SPEED_KINDS]
    if not reported:
        return
    score.found += 1
    incidents = [each for each in reported if each.severity is not Severity.INFO]
    named = {
        dict(labels)["rank"]
        for each in reported
        for labels in (each.labels, *(cause.labels for cause in each.clear_causes))
        if "rank" in dict(labels)
    }
    is_right = named == ({rank} if rank else set()) and (not rank or len(incidents) == 1)
    if rank and is_right:
        score.right += 1
    elif named - {rank}:
        score.wrong += 1
    if show and not is_right:
        print("   ", rank, [each.summary for each in reported])


def main() -> None:
    """Print the table; write it into the documentation with `--write`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=60, help="runs of every cause")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other runs")
    parser.add_argument("--only", default="", metavar="TEXT", help="only causes whose names contain this")
    parser.add_argument("--details", action="store_true", help="print every finding that is not right")
    parser.add_argument(
        "--write", action="store_true", help="write the table into docs/measurements/causes.md"
    )
    arguments = parser.parse_args()
    rows = [HEADER]
    print(HEADER, flush=True)
    for name, plant in LOSS_PLANTS.items():
        if arguments.only in name:
            rows.append(measure_losses(name, plant, arguments))
    for name, is_slow in (("slow rank", True), ("all ranks slow", False)):
        if arguments.only in name:
            rows.append(measure_ranks(name, arguments, rank_is_slow=is_slow))
    if arguments.write:
        write_section(DOCS / "measurements" / "causes.md", "causes", "\n".join(rows))


def measure_losses(name: str, plant: Plant, arguments: argparse.Namespace) -> str:
    """Measure one row of the table, and print it at once."""
    score, has_cause = CauseScore(), True
    for number in range(arguments.runs):
        random = np.random.default_rng([zlib.crc32(name.encode()), arguments.seed, number])
        run = healthy(random, NOISE_NAMES[number % len(NOISE_NAMES)])
        plant(random, run)
        has_cause = bool(run.causes)
        judge(score, run, find(run.data()), show=arguments.details)
    text = score.row(name, has_cause=has_cause)
    print(text, flush=True)
    return text


def measure_ranks(name: str, arguments: argparse.Namespace, *, rank_is_slow: bool) -> str:
    """Measure one row about ranks, and print it at once."""
    score = CauseScore()
    for number in range(arguments.runs):
        random = np.random.default_rng([zlib.crc32(name.encode()), arguments.seed, number])
        run, rank = slow_rank(random, rank_is_slow=rank_is_slow)
        judge_ranks(score, rank, find(run), show=arguments.details)
    text = score.row(name, has_cause=rank_is_slow)
    print(text, flush=True)
    return text


if __name__ == "__main__":
    main()
