"""What launchers and log collectors print before a line names its writer, and is no metric."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.offline.read_run import read_run
from tests.support.log_runs import read_log, steps_of


@pytest.mark.parametrize(
    ("prefix", "labels"),
    [
        ("bert-job-worker-0 pytorch ", {"pod": "bert-job-worker-0"}),
        ("trainer-7d9f8b6c5-xakzq main 2024-05-01T10:00:01.123456789Z ", {"pod": "trainer-7d9f8b6c5-xakzq"}),
        ("worker_1    | ", {"container": "worker_1"}),
        ("10:00:00 web.1  | ", {"container": "web.1"}),
        ("algo-1-ab3de  | ", {"container": "algo-1-ab3de"}),
        ("worker-1  | 2024-05-01T10:00:01.123456789Z ", {"container": "worker-1"}),
        ("May 01 10:00:01 node7 python[1231]: ", {"host": "node7"}),
        ("May  1 10:00:01 node7 train.sh[1231]: ", {"host": "node7"}),
        ("2024-05-01T10:00:01+0200 node7 python3[1231]: ", {"host": "node7"}),
        ("[3]<stdout>:", {"rank": "3"}),
        ("Wed May  1 10:00:01 2024[3]<stdout>:", {"rank": "3"}),
    ],
)
def test_prefixes_of_launchers_and_collectors_name_the_writer(prefix: str, labels: dict[str, str]) -> None:
    """What is left is the line as the program printed it."""
    line = strip_prefixes(f"{prefix}Epoch 1 loss 2.5".encode())
    assert (line.text, dict(line.labels)) == ("Epoch 1 loss 2.5", labels)


@pytest.mark.parametrize(
    "line",
    [
        "top_1 | 0.5",
        "resnet-50 train epoch 1 loss 2.5",
        "lr-finder-50 val epoch 1 loss 2.5",
        "May 01 was epoch 1",
    ],
)
def test_names_in_lines_are_no_prefixes(line: str) -> None:
    """The name of a model or of a metric at the beginning of a line stays."""
    assert strip_prefixes(line.encode()).text == line


@pytest.mark.parametrize(
    "line",
    [
        "INFO | yolo.core.trainer:246 - epoch: 1/80, iter: 20/57, total_loss: 13.5\n",
        "INFO | yolo.core.trainer:after_iter:249 - epoch: 1/80, iter: 20/57, total_loss: 13.5\n",
        "INFO 2025-01-01 10:00:00 ts/train.py:232 epoch: 1/80, iter: 20/57, total_loss: 13.5\n",
    ],
)
def test_the_place_in_the_source_is_no_metric(tmp_path: Path, line: str) -> None:
    """Loggers print the module and the number of the line."""
    path = tmp_path / "out.log"
    path.write_text(line + line.replace("20/57", "30/57"))
    assert {key.metric for key in read_run(path).data.series} == {"epoch", "total_loss"}


def test_a_line_of_a_framework_is_one_line(tmp_path: Path) -> None:
    text = "".join(f" iteration {n}/ 100 | lm loss: 1.8{n} |\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, f"{text}iteration\n4/ 100 | lm loss: 1.9 |\n"))["lm loss"] == [1, 2, 3]
