"""Reports on files, as of `holter doctor`, are made of a bounded part of each, and say so."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from holter.cli.report.logs import describe_files
from holter.ingest.offline import explain
from holter.ingest.offline.explain import explain_files

MIB = 2**20
ROWS = b"step,loss\n1,2.5\n2,2.4\n"


@pytest.fixture(autouse=True)
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "SAMPLED_BYTES", 4 * MIB)


@pytest.mark.parametrize("name", ["run.csv", "run.csv.gz"])
def test_of_an_endless_file_the_beginning_is_read_and_the_report_says_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(ROWS + bytes(40 * MIB)))
    else:
        path.write_bytes(ROWS)
        os.truncate(path, 50 * 2**30)  # a hole, which takes no space
    [report] = explain_files(tmp_path)
    assert (report.format, sum(report.points.values()), report.last_step) == ("csv", 2, 2)
    assert report.sampled_bytes == 4 * MIB
    assert "    only its first 4 MiB were read for this report" in list(describe_files([report], tmp_path))


@pytest.mark.parametrize("name", ["run.csv", "run.csv.gz"])
def test_a_file_as_large_as_the_sample_is_read_to_its_end(tmp_path: Path, name: str) -> None:
    rows = ROWS + b"".join(b"%07d,1\n" % step for step in range(3, 3 + (4 * MIB - len(ROWS)) // 10))
    rows = rows[:-1] + b"0" * (4 * MIB - len(rows)) + b"\n"
    assert len(rows) == 4 * MIB
    (tmp_path / name).write_bytes(gzip.compress(rows, 1) if name.endswith("gz") else rows)
    [report] = explain_files(tmp_path)
    assert report.sampled_bytes is None
    assert report.unreadable == ()
    assert sum(report.points.values()) == rows.count(b"\n") - 1


def test_a_damaged_gzip_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "run.csv.gz").write_bytes(gzip.compress(ROWS * 1)[:-6])
    [report] = explain_files(tmp_path)
    assert "expected a complete gzip file" in report.unreadable[-1].reason
