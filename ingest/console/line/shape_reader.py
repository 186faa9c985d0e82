"""Reads what the numbers of a line are from the text around them: its shape.

Programs print the same few shapes over and over: which numbers count (epochs, batches, steps), which are
totals of these, which are metrics and by what names.
"""

from __future__ import annotations

import re
from dataclasses import replace
from zlib import crc32

from holter.ingest.console.line.codes_ahead import code_ahead
from holter.ingest.console.line.data_names import is_of_evaluation, names_data
from holter.ingest.console.line.episode_lengths import (
    REWARD,
    is_length,
    is_length_next_to_reward,
    is_length_of_other,
)
from holter.ingest.console.line.line_bests import (
    is_about_best,
    is_note,
    is_of_best,
    is_tagged_best,
    text_ahead,
)
from holter.ingest.console.line.line_counters import (
    COUNTS_DATA,
    OF_MEAN_WEIGHTS,
    Counter,
    CounterField,
    announces_timesteps,
    counter_of,
    counter_of_progress,
    heads_list,
    is_batch_of_epoch,
    is_behind_stage,
    is_epoch_before_batch,
    is_lone_batch,
    is_lone_step,
    is_percent_ahead,
    stage_of,
    states_amount,
)
from holter.ingest.console.line.line_data import (
    data_ahead,
    data_before,
    data_behind,
    data_of_dictionary,
    is_summary,
    tag_before,
)
from holter.ingest.console.line.line_fields import number_fields
from holter.ingest.console.line.line_metrics import LineMetrics, is_named_as_time, names_of
from holter.ingest.console.line.line_settings import (
    has_settings,
    is_of_model,
    is_setting,
)
from holter.ingest.console.line.line_shapes import (
    LineShape,
    MetricField,
    RowField,
    part_before,
)
from holter.ingest.console.line.line_subjects import subject_of, word_of_row
from holter.ingest.console.line.line_words import (
    BAR_BEHIND_PERCENT,
    DATA_SPLIT,
    ENDS,
    INDEX_WORDS,
    QUALIFIERS,
    ROUNDS,
)
from holter.ingest.console.line.lines_of_settings import (
    begins_with_size,
    is_line_of_settings,
    measures_more_than_rates,
)
from holter.ingest.console.line.logger_lines import logger_line
from holter.ingest.console.line.metric_fields import has_share, is_counted_share, is_metric, is_of_ratio
from holter.ingest.console.line.names_ahead import NAME_AHEAD, name_ahead
from holter.ingest.console.line.number_field import NumberField
from holter.ingest.console.line.number_lists import values_of_lists
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

_MANY_METRICS = 3
_MANY_AT_POSITION = 5
_BAR_WITHOUT_TOTAL = "it ["
"""What is behind the count of a progress bar that knows no total."""
_FRAMES = ("===", "---", "***", "###", "───", "═══", "━━━")
_FRAME = re.compile(r"\s{0,20}(?:={3}|-{3}|\*{3}|#{3}|─{3}|═{3}|━{3})")
_STATES_REASON = re.compile(r"(?i):? (?:reducing|adjusting) (?:the )?learning rate|,? (?:due to|because) ")
"""What is behind an epoch or a step of others than the training: of PyTorch's schedulers, which count epochs
on their own, and of notes such as `Early stopping at step 0 due to reaching max kl: 0.03`.
"""
_LOADED = re.compile(r"(?i)\b(?:initiali[sz]ed|load(?:ed|ing)|restor(?:ed|ing)|resum(?:e|ed|ing))\b")
"""Words of lines that state which checkpoint was loaded, and repeat what was measured at it."""
_LIST_OF_KEY = ('": [', "': [")
"""What begins a list in a dictionary: `{"step": [0, 1, 2], "loss": [5.0, 2.5, 1.7]}`."""
_MANNER = re.compile(r"(?i)[\[(](?:[a-z][\w-]{0,20} ){0,5}(?:with|using) [^\])\n]{0,40}$")
"""What is in brackets before a number that states how values were measured: ` (beam search with size = `."""
_CANDIDATE = re.compile(
    r"(?i)(?:solution|individual|chromosome|genome|genotype|genes?|(?:best|particle) position)$"
)
"""Names of what a search tries, no metrics where a list follows: `Best individual: [1, 0, 1]`."""
_DEVICE_OF_TENSOR = ", device='"
"""What is behind the number of a tensor: `tensor(2.3, device='cuda:0')`."""


