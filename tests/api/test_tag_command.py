"""`holter tag` describes a run and marks it as finished."""

from __future__ import annotations

import pytest

from holter.cli.main import main
from tests.support.servers import Post


def test_a_run_is_described_from_a_terminal(
    server: tuple[object, str], post: Post, capsys: pytest.CaptureFixture[str]
) -> None:
    post({"step": [1, 2], "loss": [2.0, 1.0]}, run="104b")
    at = ["--server", server[1]]
    assert main(["tag", "llm/104b", "baseline", "good", "--star", "--group", "sweep", *at]) == 0
    assert capsys.readouterr().out.startswith("llm/104b: baseline, good; ")
    assert main(["tag", "104b", "--remove", "good", "--no-star", "--finish", *at]) == 0
    assert capsys.readouterr().out == "llm/104b: baseline; finished; group sweep\n"
    assert main(["tag", "nothing", "x", *at]) == 1
    assert "there is no run nothing" in capsys.readouterr().err
