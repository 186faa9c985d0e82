"""Reports on files: what each holds, or why it is not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.cli.report.line_report import explain_paths
from holter.cli.report.logs import MISSING_FORMAT_ADVICE, describe_files, summarize_files
from holter.ingest import formats
from holter.ingest.offline.explain import FileReport, explain_files
from holter.ingest.offline.read_run import read_run
from holter.settings import load
from holter.types import SeriesKey

DATA = Path(__file__).parents[2] / "data" / "console"


def test_a_file_that_is_read_shows_its_format_series_and_steps(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.csv").write_text("step,loss\n1,2.5\n7,x\n9,2.0\n")
    (found,) = explain_files(tmp_path)
    assert (found.format, found.run, found.points) == ("csv", "run", {SeriesKey("loss"): 2})
    assert (found.first_step, found.last_step) == (1, 9)
    assert [unreadable.location for unreadable in found.unreadable] == ["line 3"]


def test_a_file_that_is_not_read_shows_why(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("name,price\nbread,2\n")
    (tmp_path / "notes.txt").write_text("buy milk\n")
    (tmp_path / "weights.pt").write_bytes(b"\0")
    (tmp_path / "state.json").write_text("{}\n")
    (tmp_path / "core").write_bytes(b"\x7fELF\0")
    (tmp_path / "new.log").touch()
    why = {found.path.name: found.why_not for found in explain_files(tmp_path)}
    assert why["prices.csv"].startswith("no column of its header is a step")
    assert why["prices.csv"].endswith("name,price")
    assert why["notes.txt"] == "no line names a step together with a loss"
    assert why["weights.pt"].startswith("skipped by its name")
    assert why["state.json"].startswith("no object per line with a key for the step")
    assert why["core"] == "no format is known for it"
    assert why["new.log"] == "empty so far"


def test_what_holter_exported_is_left_to_import(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("metric,labels,attempt,step,time,value,superseded\nloss,,0,1,,2.5,0\n")
    (tmp_path / "run.jsonl").write_text(
        '{"metric": "loss", "labels": {}, "attempt": 0, "step": 1, "value": 2.5}\n'
    )
    for found in explain_files(tmp_path):
        assert (found.format, "`holter import`" in found.why_not) == (None, True)


def test_a_text_that_gives_way_to_a_log_is_reported(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("step,loss\n0,4.2\n10,3.4\n")
    (tmp_path / "nohup.out").write_bytes((DATA / "nanogpt.out").read_bytes())
    why = {found.path.name: found.why_not for found in explain_files(tmp_path)}
    assert why["nohup.out"].startswith("not needed: other logs of its run have the same")


def test_people_read_a_paragraph_for_each_log_and_a_line_for_the_rest(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,loss,lr\n1,2.5,0.1\n2,2.0,0.1\n")
    for number in range(5):
        (tmp_path / f"notes{number}.txt").write_text("buy milk\n")
    files = explain_files(tmp_path)
    assert summarize_files(files) == "1 csv of 6 files"
    assert list(describe_files(files, tmp_path)) == [
        f"log.csv: csv, run {tmp_path.name}, 2 series, 4 points, steps 1 to 2",
        "    loss (loss) 2, lr (learning rate) 2",
        "not read: notes0.txt, notes1.txt, notes2.txt ... (5): no line names a step together with a loss",
    ]


def test_who_has_nothing_readable_is_reported_what_always_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n")
    assert list(describe_files(explain_files(tmp_path), tmp_path))[-1] == MISSING_FORMAT_ADVICE


def test_lines_that_no_format_knows_suggest_what_a_user_can_add(tmp_path: Path) -> None:
    text = "".join(f"[ACME] it#{at}0 of 80 > qx 2.{at}, gn 1.{at}\n" for at in range(9))
    (tmp_path / "job.out").write_text("loading\n" * 20_000 + text)
    result = list(describe_files(explain_files(tmp_path), tmp_path))
    assert result[0] == "not read: job.out (1): no line names a step together with a loss"
    start = result.index("job.out repeats a line with numbers; to read it, add to holter.toml:")
    (tmp_path / "holter.toml").write_text("\n".join(line.strip() for line in result[start + 1 : -1]))
    known = formats(load(file=tmp_path / "holter.toml").formats)
    (found,) = [report for report in explain_files(tmp_path, known=known) if report.path.name == "job.out"]
    assert (found.format, found.points) == ("house/ours", {SeriesKey("qx"): 9, SeriesKey("gn"): 9})


@pytest.mark.parametrize("clock", ["08/3{} 23:00:36", "Aug 2{} 23:00:36", "23:0{}:36", "2024-08-2{}"])
def test_a_suggested_pattern_does_not_take_a_date_for_the_step(tmp_path: Path, clock: str) -> None:
    lines = "".join(f"[{clock.format(at)}] acme 1{at * at:02}0 > qx 2.{at}\n" for at in range(9))
    (tmp_path / "job.out").write_text(lines)
    (found,) = explain_files(tmp_path / "job.out")
    assert found.suggestion is not None
    assert found.suggestion.pattern.index("acme") < found.suggestion.pattern.index("(?P<step>")


def test_lines_with_numbers_that_were_not_read_are_counted_and_shown(tmp_path: Path) -> None:
    records = [f"Epoch [1/60], Step [{step}/445], Loss: 1.5\n" for step in range(1, 9)]
    rest = [f"final loss after all: {number}.5 (smoothed)\n" for number in range(5)]
    (tmp_path / "train.log").write_text("".join([*records, "no numbers\n", *rest]))
    files = explain_files(tmp_path / "train.log")
    lines = files[0].lines
    assert lines is not None
    assert (lines.lines, lines.records, lines.unread, len(lines.examples)) == (14, 8, 5, 3)
    described = list(describe_files(files, tmp_path / "train.log"))
    assert "    steps are a step within an epoch (8 lines); none goes back" in described
    assert "    5 lines with numbers were not read:" in described
    assert "        final loss after all: 0.5 (smoothed)" in described


def test_a_file_given_by_hand_is_read_even_if_no_format_claims_it(tmp_path: Path) -> None:
    file = tmp_path / "results.xml"
    file.write_text("step 7 loss: 2.5\n")
    assert read_run(file).points == 1
    (found,) = files = explain_files(file)
    assert (found.is_guessed, found.format) == (True, "key-value")
    assert "    guessed: no format claims this file; it was read as lines of any program" in describe_files(
        files, file
    )
    assert [report.format for report in explain_files(tmp_path)] == [None], "in a folder nothing is guessed"


def test_each_line_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would take two lines
    file = Path("train.log")
    file.write_text("loading\nstep 10 loss: 2.5\nother loss: 3.5\nstep 20 loss: 2.0\n")
    assert explain_paths([file], load()) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in printed[1:]] == [
        *(["1", "loading"], ["2", "read"], ["step", "10:"]),
        *(["3", "unread"], ["4", "read"], ["step", "20:"]),
    ]
    assert explain_paths([tmp_path / "missing.log"], load()) == 1


def test_a_table_has_no_lines_to_explain_and_the_message_names_what_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("metrics.csv")
    file.write_text("step,loss\n" + "".join(f"{step},2.{step}\n" for step in range(9)))
    assert explain_paths([file], load()) == 1
    last = " ".join(capsys.readouterr().out.split()[-18:])
    assert last.endswith("no lines of printed text (csv); holter doctor PATH shows what is read from it")


def test_rows_that_wait_until_a_text_ends_are_explained_at_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("train.log")
    file.write_text("".join(f"step {n}0 loss: 2.{n}\n" for n in (*range(1, 21), 17, 18)))
    assert explain_paths([file], load()) == 0
    end = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split()[:3] for line in end] == [
        ["23", "read", "(the"],
        ["step", "170:", "loss"],
        ["step", "180:", "loss"],
    ]
    (report,) = explain_files(file)
    assert report.lines is not None
    assert (report.lines.lines, sum(report.points.values())) == (22, 22)


@pytest.mark.slow
def test_thousands_of_files_are_summed_up_and_those_with_trouble_reported(tmp_path: Path) -> None:
    for number in range(300):
        broken = "x,1\n" * 50 if number == 299 else ""
        folder = tmp_path / f"run{number % 60:03d}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number:03d}.csv").write_text(f"step,loss\n1,2.5\n{broken}")
        (folder / f"{number:03d}.txt").write_text("buy milk\n")
    files = explain_files(tmp_path)
    result = list(describe_files(files, tmp_path))
    assert len(result) < 60
    assert "and 279 more: 279 csv; 56 runs, 279 points" in result
    assert any(line.startswith("run059/299.csv") for line in result)
    assert "    18 more locations could not be read" in result
    assert result[-1].endswith("... (300): no line names a step together with a loss")


def test_series_of_one_metric_are_reported_together(tmp_path: Path) -> None:
    keys = {SeriesKey("loss", (("rank", str(rank)),)): 2 for rank in (0, 1)}
    result = list(
        describe_files([FileReport(path=tmp_path / "log.jsonl", format="jsonl", points=keys)], tmp_path)
    )
    assert result[1] == "    loss (loss) 4 in 2 series"


def test_what_every_rank_states_again_is_counted_so(tmp_path: Path) -> None:
    log = tmp_path / "train.jsonl"
    steps = [1, 2, 2, 2, 3, 2]
    log.write_text("".join(f'{{"step": {step}, "loss": {1 / step}}}\n' for step in steps))
    (result,) = explain_files(log)
    assert (sum(result.points.values()), result.repeats) == (6, 2)
    (line, *_) = describe_files([result], tmp_path)
    assert line.endswith(
        "6 points, steps 1 to 3 (2 of them repeat the step before: detection uses the last one)"
    )
    assert read_run(log).points == 4, "what analyze has"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("losses.csv", ",loss,val_acc\n0,2.5,0.25\n1,2.25,0.5\n2,2.0,0.75\n", {"loss": 2.5, "val_acc": 0.25}),
        ("losses.txt", "start\nloss: 2.5\nloss: 2.25\n\nloss: 2.0\n", {"loss": 2.5}),
        ("loss.txt", "2.5\n2.25\n2e0\n", {"loss": 2.5}),
    ],
)
def test_rows_that_name_no_step_are_steps_in_a_file_given_by_hand(
    tmp_path: Path, name: str, content: str, expected: dict[str, float]
) -> None:
    file = tmp_path / name
    file.write_text(content)
    series = read_run(file).data.series
    assert {key.metric: points.value[0] for key, points in series.items()} == expected
    assert all(points.step.tolist() == [0, 1, 2] for points in series.values())
    (found,) = files = explain_files(file)
    assert found.is_guessed
    rows = "    guessed: no format claims this file; its rows or values name no step and are counted from 0"
    assert rows in describe_files(files, file)
    assert [report.format for report in explain_files(tmp_path)] == [None], "in a folder nothing is guessed"


SERVED = "INFO:web.access:200 GET /a 0.5ms\n" * 5


@pytest.mark.parametrize(
    "content",
    ["sample,dice,iou\na,0.5,0.25\nb,0.5,0.25\nc,0.5,0.25\n", "2.5\n2.0\n", "1 a\n2 b\n3 c\n", SERVED],
)
def test_rows_about_samples_and_too_few_rows_are_no_steps(tmp_path: Path, content: str) -> None:
    file = tmp_path / "results.csv"
    file.write_text(content)
    assert read_run(file).points == 0
