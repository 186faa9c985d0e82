"""Lines whose numbers are known by their places or by letters, as those of darknet, Kaldi, VITS and DrQ.

The numbers stand before their names, without any or with one letter each, or the step is a per cent.
"""

from __future__ import annotations

import re
from math import isnan

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.dialects.flower_history import HISTORY
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.plain.metrics_of_epoch import parse_metrics_of_epoch
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.announced_steps import note_heading
from holter.ingest.console.steps.evaluation_steps import evaluation_step
from holter.ingest.console.steps.positions import position
from holter.ingest.console.steps.step_axis import training_step
from holter.ingest.console.text.values import parse_number, parse_numbers, parse_time

_DARKNET = re.compile(
    r"^\s*(\d{1,12})(?:, (?P<epoch>\d{1,9}\.\d{1,9}))?: "
    r"(?P<loss>[-+.\w]{1,30}), (?P<avg_loss>[-+.\w]{1,30}) avg(?: loss)?, "
    r"(?P<rate>[-+.\w]{1,30}) rate, (?P<seconds>[-+.\w]{1,30}) seconds, (?P<images>\d{1,15}) images"
)
_REGION = re.compile(
    r"(?P<part>Region(?: \d{1,4})?|Detection) (?P<figures>Avg \(?IOU: .{1,400}?)(?:, {1,4}count:.{0,400})?$"
)
_FIGURE = re.compile(r"(?:^|, )((?:Avg )?\(?[.\w][\w ]{0,20}): (-?[\d.]{1,20}|-?nan)\)?(?=,|$)")
_MOST_FIGURES = 64
"""Figures of all regions of a batch."""
_TACOTRON = re.compile(
    r"\bTrain loss (\d{1,12}) (?P<loss>[-+.\w]{1,30}) Grad Norm (?P<grad_norm>[-+.\w]{1,30})"
    r"(?: (?P<seconds>[\d.]{1,30})s/it)?"
)
_VALIDATION = re.compile(r"\bValidation loss (\d{1,12}): {1,4}(?P<val_loss>[-+.\w]{1,30})")
_FASTTEXT = re.compile(
    r"\bProgress: {1,4}([\d.]{1,8})% {1,4}words/sec/thread: {1,12}(?P<words>\d{1,15}) {1,4}"
    r"lr: {1,4}(?P<lr>[-+.\w]{1,30}) {1,4}(?:avg\.)?loss: {1,4}(?P<loss>[-+.\w]{1,30})"
)
_KALDI = re.compile(
    r"(?P<overall>Overall a|A)verage (?P<name>[a-z][a-z -]{0,60}) for '(?P<output>[\w.-]{1,60})'"
    r"(?: for minibatches \d{1,12}-(?P<step>\d{1,12}))? is (?P<value>[-+.\w]{1,30}) "
)
_TUTORIAL = re.compile(
    r"\b\d{1,5}m \d{1,2}s (?:\(- \d{1,5}m \d{1,2}s\) )?\((\d{1,12}) \d{1,3}%\) "
    r"(?:[a-z ]{0,30}= )?(?P<loss>[-+.\w]{1,30})(?![^\s/])"
)


_CONVNET = re.compile(
    r"^\s{0,8}(?P<epoch>\d{1,9})\.(?P<batch>\d{1,9})\.\.\. {1,8}(?P<costs>[A-Za-z][^()\n]{1,400}?) {1,4}"
    r"\((?P<seconds>[\d.]{1,12}) sec\)"
)
_COSTS = re.compile(r"\s{0,8}[A-Za-z][\w.-]{0,40}: [^():\n]{1,200}")
_COST = re.compile(r"([A-Za-z][\w.-]{0,40}): {1,4}((?:[-+.\de]{1,20}(?:, )?){1,16})")
_LETTERS = re.compile(r"\| (?P<data>train|eval) {1,4}\| (?P<pairs>[A-Z][\w]{0,20}: .{1,1000})")
_LETTER_PAIR = re.compile(r"(?:^|\| )([A-Z]\w{0,20}): (-?[\d.]{1,20}(?:e[+-]?\d{1,3})?)(?= |$)")
_SEARCH = re.compile(
    r"\b(?P<data>train|valid) (?P<batch>\d{3,9}) (?P<loss>\d\.\d{1,9}e[+-]\d\d) (?P<top1>[\d.]{1,12})"
    r" (?P<top5>[\d.]{1,12})"
)
_ROUND = re.compile(r"fit progress: \((\d{1,9}), (?P<loss>[-+.\w]{1,30}), \{(?P<pairs>[^{}]{0,1000})\}")
_ROUND_PAIR = re.compile(r"'([^']{1,60})': (?:np\.float\d\d\()?([-+.\w]{1,30})")
_FACES = re.compile(
    r"\[(?P<data>[\w.-]{1,40})\]\[(?P<step>\d{1,12})\](?P<name>XNorm|Accuracy(?:-\w{1,20})?): "
    r"(?P<value>[-+.\d]{1,20}?)(?=\+-|\s|$)"
)


