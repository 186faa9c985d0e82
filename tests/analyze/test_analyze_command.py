"""`holter analyze`: reports on stdout, problems on stderr; as a process, and within the one of the tests."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from holter.cli.main import main
from tests.support.curves import loss_curve, speed_curve
from tests.support.forked_commands import run_command

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"
FIELDS = {
    "kind", "metric", "labels", "attempt", "start_step", "peak_step", "end_step", "detected_step",
    "classified_step", "severity", "confidence", "summary", "advice", "evidence", "causes",
}  # fmt: skip


Analyze = Callable[..., subprocess.CompletedProcess[str]]


def analyze_as_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_command(["analyze", *arguments], env={**os.environ, "COLUMNS": "100"})


@pytest.fixture
def analyze(capsys: pytest.CaptureFixture[str]) -> Analyze:
    """Runs the command in this process, which has imported what a process of its own would import first."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = ["analyze", *map(str, arguments)]
        code = main(command)
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(command, code, printed.out, printed.err)

    return run


def write(path: Path, columns: dict[str, np.ndarray]) -> None:
    """A CSV log; a name that ends with .gz is compressed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [",".join(columns)]
    rows += [",".join(f"{value:.10g}" for value in row) for row in zip(*columns.values(), strict=True)]
    text = "\n".join(rows) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs: `spiky` with two attempts, `slow` compressed and with ranks, `calm`."""
    root = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    loss = loss_curve(rng, 3000)
    loss[1300:1330] += 4.0
    first, second = np.arange(1500), np.arange(1400, 2900)
    write(root / "spiky/attempt-0.csv", {"step": first, "wall_time": 1.7e9 + first, "loss": loss[:1500]})
    write(
        root / "spiky/attempt-1.csv",
        {"step": second, "wall_time": 1.7e9 + 200 + second, "loss": loss[1400:2900]},
    )
    speed = speed_curve(rng, 2000)
    speed[1000:] *= 0.8
    clock = 1.7e9 + np.cumsum(2e5 / speed)
    write(root / "slow/log.csv.gz", {"step": np.arange(2000), "wall_time": clock, "tokens_per_s": speed})
    compute = np.exp(rng.normal(0, 0.006, (100, 8)))
    compute[50:, 3] *= 1.3
    ranks = np.stack(
        [np.repeat(np.arange(100) * 20, 8), np.zeros(800), np.tile(np.arange(8), 100), compute.ravel()]
    )
    write(
        root / "slow/ranks.csv.gz", dict(zip(("step", "attempt", "rank", "compute_time"), ranks, strict=True))
    )
    write(root / "calm/log.csv", {"step": first, "loss": loss_curve(rng, 1500)})
    return root


def test_a_line_per_path_in_the_order_given(runs: Path) -> None:
    paths = [runs / "slow", runs / "calm/log.csv", runs / "spiky"]
    done = analyze_as_process(*paths, "--format", "jsonl")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["path"] for line in lines] == [str(path) for path in paths]
    assert [line["run"] for line in lines] == ["slow", "log.csv", "spiky"]
    assert [line["attempts"] for line in lines] == [1, 1, 2]
    assert [line["points"] for line in lines] == [2000 + 800, 1500, 3000]
    assert set(lines[0]) == {"path", "run", "attempts", "points", "findings", "remarks"}


def test_findings_have_the_documented_fields(runs: Path, analyze: Analyze) -> None:
    (spiky,) = map(json.loads, analyze(runs / "spiky", "--format", "jsonl").stdout.splitlines())
    (spike,) = spiky["findings"]
    assert set(spike) == FIELDS
    assert (spike["kind"], spike["metric"], spike["labels"]) == ("spike_fast", "loss", {})
    assert (spike["attempt"], spike["start_step"]) == (0, 1300)
    assert 1300 <= spike["detected_step"] <= spike["classified_step"]


def test_ranks_are_numbers_in_labels(runs: Path, analyze: Analyze) -> None:
    (slow,) = map(json.loads, analyze(runs / "slow", "--format", "jsonl").stdout.splitlines())
    assert [(finding["kind"], finding["labels"]) for finding in slow["findings"]] == [
        ("straggler", {"rank": 3})
    ]