NO_NUMBERS = LineShape((), (), "", is_record=False)
"""The shape of a line without numbers, or whose numbers are nothing."""
_SETTINGS = LineShape((), (), "", is_record=False, is_settings=True)

_BEFORE_ROW = re.compile(
    r"(?<![\w.@])([A-Za-z][\w@-]{0,40}(?: [\w@-]{1,40}){0,3}?) (?:for|of|on|in)(?: the)? ?$"
)
"""The name of a metric before what tells rows apart: `IoU for class 3: 0.5`."""
_ESTIMATED = re.compile(
    r"\bSaving dict for global step|['\"]_?type['\"]: ['\"](?:val|test|eval)_"
    r"|\b(?i:score|result)s? (?:for|of|on) (?:fold|split)\b"
)
"""What is before the metrics of an evaluation: of TensorFlow's estimators, `"_type": "val_epoch"`, a fold."""


class ShapeReader:
    """Reads the fields of a line from left to right, and what the line is by them."""

    def __init__(self, texts: tuple[str, ...], measured: frozenset[int]) -> None:
        self._texts = texts
        self._logger = logger_line(texts)
        self._measured = {*measured, *(self._logger.others if self._logger is not None else ())}
        """Numbers that count nothing, whatever their names."""
        self._is_framed = _FRAME.match(texts[0]) is not None and texts[-1].rstrip().endswith(_FRAMES)
        """Signs are around it: `=== RUN first STEP 500 @ 2026-01-02 ===`."""
        self._is_of_timesteps = announces_timesteps(texts)
        self._counters: list[CounterField] = []
        self._line = LineMetrics()
        self._axes: list[tuple[Counter, MetricField]] = []
        """What is counted, as metrics."""
        self._split = ""
        self._part = ""
        """The data of a part of the line: `[valid]` behind the numbers of the training."""
        self._row: RowField | None = None
        self._rows = 0
        self._of_row: re.Match[str] | None = None
        """The name before the row: `IoU for class 3: 0.5`."""
        self._stage = ""
        self._unnamed: CounterField | None = None
        """The first counter, if it has no name."""
        self._named_ahead = ""
        """The name before the epoch, if that stands between it and its number."""
        self._ratio: NumberField | None = None
        """The metric before, if it has a total."""
        self._lists = values_of_lists(texts)
        self._explains_manner = False
        """The brackets around a number state how the metric before it was measured."""
        self._is_known = False
        """A metric is known, or the line states clearly that it is one."""
        self._marked = 0
        """Metrics with a sign between name and number, but for times."""
        self._timed = 0
        """Times with one."""
        self._listed = 0
        """Metrics behind a comma, with nothing but the name between it and the number."""
        self._amounts = 0
        self._is_heading = self._is_stated = self._is_round = False

    @property
    def _metrics(self) -> list[MetricField]:
        return self._line.fields

    def read(self) -> LineShape:
        """The shape of the line."""
        for field in number_fields(self._texts):
            if not self._skip(field):
                self._add(field)
                self._ratio = field if field.total_index >= 0 and self._line.is_last(field.index) else None
        if is_line_of_settings(self._texts, self._counters, self._metrics, amounts=self._amounts):
            return _SETTINGS
        return NO_NUMBERS if self._is_position_of_other() else self._shape()

    def _skip(self, field: NumberField) -> bool:
        """Note the data that the text before a number is about; whether the number itself is nothing."""
        found = tag_before(in_english(field.before)) or data_of_dictionary(
            field.before, self._texts[field.index]
        )
        if found is not None:
            data = data_before(found)
            # `loss=1.9 | dev: acc=0.4`: what is before it is of the training
            is_part = bool(self._metrics and self._counters and found[2])
            if not (self._split or is_part) or (
                found[2] and not self._metrics and field.before.rstrip().endswith("]")
            ):
                self._split = data  # `main.py - train - [eval] loss: 0.5`
            self._part = data if self._metrics and found[2] and self._split != data else ""
        elif not self._split and _ESTIMATED.search(field.before + field.name):
            self._split = "eval"
        if self._is_of_manner(field):
            return True
        if not self._metrics and (name := word_of_row(field)):
            self._row = None if self._rows else RowField(name, field.index)
            self._of_row = _BEFORE_ROW.search(field.before)
            self._rows += 1
            return True
        if not field.name and BAR_BEHIND_PERCENT.match(self._texts[field.index]):
            return True  # the count of a bar, whether its drawing is empty or not
        if field.index and self._texts[field.index - 1] == "<" and field.before.strip() == ",":
            return True  # its speed: `[00:03<03:17, 2.51img/s]`
        # `Epoch 1 - Valid: 100%|####| [loss=0.5]`, of a bar
        if BAR_BEHIND_PERCENT.match(self._texts[field.index + 1]):
            found = DATA_SPLIT.fullmatch(field.english)
            self._split = self._split or (found[2] or "train" if found is not None else "").lower()
            return True
        return False

    def _is_of_manner(self, field: NumberField) -> bool:
        """Whether a number says in brackets how what is before was measured: `bleu: 27.3 (with beam = 4)`."""
        before = self._texts[field.index]
        if self._metrics and _MANNER.search(before) is not None:
            self._explains_manner = True
        elif "]" in before or ")" in before:
            self._explains_manner = False
        return self._explains_manner

    def _add(self, field: NumberField) -> None:
        """Add a number to what it is: a counter, a metric, or nothing."""
        before, behind = self._texts[field.index : field.index + 2]
        ahead = None if field.index in self._measured else name_ahead(field, self._texts)
        if ahead is not None:
            self._named_ahead = ahead.name
            field = replace(field, name=ahead.counted)
        first = -1 if field.name else self._lists.get(field.index, -1)
        if self._line.begins_list(first):
            self._line.add_behind(field, (before, behind), first)
            return
        is_list = behind.strip() == "," and before.endswith(_LIST_OF_KEY)  # of the steps of a history
        counter = None if is_list or field.index in self._measured else self._counter(field)
        if counter is not None:
            is_size = counter is Counter.BATCH and field.total_index < 0 and self._counts_no_epoch()
            # `[500/9000] loss 0.5 | batch 16`, `tick 3  lod 0.0  batch 16`
            if not (is_size and self._metrics):
                self._add_counter(field, counter)
        elif (
            not field.name
            and (field.marked or self._ends_behind_count(field))
            and self._is_behind_count(field)
        ):
            self._add_named_ahead(field)
        elif not field.name and field.marked and (name := self._name_of_row(field)):
            self._add_metric(replace(field, name=name))
        elif self._ratio is not None and is_of_ratio(field, self._ratio, self._texts):
            self._line.replace_last(field)
        elif self._is_mean_of_evaluation(field):
            self._line.add_mean(field)
        elif field.index in self._lists.values() and _CANDIDATE.search(field.name) is not None:
            pass
        elif is_metric(field) or is_counted_share(field, self._texts) or self._is_no_count(field):
            self._add_metric(field)

    def _is_behind_count(self, field: NumberField) -> bool:
        """Whether a number may have a name before what is counted; behind metrics if that is next to it."""
        if not (self._counters and self._metrics):
            return bool(self._counters)
        counted = self._counters[-1]
        return (
            self._metrics[-1].index < counted.index
            and max(counted.index, counted.total_index) == field.index - 1
        )

    def _ends_behind_count(self, field: NumberField) -> bool:
        """Whether a number without a sign ends the line behind what is counted: `loss at step 5 2.3`."""
        before, behind = self._texts[field.index : field.index + 2]
        is_last = not behind.strip() and len(self._texts) == field.index + 2
        return not before.strip(" ") and (is_last or behind.startswith(_DEVICE_OF_TENSOR))

    def _name_of_row(self, field: NumberField) -> str:
        """The metric that is named before the row of a number: `IoU for class 3: 0.5`; "" without one."""
        is_behind = self._row is not None and self._row.index == field.index - 1
        name = self._of_row[1] if is_behind and self._of_row is not None else ""
        return name if is_metric_name(name) else ""

    def _is_no_count(self, field: NumberField) -> bool:
        """Whether a number has the name of what counts, but counts nothing."""
        return field.index in self._measured and bool(field.name)

    def _is_mean_of_evaluation(self, field: NumberField) -> bool:
        """Whether a number in brackets is the mean of those of an evaluation: `val loss: 1.62 (1.58)`.

        Behind a share it may as well be how many were right, unless that is of the first ranks: `Acc@1`.
        """
        before, behind = self._texts[field.index : field.index + 2]
        is_behind = bool(self._metrics) and self._metrics[-1].index == field.index - 1
        if field.name or not (is_behind and before.strip(" ") == "(" and behind.startswith(")")):
            return False
        name = self._metrics[-1].name
        is_evaluated = (
            self._split not in ("", "train") or is_of_evaluation(name) or is_summary(self._texts[0], name)
        )
        return is_evaluated and is_metric_name(name) and ("@" in name or not field.explains)

    def _counter(self, field: NumberField) -> Counter | None:
        """What a number counts; the counter before it may turn out to be an epoch."""
        if self._logger is not None and field.index == self._logger.counted:
            return Counter.STEP  # of the logger, an episode as well
        counter = counter_of_progress(field, self._texts) or counter_of(field, self._counters)
        if counter is Counter.OTHER and self._is_of_timesteps:
            return Counter.STEP
        if counter is None and self._is_framed and not self._counters and field.name:
            counter = counter_of(replace(field, name=field.name.split()[-1]), [])
        if counter is None and (heads_list(field, self._texts) or self._is_before_measured_epoch(field)):
            return Counter.STEP
        if counter is None and is_percent_ahead(field, self._counters, self._texts):
            return Counter.STEP
        if counter is None and is_epoch_before_batch(field, self._texts):
            return Counter.EPOCH
        is_next = counter is None and not self._metrics
        if is_next and is_batch_of_epoch(field, self._counters, self._texts):
            counter = Counter.BATCH
        if counter is not None and is_of_best(self._metrics, field):
            return None
        if counter is Counter.EPOCH and is_behind_stage(field, self._counters, self._texts):
            self._counters.clear()
        if counter is Counter.STEP and is_length_of_other(
            field, self._counters, self._texts, has_metrics=bool(self._metrics)
        ):
            return None
        if self._metrics and field.english.lower() == "generation":
            return None  # `bleu: 16.5, generation: 1919.7[sec]`, how long it took
        return self._counter_behind_others(field, counter)

    def _counter_behind_others(self, field: NumberField, counter: Counter | None) -> Counter | None:
        """What a number counts by what is counted before it, which may turn out to be an epoch."""
        if len(self._counters) == 1 and self._counters[0] is self._unnamed:
            if counter is Counter.EPOCH and field.before.strip() == "*":  # `1/10 * Epoch 1 (train): `
                self._counters.clear()
                return counter
            if counter is Counter.STEP and has_share(self._counters[0].total_index, self._texts):
                self._counters.clear()
                return Counter.GLOBAL_STEP  # `1/3000 (  0.03%) itr: 5001`
            is_batch = counter is Counter.BATCH or (counter is Counter.STEP and field.name)
            if is_batch:  # `[0/300][10/1251]`, `[1/60] iter 10/445`
                self._counters[0] = self._unnamed = replace(self._counters[0], counter=Counter.EPOCH)
        if counter is Counter.STEP and self._is_length_behind(field):
            self._measured.add(field.index)
            return None
        if counter is Counter.STEP and is_length(field, self._counters):
            if field.english.lower().endswith("steps"):
                self._measured.add(field.index)
            return None
        if (
            counter is Counter.STEP
            and field.total_index >= 0
            and (is_lone_batch(self._counters) or is_lone_step(self._counters))
        ):  # `Train: [1/5] Step 50/335`, `iteration:3 step:20/150`
            self._counters[0] = replace(self._counters[0], counter=Counter.EPOCH)
        return counter

    def _is_before_measured_epoch(self, field: NumberField) -> bool:
        """Whether a number in brackets is the step at a part of an epoch: `[100] epoch=0.4, loss=0.5`."""
        return field.index + 1 in self._measured and self._texts[field.index + 1].startswith("] epoch")

    def _counts_no_epoch(self) -> bool:
        """Whether what the line counts first has no name, or is nothing that has batches."""
        first = next(iter(self._counters), None)
        return first is not None and (first is self._unnamed or first.counter is Counter.OTHER)

    def _is_length_behind(self, field: NumberField) -> bool:
        """Whether steps next to a reward are the length of an episode; before it they are if `ep` counts."""
        behind = self._texts[field.index + 1 :] if self._counts_ep() else ()
        return is_length_next_to_reward(field, self._counters, (*names_of(self._metrics), *behind))

    def _counts_ep(self) -> bool:
        """Whether what the line counts first is called `ep`, an epoch or an episode."""
        return bool(self._axes) and self._axes[0][1].name.lower() == "ep"

    def _is_epoch_of_part(self, field: NumberField, counter: Counter) -> bool:
        """Whether an epoch is that of other data of its line: `train epoch 1 loss 2 test epoch 1 loss 3`."""
        found = DATA_SPLIT.search(field.english) if counter is Counter.EPOCH and self._metrics else None
        if found is None or not found[2] or all(each.counter is not counter for each in self._counters):
            return False
        self._part = found[2].lower()
        return True

    def _add_counter(self, field: NumberField, counter: Counter) -> None:
        if self._is_epoch_of_part(field, counter):
            return
        if counter in (Counter.EPOCH, Counter.OTHER) and not self._line.has_name(field.name):
            name = "epoch" if not field.name or DATA_SPLIT.fullmatch(field.name) else field.name
            if field.total_index >= 0 and is_metric_name(name):
                name = name.rpartition(" ")[2]  # `Loss during epoch 3/10`
            self._line.note_name(name)
            self._axes.append((counter, MetricField(name, field.index, field.scale)))
        # `eval_epoch: 1,  loss is: 2.02`, `Epoch1-val_step2-loss=0.5`, but `eval_iters: 100` is a setting
        is_position = counter is Counter.EPOCH or bool(self._counters and not field.marked)
        name = field.english.replace("_", " ") if is_position else field.english
        of_means = OF_MEAN_WEIGHTS.search(name)
        name = OF_MEAN_WEIGHTS.sub("", name)
        if not self._split and (found := DATA_SPLIT.search(name)) is not None and found[2]:
            self._split = found[2].lower() if of_means is None else f"{found[2].lower()}/ema"
        is_first = not self._counters
        self._is_round |= is_first and _unqualified(field.english) in ROUNDS
        if counter in (Counter.EPOCH, Counter.STEP) and is_first and self._logger is None:
            self._stage = stage_of(field, self._texts[field.index + 1])
        self._amounts += states_amount(field) and not self._is_of_timesteps
        # `---- [Epoch 0/100, Batch 2/3] ----`, `[001/100] D: 0.6`
        begins_in_brackets = bool(field.name or field.total_index >= 0) and field.before.strip() in ("[", "(")
        is_behind_signs = is_first and not any(map(str.isalnum, field.before))  # `→ Epoch 1/7`
        is_clean = field.clean or self._is_framed or begins_in_brackets or is_behind_signs
        begins = is_first and not self._amounts and is_clean and not has_settings(names_of(self._metrics))
        self._is_stated |= begins
        # neither `[3/5] Loading the model` nor `num_updates: 50` is a position
        is_named = bool(field.name) and not field.name.startswith(("num_", "max_", "n_"))
        self._is_heading |= begins and is_named
        if counter is Counter.STEP and field.total_index < 0 and COUNTS_DATA.search(field.before):
            counter = Counter.BATCH  # `Iter(val) [500]`, a number of batches
        # `step : 6.25 % , loss : 2.2`
        is_percent = counter is Counter.STEP and is_first and field.total_index < 0 and self._is_share(field)
        if is_percent:
            counter = Counter.BATCH
        self._counters.append(
            CounterField(counter, field.index, field.total_index, field.scale, is_percent=is_percent)
        )
        if is_first and not field.name:
            self._unnamed = self._counters[0]

    def _is_share(self, field: NumberField) -> bool:
        """Whether a per cent sign follows a number and no bar."""
        behind = self._texts[field.index + 1].lstrip()
        return behind.startswith("%") and BAR_BEHIND_PERCENT.match(behind) is None

    def _add_named_ahead(self, field: NumberField) -> None:
        """Add a number whose name is before what is counted: `loss at step 5: 2.3`, `Val loss [5]: 2.3`.

        What is before a metric is of that: `time 1.5, loss at step 5: 2.3`.
        """
        first = self._metrics[-1].index + 1 if self._metrics else 0
        before = self._texts[first : self._counters[-1].index + 1]
        ahead = next(filter(None, map(NAME_AHEAD.search, before)), None)
        name = self._named_ahead or ("" if ahead is None else ahead[1])
        is_new = bool(name) and not self._line.has_name(name)
        if is_new and (is_metric_name(name) or self._split not in ("", "train")):
            self._line.add_named_ahead(field, name)
            self._is_known = True

    def _add_metric(self, field: NumberField) -> None:
        is_named = DATA_SPLIT.search(field.english) or names_data(field.name)
        is_of_part = self._part and not is_named
        stated = f"{self._part}/{field.name}" if is_of_part else field.name
        if stated.lower() == "best" and (of := self._line.measured_before(field, self._texts)):
            stated = f"best/{of}"  # `acc 0.81 (best 0.84)`
        name = self._line.add(field, stated)
        if self._part and field.before.endswith(f"({self._part})"):
            self._part = ""  # it was that of one name: `Loss(train): 0.5, Loss(val): 0.4, alpha: 0.1`
        # `Epoch 3, train = 0.5, val = 0.6`
        is_clear = (self._is_stated and field.marked) or (bool(self._counters) and field.clean)
        self._is_known |= is_metric_name(name) or (is_clear and _is_of_data(field))
        self._marked += field.marked and not is_named_as_time(name)
        self._timed += field.marked and is_named_as_time(name)
        self._listed += field.before.rstrip().endswith(",")

    def _is_position_of_other(self) -> bool:
        """Whether the line states where a checkpoint is from, or why a scheduler or a program stopped."""
        texts, counters = self._texts, self._counters
        if _LOADED.search(text_ahead(texts, counters)) is not None:
            return True
        return bool(counters) and _STATES_REASON.match(texts[counters[0].index + 1]) is not None

    def _correct_unnamed_counter(self) -> None:
        """Take a first counter without a name for what it is by those behind it."""
        texts, counters = self._texts, self._counters
        named = {each.counter for each in counters if each is not self._unnamed}
        if len(counters) > 2 and self._unnamed is not None and Counter.EPOCH in named:
            counters.remove(self._unnamed)  # `(0/8)`, a rank, before the epoch and the batch
        if counters == [self._unnamed] and has_share(counters[0].total_index, texts) and "[" in texts[0]:
            counters[0] = replace(counters[0], counter=Counter.BATCH)  # `[3200/60000 (5%)]`, of the data

    def _is_record(self, *, measures: bool) -> bool:
        """Whether the line has metrics at a position; `measures`: they are known to be metrics."""
        counters, metrics = self._counters, self._metrics
        marked = self._marked if self._is_stated else 0
        is_report = _is_report(counters, metrics, marked=marked, is_stated=self._is_stated)
        is_record = bool(counters) and bool(metrics) and (measures or is_report)
        if len(counters) == 1 and begins_with_size(counters):  # `15000 iters, batch 64, lr 0.0002`
            is_record &= measures_more_than_rates(names_of(metrics))
        return is_record

    def _may_recur(self, names: list[str]) -> bool:
        """Whether the line begins with what it counts, and has signs before its numbers, no settings."""
        # `Updates 3, num timesteps 6400, FPS 81`
        is_named = self._marked + self._timed > 0 or (len(self._counters) > 1 and self._listed > 0)
        may_recur = self._is_stated and is_named and not has_settings(names) and not self._states_amount()
        return may_recur and not all(map(is_of_model, names))  # `Step / patience: 30 / 0` is a heading

    def _states_amount(self) -> bool:
        """Whether all that is counted is called a count: `<answer>: count=1, position=40`."""
        words = [self._texts[each.index].rstrip(" :=(").rpartition(" ")[2] for each in self._counters]
        return all(word.lower() == "count" for word in words)

    def _metrics_about(self, split: str, about: tuple[str, str] | None) -> list[MetricField]:
        """The metrics, with what else counts, and without what the line is about in their names."""
        metrics = self._metrics
        if len(self._counters) > 1:  # what else counts is an axis that people may want
            axes = [axis for counter, axis in self._axes if not (split and counter is Counter.EPOCH)]
            metrics = [*axes, *metrics]  # the epochs of evaluations are those of the training
        if about is not None:  # `Category: person Accuracy 0.2`
            metrics = [replace(field, name=field.name.removeprefix(f"{about[1]} ")) for field in metrics]
        return metrics

    def _shape(self) -> LineShape:
        texts, counters = self._texts, self._counters
        names = names_of(self._metrics)
        self._correct_unnamed_counter()
        if not self._split:
            self._split = data_behind(texts[-1], is_heading=bool(counters) and not names)
        split = "" if self._split == "train" else self._split
        measures = self._is_known or (bool(split) and not has_settings(names))
        is_record = self._is_record(measures=measures)
        has_means = not counters and bool(names) and (bool(split) or is_summary(texts[0], names[0]))
        about = subject_of(texts) if names or counters else None
        metrics = self._metrics_about(split, about)
        counted = [field.counter for field in counters]
        return LineShape(
            counters=tuple(counters),
            metrics=tuple(metrics),
            split=split,
            is_record=is_record,
            is_summary=has_means,
            is_heading=self._is_heading,
            is_amount=self._amounts > 0,
            stage=self._stage,
            part=part_before(counters, self._metrics),
            kind=str(crc32("\n".join(names_of(metrics)).encode())),
            is_round=self._is_round and self._is_heading and len(counters) == 1,
            is_of_round=self._is_round and self._is_heading,
            is_of_episode=len(counters) == 1 and self._counts_ep() and any(map(REWARD.search, names)),
            is_report=is_record and not measures,
            has_rates_alone=is_record and measures and all(map(is_setting, names)),
            is_of_training=self._split == "train",
            is_of_evaluation=bool(names) and all(map(is_of_evaluation, names)),
            data_ahead=data_ahead(counters, metrics) if is_record and not split else "",
            row=self._row,
            about=about,
            code=code_ahead(texts, counters),
            may_recur=not (is_record or split) and self._may_recur(names),
            is_bar=_BAR_WITHOUT_TOTAL in texts,
            may_be_late=bool(split)
            and counted == [Counter.STEP]
            and counters[0].total_index == -1
            and texts[0].lstrip().startswith("["),
            is_note=counted == [Counter.EPOCH] and is_note(texts, counters[0]),
            is_end=counted in ([Counter.EPOCH], [Counter.STEP])
            and not names
            and ENDS.search("".join(texts)) is not None,
            is_best=is_about_best(texts, counters),
            is_tagged_best=is_tagged_best(texts, counters),
        )


