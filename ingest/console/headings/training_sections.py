"""Trainings of one launch that follow one another: the folds of a cross-validation, several models or seeds.

A line such as `===== fold: 1 =====`, `Training model ResNet18` or `### LSTM ###` names the training below
it, and words before `epoch` name that of their own line (`FT Epoch [1/20]`). Where the steps begin anew
there, the rows get the names that differ from those of the first training as labels. Where they continue, as
for the phases of one training, the names mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from holter.ingest.console.dialect import DialectState, LineKind
from holter.ingest.console.headings.subjects_above import (
    OF_ALL,
    has_values_below,
    note_heading_of_subject,
    note_subject,
)
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_words import BEST
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.evaluated_parts import end_evaluation
from holter.ingest.text_encoding import in_encodings
from holter.translated_words import in_english
from holter.types import Labels, labels_of

_WORDS = (
    "fold|seed|trial|run|subject|patient|participant|view|site|member|client|model|experiment|repetition"
    "|repeat|replicate|split|phase|stage|task|session"
)
_LAYER = "(?<=ing )layer"
"""A layer that is trained by itself: models have others."""
_BATCH = (
    r"[^\n=*#~]{0,61}[=*#~-]{3,80} {0,8}(?:run (?P<run>\d{1,4})[,:]? {1,4})?"
    r"train(?:ing)? batch (?P<batch>\d{1,4}) {0,8}[=*#~-]{3,80}[ \t\r]{0,8}$"
)
_BATCH_OF_DATA = re.compile(rf"(?i){_BATCH}")
"""A batch that is trained by itself, between signs: `--- run 0 training batch 1 ---`; steps have others."""
_TRAINED_ALONE, _RUN = "batch", "run"
_KEYS = {"stage": "phase"}
"""Labels that are named otherwise: `stage` is that of words before `epoch`."""
_NUMBERED = re.compile(
    rf"(?i)(?:[^\n]{{0,120}}\W)?(?:k-?|cv )?(?P<word>{_WORDS}|{_LAYER})s?(?: no\.?| number|_idx)?"
    r"[ \t]?[:=#_-]?[ \t]?#?(?P<number>\d{1,4}|(?<=[ :=#_-])(?-i:[A-Z]))(?![\d.\w])"
    r"(?: ?(?:/|of) ?\d{1,4})?(?:[^\w\n]{0,100}(?:[a-z][a-z -]{0,30})?| {1,4}\([a-z][\w+-]{0,40}\))"
    r"[^\w\n]{0,100}$"
)
_MANY = "job|run|combination|config(?:uration)?|setting|trial|experiment|model|fold|task|subject"
OF_TRAININGS = re.compile(rf"(?i)(?<![a-z])(?:{_WORDS}|{_MANY})s?(?![a-z])")
"""A word for one of several trainings."""
_OF_TRAINING = r"(?:training (?:[a-z]{1,20} ){0,2})?"
_ONE_OF_MANY = re.compile(
    rf"(?i)[^\w\n]{{0,40}}(?:\[[^\]\n]{{1,20}}\] )?{_OF_TRAINING}(?P<word>{_MANY})"
    r" \[?(?P<number>\d{1,4})/\d{1,4}\b(?![^\n]*(?:epoch|step|iter|loss|acc))"
)
"""One of some trainings, with what it is of: `[1D] job 2/45 | seed=5`, `Training model 1/3 with lr 0.1`."""
_STARTED = re.compile(
    rf"(?i)[^\w\n]{{0,40}}(?:start|begin|runn|train)(?:n?ing|s|ed)?:? (?:k-?|cv )?(?P<word>{_WORDS})"
    r"[ \t]?[:=#_-]?[ \t]?#?(?P<number>\d{1,4})(?: ?(?:/|of) ?\d{1,4})?(?:[ \t]{0,4}[|,;:(\[-]|\t)"
    r"(?![^\n]*(?:epoch|step|iter|loss|acc))"
)
"""The beginning of a training, with what it is of: `Starting Fold 1 | Test Year: 2021`."""
_ONLY_BEGINS = re.compile(
    r"(?i)(?:(?:now|start(?:ing|ed)?|begin(?:ning|s)?|run(?:ning)?|train(?:ing)?|fit(?:ting)?"
    r"|the|for|of|on|new|next)(?:\W{1,4}|$)){1,4}"
)
"""Words before a number that name no training: `Training model 2`, which another line may call `Model 3`."""
_CHINESE_FOLD = re.compile(r"[^\n]{0,80}第 ?(?P<number>\d{1,3}) ?(?:/ ?\d{1,3} ?)?折")
"""A fold of a cross-validation: `开始训练第 1/5 折...`."""
_OF_RESULTS = re.compile(
    r"(?i)(?:\b(?:fold|split|seed|trial)s?[ _:=#-]{0,3}\d{1,4}[^\w\n]{1,20}(?:result|score)s?"
    r"|^[^\w\n]{3,100}(?P<all>cv|oof)) {0,4}[=*#~-]{3,80}[ \t]{0,8}$"
)
"""A heading of the result of a training, or of all folds: `== fold: 0 result ==`, `===== CV =====`."""
_STAGE = (
    r"(?:(?:(?:start(?:ing)?|begin(?:ning)?) )?(?:[a-z]{1,20} )?"
    r"(?P<stage>pre-?training|fine-?tuning|warm-?up)(?P<what>(?: [a-z]{1,20}){0,4})"
    r"|(?:start(?:ing)?|begin(?:ning)?) (?P<kind>[a-z]{3,20}) training)[^\w\n]{0,20}$"
)
_STAGE_ALONE = re.compile(rf"(?i)[^\w\n]{{0,100}}{_STAGE}")
"""A part of a training, in a heading: `Fine-tuning the model...`, `Start adversarial training`."""
_BEHIND_WHAT = re.compile(r" (?:with|on|for|using|in|by|at|from)\b")
"""What is behind the words for what is trained: `Pre-training generator with MLE`."""
_ENDED = re.compile(r"(?i)\b(?:complete[ds]?|finish(?:ed)?|done|ended|end of)\b")
_AMOUNT = re.compile(r"(?i)\b(?:total|number of|num)\b")
"""Words before how many trainings there are."""
_NO_STAGE = re.compile(r"(?i)done|finish|complete|\bend|sav|load|config|data|result")
_TRAINING = (
    r"(?:now )?(?:training|train|fitting|model)(?: the)?(?: model| network| name)? ?[: ] ?"
    r"['\x22]?(?P<name>[a-z][\w.+-]{1,60})['\x22]?(?: model)?[^\w\n]{0,100}$"
)
_NAMED = re.compile(rf"(?i)[^\w\n]{{0,100}}{_TRAINING}")
_OF = (
    r"(?:(?:start|begin|runn)(?:n?ing|s)?:? )?training (?:with|on|for|using|of) "
    r"(?P<of>[^\W\d][^\n]{1,59}?)[^\w\n]{0,100}$"
)
_NO_DEVICE = r"(?!.{0,60}?\b(?:with|on|for|using|of) (?:the )?(?:device|gpu|cuda|cpu|tpu|mps|rank|node)s?\b)"
"""A device may be another one in each launch."""
_TRAINING_OF = re.compile(rf"(?i)[^\w\n]{{0,40}}{_NO_DEVICE}{_OF}")
"""A training and what tells it from others: `Training with b.yaml`, `Starting training for size: 10 ---`."""
_NEXT_SENTENCE = re.compile(r"[.!?] {1,4}[^\W\d_]")
_FILE_OF_SETTINGS = re.compile(r"[^\s]{1,100}\.(?:ya?ml|json|toml|cfg|ini)")
_FRAMED = re.compile(
    r"[^\n=*#~]{0,61}[=*#~+>-]{3,80} {0,8}(?P<text>[^\W\d_][^\n]{0,101}?) {0,8}[=*#~+<-]{3,80}\s{0,8}$"
)
_PREFIX = re.compile(r"[-:|\])>] ")
"""What ends the prefix of a logger."""
_SETTING_NAMES = "lr|learning[ _]rate|batch[ _]?size|dropout|hidden[ _](?:size|dim)|optimizer|alpha"
_SETTING = (
    r"[^\w\n]{0,20}"
    rf"(?P<name>{_SETTING_NAMES})"
    r"[ \t]{0,4}[:=][ \t]{0,4}['\x22]?(?P<value>[\w.+-]{1,30})['\x22]?[^\w\n]{0,20}$"
)
_SETTING_ALONE = re.compile(rf"(?i){_SETTING}")
_SETTING_NAME = re.compile(_SETTING_NAMES)
_SIGNS = " \t=*#~+<>-_|:[(,"
_NUMBER_BEFORE = re.compile(r"[A-Za-z](?: ?: | ?= ?)-?\d")
"""A named number: `Step: 3 | Reward: -10.6 | Phase: 1` is no heading."""
_IN_TURN = "client"
_GO_ON = (_IN_TURN, "stage")
"""What is trained in turn with others, and continues later."""
_ANNOUNCED = ("announced", "heading")
"""What lines have stated of the steps below them."""
_OF_ALL = ("round", "opening settings", "opening names", "opening block")
"""What is known of all trainings of a launch."""
_GLOBAL = re.compile(r"(?i)(?<![a-z])(?:global|server|federated|aggregated)(?![a-z])")
_REPEATED = ("fold", "seed", "trial", "experiment", "repetition", "repeat", "replicate", "split")
"""What is done again from the beginning, unlike one of several tasks or clients."""
_OF_LAUNCH = frozenset({*_REPEATED, "run", "task", "session", "subject"})
"""What a launch trains several of, of which it prints results together in the end."""
_LEAST_EPOCHS = 5
"""Epochs before a stage that counts steps."""
_UNNAMED_STAGE = "train"
"""The stage of lines that name none, behind one that lines name: `Epoch 1` behind `Pretrain epoch 9`."""
_MOST_IN_TURN = 64
_LONGEST_TEXT = 60
_MOST_WORDS = 4
"""Words before the one that is numbered, in a heading that is no sentence."""
_NO_NAMES = frozenset(
    {"and", "begin", "beginning", "begins", "built", "compiled", "complete", "completed", "config",
     "configuration", "created", "data", "dataset", "device", "done", "end", "ended", "epoch", "epochs",
     "failed", "false", "finish", "finished", "for", "from", "images", "in", "info", "initialised",
     "initialized", "interrupted", "loaded", "log", "logs", "loop", "loss", "measures", "metrics", "mode",
     "model", "none", "now", "on", "parameters", "phase", "prepared", "progress", "ready", "restored",
     "result", "results", "resumed", "samples", "saved", "set", "size", "stage", "start", "started",
     "starts", "steps", "stopped", "succeeded", "success", "successful", "successfully", "summary", "the",
     "time", "true", "using", "with"}
)  # fmt: skip
"""Words behind `Training` that name no model."""
_NAME_FOLLOWS = re.compile(r"(?i)(?:model|network|name|:)\W{0,4}$")
_NO_TRAINING = re.compile(
    r"(?i)epoch|iter|step|batch|round|episode|updat|eval|valid|\bval\b|test|\bdev\b|loss|acc|result|final|summar"
    r"|config|setting|argument|param|data(?! ?parallel)|best|report|done|finish|(?<!in)complete|start|begin"
    r"|end\b|predict|metric"
    r"|\d[-/]\d\d|\d:\d\d|开始|開始|시작|начал|결과|结果|結果|评估|評価|测试|验证|完成|결과|평가|résultat|ergebnis"
)
"""Words of headings that name no training, but a part of one or what comes next to it; dates and times."""


def begin_section(line: str, state: DialectState) -> bool:
    """Note the training that a line names; whether it is a heading."""
    if _announces_results(line, state):
        return True
    if (match := _NUMBERED.match(line)) is not None:
        if _NUMBER_BEFORE.search(line[: match.start("word")]) is not None:
            return False
        if _ENDED.search(line) is not None:
            return True  # it names the training above
        word = match["word"].lower()
        named = {_KEYS.get(word, word): match["number"].lstrip("0") or "0"}
        words = _PREFIX.split(line[: match.start("word")])[-1].strip(_SIGNS)
        if len(words.split()) > _MOST_WORDS or _AMOUNT.search(words) is not None:
            return False  # `ignored returned own gossip from client_0`, `Total models: 3`
        if words and word != _IN_TURN and _ONLY_BEGINS.fullmatch(words) is None:
            named["training"] = words[:_LONGEST_TEXT]
    elif (match := _BATCH_OF_DATA.match(line)) is not None:
        numbers = match.groupdict().items()
        named = {word: number.lstrip("0") or "0" for word, number in numbers if number is not None}
    elif (match := _CHINESE_FOLD.match(line)) is not None:
        named = {"fold": match["number"]}
    elif (match := _ONE_OF_MANY.match(line) or _STARTED.match(line)) is not None:
        word = match["word"].lower()
        named = {_KEYS.get(word, word): match["number"].lstrip("0") or "0"}
    elif (match := _STAGE_ALONE.match(line)) is not None and _NO_STAGE.search(line) is None:
        named = {"phase": _phase(match)}
    elif (match := _NAMED.match(line)) is not None:
        if match["name"].lower().rstrip(".") in _NO_NAMES or not _is_name_of_model(line, match, state):
            end_evaluation(state.get("plain lines", {}))  # a heading of the training
            return True
        named = {"model": match["name"].rstrip(".")}
    elif (match := _TRAINING_OF.match(line)) is not None and _names_training(match["of"]):
        named = {"training": match["of"]}
    else:
        return False
    _note(named, state)
    note_subject(named, state["plain lines"])
    return True


def _phase(match: re.Match[str]) -> str:
    """The part of the training that a heading names, with what is trained in it if it is no plain word."""
    if match["kind"]:
        return match["kind"].lower()
    what = _BEHIND_WHAT.split(match["what"].lower())[0].split()
    return " ".join((match["stage"].lower(), *(word for word in what if word not in _NO_NAMES)))


def _announces_results(line: str, state: DialectState) -> bool:
    """Whether a line is a heading of results, below which are no values of the last epoch."""
    axis = state.get("plain lines", {})
    match = _OF_RESULTS.search(line) if "step" in axis else None
    if match is not None:
        axis["evaluating"] = (match["all"] or "eval").lower()
        if match["all"] and (section := axis.get("section")) is not None:
            section["of all"] = axis["evaluating"] if "of all" not in section else None
    return match is not None


def _is_name_of_model(line: str, match: re.Match[str], state: DialectState) -> bool:
    """Whether a word behind `Training` is a name, no verb: it is no plain word, or `model` is before it.

    So it is in a heading between signs, and where a name was before: `Training vit` behind `Training vgg16`.
    """
    name = match["name"].rstrip(".")
    around = [line[: match.start("name")], line[match.end("name") :].rstrip()]
    is_plain = name.isalpha() and name.islower() and _FRAMED.match(line) is None
    if is_plain and _NAME_FOLLOWS.search(around[0]) is None:
        return around == state.get("around names")
    state["around names"] = around
    return True


def note_setting(line: str, state: DialectState) -> None:
    """Note a setting alone in its line, by which the trainings of a search may differ: `lr = 0.01`."""
    if (match := _SETTING_ALONE.match(line)) is not None:
        name = match["name"].lower().replace(" ", "_")
        if name not in state.get("plain lines", {}).get("section", {}).get("scheduled", ()):
            _note({name: match["value"]}, state)


def note_settings(settings: dict[str, str], state: DialectState) -> None:
    """Note the settings by which the training below a heading differs from others."""
    _note(settings, state)
    note_subject(settings, state["plain lines"])


def forget_settings(axis: DialectState) -> None:
    """Forget the settings above: a record below them is of the training that continues."""
    section = axis.get("section")
    if section is not None and "next" in section:
        names = {name: value for name, value in section["next"].items() if not _SETTING_NAME.fullmatch(name)}
        if names:
            section["next"] = names
        else:
            del section["next"]


def share_section(state: DialectState, others: Iterable[DialectState]) -> None:
    """Note the training that a line of the process without labels named for all that print into its text."""
    if (named := state.get("plain lines", {}).get("section", {}).get("next")) is not None:
        for other in others:
            if other is not state:
                _note(dict(named), other)


def _begin_framed(line: str, state: DialectState) -> None:
    """Note the training that a heading between signs names."""
    match = None if _announces_results(line, state) else _FRAMED.match(line)
    if match is not None and _names_training(match["text"]):
        named = {"training": match["text"][:_LONGEST_TEXT]}
        _note(named, state)
        if not note_heading_of_subject(line.strip(), state["plain lines"]):
            note_subject(named, state["plain lines"])


def _names_training(text: str) -> bool:
    """Whether words in a heading are those of a training, and of no part of it, in any language.

    So is the name of the file that has its settings. Where another sentence is behind it, this is no heading.
    """
    if _NEXT_SENTENCE.search(text) is not None:
        return False
    is_file = _FILE_OF_SETTINGS.fullmatch(text) is not None
    return is_file or not any(map(_NO_TRAINING.search, (text, in_english(text))))


def _note(named: dict[str, str], state: DialectState) -> None:
    axis = state.setdefault("plain lines", {})
    if "section" not in axis:
        begin_unnamed(axis)
    section = axis.setdefault("section", {"first": named, "now": named})
    if _IN_TURN in named:
        _note_turn(named[_IN_TURN], section, axis)
    section["next"] = {**section.get("next", {}), **named}


def _note_turn(number: str, section: dict[str, Any], axis: DialectState) -> None:
    """Note whether a client is named right below another, so that values below are of all of these."""
    if has_values_below(axis):
        section.pop("together", None)
    elif section.get("next", {}).get(_IN_TURN, number) != number:
        section["together"] = True


SECTION_LINES = LinearPattern(
    rb"(?im)^(?:[^\n]{0,120}[^\w\n])?(?:k-?|cv )?(?:"
    + _WORDS.encode()
    + rb"|layer)s?(?: no\.?| number|_idx)?"
    rb"(?:[ \t]?[:=#_-]?[ \t]?#?\d{1,4}|[ :=#_-]{1,2}(?-i:[A-Z]))(?:[^\d.\w\n][^\n]{0,160})?$"
    rb"|^[^\w\n]{0,100}"
    + _TRAINING.replace("(?P<name>", "(?:").encode()
    + rb"|^[^\w\n]{0,40}"
    + _OF.replace("(?P<of>", "(?:").replace(r"[^\W\d]", r"[^\x00-@\[-^`{-\x7f]").encode()
    + rb"|^[^\w\n]{0,100}"
    + re.sub(r"\?P<\w+>", "?:", _STAGE).encode()
    + rb"|^[^\w\n]{0,40}(?:\[[^\]\n]{1,20}\] )?%s(?:%s)" % (_OF_TRAINING.encode(), _MANY.encode())
    + rb" \[?\d{1,4}/\d{1,4}\b[^\n]{0,200}$"
    rb"|^"
    + re.sub(r"\?P<\w+>", "?:", _BATCH).encode()
    + rb"|^[^\n]{0,80}(?:%s) ?\d{1,3} ?(?:/ ?\d{1,3} ?)?(?:%s)[^\n]{0,80}$" % tuple(map(in_encodings, "第折"))
)
"""Lines that may name the training below them."""

SETTING_LINES = LinearPattern(
    rb"(?im)^" + _SETTING.replace("(?P<name>", "(?:").replace("(?P<value>", "(?:").encode()
)
"""Lines of nothing but a setting."""

FRAMED_SECTIONS = LineKind(
    pattern=LinearPattern(
        rb"(?im)^(?:[^\n=*#~]{0,60}[ \]:|-])?[=*#~+>-]{3,80} {0,8}[a-z\x80-\xff]"
        rb"[^\n]{0,100}[^\n=*#~+<-] {0,8}[=*#~+<-]{3,80}[ \t\r]{0,8}$"
    ),
    parse=_begin_framed,
    any_program=True,
    names_training=True,
)
"""Headings between signs, as `===== LSTM with attention =====`, which may name the training below them."""


def begin_unnamed(axis: DialectState) -> None:
    """Note that the records so far are those of a training without a name, if there are any."""
    last = axis.get("epoch", [axis["step"], -1]) if "step" in axis else None
    if last is not None and "bar" in axis:  # its step is no epoch
        stated = axis.get("epoch of bar") or axis.get("headed") or axis.get("announced")
        last = [stated[0], -1] if stated else last
    if last is None and "has values" in axis and "announced" in axis:
        last = [axis["announced"][0], -1]
    if last is not None:
        is_first_epoch = last[1] >= 0 and axis.get("restarts") is None  # what is learnt as another one begins
        begin = [last[0] if is_first_epoch else -1, -1]
        axis["section"] = {"first": {}, "now": {}, "last": [*last], "begin": begin}


def name_stage(
    stage: str, names: Iterable[str], counts: Mapping[Counter, tuple[int, int]], axis: DialectState
) -> None:
    """Note the words before `epoch` in a line, such as those of a fine-tuning: `FT Epoch [1/20]`.

    The `names` of its metrics and what it counts tell whether one without any is of the stage above.
    """
    section = axis.get("section")
    if not stage and _is_next_to_stage(names, counts, axis):
        return
    if section is None:
        if not stage:
            return
        begin_unnamed(axis)
        section = axis.setdefault("section", {"first": {}, "now": {}})
    if stage or "stage" in section["now"]:
        other = _UNNAMED_STAGE if section["first"].get("stage") else ""
        section["next"] = {**section.get("next", {}), "stage": stage or other}


def _is_next_to_stage(
    names: Iterable[str], counts: Mapping[Counter, tuple[int, int]], axis: DialectState
) -> bool:
    """Whether a line without a stage is of the last one: at its epoch, with `names` that it does not have.

    `Epoch 3 | mean AUC 0.5` below `[Pretrain] Epoch 3 | ACC 0.4`; another training has the same names. So is
    the line of an epoch below batches of the stage in it.
    """
    section = axis.get("section", {})
    number = counts.get(Counter.EPOCH, (-1, 0))[0]
    epoch, step = section.get("last", [None, -1])
    if epoch != number or not section["now"].get("stage"):
        return False
    is_end = step >= 0 and counts.keys() == {Counter.EPOCH}
    return is_end or not {*axis.get("names", ())}.intersection(names)


def enter_section(counts: Mapping[Counter, tuple[int, int]], axis: DialectState) -> bool:
    """Begin the training that lines above named, if what this line counts begins anew; else forget the name.

    Returns whether it begins. What was learnt of the steps of one training does not hold for the next one.
    """
    section = axis.get("section")
    axis.pop(OF_ALL, None)
    if section is None or not counts:
        return False
    epoch = counts.get(Counter.EPOCH)
    inner = next((counts[counter] for counter in sorted(counts) if counter != Counter.EPOCH), None)
    position = [epoch[0] if epoch else -1, inner[0] if inner else -1]
    noted = section.pop("next", {})
    if section.pop("together", False):
        noted.pop(_IN_TURN, None)
    named, begins = {**_names_around(noted, section), **noted}, False
    if "last" not in section:  # names of the first training, such as its seed and its fold
        section["first"] = section["now"] = named
        section["begin"] = position
    elif named != section["now"] and (
        _is_in_turn(named, section)
        or _is_anew(position, section["last"], section["begin"])
        or _is_stage_of_steps(named, position, section)
    ):
        _exchange_axes(named, axis)
        section["now"], section["begin"], begins = named, position, True
    elif named != section["now"]:
        _note_scheduled(noted, section)
    # a line of an epoch below those of batches states nothing of these
    last = position if begins else section.get("last", position)
    section["last"] = [
        number if number >= 0 else before for number, before in zip(position, last, strict=True)
    ]
    return begins


def _names_around(noted: Mapping[str, str], section: Mapping[str, Any]) -> dict[str, str]:
    """The names of the last training that hold for the next one, of which lines have noted others.

    Where the next one of those that are done again was named, names of the parts of one do not: the first
    training has none.
    """
    now: dict[str, str] = section["now"]
    if not any(word in _REPEATED and noted.get(word, number) != number for word, number in now.items()):
        return now
    return {name: value for name, value in now.items() if name in section["first"]}


def enter_section_evaluated(counts: Mapping[Counter, tuple[int, int]], axis: DialectState) -> None:
    """Begin the training that lines above named, if a line of an evaluation counts an epoch before all of it.

    So it is where each is evaluated before its first epoch: `[Test] epoch 0` below `Layer 2`.
    """
    section = axis.get("section", {})
    if counts.keys() != {Counter.EPOCH} or "next" not in section or "last" not in section:
        return
    if _is_anew([counts[Counter.EPOCH][0], -1], section["last"], section["begin"]):
        enter_section(counts, axis)


def enter_section_at_step(step: int, axis: DialectState) -> None:
    """Begin the training that lines above named, if a line that announces a step alone goes back.

    Such as `D-Step 0` below `Pre-training discriminator` and the last `G-Step 99`: below it are the epochs.
    """
    section = axis.get("section", {})
    named = {**section.get("now", {}), **section.get("next", {})}
    if "last" not in section or named == section["now"] or step >= axis.get("outer", [step])[0]:
        return
    del section["next"]
    _exchange_axes(named, axis)
    section["now"], section["begin"], section["last"] = named, [-1, -1], [-1, -1]


def _note_scheduled(noted: Mapping[str, str], section: dict[str, Any]) -> None:
    """Note settings that changed as the training went on, such as its rate: no later line names one."""
    changed = [name for name in noted if _SETTING_NAME.fullmatch(name)]
    if changed:
        section["scheduled"] = [*dict.fromkeys((*section.get("scheduled", ()), *changed))]


def _is_in_turn(named: Mapping[str, str], section: Mapping[str, Any]) -> bool:
    """Whether a training continues that others came after: clients train in turn, each for its own epochs."""
    return _turn_of(named) in section.get("axes", {})


def _turn_of(named: Mapping[str, str]) -> str:
    """What is trained in turn, as a key of what is known of its steps; nothing if it is not named."""
    return "/".join(named[name] for name in _GO_ON if named.get(name))


def _exchange_axes(named: Mapping[str, str], axis: DialectState) -> None:
    """Set what is known of the steps aside, as those of the training that went on, for those of this one."""
    section = axis["section"]
    known = {name: axis.pop(name) for name in [*axis.keys() - {"section", *_OF_ALL}]}
    before, turn = _turn_of(section["now"]), _turn_of(named)
    if before and turn:
        axes = section.setdefault("axes", {})
        axes[before] = known
        axis.update(axes.pop(turn, {}))
        if len(axes) > _MOST_IN_TURN:
            del axes[next(iter(axes))]


def _is_anew(position: list[int], last: list[int], first: list[int]) -> bool:
    """Whether `[epoch, step]`, -1 without one, is before the last one, or at the only one so far.

    A later step of the same epoch is not, nor is the first one, whose heading is all that was above it.
    """
    if position[0] == last[0] and position[1] > last[1]:
        return False
    for number, before, begin in zip(position, last, first, strict=True):
        if number >= 0 and before >= 0:
            return number < before or number == before == begin
    return False


def _is_stage_of_steps(named: Mapping[str, str], position: list[int], section: dict[str, Any]) -> bool:
    """Whether a stage that counts steps begins behind epochs, or the epochs of the next training behind it.

    `L-BFGS iteration: 10` behind `Epoch: 2000`. Where steps come from the first epochs on, or epochs continue
    behind the stage, they are of these.
    """
    if named.get("stage") == section["now"].get("stage"):
        return False
    last: list[int] = section["last"]
    (epoch, step), (last_epoch, last_step) = position, last
    if epoch < 0 <= step < last_epoch and last_step < 0 and last_epoch >= _LEAST_EPOCHS:
        section["epochs before stage"] = last_epoch
        return True
    return step < 0 <= epoch < int(section.get("epochs before stage", 0)) and last_epoch < 0


def end_section(names: Iterable[str], axis: DialectState) -> None:
    """Forget the name that a line above results stated, if it is that of the training that is over.

    `Trial: 1` right above `Best val accuracy: 0.8` of the first training, which no line named when it began,
    counts the trainings as they end: it is no heading of the next one.
    """
    section = axis.get("section", {})
    named = section.get("next", {})
    word = next(iter(named), "")
    if len(named) != 1 or word not in _REPEATED or not named[word].isdigit():
        return
    if section["now"] or not axis.keys().isdisjoint(_ANNOUNCED):
        return
    if not any(is_of_evaluation(name) or BEST.search(name) is not None for name in names):
        return
    number = int(named[word])
    if number <= 1 or [word, number - 1] == section.get("ended"):
        section["ended"] = [word, number]
        del section["next"]


def end_run_of_batches(axis: DialectState) -> None:
    """Note that a run is over whose batches were trained by themselves: its result is of all of these."""
    section = axis.get("section", {})
    if _TRAINED_ALONE in section.get("now", ()):
        over = (_TRAINED_ALONE, _RUN)
        section["now"] = {name: value for name, value in section["now"].items() if name not in over}


def is_named(axis: DialectState) -> bool:
    """Whether a line since the last record names a training, or the last records themselves do."""
    section = axis.get("section")
    return section is not None and ("next" in section or "stage" in section["now"])


def section_labels(axis: DialectState, names: Iterable[str] = (), *, of_all: bool = False) -> Labels | None:
    """The labels of rows of the training that continues: its names that are not those of the first one.

    Values of the global model, as the `names` of a row state, are of no client, whichever was the last one;
    so are those of a row that is `of_all`. Results of all folds are of no fold, unless each fold has such.
    """
    section = axis.get("section")
    if section is None or section["now"] == section["first"]:
        return None
    first, now = section["first"], section["now"]
    if _IN_TURN in now and (of_all or any(map(_GLOBAL.search, names))):
        now = {name: value for name, value in now.items() if name != _IN_TURN}
    if OF_ALL in axis:
        now = {name: value for name, value in now.items() if name not in _OF_LAUNCH}
    if section.get("of all") is not None and section["of all"] == axis.get("evaluating"):
        now = {name: value for name, value in now.items() if name != "fold"}
    return labels_of({name: value for name, value in now.items() if first.get(name) != value and value})
