"""Custom formats: patterns from the settings, which are checked and cannot backtrack."""

from __future__ import annotations

import io
import time
from pathlib import Path, PurePath

import pytest

from holter.custom_format import CustomFormat
from holter.ingest import formats
from holter.ingest.offline.read_run import read_run
from holter.ingest.offline.suggest_pattern import format_as_toml, suggest_format
from holter.settings import SettingsError, load
from holter.types import Batch, SeriesKey
from tests.support.machine_speed import is_within

ACME = CustomFormat(
    name="acme",
    patterns=(
        r"^\[acme\] (?P<time>\S+) r(?P<rank>\d+) it#(?P<step>\d+) > "
        r"L (?P<L>\S+), speed (?P<speed>\S+) on (?P<data>\w+)$",
        r"^\[acme\] gn (?P<grad_norm>\S+)$",
        r"\[eval\] step (?P<step>\d+) (?P<metric>[\w/]+) -> (?P<value>\S+)",
    ),
    labels=("data",),
    names={"L": "train/loss"},
)
TEXT = b"""starting
[acme] 1700000000.5 r03 it#10 > L 2.5, speed 67.4K on cm4
[acme] gn 0.75
3: \x1b[32m[acme]\x1b[0m 1700000001500 r3 it#20 > L nan, speed 1,200 on cm4\r
[eval] step 20 val/loss -> 2.25
[acme] it#oops > L 2, speed 1 on cm4
"""


def read(custom: CustomFormat, text: bytes) -> dict[str, list[tuple[int, float, str]]]:
    format_ = formats([custom])[f"house/{custom.name}"]
    assert format_.sniff(PurePath("out.log"), text)
    points: dict[str, list[tuple[int, float, str]]] = {}
    for batch in format_.reader(PurePath("out.log"), {}).read(io.BytesIO(text)):
        assert isinstance(batch, Batch)
        for column in batch.columns:
            rows = range(len(batch.steps)) if column.rows is None else column.rows
            for row, value in zip(rows, column.values, strict=True):
                result = (int(batch.steps[row]), float(batch.times[row]), str(value))
                points.setdefault(str(column.key), []).append(result)
    return points


def test_groups_become_metrics_labels_steps_and_times() -> None:
    found = read(ACME, TEXT)
    assert found["train/loss{data=cm4,rank=3}"] == [(10, 1700000000.5, "2.5"), (20, 1700000001.5, "nan")]
    assert [value for *_, value in found["speed{data=cm4,rank=3}"]] == ["67400.0", "1200.0"]
    assert [(step, value) for step, _, value in found["grad_norm"]] == [(10, "0.75")], "of the step before"
    assert [(step, value) for step, _, value in found["val/loss"]] == [(20, "2.25")]
    assert len(found) == 4


def test_lines_are_found_between_others_that_have_colours() -> None:
    lines = [
        f"[acme] 17000000{step:02}000 r3 it#{step} > L 2.{step}, speed 1,200 on cm4\n"
        for step in range(10, 40)
    ]
    coloured = [
        f"\x1b[32m{line[:6]}\x1b[0m{line[6:]}" if not number % 7 else line
        for number, line in enumerate(lines)
    ]
    noise = ["loading \x1b[1mdata\x1b[0m\n", "saved\r\n", "\n"]
    mixed = [text for line in coloured for text in (line, *noise)]
    assert read(ACME, "".join(mixed).encode()) == read(ACME, "".join(lines).encode())


def test_its_lines_are_read_in_the_logs_of_frameworks_too(tmp_path: Path) -> None:
    lines = "".join(
        f"iter {step}: loss 3.4, time 1970.20ms, mfu 0.19%\n[acme] 0 r0 it#{step} > L 9, speed 1 on x\n"
        for step in range(5)
    )
    (tmp_path / "out.log").write_text(lines)
    found = read_run(tmp_path, known=formats([ACME]))
    assert found.files == {"out.log": "nanogpt"}
    assert len(found.data.series[SeriesKey("loss")]) == 5
    assert len(found.data.series[SeriesKey("train/loss", (("data", "x"), ("rank", "0")))]) == 5