def _is_of_data(field: NumberField) -> bool:
    """Whether nothing but the data is the name of a metric."""
    return DATA_SPLIT.fullmatch(field.english) is not None


def _is_report(
    counters: list[CounterField], metrics: list[MetricField], *, marked: int, is_stated: bool
) -> bool:
    """Whether unknown names are of metrics: none is that of a setting.

    One with a sign is enough in a line that begins with an epoch or names an evaluation, else three; `marked`
    is how many there are in a line that begins with what it counts. Three without are enough with an epoch
    and its batch, five in any line that `is_stated` to be at a position.
    """
    counted = {field.counter for field in counters}
    several = len(metrics) >= (_MANY_METRICS if len(counted) > 1 else _MANY_AT_POSITION)
    several &= len(counted) > 1 or is_stated
    is_clear = Counter.EPOCH in counted or any(is_of_evaluation(field.name) for field in metrics)
    is_marked = marked >= (1 if is_clear else _MANY_METRICS)
    return (is_marked or several) and not has_settings(field.name for field in metrics)


def _unqualified(name: str) -> str:
    """A name in lower case without what qualifies it: `Round number`, `Running generation`."""
    words = name.lower().split()
    if words[1:] and words[-1].rstrip(".:") in INDEX_WORDS:
        words.pop()
    return " ".join(word for word in words if word not in QUALIFIERS)
