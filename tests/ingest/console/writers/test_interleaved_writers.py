"""Writers that print into one text without any prefix are told apart; restarts stay restarts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from holter.ingest import formats
from holter.ingest.discovery.scanner import LogTree
from holter.ingest.offline.read_run import read_run, read_source
from holter.ingest.tailing.follower import Follower
from holter.types import Batch, SeriesKey
from tests.support.log_reading import MemorySink

LINE = "epoch: 0, iter: {step}/100000, loss: {value:.4f}, lr: 0.1\n"


def line(step: int, writer: int = 0) -> str:
    return LINE.format(step=step, value=writer + 1 / (1 + step))


def mixed(writers: int, lag: int, rows: int, seed: int) -> list[tuple[int, int]]:
    """(writer, step) in a random order in which no writer is more than `lag` rows before another."""
    chance, done = random.Random(seed), [0] * writers
    order = []
    while min(done) < rows:
        ready = [index for index in range(writers) if done[index] < rows and done[index] - min(done) < lag]
        writer = chance.choice(ready)
        done[writer] += 1
        order.append((writer, 10 * done[writer]))
    return order


def read_rows(file: Path) -> list[tuple[int, str]]:
    """Every row of a log, as the line that it was."""
    [source] = LogTree(file, formats()).scan()
    rows = []
    for batch in read_source(source):
        assert isinstance(batch, Batch)
        for column in batch.columns:
            if column.key.metric == "loss":
                steps = batch.steps if column.rows is None else batch.steps[column.rows]
                rows += list(zip(steps.tolist(), column.values.tolist(), strict=True))
    return [(step, LINE.format(step=step, value=value)) for step, value in rows]


def read(path: Path, lines: list[str]) -> Any:
    (path / "train.log").write_text("".join(lines))
    return read_run(path / "train.log")


@pytest.mark.parametrize("writers", range(2, 9))
@pytest.mark.parametrize("lag", [1, 2, 3, 6])
def test_interleaved_writers_make_one_attempt_and_lose_no_row(
    tmp_path: Path, reading: Any, writers: int, lag: int
) -> None:
    for seed in range(3):
        order = mixed(writers, lag, 60, seed)
        lines = [line(step, writer) for writer, step in order]
        run = read(tmp_path, lines)
        assert run.attempts == 1, seed
        found = read_rows(tmp_path / "train.log")
        assert sorted(found) == sorted((step, line(step, writer)) for writer, step in order)


@pytest.mark.parametrize("again", [10, 960, 990])
@pytest.mark.parametrize("text", ["", "Loading the model\nDone\n" * 5])
def test_a_program_that_is_started_again_is_another_attempt(tmp_path: Path, again: int, text: str) -> None:
    steps = [*range(10, 1001, 10), *range(again, 2001, 10)]
    lines = [line(step) for step in steps]
    lines.insert(100, text)
    run = read(tmp_path, lines)
    assert run.attempts == 2
    assert set(run.data.series) == {SeriesKey(name, ()) for name in ("epoch", "loss", "lr")}


def test_a_short_run_that_is_repeated_is_so_many_attempts(tmp_path: Path) -> None:
    run = read(tmp_path, [f"Epoch {epoch} loss: 0.5\n" for _ in range(3) for epoch in range(1, 6)])
    assert (run.attempts, len(run.data.series)) == (3, 1)


def test_trainings_of_a_few_epochs_in_turn_are_not_written_by_several_processes(tmp_path: Path) -> None:
    run = read(tmp_path, [f"Epoch {epoch} loss: 0.5\n" for last in (3, 5, 5) for epoch in range(1, last + 1)])
    assert (run.attempts, [key.labels for key in run.data.series]) == (3, [()])


def test_rows_are_the_same_however_the_file_is_read(reading: Any) -> None:
    content = "".join(line(step, writer) for writer, step in mixed(3, 5, 40, 1)).encode()
    complete = reading.read_complete("train.log", content)
    chosen = reading.format_of("train.log", content)
    sizes = range(0, len(content) + 1, 37)
    assert reading.read_growing("train.log", content, [*sizes, len(content)], chosen=chosen) == complete
    assert reading.read_restarted("train.log", content, every=1, chosen=chosen) == complete


def followed_losses(memory: MemorySink) -> list[float]:
    """The losses of all rows that the sink got."""
    columns = [column for delivery in memory.deliveries for column in delivery.batch.columns]
    return [value for column in columns if column.key.metric == "loss" for value in column.values.tolist()]


def test_rows_that_are_held_back_while_a_file_is_followed_arrive_when_it_stays_as_it_is(
    tmp_path: Path, memory: MemorySink
) -> None:
    log, now = tmp_path / "train.log", [1000.0]
    log.write_text("".join(line(step) for step in range(10, 210, 10)))
    follower = Follower([tmp_path], memory, clock=lambda: now[0])
    follower.catch_up()
    with log.open("a") as file:
        file.write("".join(line(step) for step in (170, 180, 190)))
    follower.catch_up()
    assert len(followed_losses(memory)) == 20, "they may be those of another writer"
    now[0] += 31
    follower.catch_up()
    assert len(followed_losses(memory)) == 23
    with log.open("a") as file:
        file.write("".join(line(step) for step in (200, 210)))
    follower.catch_up()
    now[0] += 31
    follower.catch_up()
    assert len(followed_losses(memory)) == 25, "each row is delivered once"


def test_several_rows_of_a_step_do_not_show_another_writer(tmp_path: Path) -> None:
    def of_classes(steps: range) -> list[str]:
        return [line(step, number) for step in steps for number in range(3)]

    run = read(tmp_path, of_classes(range(0, 300, 100)) + of_classes(range(0, 1200, 100)))
    assert run.attempts == 2
    assert {key.labels for key in run.data.series} == {(), (("repeat", "2"),), (("repeat", "3"),)}


def test_lines_of_two_kinds_restart_together(tmp_path: Path) -> None:
    """Rows of one kind are held back longer than those of the other: they are read in the order of steps."""
    lines = []
    for rows in (12, 14, 11, 13):
        for step in range(0, 10 * rows, 10):
            lines += [line(step), line(step).replace("loss", "loss_b")]
    run = read(tmp_path, lines)
    assert run.attempts == 4
    series = run.data.series[SeriesKey("loss_b")]
    assert [int((series.attempt == number).sum()) for number in range(4)] == [12, 14, 11, 13]


def test_a_writer_far_behind_is_another_process(tmp_path: Path) -> None:
    ahead = [f"Epoch: {79 + n // 20}/99 - Iter: {n % 20 + 1}/20 - loss: 0.5\n" for n in range(40)]
    behind = [f"Epoch: {1 + n // 20}/99 - Iter: {n % 20 + 1}/20 - loss: 0.9\n" for n in range(30)]
    run = read(
        tmp_path, ahead[:10] + [each for pair in zip(ahead[10:], behind, strict=True) for each in pair]
    )
    steps = {
        key.labels: series.step.tolist() for key, series in run.data.series.items() if key.metric == "loss"
    }
    assert run.attempts == 1
    assert steps == {(): [*range(1561, 1601)], (("process", "1"),): [*range(1, 31)]}


def test_a_process_that_is_soon_seen_to_go_on_was_no_launch(tmp_path: Path, reading: Any) -> None:
    """The epochs of the first process end at odd batches, and other text is before the second one."""
    first = [(epoch, batch) for epoch in range(1, 9) for batch in (*range(400, 3600, 400), 3632)]
    second = [(1, batch) for batch in range(400, 3600, 400)]
    lines = [f"(epoch: {epoch}, iters: {batch}, time: 0.2) G_GAN: 0.5\n" for epoch, batch in first[:-7]]
    lines.append("================ Training Loss (Sat Apr  7 04:02:38 2018) ================\n")
    lines += [
        f"(epoch: {epoch}, iters: {batch}, time: 0.2) G_GAN: 0.5\n"
        for pair in zip(first[-7:], second, strict=False)
        for epoch, batch in pair
    ]
    run = read(tmp_path, lines)
    assert run.attempts <= 3
    assert SeriesKey("G_GAN", (("process", "1"),)) in run.data.series
    content = "".join(lines).encode()
    complete = reading.read_complete("train.log", content)
    assert reading.read_growing("train.log", content, [*range(0, len(content), 97), len(content)]) == complete


def test_a_writer_that_is_an_epoch_behind_is_known_by_the_rows_that_its_epoch_lacks(
    tmp_path: Path, reading: Any
) -> None:
    """Four workers print each epoch once, with other lines between; their rows of the first ones are one."""
    epochs = [
        *[0] * 4,
        *[1] * 4,
        *[2] * 4,
        3,
        4,
        3,
        3,
        4,
        4,
        3,
        4,
        5,
        5,
        5,
        5,
        6,
        7,
        6,
        8,
        6,
        7,
        6,
        7,
        8,
        7,
        8,
        8,
    ]
    lines = [f"{'chose an item ' * (n % 7)}\n{e}/10, precision: {n}%\n" for n, e in enumerate(epochs)]
    lines = [line + f"epsilon: {n}.5\n" * (n % 3 == 0) for n, line in enumerate(lines)]
    run = read(tmp_path, lines)
    assert run.attempts == 1
    steps = {
        key.labels: series.step.tolist()
        for key, series in run.data.series.items()
        if key.metric == "precision"
    }
    assert steps.pop(()) == [*range(9)]
    assert steps == {
        **{(("repeat", f"{row}"),): [*range(3)] for row in (2, 3, 4)},
        **{(("process", f"{writer}"),): [*range(3, 9)] for writer in (1, 2, 3)},
    }
    content = "".join(lines).encode()
    complete = reading.read_complete("train.log", content)
    assert reading.read_growing("train.log", content, [*range(0, len(content), 97), len(content)]) == complete


def _values_of(run: Any, metric: str) -> dict[tuple[tuple[str, str], ...], list[float]]:
    return {key.labels: [*s.value] for key, s in run.data.series.items() if key.metric == metric}


@pytest.mark.parametrize("words", ["Train thread: {}", "Thread {} |", "[worker {}]", "Worker: {},"])
def test_the_number_of_a_thread_is_a_label(tmp_path: Path, words: str) -> None:
    order = ((0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 2, 1))
    lines = [
        f"{words.format(n)} step: {at * 50} critic loss: {at}.{n}\n"
        for at, numbers in enumerate(order, 1)
        for n in numbers
    ]
    run = read(tmp_path, lines)
    assert run.attempts == 1
    word = "thread" if "hread" in words else "worker"
    expected = {
        () if n == 0 else ((word, f"{n}"),): [float(f"{at}.{n}") for at in (1, 2, 3, 4)] for n in range(3)
    }
    assert _values_of(run, "critic loss") == expected
    assert {key.metric for key in run.data.series} == {"critic loss"}


def test_one_thread_alone_has_no_label(tmp_path: Path) -> None:
    run = read(tmp_path, [f"Thread 3 | step {n} | loss: {n}.5\n" for n in (1, 2, 3)])
    assert _values_of(run, "loss") == {(): [1.5, 2.5, 3.5]}


def test_lines_without_a_step_are_at_that_of_the_first_thread(tmp_path: Path) -> None:
    steps = [(0, 1), (1, 1), (1, 2), (0, 2), (1, 3), (1, 4), (0, 3), (1, 5), (0, 4)]
    lines = [
        f"Thread: {thread} step: {step} loss: {step}.{thread}\nscore 0.{at}, length {at}.5, reward {at}.25\n"
        for at, (thread, step) in enumerate(steps)
    ]
    run = read(tmp_path, lines)
    assert run.attempts == 1
    for name in ("score", "length", "reward"):
        of_name = [s for key, s in run.data.series.items() if key.metric == name]
        assert sorted(step for s in of_name for step in s.step.tolist()) == [1, 1, 1, 2, 2, 2, 3, 3, 4]
