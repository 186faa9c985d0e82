"""Lines in the form of further programs, launchers and log collectors, with invented values."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.offline.read_run import read_run
from tests.support.log_runs import read_log, steps_of

STEPS_BY_FORM: dict[str, tuple[str, dict[str, list[int]]]] = {
    "batches behind an epoch without a name": (
        "Epoch  {0},    50/  200; acc:   0.1{0}; ppl:  11.8; 5187 src tok/s\n"
        "Epoch  {0},   200/  200; acc:   0.2{0}; ppl:  10.1; 5187 src tok/s\n"
        "Train perplexity: 14.9\nValidation perplexity: 11.5\n",
        {"ppl": [50, 200, 250, 400], "Train perplexity": [200, 400], "Validation perplexity": [200, 400]},
    ),
    "two brackets without a name": (
        "[{0}/9][0/20]\tLoss_D: 1.6\tLoss_G: 4.{0}\n[{0}/9][10/20]\tLoss_D: 1.5\tLoss_G: 4.{0}\n",
        {"Loss_D": [0, 10, 20, 30]},
    ),
    "batches at the beginning": (
        "epoch {0}/2\n1/2, train_loss: 0.6{0}\n2/2, train_loss: 0.5{0}\n",
        {"train_loss": [1, 2, 3, 4]},
    ),
    "steps before brackets": ("{0} [D loss: 0.6, acc.: 50.0%] [G loss: 0.{0}]\n", {"G loss": [1, 2]}),
    "episodes": ("Episode {0}\tLast reward: 1{0}.0\tAverage reward: 9.5\n", {"Average reward": [1, 2]}),
    "blocks below a heading": (
        "########\n   Learning iteration {0}/300   \n\n        Total steps: 96\n"
        "   Mean value loss: 0.4{0}\n   Mean episode length: 59.{0}\n--------\n",
        {"Mean value loss": [1, 2], "Mean episode length": [1, 2]},
    ),
    "batches of an evaluation": (
        "2024-01-01 10:00:00,093 - lib - INFO - Iter [{0}0/800]\tlr: 9.9e-03, loss_ce: 2.5, loss: 3.{0}\n"
        "2024-01-01 10:00:09,093 - lib - INFO - Iter(val) [500]\tmIoU: 0.4{0}\n",
        {"loss": [10, 20], "val/mIoU": [10, 20]},
    ),
    "epochs in parts": (
        "[    INFO] - loss: 0.1{0}, global_step: {0}0, epoch: 0.{0}\n"
        "[    INFO] - eval_loss: 0.5{0}, eval_accuracy: 0.8, epoch: 0.{0}\n",
        {"loss": [10, 20], "eval_loss": [10, 20]},
    ),
    "steps of a dictionary": (
        "{{'loss': 0.1{0}, 'learning_rate': 4.5e-05, 'global_step': {0}60, 'epoch': 2.{0}}}\n",
        {"train/loss": [160, 260]},
    ),
    "the summary of COCO": (
        "Epoch: [{0}]  [  0/50]  eta: 0:01:00  lr: 0.0001  loss: 36.{0} (37.1)\n"
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.2{0}\n",
        {"loss": [0, 50], "val/AP@0.50:0.95 all maxDets=100": [0, 50]},
    ),
    "metrics of a ranking": (
        "INFO  epoch {0} training [time: 0.9s, train loss: 74.{0}]\nINFO  valid result: \n"
        "recall@5 : 0.04    ndcg@5 : 0.05{0}    hit@20 : 0.4\n",
        {"train loss": [1, 2], "valid/ndcg@5": [1, 2]},
    ),
    "braces that are no object": (
        "{{| Epoch: {0} (58/58) | Loss: 4.{0} | 1.4 steps/s | Step: {0}k | }}\n",
        {"Loss": [1000, 2000]},
    ),
}


@pytest.mark.parametrize("form", STEPS_BY_FORM)
def test_values_are_at_their_steps(tmp_path: Path, form: str) -> None:
    """Every metric has a point at each step of the training that its line or the lines above state."""
    lines, expected = STEPS_BY_FORM[form]
    path = tmp_path / "out.log"
    path.write_text("".join(lines.format(number) for number in (1, 2)))
    series = read_run(path).data.series
    found = {key.metric: column.step.tolist() for key, column in series.items()}
    assert {name: found.get(name) for name in expected} == expected


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