def test_until_step_limits_the_analysed_steps(runs: Path, analyze: Analyze) -> None:
    (before,) = map(
        json.loads, analyze(runs / "spiky", "--until-step", 1299, "--format", "jsonl").stdout.splitlines()
    )
    assert (before["findings"], before["points"]) == ([], 1300)
    (during,) = map(
        json.loads, analyze(runs / "spiky", "--until-step", 1310, "--format", "jsonl").stdout.splitlines()
    )
    assert [(finding["start_step"], finding["end_step"]) for finding in during["findings"]] == [(1300, None)]


@pytest.mark.parametrize(
    ("pattern", "kinds"), [("loss", []), ("compute*", ["straggler"]), ("*{rank=3}", ["straggler"])]
)
def test_metric_selects_the_findings_shown(
    runs: Path, pattern: str, kinds: list[str], analyze: Analyze
) -> None:
    (slow,) = map(
        json.loads, analyze(runs / "slow", "--metric", pattern, "--format", "jsonl").stdout.splitlines()
    )
    assert [finding["kind"] for finding in slow["findings"]] == kinds


def test_unreadable_locations_are_reported_on_stderr_and_in_json(
    runs: Path, tmp_path: Path, analyze: Analyze
) -> None:
    good = (runs / "calm/log.csv").read_text().splitlines()
    good[700] = "700,what"
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "log.csv").write_text("\n".join(good) + "\n")
    done = analyze(broken, "--format", "json")
    assert done.returncode == 0
    assert "log.csv" in done.stderr
    assert "701" in done.stderr
    (report,) = json.loads(done.stdout)
    (unreadable,) = report["unreadable"]
    assert unreadable["file"].endswith("log.csv")
    assert report["points"] == 1499
    page = analyze(broken, "--format", "html")
    assert "line 702" in page.stdout or "line 701" in page.stdout


def test_nothing_readable_is_exit_code_3_with_a_line_per_path(runs: Path, tmp_path: Path) -> None:
    done = analyze_as_process(tmp_path, tmp_path / "absent", "--format", "jsonl")
    assert done.returncode == 3
    assert [json.loads(line)["points"] for line in done.stdout.splitlines()] == [0, 0]
    assert "absent: path: no such file" in done.stderr
    assert f"holter doctor {tmp_path} explains" in done.stderr
    assert analyze_as_process(tmp_path, runs / "calm", "--format", "jsonl").returncode == 0, (
        "one of them was readable"
    )


def test_findings_of_hardware_monitors_have_times_instead_of_steps(analyze: Analyze) -> None:
    done = analyze(DATA / "telemetry/amd-smi-n4.csv")
    assert "GPU fault  from 2026-09-15 23:38:49 UTC on" in done.stdout


@pytest.mark.parametrize("arguments", [(), ("--format", "xml", "x"), ("x", "--until-step", "soon")])
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    done = analyze_as_process(*arguments)
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_text_is_the_default_format(runs: Path) -> None:
    done = analyze_as_process(runs / "slow", runs / "calm")
    assert done.returncode == 0
    assert "Rank 3 takes 30% longer than its peers" in re.sub(r"\s+", " ", done.stdout)
    assert "no findings" in done.stdout
    assert "1 of 2 runs needs attention." in done.stdout
    assert any(block in done.stdout for block in "▁▂▃▄▅▆▇█")
    assert "\x1b[" not in done.stdout, "no colours into a pipe"


def test_html_is_one_stand_alone_page(runs: Path, analyze: Analyze) -> None:
    done = analyze(runs / "slow", runs / "spiky", "--format", "html")
    assert done.returncode == 0
    page = Page()
    page.feed(done.stdout)
    assert page.loaded == []
    assert page.pictures >= 4
    assert "straggler" in done.stdout
    assert "fast loss spike" in done.stdout


