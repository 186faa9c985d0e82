"""Reads a file that was given by hand and that no format claims: as records, printed lines, or rows.

So is one of which a format claims nothing but the lines of a scheduler, the kernel or NCCL, or lines that
have no values after all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.console.dialects import PLAIN_LINES
from holter.ingest.console.launches.next_launch import LAUNCH
from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.discovery.scanner import Source
from holter.ingest.format import Format
from holter.ingest.jsonl import JsonLines
from holter.ingest.offline.grown_lists import GrownLists
from holter.ingest.offline.joined_records import JoinedRecords
from holter.ingest.offline.json_tables import JsonTables
from holter.ingest.offline.nameless_rows import NamelessRows
from holter.ingest.offline.numbered_rows import NumberedRows
from holter.ingest.offline.printed_documents import PrintedDocuments
from holter.ingest.offline.printed_frames import PrintedFrames
from holter.ingest.offline.results_of_folds import ResultsOfFolds
from holter.ingest.offline.results_of_launches import ResultsOfLaunches
from holter.ingest.offline.rows_below_epochs import RowsBelowEpochs
from holter.ingest.offline.rows_of_epochs import RowsOfEpochs
from holter.ingest.offline.rows_of_texts import RowsOfTexts
from holter.ingest.offline.sideways_tables import SidewaysTables
from holter.ingest.offline.text_columns import has_texts
from holter.ingest.offline.titled_tables import TitledTables
from holter.ingest.offline.tried_formats import (
    SEVERAL,
    TRIED_BYTES,
    SeriesSteps,
    has_points,
    holds_points,
    most_steps,
    series_found,
    series_found_by_excerpts,
)
from holter.ingest.offline.uneven_tables import UnevenTables
from holter.ingest.open_log import HEAD_BYTES, open_beginning
from holter.ingest.stdout.system_text import SystemText
from holter.ingest.text_encoding import decode_lines
from holter.types import SeriesKey

_MOST_REPEATED = 2**20
"""Bytes of a text in which lines are looked for that repeat what was printed before."""
_TABLES = frozenset({".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".gz"})
_LIST = re.compile(rb"\[(?:-?\d[\d.e+-]{0,40}, ?-?\d| ?\{)|: ?\{['\"]")
"""A list of numbers or of objects, or an object in another one."""


def source_by_hand(file: Path, sources: Sequence[Source], known: Mapping[str, Format]) -> Source | None:
    """The source of a file that was given by hand, better than the `sources` found; None if these are right.

    As records on one line, as lines of any program, else its rows as steps; as lines alone where the system's
    are among them. Lines that hold nothing but single values come behind rows with a name: these are the
    results below such rows. A table in CSV comes behind others with names: of several rows it is mostly known
    under any name. None if none has a value, or it is no text.
    """
    lines = known.get(PLAIN_LINES.name)
    if lines is None or not file.is_file():
        return None
    try:
        guess = _guess(file, sources, lines)
    except OSError:
        return None
    if guess is None:
        return None
    return Source(path=file, format=guess, assignment=assign_tree(file, [file], one_run=True)[file])


def _guess(file: Path, sources: Sequence[Source], lines: Format) -> Format | None:
    """The format of a file for which some were found, or none; None if these are right."""
    if (rewritten := _repeating(file, sources, lines)) is not None:
        return rewritten
    if not sources:
        return _guessed(file, lines)
    formats = [source.format for source in sources]
    if len(formats) == 1 and isinstance(formats[0], CsvLog | JsonLines):
        counted: Format = RowsOfEpochs(formats[0])
        of_all = (RowsOfTexts(formats[0]), counted)
        for guess in (UnevenTables(lines), *of_all) if isinstance(formats[0], CsvLog) else of_all:
            if _finds_points(file, guess):
                return guess
        return None if _finds_points(file, formats[0]) else _guessed(file, lines)
    if len(formats) == 1 and isinstance(formats[0], ConsoleLog):
        if not holds_points(file, formats[0]):
            return _guessed(file, lines, are_lines_empty=formats[0].name == lines.name)
        kinds = (RowsOfTexts, TitledTables, RowsBelowEpochs, NamelessRows)
        for guess in (kind(formats[0]) for kind in kinds):
            if _finds_points(file, guess):
                return guess
        return None
    return _lines_of_training(file, sources, lines)


def _guessed(file: Path, lines: Format, *, are_lines_empty: bool = False) -> Format | None:
    """The first format that has several steps of a named series, or else any point; None without any.

    `are_lines_empty`: it is known already that `lines` has no point.
    """
    rows, table = NumberedRows(lines), CsvLog()
    first = [JsonTables(lines), SidewaysTables(lines), JoinedRecords(lines)]
    if file.suffix.lower() in (".csv", ".tsv"):
        first += [UnevenTables(lines), *([rows] if _has_texts(file) else ())]
    for records in first:
        if _finds_points(file, records):
            return records
    results = ResultsOfLaunches(lines)
    of_results: list[SeriesSteps] | None = None
    steps_of_lines = None if are_lines_empty else most_steps(_series(file, lines))
    if steps_of_lines is None:
        of_results = [*_series(file, results)]
        if has_points(of_results, _is_of_launch) or most_steps(of_results) == SEVERAL:
            return results  # else each launch or evaluation would be a row of a training
    is_table = table.sniff(PurePath("table.csv"), _head(file))
    tables: list[Format] = [UnevenTables(lines), rows, table] if is_table else [rows]
    guesses = (
        RowsOfTexts(lines),
        TitledTables(lines),
        RowsBelowEpochs(lines),
        NamelessRows(lines),
        *([] if steps_of_lines is None else [lines]),
        PrintedFrames(lines),
        *tables,
        PrintedDocuments(lines),
        ResultsOfFolds(lines),
    )
    with_any = None
    for guess in guesses:
        steps = steps_of_lines if guess is lines else most_steps(_series(file, guess))
        if steps == SEVERAL:
            return guess
        if steps is not None and with_any is None:
            with_any = guess
    if of_results is None:
        of_results = [*_series(file, results)]
    has_results = most_steps(of_results) == SEVERAL or (with_any is None and has_points(of_results))
    return results if has_results else with_any


def _repeating(file: Path, sources: Sequence[Source], lines: Format) -> Format | None:
    """How to read lines that repeat what was printed before: lists that grow, the history of a training."""
    if file.suffix.lower() in _TABLES or not all(source.format.role.in_text for source in sources):
        return None
    with open_beginning(file, TRIED_BYTES)[0].stream as stream:
        text = stream.read(_MOST_REPEATED)
    if len(text) < _MOST_REPEATED and _LIST.search(text) is not None:
        for guess in (GrownLists(lines), PrintedDocuments(lines)) if sources else (GrownLists(lines),):
            if _finds_points(file, guess):
                return guess
    return None


def _lines_of_training(file: Path, sources: Sequence[Source], lines: Format) -> Format | None:
    """Lines of any program, where nothing but those of the system are known in a file that has such."""
    lacks_training = all(
        isinstance(source.format, SystemText) and not _finds_points(file, source.format, _is_of_training)
        for source in sources
    )
    return lines if lacks_training and _finds_points(file, lines, _is_of_training) else None


def _is_of_launch(key: SeriesKey) -> bool:
    """Whether a series is that of a launch that only evaluates, behind the first one."""
    return key.label(LAUNCH) is not None


def _is_of_training(key: SeriesKey) -> bool:
    """Whether a series is at steps of the training, and not at times of events of the system."""
    return key.step_unit is None


def _finds_points(file: Path, guess: Format, is_meant: Callable[[SeriesKey], bool] = bool) -> bool:
    """Whether a file read by a format has a point of a series that is meant."""
    return has_points(_series(file, guess), is_meant)


def _series(file: Path, guess: Format) -> Iterator[SeriesSteps]:
    """What a format finds in a file; one that looks at each line for what others share, by excerpts first."""
    find = series_found_by_excerpts if isinstance(guess, NumberedRows | ResultsOfLaunches) else series_found
    return find(file, guess)


def _has_texts(file: Path) -> bool:
    """Whether a table has columns of texts, in which a program's lines may seem to be."""
    with open_beginning(file, TRIED_BYTES)[0].stream as stream:
        return has_texts(decode_lines(stream.read(TRIED_BYTES)).splitlines())


def _head(file: Path) -> bytes:
    with open_beginning(file, TRIED_BYTES)[0].stream as stream:
        return stream.read(HEAD_BYTES)
