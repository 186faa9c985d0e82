"""A long text that was given by hand costs no more than its excerpts where nothing is read of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.numbered_rows import NumberedRows
from holter.ingest.offline.read_run import read_run
from holter.ingest.offline.results_of_launches import ResultsOfLaunches

_LINES = 30_000
_MOST_TRIED = 6_000


def _noise(lines: int = _LINES) -> list[str]:
    return [f"fetched object {number} of queue-{number:07d}" for number in range(lines)]


@pytest.fixture
def lines_tried(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many lines each slow format has read."""
    tried: dict[str, int] = {}
    for kind in (NumberedRows, ResultsOfLaunches):
        records = kind.records

        def counted(self, path, text, *, records=records, name=kind.name):
            tried[name] = tried.get(name, 0) + len(text.splitlines())
            return records(self, path, text)

        monkeypatch.setattr(kind, "records", counted)
    return tried


def test_of_a_long_text_without_records_slow_formats_read_excerpts_alone(tmp_path, lines_tried):
    log = tmp_path / "service.log"
    log.write_text("".join(f"{line}\n" for line in _noise()))

    run = read_run(log)

    assert run.points == 0
    assert lines_tried == {NumberedRows.name: _MOST_TRIED, ResultsOfLaunches.name: _MOST_TRIED}


@pytest.mark.parametrize("place", [0, _LINES // 2, _LINES], ids=["beginning", "middle", "end"])
def test_rows_in_an_excerpt_of_a_long_text_are_read_with_all_others(tmp_path: Path, place: int):
    lines = _noise()
    rows = [f"loss: {1 / (number + 1):.6f}" for number in range(400)]
    log = tmp_path / "service.log"
    log.write_text("".join(f"{line}\n" for line in [*lines[:place], *rows, *lines[place:]]))

    run = read_run(log)

    assert {key.metric: len(series) for key, series in run.data.series.items()} == {"loss": 400}


def test_a_long_text_of_rows_without_a_step_is_read_to_its_end(tmp_path: Path):
    log = tmp_path / "losses.txt"
    log.write_text("".join(f"loss: {1 / (number + 1):.6f}\n" for number in range(_LINES)))

    assert read_run(log).points == _LINES
