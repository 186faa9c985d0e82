"""Lines that show the start of a process: a shell's prompt with a command, `nohup`, greetings of libraries.

So does the end of the one before, as the shell states it: `^C`, `[1]+  Done`, the times of `time`. So does
what a script prints that starts programs, with the time as `date` prints it, in any language.

Texts that several launches were appended to, or that were copied from a terminal, have them between these. A
prompt with the command of a program, and what `nohup` prints, show the next launch by themselves. The others
are weaker: a bare command may be that of an evaluation, any command may be typed while a program prints, and
workers that a program starts print the greetings of their libraries once more. They show another launch
where steps begin anew.
"""

from __future__ import annotations

import re
from enum import Enum

from holter.ingest.console.search.pattern_search import LinearPattern

_VARIABLES = r"(?:[A-Za-z_]\w*=\S* +)*"
_AROUND = (
    r"(?:(?:nohup|time|sudo|exec|unbuffer|(?:uv|poetry|pipenv) run|conda run -n \S+|taskset \S+ \S+"
    r"|nice(?: -n ?\d+)?) +)*"
)
_PROGRAM = (
    r"(?:(?:\S*/)?python[\d.]*(?:\.exe)? +(?:-[a-zA-Z]{1,3} +)*[\w.~\\/-]*\w"
    r"|(?:torchrun|accelerate|deepspeed|composer|horovodrun|mpirun|mpiexec|srun|sbatch|fairseq-[a-z]+|yolo"
    r"|make|sh|bash|zsh|source|th|julia|Rscript|java|docker|singularity|apptainer) +\S"
    r"|\.{1,2}/[\w./-]+|[\w.~/-]+\.(?:py|sh)\b)"
)
"""What is started: `python` alone may begin words about it."""
_COMMAND = _VARIABLES + _AROUND + _PROGRAM
_ENVIRONMENT = r"(?:\([\w./ -]{1,60}\) ?)?"
_HOST = r"[\w.-]{1,40}@[\w.-]{1,60}"
_NAMED_PROMPT = (
    rf"(?:{_HOST}:[^\n$#]*[$#]|\[{_HOST} [^\]\n]+\][$#]|{_HOST} [\w.~/-]+ [%$#]|(?:PS )?[A-Z]:\\[^\n>|:]*>"
    r"|\xe2\x9e\x9c +[\w.~/-]+(?: git:\([^)\n]*\))?(?: \xe2\x9c\x97)?)"
)
"""Of a shell that names the user, the machine or the folder."""
_BARE_PROMPT = r"(?:(?:ba|z)?sh-\d\.\d+[$#]|[$%!]|\+{1,3})"
"""Of one that names nothing, of a script whose commands are printed, of a notebook."""
_NEW_SESSION = (
    r"[=*#~+>-]{3,80} {0,4}(?i:(?:start(?:ing)? |begin(?:ning)? )?(?:of )?(?:a )?new (?:training )?"
    r"(?:session|run|training|launch))(?:[ :(@,-][^\n\r=*#~a-zA-Z]{0,60}[^\n\r=*#~]{0,40})? {0,4}"
    r"[=*#~+<-]{3,80}[ \t\r]*$"
)
"""The heading that a program appends to its log as it starts: `=== New Training Session - 12:30:00 ===`."""
_STARTED = (
    rf"(?:{_ENVIRONMENT}(?:{_NAMED_PROMPT}|{_BARE_PROMPT}) *{_COMMAND}|nohup ?: [A-Za-z\xc0-\xff]"
    rf"|{_NEW_SESSION})"
)
_DATE_WORD = r"[A-Za-z\x80-\xff\d]{1,9}[.,]{0,2} {1,2}"
_DATE = (
    rf"(?:[A-Za-z\x80-\xff]{{2,9}}[.,]{{0,2}} {{1,2}}{_DATE_WORD}{_DATE_WORD}(?:\d{{4}} )?"
    r"|\d{4}\xe5\xb9\xb4[^\n:]{6,40} )\d\d:\d\d:\d\d (?:[AP]M )?(?:[A-Z]{3,5}|[+-]\d\d(?:\d\d)?)(?: \d{4})?"
)
"""What `date` prints, with the zone of the time, in any language: `Sun Apr  5 18:11:40 UTC 2026`.

Programs mostly print none, or none in this form.
"""
_STARTS_AT = (
    r"[^\w\n]{0,40}(?:[\w'-]{1,30}[ :]{1,2}){0,3}(?i:start|begin|launch|running)"
    rf"[^\n]{{0,120}}[ :\[(]{_DATE}[^\w\n]{{0,100}}$"
)
"""What a script prints of a program that it starts: `>>> Starting b.yaml at Sun Apr  5 18:11:40 UTC 2026`."""
_SCRIPT_STARTS = (
    r"[^\w\n]{0,40}(?i:start(?:ing|ed)?|launch(?:ing|ed)?|execut(?:ing|e)|run(?:ning)?)"
    r"(?: (?:the )?(?i:execution|run|script|program)(?: of)?)? ['\x22`]?"
    r"(?:[\w.:-]{0,60}[/\\]){0,8}[\w-]{1,80}\.(?:py|sh)\b['\x22`]?[^\w\n]{0,80}$"
)
"""What a script prints of another one that it starts: `--- Starting execution of a.py ---`, nothing else."""
_MAY_HAVE_STARTED = (
    rf"(?:{_ENVIRONMENT}{_NAMED_PROMPT}(?: |\r?$)"
    rf"|(?:[>#] )?{_VARIABLES}(?:nohup )?(?:[\w.~-]*/)*"
    r"(?:python[\d.]* (?:-u )?(?:-m [\w.]+(?: [^\n]*)?|[\w./-]+\.py\b[^\n]*)"
    r"|(?:torchrun|accelerate launch|deepspeed) [^\n]*\.py\b[^\n]*)\r?$"
    rf"|(?i:(?:running|executing|run|exec)?(?: the)? ?(?:command|cmd)(?: line)?): *['\x22\[]?{_COMMAND}"
    r"|\^C|Terminated\r?$|Aborted(?: \(core dumped\))?\r?$|real[ \t]+\d+m\d"
    r"|\[\d+\][+-]? +(?:Done|Exit \d|Terminated|Killed|Aborted)"
    r"|Using TensorFlow backend|Setting OMP_NUM_THREADS environment variable for each process"
    rf"|{_STARTS_AT}|{_SCRIPT_STARTS}"
    r"|[^\n]*tensorflow/[^\n]*(?:this TensorFlow binary was not compiled to use"
    r"|This TensorFlow binary is optimized|opened (?:dynamic|CUDA) library libcuda))"
)
_SHOWN = LinearPattern(rf"(?m)^{_STARTED}".encode("latin-1"))
ANY_PROCESS_START = rf"^(?:{_STARTED}|{_MAY_HAVE_STARTED})".encode("latin-1")
"""The pattern of lines that show the start of a process, or may do so."""
_ANY = LinearPattern(b"(?m)" + ANY_PROCESS_START)