def _letters(line: str, state: DialectState) -> LineValues | None:
    """`| train | F: 1000 | S: 500 | E: 1 | R: 12.3 | T: 0:00:12` of DrQ, CURL and others, at the step S."""
    match = _LETTERS.search(line)
    if match is None:
        return None
    values = parse_numbers(_LETTER_PAIR.findall(match["pairs"]))
    step = values.pop("S", values.get("E"))
    if step is None or not step.is_integer():
        return None
    prefix = "eval/" if match["data"] == "eval" else ""
    return LineValues(int(step), {prefix + name: value for name, value in values.items()}, parse_time(line))


def _search(line: str, state: DialectState) -> LineValues | None:
    """`train 050 1.2e+00 53.1 92.1` of DARTS and others: a batch, its loss and the accuracies so far."""
    match = _SEARCH.search(line)
    if match is None:
        return None
    axis = axis_state(state)
    counts = {Counter.BATCH: (int(match["batch"]), 0)}
    is_training = match["data"] == "train"
    names = ("loss", "top1", "top5")
    step = training_step(counts, axis) if is_training else evaluation_step(counts, "valid", names, axis)
    values = parse_numbers((name, match[name]) for name in names)
    data = "" if is_training else "valid/"
    return None if step is None else LineValues(step, {data + name: value for name, value in values.items()})


def _round(line: str, state: DialectState) -> LineValues | None:
    """`fit progress: (3, 0.512, {'accuracy': 0.7}, 36.1)` of Flower: the round, its loss and metrics."""
    match = _ROUND.search(line)
    if match is None:
        return None
    pairs = [("loss", match["loss"]), *_ROUND_PAIR.findall(match["pairs"])]
    return LineValues(int(match[1]), parse_numbers(pairs), parse_time(line))


def _faces(line: str, state: DialectState) -> LineValues | None:
    """`[lfw][2000]Accuracy-Flip: 0.99+-0.004` of InsightFace: a data set and the step of the training."""
    match = _FACES.search(line)
    if match is None:
        return None
    values = parse_numbers([(f"{match['data']}/{match['name']}", match["value"])])
    return LineValues(int(match["step"]), values, parse_time(line))


def _convnet(line: str, state: DialectState) -> LineValues | None:
    """`2.1... logprob:  1.43, 0.52 (1.2 sec)` of cuda-convnet: an epoch, its batch, and its costs."""
    match = _CONVNET.search(line)
    if match is None:
        return None
    state.pop("tests", None)
    counts = {Counter.EPOCH: (int(match["epoch"]), 0), Counter.BATCH: (int(match["batch"]), 0)}
    step = training_step(counts, axis_state(state))
    values = {**_costs(match["costs"], ""), **parse_numbers([("seconds", match["seconds"])])}
    return None if step is None else LineValues(step, values)


def _tests(line: str, state: DialectState) -> None:
    """Note that costs of its test follow: `=====Test output=====`."""
    state["tests"] = True


def _costs_of_test(line: str, state: DialectState) -> LineValues | None:
    """The costs below that line, at the last step of the training; elsewhere the metrics of any line."""
    if "tests" not in state or _COSTS.fullmatch(line) is None:
        return parse_metrics_of_epoch(line, state)
    del state["tests"]
    step = position(axis_state(state))
    return None if step is None else LineValues(step, _costs(line, "test/"))


def _costs(text: str, data: str) -> dict[str, float]:
    """Costs by name; what is behind the first number of one is `NAME 2` and so on."""
    return parse_numbers(
        (f"{data}{match[1]}" + (f" {number}" if number > 1 else ""), value)
        for match in _COST.finditer(text)
        for number, value in enumerate(match[2].rstrip(", ").split(", "), 1)
    )


