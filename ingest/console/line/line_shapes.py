"""The shape of a line, that is its text without its numbers: what each number in such a line is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holter.ingest.console.line.line_counters import CounterField
from holter.ingest.console.line.line_tokens import value_of

_PARTS = frozenset({"stage", "phase"})


@dataclass(frozen=True, slots=True)
class MetricField:
    """A named number: its index among the numbers of a line, and by how much its unit multiplies it."""

    name: str
    index: int
    scale: float


@dataclass(frozen=True, slots=True)
class RowField:
    """A number before the metrics of a line that states which of several things they are of, and its name."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class LineShape:
    """The numbers in lines of one shape. `split` is the data they are about, e.g. "val"; "" for training.

    `is_record`: the line has metrics of a training or an evaluation. `is_summary`: it has those of the lines
    before, and counts nothing. `is_heading`: it begins with what it counts, so that it may be the position of
    the lines below.
    """

    counters: tuple[CounterField, ...]
    metrics: tuple[MetricField, ...]
    split: str
    is_record: bool
    is_summary: bool = False
    is_heading: bool = False
    is_amount: bool = False
    """What it counts is how many there are in all: `num_epochs: 50`."""
    stage: str = ""
    """The words around what it counts that name a part of the training: `FT Epoch [1/20]`."""
    part: str = ""
    """The name of the metric before it that numbers such a part: `Phase 1 epoch 20`."""
    kind: str = ""
    """The same for lines with metrics of the same names."""
    is_round: bool = False
    """It announces a round or an episode, and nothing else."""
    is_of_round: bool = False
    """It begins with a round, in which what else it counts may begin anew: `Round 2, epoch 0: loss 0.5`."""
    is_of_episode: bool = False
    """It counts episodes as `ep`, which may begin anew with each epoch: `Ep 10/40 | Reward: 1.05`."""
    is_report: bool = False
    """None of its metrics is a known one: lines with these may be below it."""
    has_rates_alone: bool = False
    """The same where its metrics are known, but nothing else than rates: `Epoch 3/100, lr: 0.01`."""
    row: RowField | None = None
    """What the line is about, if it is one of several: `Class 0: acc 0.5`."""
    about: tuple[str, str] | None = None
    """The same in words: `dataset: CIFAR, dice: 0.8`."""
    code: int = -1
    """The index of a number in brackets before its epoch, which may be a code: `[035420][Epoch 1/9]`."""
    may_recur: bool = False
    """It is no record by itself, but begins with what it counts and has signs between names and numbers."""
    is_settings: bool = False
    """It states settings, as the opening lines of a program do."""
    is_of_training: bool = False
    """It states that it is of the training."""
    is_of_evaluation: bool = False
    """The names of all its metrics state that they are of an evaluation."""
    data_ahead: str = ""
    """The data of an evaluation that its first metric is of, and maybe those without data in their names."""
    is_bar: bool = False
    """It is a progress bar without a total: `Epoch 1: : 0it [04:20, ?it/s, loss=1.33]`."""
    may_be_late: bool = False
    """An evaluation that names its step in brackets, and may be printed behind the bars of later ones."""
    is_note: bool = False
    """It notes what was done at an epoch, and announces none: `Checkpoint saved at epoch 10`."""
    is_end: bool = False
    """It states that an epoch is over, and nothing else: `Epoch 3 finished`."""
    is_best: bool = False
    """It repeats the metrics of the best step: `Best performance in epoch 3: auc: 0.9`."""
    is_tagged_best: bool = False
    """A tag before what it counts states it: it is the step's own line if that is the next one."""
    has_fractions: bool = False
    """A number that would count is measured, as its fraction shows: `step = 0.9`."""

    @property
    def client(self) -> str:
        """The number of the client that it names as one word, "" if it names none: `Client3 Test => `."""
        word, name = self.about or ("", "")
        return name if word == "client" and name.isdecimal() else ""

    @property
    def is_of_all(self) -> bool:
        """Whether it evaluates what several trained in a round: `Round 2 - test loss: 0.5`."""
        is_evaluated = bool(self.split) or self.is_of_evaluation
        return self.is_of_round and is_evaluated and len(self.counters) == 1


def part_before(counters: Sequence[CounterField], metrics: Sequence[MetricField]) -> str:
    """The name of the metric that numbers the part of the training in which a line counts, if any does."""
    ahead = (field for field in metrics if counters and field.index < counters[0].index)
    return next((field.name for field in ahead if field.name.lower() in _PARTS), "")


def measured_values(shape: LineShape, numbers: Sequence[str]) -> Iterator[tuple[MetricField, float]]:
    """The metrics of a line with their values in units of their own, as far as these are numbers."""
    for field in shape.metrics:
        value = value_of(numbers[field.index])
        if value is not None:
            yield field, value * field.scale