class Page(HTMLParser):
    """Counts the pictures of a page, and lists the addresses that it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.pictures += tag == "svg"
        self.loaded += [
            value or ""
            for name, value in attrs
            if name in {"src", "href"} and not (value or "").startswith("#")
        ]


def test_a_folder_of_several_runs_is_reported(runs: Path, analyze: Analyze) -> None:
    done = analyze(runs)
    assert done.returncode == 0
    assert f"{runs}: the logs of 3 folders (calm, slow, spiky) are analysed as one run" in done.stderr
    assert "analysed as one run" not in analyze(runs / "spiky").stderr


class TestDetectionSettings:
    """Detection settings of holter.toml apply to `holter analyze` as to the server."""

    @pytest.fixture
    def run_analyze(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> Callable[..., tuple[int, str, str]]:
        """Runs the command in a folder of its own: its exit code, stdout and stderr."""
        monkeypatch.chdir(tmp_path)

        def run(*arguments: object) -> tuple[int, str, str]:
            code = main(["analyze", *map(str, arguments)])
            printed = capsys.readouterr()
            return code, printed.out, printed.err

        return run

    @pytest.fixture
    def kinds(self, run_analyze: Callable[..., tuple[int, str, str]]) -> Callable[..., list[str]]:
        """The kinds of the findings."""

        def find_kinds(*arguments: object) -> list[str]:
            code, output, errors = run_analyze(*arguments, "--format", "jsonl")
            assert code == 0, errors
            return [finding["kind"] for finding in json.loads(output)["findings"]]

        return find_kinds

    def test_of_holter_toml_in_the_folder_apply_to_the_given_project(
        self, runs: Path, tmp_path: Path, kinds: Callable[..., list[str]]
    ) -> None:
        (tmp_path / "holter.toml").write_text('[projects."llm-*".detection]\nignore = ["spike_fast"]\n')
        assert kinds(runs / "spiky") == ["spike_fast"]
        assert kinds(runs / "spiky", "--project", "llm-7b") == []

    def test_of_a_given_file_apply(self, runs: Path, tmp_path: Path, kinds: Callable[..., list[str]]) -> None:
        file = tmp_path / "tuned.toml"
        file.write_text(
            '[projects."*".detection]\nfast_recovery_steps = 10\n'
            '[[projects."*".detection.expected]]\nwhat = "maintenance"\nfrom_step = 900\n'
        )
        assert kinds(runs / "spiky", "--settings", file) == ["spike_slow"]
        assert kinds(runs / "slow", "--settings", file) == []

    def test_a_metric_with_a_configured_role_has_a_curve(
        self, tmp_path: Path, run_analyze: Callable[..., tuple[int, str, str]]
    ) -> None:
        speed = speed_curve(np.random.default_rng(0), 2000)
        speed[1000:] *= 0.8
        clock = 1.7e9 + np.cumsum(2e5 / speed)
        write(tmp_path / "log.csv", {"step": np.arange(2000), "wall_time": clock, "my_tps": speed})
        file = tmp_path / "tuned.toml"
        file.write_text('[projects."*".detection.metrics]\nmy_tps = "throughput"\n')
        _, page, _ = run_analyze(tmp_path / "log.csv", "--settings", file, "--format", "html")
        assert "<figcaption>my_tps</figcaption>" in page

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ("sensitivity = 20", "projects.*.detection: sensitivity: a number from 0.1 to 10"),
            ('ignore = ["stal"]', "projects.*.detection.ignore.0: Input should be 'spike_fast'"),
            ("colour = 1", "projects.*.detection.colour: unknown setting"),
            ('[projects."*".detection.metric."a*"]\nignored = true', "metric.a*.ignored: unknown setting"),
            (
                '[[projects."*".detection.expected]]\nkind = "stall"',
                "expected.0: from_step, to_step or every",
            ),
            ('[[projects."*".detection.expected]]\nkind = "stal"', "expected.0: kind: one of spike_fast, "),
        ],
    )
    def test_that_are_invalid_are_reported_with_their_table(
        self,
        runs: Path,
        tmp_path: Path,
        run_analyze: Callable[..., tuple[int, str, str]],
        lines: str,
        message: str,
    ) -> None:
        file = tmp_path / "tuned.toml"
        file.write_text(f'[projects."*".detection]\n{lines}\n')
        code, _, errors = run_analyze(runs / "calm", "--settings", file)
        assert code == 2
        assert message in errors
        assert str(file) in errors

    def test_of_a_missing_file_are_an_error(
        self, runs: Path, run_analyze: Callable[..., tuple[int, str, str]]
    ) -> None:
        code, _, errors = run_analyze(runs / "calm", "--settings", "none.toml")
        assert code == 2
        assert "none.toml: no such settings file" in errors