def _region(line: str, state: DialectState) -> None:
    """Add figures of a part of a batch: `Region 82 Avg IOU: 0.5, Class: 0.9, .5R: 0.6,  count: 4`.

    The line of the batch follows all of its parts, each of which has a line for each region.
    """
    match, figures = _REGION.search(line), state.setdefault("regions", {})
    if match is None:
        return
    for name, text in _FIGURE.findall(match["figures"]):
        key = f"{match['part']}/{name.replace('(', '')}"
        value = parse_number(text)
        if value is None or isnan(value) or (key not in figures and len(figures) >= _MOST_FIGURES):
            continue  # no object was in this part
        total, count = figures.get(key, (0.0, 0))
        figures[key] = [total + value, count + 1]


def _darknet(line: str, state: DialectState) -> LineValues | None:
    """`12: 812.34, 805.1 avg, 0.001 rate, 3.4 seconds, 768 images`; `images` counts all so far.

    With the means of the regions above.
    """
    found, figures = _values(_DARKNET, line), state.pop("regions", {})
    if found is None:
        return None
    means = {name: total / count for name, (total, count) in figures.items()}
    return found._replace(values={**found.values, **means})


def _tacotron(line: str, state: DialectState) -> LineValues | None:
    """`Train loss 250 0.45 Grad Norm 1.2 1.23s/it`."""
    return _values(_TACOTRON, line)


def _validation(line: str, state: DialectState) -> LineValues | None:
    """`Validation loss 500: 0.45`."""
    return _values(_VALIDATION, line)


def _tutorial(line: str, state: DialectState) -> LineValues | None:
    """`0m 24s (- 7m 38s) (5000 6%) 3.5270` of PyTorch's tutorials: times, step, loss."""
    return _values(_TUTORIAL, line)


def _values(pattern: re.Pattern[str], line: str) -> LineValues | None:
    match = pattern.search(line)
    if match is None:
        return None
    pairs = ((name, text) for name, text in match.groupdict().items() if text is not None)
    return LineValues(int(match[1]), parse_numbers(pairs), parse_time(line))


def _fasttext(line: str, state: DialectState) -> LineValues | None:
    """`Progress: 12.3% words/sec/thread: 53466 lr: 0.0876 loss: 4.11`; steps are tenths of a per cent."""
    match = _FASTTEXT.search(line)
    percent = parse_number(match[1]) if match else None
    if match is None or percent is None or state.get("progress") == round(10 * percent):
        return None
    state["progress"] = round(10 * percent)
    pairs = {"words/sec/thread": match["words"], "lr": match["lr"], "loss": match["loss"]}
    return LineValues(state["progress"], parse_numbers(pairs.items()))


def _kaldi(line: str, state: DialectState) -> LineValues | None:
    """`Average objective function for 'output' for minibatches 0-9 is -5.18 over 1280 frames`."""
    match = _KALDI.search(line)
    value = parse_number(match["value"]) if match else None
    if match is None or value is None:
        return None
    if match["step"]:
        state["minibatch"] = int(match["step"])
    name = f"{'overall ' if match['overall'] != 'A' else ''}{match['name']}/{match['output']}"
    return LineValues(int(state["minibatch"]), {name: value}) if "minibatch" in state else None


def _list(line: str, state: DialectState) -> LineValues | None:
    """`[2.31, 2.5, 30.1, 400, 0.0002]` of VITS and its kin: losses, then the global step and the rate."""
    match = _LIST.search(line)
    if match is None:
        return None
    *losses, step, rate = match[1].split(", ")
    if not step.isdecimal() or any(loss.isdecimal() for loss in losses):
        return None
    pairs = [(f"losses/{number}", loss) for number, loss in enumerate(losses, 1)]
    return LineValues(int(step), parse_numbers([*pairs, ("lr", rate)]), parse_time(line))


def _step_and_rate(line: str, state: DialectState) -> LineValues | None:
    """`INFO:model:[400, 0.0001]` of RVC: the global step of the losses below, and the rate."""
    match = _STEP_AND_RATE.search(line)
    if match is None:
        return None
    note_heading({Counter.GLOBAL_STEP: (int(match[1]), 0)}, axis_state(state))
    return LineValues(int(match[1]), parse_numbers({"lr": match[2]}.items()), parse_time(line))


