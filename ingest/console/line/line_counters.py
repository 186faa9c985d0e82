"""What a number in a line counts, if it counts anything: epochs, batches, steps, or something else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from holter.ingest.console.line.line_settings import has_settings
from holter.ingest.console.line.line_words import (
    BATCHES,
    BEFORE_MESSAGE,
    DATA_SPLIT,
    DURATIONS,
    EPOCHS,
    GLOBAL,
    INDEX_WORDS,
    NOT_METRICS,
    OF_SEVERAL,
    OTHERS,
    QUALIFIERS,
    STATISTICS,
    STEPS,
)
from holter.ingest.console.line.number_field import NumberField
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

COUNTS_DATA = re.compile(r"\((?:val|test|eval)\)\s*$", re.I)
OF_MEAN_WEIGHTS = re.compile(r"(?i)(?: ?\(ema\)|[ _]ema)$")
"""Words behind the data for an evaluation of the means of the weights: `Test (EMA): [ 0/24]`."""
_WRITER = re.compile(r"(?:rank|gpu|worker|node|proc(?:ess)?)\d+")
_RATES = DURATIONS | {"per", "rate"}
"""Words before `step` or `iteration` in the names of what is measured in one: `fps step: 12000`."""
_CADENCE = re.compile(
    r"(?:LOG|PRINT|SAVE|EVAL|TEST|VAL|FIND|SNAPSHOT|CHECKPOINT|SUMMARY|WARMUP|NUM|MAX)(?:_[A-Z]+)+"
    r"|(?:BEGIN|START|END|STOP)_[A-Z]+|(?:begin|start|end|stop)_(?:epoch|step|iter|iteration)"
)
"""Settings of when or how often something is done: `LOG_STEP: 10`, `END_EPOCH: 200`, `NUM_ITER: 200`."""
_INDICES = frozenset({"i", "idx", "index"})
"""Names of what counts right behind an epoch."""
_LISTINGS = frozenset({"metrics", "report", "result", "results", "statistics", "stats", "summary"})
"""Words behind the data of a line for what it prints of these: `Validation Summary Epoch: [1]`."""
_STAGES = frozenset({"pretrain", "pretraining", "finetune", "finetuning", "warmup"})
"""Words before an epoch that is that of a part of the training: `Pretrain Epoch: 3`."""
_OF_OTHER_EPOCHS = frozenset({"best", "early", "first", "last", "previous", "resume", "resumed", "stop"})
"""Words before an epoch that is not that of the line: `best epoch: 3, batch: 20`."""
_STAGE = r"(?<![\w-])((?i:(?:[a-z]{1,20} )?(?:pre-?train(?:ing)?|fine-?tun(?:e|ing)|warm-?up)))"
_STAGE_BEFORE = re.compile(rf"{_STAGE}[\])]?[ \t]?[:|,-]?[ \t]{{0,4}}$")
_STAGE_BEHIND = re.compile(rf"[ \t]?[(\[]{_STAGE}[)\]]")
"""The same in other places: `[Pretrain] epoch 1`, `Epoch 1 (warm-up)`."""
_COUNT_OTHERS = NOT_METRICS | {"patience", "correct"}
"""Words before a number and its total that are no batch of an epoch: `Epoch 3, patience 2/10`."""
_INDEX = re.compile(
    "(" + "|".join(sorted((STEPS | BATCHES | EPOCHS) - {"it", "up"})) + ")(num|idx|index|id|no|nr)"
)
"""A word that counts with one for an index right behind it."""
_BETWEEN_STEP_AND_EPOCH = re.compile(r"\] epoch ?[=:] ?")
_AROUND_NUMBER = 2
"""Texts of a line with one number."""
_AROUND_HEADING = " \t\r\n:=#-*[]"
_LEAST_WITH_BATCH = 4
"""Texts of a line with an epoch, a batch, its total and a name."""
_NAME_AND_SIGN = re.compile(r"[ \t]{1,8}[A-Za-z_][\w./@-]{0,60} ?[=:] {0,8}")
_UNIT = re.compile(r"[ \t]{1,4}([A-Za-z]{1,20})\b")
"""The word right behind a number."""
_DIGITS_OF_SHARE = 3
_SEPARATORS = str.maketrans("_/-.", "    ")


class Counter(IntEnum):
    """What a number counts, the most reliable axis first."""

    GLOBAL_STEP = 0
    STEP = 1
    BATCH = 2
    """Batches within an epoch."""
    EPOCH = 3
    OTHER = 4
    """Time steps of an environment, samples, images, rounds: the axis of lines without any other."""

    __hash__ = int.__hash__  # that of enumerations is slow, and counts are looked up for every line


_MEASURED = (Counter.STEP, Counter.BATCH)
"""What is no count where it has a fraction."""


@dataclass(frozen=True, slots=True)
class CounterField:
    """A number that counts: its index among the numbers of a line, and that of its total, -1 without one."""

    counter: Counter
    index: int
    total_index: int
    scale: float
    is_percent: bool = False
    """It is a part of the epoch: `step : 6.25 %`."""


def counter_of(field: NumberField, before: list[CounterField]) -> Counter | None:
    if not field.name:
        return _unnamed_counter(field, before)
    if _CADENCE.fullmatch(field.name) is not None and field.total_index < 0:
        return None
    if field.name == "count" and field.marked and not field.index and field.total_index < 0:
        return Counter.STEP  # `count: 50, loss:675.15`
    is_in_bracket = field.before.rstrip(" ")[-1:] in ("(", "[")
    if field.name == "global" and is_in_bracket and before and before[-1].counter is Counter.STEP:
        return Counter.GLOBAL_STEP  # `phase 1 step 20 (global 520)`
    if not before and field.total_index >= 0 and field.before.strip() in ("", "]", "|"):
        # `Evaluated 10/287 with loss 0.5`, `train 10/30 loss 0.5`
        found = DATA_SPLIT.fullmatch(field.english)
        if found is not None and not field.bracketed and (not field.marked or field.precedes_loss):
            return Counter.BATCH
    if field.precedes_loss and not before and _is_part_of_training(field):
        return Counter.EPOCH  # `Fine-tuning 2 / 10, Loss: 0.5`
    if field.marked and not before and DATA_SPLIT.fullmatch(OF_MEAN_WEIGHTS.sub("", field.english)):
        if field.opens_batches:
            return Counter.EPOCH  # `Train: 0 [50/125`, `Train: [0/300][50/125]`
        return Counter.BATCH if field.total_index >= 0 and field.bracketed else None  # `Test: [0/24]`
    is_in_brackets = field.bracketed and not field.before.strip()
    if not before and field.total_index >= 0 and (is_in_brackets or field.before.endswith("[")):
        # `[Train 10/1882] {'loss': 0.5}`, `train (1/5) loss: 0.5`
        found = DATA_SPLIT.fullmatch(field.english)
        if found is not None:
            return Counter.BATCH if found[2] else Counter.STEP
    if not before and field.before.endswith("[") and field.scale > 1 and DATA_SPLIT.fullmatch(field.english):
        return Counter.STEP  # `[eval 10k] score 9.3`
    is_in_epoch = [each.counter for each in before] == [Counter.EPOCH]
    if is_in_epoch and not field.marked and field.total_index >= 0 and DATA_SPLIT.fullmatch(field.english):
        return Counter.BATCH  # `epoch 1, train 20/100`
    if is_in_epoch and field.name.lower() in _INDICES and field.index == before[0].index + 1:
        return Counter.BATCH  # `[Epoch: 1, i: 20] loss: 0.5`
    words = field.english.lower().translate(_SEPARATORS).split()
    if words and (compound := _INDEX.fullmatch(words[-1])) is not None:  # `batchnum`
        words[-1:] = [compound[1], compound[2]]
    if words[-1:] == ["i"] and words[-2:-1] == ["batch"] and not before:
        return Counter.STEP  # `batch i:20, episode_len:28`, which continue
    if _ends_in_index(words) or (field.total_index >= 0 and words[1:] == ["count"]):  # `batch count 20/400`
        words.pop()
    if not words:
        return None
    # who prints, and of which data, is not what is counted: `@rank0 Epoch: 3`, `Validating Epoch: 3`
    words = _without_writer_and_data(words[:-1]) + words[-1:]
    last = words[-1].rstrip(".")
    if words == ["gen"] and not (before or field.index or field.marked):
        return Counter.OTHER  # `Gen 3: best 0.5`
    if " ".join(words) in GLOBAL or (words == ["update"] and field.bracketed and not before):
        return Counter.GLOBAL_STEP
    is_stated = field.total_index >= 0 or field.before.strip() == "["
    if words == ["run"] and field.bracketed and not before:
        return Counter.STEP  # `run [50]:`
    if last == "e" and is_stated and not (field.marked or before):
        return Counter.EPOCH  # `E1/6: loss=0.5`, `[E01] loss=0.5`
    if not set(words[:-1]) <= QUALIFIERS:
        # `==> run_model epoch:0 loss:0.5`, but `stop epoch: 30` is a setting
        precedes = field.precedes_loss or (field.precedes_batch and _OF_OTHER_EPOCHS.isdisjoint(words))
        is_stated = not field.marked or field.total_index >= 0 or words[0] in _STAGES or precedes
        is_rate = not _RATES.isdisjoint(words)
        is_epoch = last in ("epoch", "epochs")
        if last == "ep" and STATISTICS.isdisjoint(words):  # `LSTM ep=5 train_loss=0.4`, not `as of ep 5`
            is_epoch = field.total_index >= 0 or field.precedes_loss
        announces = is_epoch and not before and is_stated
        is_in_epoch = [each.counter for each in before] == [Counter.EPOCH] and field.total_index < 0
        if is_in_epoch and last in BATCHES and not (is_rate or has_settings([field.name])):
            return Counter.BATCH  # `Epoch  1, CIFAR-10 Batch 2:  Loss: 1.67`
        is_first = not (before or field.before.strip() or field.is_duration or is_rate)
        is_of_stage = not _STAGES.isdisjoint((words[0], "".join(words[:2])))  # `warm-up`
        is_of_stage &= field.total_index >= 0 or field.precedes_loss
        if is_first and is_of_stage and last in STEPS:
            return Counter.STEP  # `warmup step 10/300 loss 0.5`, but `warmup step: 300` is a setting
        is_iteration = last in ("iteration", "step") or (last in ("iter", "itr") and not field.marked)
        if is_first and is_iteration:
            return None if has_settings([field.name]) else Counter.STEP  # `Optimization Iteration: 101`
        is_stage = words[0] in _STAGES and last == "epoch" and not (field.marked and field.total_index < 0)
        return Counter.EPOCH if announces and (is_stage or not has_settings([field.name])) else None
    if field.is_duration:
        return None
    if " ".join(words[-2:]) in GLOBAL or last == "globalstep":
        return Counter.GLOBAL_STEP
    if (last in STEPS and "total" not in words) or (last == "progress" and field.total_index >= 0):
        is_epoch = field.bracketed and field.opens_batches and field.total_index < 0 and not before
        return Counter.EPOCH if is_epoch else Counter.STEP  # `Iter: [0][50/391]`
    forms = {last, last.removesuffix("s")} if field.total_index >= 0 else {last}  # `Episodes 20/50`
    if field.total_index >= 0 and last in OF_SEVERAL and not before:
        return Counter.OTHER
    return _counter_of_word(forms)


def counter_of_progress(field: NumberField, texts: tuple[str, ...]) -> Counter | None:
    """What a progress counts, where the word behind its total states that: `Progress: 70/500 episodes`."""
    if field.total_index < 0 or field.english.lower() != "progress":
        return None
    unit = _UNIT.match(in_english(texts[field.total_index + 1]))
    return None if unit is None else _counter_of_word({unit[1].lower(), unit[1].lower().removesuffix("s")})


def _counter_of_word(forms: set[str]) -> Counter | None:
    """What a word in any of these forms counts, other than steps."""
    for members, counter in ((BATCHES, Counter.BATCH), (EPOCHS, Counter.EPOCH), (OTHERS, Counter.OTHER)):
        if not forms.isdisjoint(members):
            return counter
    return None


def _is_part_of_training(field: NumberField) -> bool:
    """Whether a number with a total is right behind the name of a part of the training, at the beginning."""
    is_first = field.total_index >= 0 and not (field.marked or field.index or field.before.strip())
    return is_first and field.english.lower().rpartition(" ")[2].replace("-", "") in _STAGES


def is_percent_ahead(field: NumberField, counters: list[CounterField], texts: tuple[str, ...]) -> bool:
    """Whether a line begins with how much of an epoch is done: `[ 20%] Epoch 1, Loss: 0.5`."""
    if field.name or counters or field.index or field.total_index >= 0:
        return False
    behind = texts[1].lstrip()
    return field.bracketed and behind.startswith(("%]", "%)")) and not field.before.strip(" [(")


def _ends_in_index(words: Sequence[str]) -> bool:
    """Whether the word for what is counted has one for an index behind it: `epoch number`, `batch_idx`."""
    return len(words) > 1 and words[-1].lower().rstrip(".:") in INDEX_WORDS


def _without_writer_and_data(words: Sequence[str]) -> list[str]:
    """Words before one that counts, without who prints, and what is printed of which data.

    `Validation Summary Epoch: [1]`; without data a summary may be what is counted.
    """
    rest: list[str] = []
    behind_data = False
    for word in words:
        is_data = DATA_SPLIT.fullmatch(word) is not None
        is_listing = behind_data and word.lower() in _LISTINGS
        if not (is_data or is_listing or _WRITER.fullmatch(word.lower()) is not None):
            rest.append(word)
        behind_data = is_data
    return rest


def _unnamed_counter(field: NumberField, before: list[CounterField]) -> Counter | None:
    """What a number without a name counts: `[10/445]`, `Epoch 2, 50/725;`, `12/31, train_loss: 0.6`."""
    if field.total_index >= 0 and field.follows_percent and len(before) <= 1:
        return Counter.BATCH if before else Counter.STEP  # `Training [===>  ] 8.5% 5000/58874 | loss=3.9`
    in_epoch = any(counter.counter is Counter.EPOCH for counter in before)
    if in_epoch and field.closes_pair:
        return Counter.BATCH
    counted = field.total_index >= 0 and (field.bracketed or field.follows_percent) and not field.explains
    if in_epoch:
        is_next = field.total_index >= 0 and len(before) == 1 and not field.explains
        follows = is_next and not field.before.strip(" \t,:;|-(")
        return Counter.BATCH if counted or field.adjacent or follows else None
    if not before:
        if field.opens_pair:
            return Counter.EPOCH
        is_first = BEFORE_MESSAGE.fullmatch(field.before) is not None
        begins = field.total_index >= 0 and field.index == 0 and is_first
        return Counter.STEP if counted or begins or field.ends_line else None
    # `[0/300][10/1251]`, `[1/50] #10`
    return Counter.BATCH if (counted or not field.bracketed) and field.adjacent and len(before) == 1 else None


def is_batch_of_epoch(field: NumberField, counters: list[CounterField], texts: tuple[str, ...]) -> bool:
    """Whether a number right behind the epoch is its batch: with a total, whatever the word for one is.

    `Epoch: 1 dl: 20/302 Loss: 5.6`, `Epoch [1/10], Sample [2/5], Loss: 2.1`. So is the per cent of the epoch
    where the batch is left out: `Train Epoch: 1 (25%)]`.
    """
    if [each.counter for each in counters] != [Counter.EPOCH]:
        return False
    if not field.name:
        return field.bracketed and texts[field.index + 1].startswith("%)]")
    is_counted = field.total_index >= 0 and (field.marked or field.bracketed or field.clean)
    is_counted &= not field.before.endswith("#")  # `Epoch 3 #moves: 20/40`, how many there were
    is_count = field.english.lower().split()[-1] not in _COUNT_OTHERS
    return is_counted and is_count and not is_metric_name(field.name)


def is_behind_stage(field: NumberField, counters: list[CounterField], texts: tuple[str, ...]) -> bool:
    """Whether the step before an epoch is that of a stage of the training, as in `[15-1 / step 0] Epoch 3, `.

    It is within brackets that state more, and the number behind the epoch has a total: it counts the batches.
    """
    if [each.counter for each in counters] != [Counter.STEP] or counters[0].total_index >= 0:
        return False
    step, behind = counters[0].index, max(field.index, field.total_index) + 1
    is_next = step == field.index - 1 and texts[field.index].lstrip().startswith("]")
    is_first = not step or any(sign in texts[step] for sign in "[]") or "[" not in "".join(texts[:step])
    return is_next and not is_first and texts[behind + 1 : behind + 2] == ("/",)


def announces_timesteps(texts: tuple[str, ...]) -> bool:
    """Whether a line is nothing but the steps of an environment so far, at which the values below it are.

    `Num timesteps: 2000`, `2000 timesteps`; how many there are in all is stated in other words.
    """
    if len(texts) != _AROUND_NUMBER:
        return False
    before, behind = (text.strip(_AROUND_HEADING).lower() for text in texts)
    return (before, behind) in (("num timesteps", ""), ("timestep", ""), ("", "timesteps"))


def heads_list(field: NumberField, texts: tuple[str, ...]) -> bool:
    """Whether a number of updates begins a list of numbers: `Actor updates 3, num timesteps 640`."""
    begins = not (field.index or field.marked or field.before.strip())
    is_of_updates = field.english.lower().rpartition(" ")[2] in ("update", "updates")
    return begins and is_of_updates and len(texts) > 2 and texts[1].startswith(", ")


def is_epoch_before_batch(field: NumberField, texts: tuple[str, ...]) -> bool:
    """Whether a line begins with an epoch, its batch and their total: ` 72  100 /  320 loss = 0.15`."""
    if field.index or field.name or field.marked or len(texts) <= _LEAST_WITH_BATCH:
        return False
    before, behind, total, name = texts[:_LEAST_WITH_BATCH]
    is_alone = not (before.strip() or behind.strip(" \t"))
    return is_alone and total.strip() == "/" and _NAME_AND_SIGN.fullmatch(name) is not None


def measured_counts(counters: Sequence[CounterField], numbers: Sequence[str]) -> frozenset[int]:
    """The indices of numbers that look like counts, but are measured, as their fractions show.

    `xnorm = 3.2, step = 0.9` has the length of a step, `ep=2300 r=40.4 steps=112.0` a mean beside a count.
    So is a sensitivity behind another share, `acc: 0.8112 sen: 0.7345`, which may also count sentences.
    Right behind its epoch a step without a part is one: `Epoch 0 step 100.0 loss: 5.2`.
    """
    shares = frozenset(
        field.index
        for field in counters
        if field.counter is Counter.OTHER
        and field.index > 0
        and field.scale == 1
        and len(numbers[field.index].partition(".")[2]) >= _DIGITS_OF_SHARE
    )
    if shares:
        return shares
    fractions = frozenset(
        field.index
        for at, field in enumerate(counters)
        if (field.counter in _MEASURED or _is_first_of_others(field, numbers))
        and "." in numbers[field.index].rstrip(".")  # `Step: 100... Loss: 2.5` has none
        and field.scale == 1
        and not field.is_percent
        and not _is_whole_step_of_epoch(field, counters[at - 1] if at else None, numbers)
    )
    if len(fractions) < len(counters):
        return fractions  # all of them beside a number that counts
    return frozenset(index for index in fractions if numbers[index].rpartition(".")[2].strip("0"))


def _is_first_of_others(field: CounterField, numbers: Sequence[str]) -> bool:
    """Whether a line begins with what its name may also measure: `Gen 0.52, Disc 0.61`, no `frames 1.5e6`."""
    return field.counter is Counter.OTHER and not field.index and "e" not in numbers[0].lower()


def _is_whole_step_of_epoch(field: CounterField, before: CounterField | None, numbers: Sequence[str]) -> bool:
    """Whether a number right behind an epoch has nothing but a zero behind its point."""
    if before is None or before.counter is not Counter.EPOCH:
        return False
    is_next = field.index == max(before.index, before.total_index) + 1
    return is_next and numbers[field.index].rpartition(".")[2] == "0"


def epoch_behind_step(counters: Sequence[CounterField], parts: Sequence[str]) -> frozenset[int]:
    """The index of an epoch with a fraction right behind a number in brackets, which is the step then.

    `[100] epoch=0.4, loss=0.5`; in `[0] epoch=4, loss=0.5` it may be a rank.
    """
    return frozenset(
        field.index
        for field in counters
        if field.counter is Counter.EPOCH
        and "." in parts[2 * field.index + 1].rstrip(".")
        and _BETWEEN_STEP_AND_EPOCH.fullmatch(parts[2 * field.index]) is not None
        and parts[2 * field.index - 2].endswith("[")
    )


def is_lone_batch(counters: list[CounterField]) -> bool:
    """Whether nothing but a batch with a total was counted: steps with a total are within it, an epoch."""
    return len(counters) == 1 and counters[0].counter is Counter.BATCH and counters[0].total_index >= 0


def is_lone_step(counters: list[CounterField]) -> bool:
    """Whether nothing but a step without a total was counted: steps with a total are within it."""
    return len(counters) == 1 and counters[0].counter is Counter.STEP and counters[0].total_index < 0


def stage_of(field: NumberField, behind: str) -> str:
    """The part of a training that a line is of, as the words around the one that counts state.

    These are words before it that do not qualify it, `FT epoch 1`, or such as `[Pretrain] epoch 1` and
    `epoch 1 (warmup)`; `behind` is the text behind its number.
    """
    counted = field.english.split()
    if _ends_in_index(counted):  # `iteration index: 3` is no part of a training
        counted.pop()
    words = _without_writer_and_data(counted[:-1])
    if words and is_metric_name(words[-1]):  # `Train loss epoch 3: 0.5`
        return ""
    if not {word.lower() for word in words} <= QUALIFIERS:
        return " ".join(words)
    stage = _STAGE_BEFORE.search(in_english(field.before)) or _STAGE_BEHIND.match(behind)
    return "" if stage is None else stage[1]


def states_amount(field: NumberField) -> bool:
    """Whether a number states how many there are: `num_epochs: 50`, `train tokens = 2,000,000`."""
    name = field.english.lower()
    if name.startswith("global"):
        return False  # `Global Steps: 100`
    is_of_data = name.startswith(("train", "num")) and name.endswith(("tokens", "samples"))
    return field.total_index < 0 and (is_of_data or name.endswith(("epochs", "steps", "iters", "iterations")))
