"""Output of squeue, sacct and scontrol: tables, lists of fields, and JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, ClassVar

from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow
from holter.ingest.slurm.settings import FINAL_STATES, normalize_state, parse_settings
from holter.ingest.telemetry.line_reader import JsonDocumentReader, LineReader
from holter.ingest.telemetry.timestamped import clock_row
from holter.types import ConfigKey

_SQUEUE = re.compile(r"\s*JOBID PARTITION\s+NAME\s+USER\s+ST\s+TIME\s+NODES NODELIST\(REASON\)\s*")
_SACCT = re.compile(r"\s*JobID(?:Raw)?\s.*\bState\b.*", re.IGNORECASE)
_PARSABLE = re.compile(
    r"(?=.*\b(?:JobID|JOBID)(?:Raw)?\b)(?=.*\b(?:State|STATE|ST)\b)[\w()%/ -]+(?:\|[\w()%/ -]*)+"
)
_SCONTROL = re.compile(r"\s*JobId=\d+ ")
_FIELD = re.compile(r"([A-Z][A-Za-z/:]{1,40})=(\S*)")
_JSON = re.compile(rb'"job_state"\s*:')
_HEADERS = (_SQUEUE, _SACCT, _PARSABLE, _SCONTROL)


class SlurmJobs:
    """Output of squeue, sacct and `scontrol show job`: tables or lists of fields, which may be repeated."""

    name: ClassVar[str] = "slurm-jobs"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A header of these tools' tables, or a job's first field, among the first lines."""
        if b"\0" in head:
            return False
        lines = [line.decode("utf-8", "replace") for line in head[:8192].split(b"\n")[:10]]
        return any(pattern.fullmatch(line) for pattern in _HEADERS[:3] for line in lines) or any(
            _SCONTROL.match(line) for line in lines
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> SlurmJobsReader:
        """A reader that resumes from `state`."""
        return SlurmJobsReader({} if "rewritten" in state else state)


class SlurmJson:
    """Output of squeue, sacct and scontrol with `--json`."""

    name: ClassVar[str] = "slurm-json"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A document with jobs and their states."""
        begins = any(line[:1] == b"{" for line in head[:4096].split(b"\n"))
        return begins and b"\0" not in head and _JSON.search(head) is not None and b'"jobs"' in head

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> SlurmJsonReader:
        """A reader that resumes from `state`."""
        return SlurmJsonReader({} if "rewritten" in state else state)


class SlurmJobsReader(LineReader):
    """Reads one text that is being written; a date between tables is the time of those below it."""

    expected = "a line of squeue, sacct or scontrol"

    def __init__(self, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._names: list[str] = state.get("header", [])
        self._edges: list[int] = state.get("edges", [])
        self._job: dict[str, str] = dict(state.get("job", {}))
        self._time: float = state.get("moment", math.nan)

    def own_state(self) -> Mapping[str, Any]:
        """The columns of the table, the fields of the job so far, and the time."""
        time = {} if math.isnan(self._time) else {"moment": self._time}
        return {"header": self._names, "edges": self._edges, "job": dict(self._job), **time}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The rows of the job that this line completes."""
        if self._job and (not line.strip() or _SCONTROL.match(line)):
            job, self._job = self._job, {}
            yield from job_rows(self, job, self._time)
        if not line.strip():
            return
        if _SCONTROL.match(line) or (self._job and _FIELD.search(line)):
            self._job |= dict(_FIELD.findall(line[:20_000]))
            if "JobId=" in line and "JobState=" in line:  # scontrol --oneliner
                job, self._job = self._job, {}
                yield from job_rows(self, job, self._time)
        elif self._read_header(line):
            return
        elif self._names and (cells := self._cells(line)):
            yield from job_rows(self, dict(zip(self._names, cells, strict=False)), self._time)
        else:
            time = self.timestamps.parse(line[:100])
            self._time = self._time if math.isnan(time) else time

    def _read_header(self, line: str) -> bool:
        """Whether a line is a table's header, or the rule below it; columns begin where its dashes do."""
        if set(line.strip()) == {"-", " "}:
            self._edges = [dashes.start() for dashes in re.finditer("-+", line)]
            return True
        if _PARSABLE.fullmatch(line):
            self._names, self._edges = [name.strip() for name in line.split("|")], []
        elif _SQUEUE.fullmatch(line) or _SACCT.fullmatch(line):
            self._names, self._edges = line.split(), []
        else:
            return False
        return True

    def _cells(self, line: str) -> Sequence[str]:
        if "|" in line:
            return [cell.strip() for cell in line.split("|")]
        if self._edges:
            ends = [*self._edges[1:], len(line)]
            return [line[begin:end].strip() for begin, end in zip(self._edges, ends, strict=True)]
        cells = line.split()
        extra = len(cells) - len(self._names)
        if self._names[:3] == ["JOBID", "PARTITION", "NAME"] and extra > 0:  # a name may have blanks
            cells[2 : 3 + extra] = [" ".join(cells[2 : 3 + extra])]
        return cells if len(cells) == len(self._names) else ()


class SlurmJsonReader(JsonDocumentReader):
    """Reads one text of documents that is being written."""

    expected = "a document of squeue, sacct or scontrol"

    def document_rows(self, document: Any) -> Iterator[LogRow]:
        """The rows of each job in a document."""
        jobs = document.get("jobs") if isinstance(document, dict) else None
        for job in jobs if isinstance(jobs, list) else ():
            if isinstance(job, dict):
                yield from job_rows(self, {name: _text(value) for name, value in job.items()}, self.time)


def job_rows(reader: LineReader, fields: Mapping[str, str], time: float) -> Iterator[LogRow]:
    """A row with the state of a job, and one at its end if it has ended; adds its settings to `reader`."""
    job = _first(fields, "JobId", "JobID", "JOBID", "job_id", "JobIDRaw").strip()
    if not re.fullmatch(r"\d{1,12}(?:_\d{1,9})?", job):  # 4711.batch is a step of a job
        return
    labels = {"job": job}
    for name, value in parse_settings(fields).items():
        reader.add_setting(ConfigKey(name, tuple(labels.items())), value)
    state = normalize_state(_first(fields, "JobState", "State", "STATE", "ST", "job_state"))
    if not state:
        return
    row = clock_row(time, {"slurm_state": 1.0}, state=state, **labels)
    row = row or reader.samples.row({"slurm_state": 1.0}, state=state, **labels)
    if row is not None:
        yield row
    end_text = _first(fields, "EndTime", "End", "end_time")
    if state in FINAL_STATES and end_text:
        end_time = float(end_text) if end_text.isdecimal() else reader.timestamps.parse(end_text)
        end_row = clock_row(end_time, {"job_ends": 1.0}, state=state, **labels)
        if end_row is not None:
            yield end_row


def _first(fields: Mapping[str, str], *names: str) -> str:
    """The first of these fields that is not empty; "" without one."""
    return next((fields[name] for name in names if fields.get(name)), "")


def _text(value: object) -> str:
    """A field of JSON as the tools print it: {"set": true, "number": 4} is 4, ["RUNNING"] is RUNNING."""
    if isinstance(value, list):
        return _text(value[0]) if value else ""
    if isinstance(value, dict):
        return _text(value.get("number", value.get("current", ""))) if value.get("set", True) else ""
    return str(value)[:20_000] if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