_LETTERS_BYTES = re.compile(
    rb"\| (?:\x1b\[\d{1,3}m)?(?:train|eval)(?:\x1b\[\d{1,3}m)? {1,4}\| [A-Z]\w{0,20}: "
)
_SEARCH_BYTES = re.compile(rb"\b(?:train|valid) \d{3,9} \d\.\d{1,9}e[+-]\d\d [\d.]{1,12} \d")
_ROUND_BYTES = re.compile(rb"fit progress: \(\d{1,9}, [-\d]")
_FACES_BYTES = re.compile(rb"\]\[\d{1,12}\](?:XNorm|Accuracy(?:-\w{1,20})?): ")
_LIST = re.compile(r"\[((?:[-+.\w]{1,30}, ){2,40}[-+.\w]{1,30})\]\s*$")
_STEP_AND_RATE = re.compile(r":\[(\d{1,12}), (\d{1,4}\.?\d{0,20}(?:e-\d{1,3})?)\]\s*$")
_STEP_AND_RATE_BYTES = re.compile(rb"[a-z]:\[\d{1,12}, (?:0\.0|\d\.\d{1,20}e-|\de-)[\de-]{1,20}\]")
_LIST_BYTES = re.compile(rb"\[(?:-?\d{1,12}\.[\de+-]{1,24}, ){1,40}\d{1,12}, \d{1,4}\.?[\de-]{1,24}\]")
_DARKNET_BYTES = re.compile(rb" avg(?: loss)?, [-+.\w]{1,30} rate, [\d.]{1,30} seconds, \d{1,15} images")
_REGION_BYTES = re.compile(rb"(?:Region(?: \d{1,4})?|Detection) Avg \(?IOU: ")
_TACOTRON_BYTES = re.compile(rb"Train loss \d{1,12} [-+.\w]{1,30} Grad Norm ")
_VALIDATION_BYTES = re.compile(rb"Validation loss \d{1,12}: ")
_TUTORIAL_BYTES = re.compile(rb"\dm \d{1,2}s (?:\(- \d{1,5}m \d{1,2}s\) )?\(\d{1,12} \d{1,3}%\) [-\d.a-z]")
_FASTTEXT_BYTES = re.compile(rb"Progress: {1,4}[\d.]{1,8}% {1,4}words/sec/thread: ")
_KALDI_BYTES = re.compile(
    rb"verage [a-z -]{1,60} for '[\w.-]{1,60}'(?: for minibatches [\d-]{1,30})? is [-\d]"
)

_CONVNET_BYTES = re.compile(rb"\d\.\d{1,9}\.\.\. {1,8}[A-Za-z][\w.-]{0,40}: {1,4}[-\d]")
_TESTS_BYTES = re.compile(rb"={8,80}Test output={8,80}")
_COSTS_BYTES = LinearPattern(rb"(?m)^[A-Za-z][\w.-]{0,40}:  -?\d{1,9}\.\d{1,20}, \d{1,9}\.\d[^\n():]{0,200}$")

_PARSERS = {
    _CONVNET_BYTES: _convnet,
    _TACOTRON_BYTES: _tacotron,
    _VALIDATION_BYTES: _validation,
    _TUTORIAL_BYTES: _tutorial,
    _FASTTEXT_BYTES: _fasttext,
    _KALDI_BYTES: _kaldi,
    _LIST_BYTES: _list,
    _STEP_AND_RATE_BYTES: _step_and_rate,
    _LETTERS_BYTES: _letters,
    _SEARCH_BYTES: _search,
    _ROUND_BYTES: _round,
    _FACES_BYTES: _faces,
    **HISTORY,
}
DIALECT = ConsoleDialect(
    name="positional",
    signature=re.compile(b"|".join(pattern.pattern for pattern in (_DARKNET_BYTES, *_PARSERS))),
    min_matches=2,
    kinds=(
        # its step looks like the prefix of a task
        LineKind(pattern=_DARKNET_BYTES, parse=_darknet, with_prefixes=True, job_wide=True),
        LineKind(pattern=_REGION_BYTES, parse=_region, job_wide=True, collects=True),
        *(LineKind(pattern=pattern, parse=parse) for pattern, parse in _PARSERS.items()),
        LineKind(pattern=_TESTS_BYTES, parse=_tests),
        LineKind(pattern=_COSTS_BYTES, parse=_costs_of_test),
    ),
)
