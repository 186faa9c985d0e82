"""What SLURM's tools say of jobs: squeue, sacct and scontrol, as tables, as fields and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, ClassVar

from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import LogRow
from holter.ingest.slurm.settings import ENDED, settings_of, state_of
from holter.ingest.telemetry.json_stream import DocumentReader
from holter.ingest.telemetry.line_reader import LineReader
from holter.ingest.telemetry.timestamped import row_at
from holter.types import ConfigKey

_SQUEUE = re.compile(r"\s*JOBID PARTITION\s+NAME\s+USER\s+ST\s+TIME\s+NODES NODELIST\(REASON\)\s*")
_SACCT = re.compile(r"\s*JobID(?:Raw)?\s.*\bState\b.*", re.IGNORECASE)
_PARSABLE = re.compile(
    r"(?=.*\b(?:JobID|JOBID)(?:Raw)?\b)(?=.*\b(?:State|STATE|ST)\b)[\w()%/ -]+(?:\|[\w()%/ -]*)+"
)
_SCONTROL = re.compile(r"\s*JobId=\d+ ")
_FIELD = re.compile(r"([A-Z][A-Za-z/:]{1,40})=(\S*)")
_JSON = re.compile(rb'"job_state"\s*:')
_HEADS = (_SQUEUE, _SACCT, _PARSABLE, _SCONTROL)


class SlurmJobs:
    """Outputs of squeue, sacct and `scontrol show job`, once or again and again, in any of their forms."""

    name: ClassVar[str] = "slurm-jobs"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A head of these tools' tables, or a job's first field, among the first lines."""
        if b"\0" in head:
            return False
        lines = [line.decode("utf-8", "replace") for line in head[:8192].split(b"\n")[:10]]
        return any(pattern.fullmatch(line) for pattern in _HEADS[:3] for line in lines) or any(
            _SCONTROL.match(line) for line in lines
        )

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> JobsReader:
        """A reader that goes on from `state`."""
        return JobsReader({} if "rewritten" in state else state)


class SlurmJson:
    """What squeue, sacct and scontrol write with `--json`."""

    name: ClassVar[str] = "slurm-json"
    role: ClassVar[FormatRole] = FormatRole(content=Content.OWN_STEPS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A document with jobs and their states."""
        begins = any(line[:1] == b"{" for line in head[:4096].split(b"\n"))
        return begins and b"\0" not in head and _JSON.search(head) is not None and b'"jobs"' in head

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> JsonReader:
        """A reader that goes on from `state`."""
        return JsonReader({} if "rewritten" in state else state)


class JobsReader(LineReader):
    """Reads one growing text of tables and fields; a date between them is the moment of those below."""

    expected = "a line of squeue, sacct or scontrol"

    def __init__(self, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._names: list[str] = state.get("header", [])
        self._edges: list[int] = state.get("edges", [])
        self._job: dict[str, str] = dict(state.get("job", {}))
        self._moment: float = state.get("moment", float("nan"))

    def own_state(self) -> Mapping[str, Any]:
        """The head of the table, or the fields of the job so far; and the moment."""
        moment = {} if self._moment != self._moment else {"moment": self._moment}
        return {"header": self._names, "edges": self._edges, "job": dict(self._job), **moment}

    def rows(self, line: str) -> Iterator[LogRow]:
        """What is said of a job, with its last line."""
        if self._job and (not line.strip() or _SCONTROL.match(line)):
            job, self._job = self._job, {}
            yield from rows_of(self, job, self._moment)
        if not line.strip():
            return
        if _SCONTROL.match(line) or (self._job and _FIELD.search(line)):
            self._job |= dict(_FIELD.findall(line[:20_000]))
            if "JobId=" in line and "JobState=" in line:  # scontrol --oneliner
                job, self._job = self._job, {}
                yield from rows_of(self, job, self._moment)
        elif self._is_head(line):
            return
        elif self._names and (cells := self._cells(line)):
            yield from rows_of(self, dict(zip(self._names, cells, strict=False)), self._moment)
        else:
            moment = self.clock.read(line[:100])
            self._moment = moment if moment == moment else self._moment

    def _is_head(self, line: str) -> bool:
        """Whether a line heads a table, or is the rule below: then rows are cut where it says."""
        if set(line.strip()) == {"-", " "}:
            self._edges = [found.start() for found in re.finditer("-+", line)]
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
        more = len(cells) - len(self._names)
        if self._names[:3] == ["JOBID", "PARTITION", "NAME"] and more > 0:  # a name may hold blanks
            cells[2 : 3 + more] = [" ".join(cells[2 : 3 + more])]
        return cells if len(cells) == len(self._names) else ()


class JsonReader(DocumentReader):
    """Reads one growing text of documents."""

    expected = "a document of squeue, sacct or scontrol"

    def of_document(self, found: Any) -> Iterator[LogRow]:
        """What is said of each of its jobs."""
        jobs = found.get("jobs") if isinstance(found, dict) else None
        for job in jobs if isinstance(jobs, list) else ():
            if isinstance(job, dict):
                yield from rows_of(self, {name: _text(said) for name, said in job.items()}, self.moment)


def rows_of(reader: LineReader, fields: Mapping[str, str], moment: float) -> Iterator[LogRow]:
    """A job's state at a moment, and its end where it has ended; what else is said of it is stated."""
    job = _first(fields, "JobId", "JobID", "JOBID", "job_id", "JobIDRaw").strip()
    if not re.fullmatch(r"\d{1,12}(?:_\d{1,9})?", job):  # 4711.batch is a step of a job
        return
    labels = {"job": job}
    for name, value in settings_of(fields).items():
        reader.state_that(ConfigKey(name, tuple(labels.items())), value)
    state = state_of(_first(fields, "JobState", "State", "STATE", "ST", "job_state"))
    if not state:
        return
    at = row_at(moment, {"slurm_state": 1.0}, state=state, **labels)
    at = at or reader.counted.row({"slurm_state": 1.0}, state=state, **labels)
    if at is not None:
        yield at
    end = _first(fields, "EndTime", "End", "end_time")
    if state in ENDED and end:
        ended = float(end) if end.isdecimal() else reader.clock.read(end)
        row = row_at(ended, {"job_ends": 1.0}, state=state, **labels)
        if row is not None:
            yield row


def _first(fields: Mapping[str, str], *names: str) -> str:
    """What the first of these fields says that is there."""
    return next((fields[name] for name in names if fields.get(name)), "")


def _text(said: object) -> str:
    """A field of JSON as the tools print it: {"set": true, "number": 4} is 4, ["RUNNING"] is RUNNING."""
    if isinstance(said, list):
        return _text(said[0]) if said else ""
    if isinstance(said, dict):
        return _text(said.get("number", said.get("current", ""))) if said.get("set", True) else ""
    return str(said)[:20_000] if isinstance(said, str | int | float) and not isinstance(said, bool) else ""