_SCRIPT = re.compile(rb"(?P<name>[\w-]{1,80})\.(?:py|sh)\b(?P<arguments>[^\n]{0,400})")
_OF_EVALUATION = (
    rb"(?P<data>infer(?:ence)?|eval(?:uat(?:e|ion))?|predict(?:ion)?|test|val(?:id(?:at(?:e|ion))?)?)"
)
_NAMES_EVALUATION = re.compile(rb"(?i)(?:.*[\d_-])?" + _OF_EVALUATION + rb"(?:[\d_-].*)?")
_ARGUMENT_OF_EVALUATION = re.compile(
    rb" --?(?:(?:mode|phase|task)[= ]|only[_-])?" + _OF_EVALUATION + rb"(?:[_-]only)?(?: |\r?$)"
)
"""An argument that states that nothing is trained: `--mode test`, `--evaluate`, `--eval-only`."""


class ProcessStart(Enum):
    """What a text shows of the start of a process."""

    NONE = 0
    POSSIBLE = 1
    SHOWN = 2


def process_start(block: bytes, begin: int, end: int) -> ProcessStart:
    """What the lines of a part of a block show of the start of a process."""
    if _ANY.search(block, begin, end) is None:
        return ProcessStart.NONE
    is_shown = _SHOWN.search(block, begin, end) is not None
    return ProcessStart.SHOWN if is_shown else ProcessStart.POSSIBLE


def evaluated_by(block: bytes, begin: int, end: int) -> str:
    """The data of the evaluation that the last command in a part of a block runs, "" if it may train.

    Its script states it, `python tools/infer.py`, or an argument of one that is not named after the training.
    """
    data = ""
    for start in _SHOWN.finditer(block, begin, end):
        line_end = block.find(b"\n", start.start(), end)
        script = _SCRIPT.search(block, start.start(), line_end if line_end >= 0 else end)
        data = "" if script is None else _data_of(script["name"], script["arguments"])
    return data


def _data_of(script: bytes, arguments: bytes) -> str:
    """The data that a script with these arguments evaluates."""
    if b"train" in script.lower():
        return ""
    found = _NAMES_EVALUATION.fullmatch(script) or _ARGUMENT_OF_EVALUATION.search(arguments)
    word = "" if found is None else found["data"].decode("latin-1").lower()
    return "eval" if word.startswith(("infer", "predict", "eval")) else "val" if word[:1] == "v" else word