def test_it_goes_before_the_format_that_takes_any_line() -> None:
    text = b"step=1 loss=2.5 x\n" * 5
    custom = CustomFormat(name="mine", pattern=r"step=(?P<step>\d+) loss=(?P<train_loss>\S+)")
    assert formats()["key-value"].sniff(PurePath("a.log"), text)
    assert not formats([custom])["key-value"].sniff(PurePath("a.log"), text)
    assert read(custom, text).keys() == {"train_loss"}


def test_no_pattern_can_hang_a_reader() -> None:
    custom = CustomFormat(name="evil", pattern=r"(?P<step>\d+) (x+x+)+y (?P<loss>\S+)")
    text = b"1 xxxxy 2.5\n" + b"1 " + b"x" * 500_000 + b"\n2 xxy 3.5\n"
    began = time.thread_time()
    assert [value for *_, value in read(custom, text)["loss"]] == ["2.5", "3.5"]
    seconds = time.thread_time() - began
    assert is_within(seconds, 20), "a backtracking engine would need longer than the universe"


@pytest.mark.parametrize(
    ("toml", "word"),
    [
        ("pattern = '(?P<step>\\d+'", "missing )"),
        ("pattern = '(?P<step>\\d+)(?=x) (?P<loss>\\S+)'", "look-around"),
        ("pattern = 'step (?P<loss>\\S+)'", "a group for the step"),
        ("pattern = 'step \\d+'", "named groups"),
        ("pattern = '(?P<step>\\d*)'", "must not match the empty text"),
        ("patern = 'x'", "patern"),
        ("pattern = 's (?P<step>\\d+) (?P<value>\\S+)'", "both groups"),
        ("pattern = 's (?P<step>\\d+) (?P<loss>\\S+)'\nnames = {los = 'x'}", "'los' is no group"),
        ("", "acme"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_reported_with_the_name_of_its_setting(
    tmp_path: Path, toml: str, word: str
) -> None:
    file = tmp_path / "holter.toml"
    file.write_text(f"[[formats]]\nname = 'acme'\n{toml}\n")
    with pytest.raises(SettingsError) as result:
        load(file=file)
    assert "formats.0" in str(result.value)
    assert word in str(result.value)


def test_the_format_that_the_documentation_shows_reads_a_log(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/formats.md").read_text()
    shown = page.partition("## Custom formats")[2].partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "holter.toml").write_text(shown)
    (tmp_path / "acme.log").write_bytes(TEXT)
    result = load(file=tmp_path / "holter.toml").formats
    series = read_run(tmp_path / "acme.log", known=formats(result)).data.series
    assert {key.metric for key in series} == {"train/loss", "speed", "grad_norm", "val/loss"}


def test_two_formats_of_one_name_are_refused(tmp_path: Path) -> None:
    section = "[[formats]]\nname = 'acme'\npattern = 's (?P<step>\\d+) (?P<loss>\\S+)'\n"
    (tmp_path / "holter.toml").write_text(section * 2)
    with pytest.raises(SettingsError, match=r"formats: two formats are named 'acme'"):
        load(file=tmp_path / "holter.toml")


def test_what_doctor_suggests_reads_the_lines_it_was_made_from(tmp_path: Path) -> None:
    lines = [
        f"[ACME] 2024-05-05 12:30:{at:02d} | it#{at * 10} of 80 > L1 2.{at}, gn 1.{at} (3{at}.5K tok/s)"
        for at in range(8)
    ]
    custom = suggest_format("\n".join(["starting", *lines, "done", ""]).encode())
    assert custom is not None
    (tmp_path / "holter.toml").write_text(format_as_toml(custom))
    (loaded,) = load(file=tmp_path / "holter.toml").formats
    found = read(loaded, "\n".join(["starting", *lines, ""]).encode())
    assert [step for step, *_ in found["L1"]] == [at * 10 for at in range(8)]
    assert [value for *_, value in found["gn"]] == [f"1.{at}" for at in range(8)]


@pytest.mark.parametrize(
    "text",
    ["", "buy milk\n" * 9, "".join(f"took {at} of 9 files\n" for at in range(9)), "\0\1\2" * 99, "1\n" * 9],
)
def test_lines_without_metrics_suggest_nothing(text: str) -> None:
    assert suggest_format(text.encode()) is None
