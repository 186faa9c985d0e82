"""Reports of runs and weeks: one HTML page that loads nothing, over HTTP and by the command."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from holter.cli.main import main
from holter.server.context import ServerContext
from holter.server.reports.week_report import WeekError, week_bounds, week_of
from tests.support.pages import healthy
from tests.support.servers import Post


class Loaded(HTMLParser):
    """Collects what a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        if tag == "link" and (dict(attrs).get("href") or "").startswith("data:"):
            return  # the icon, which is part of the page
        if tag in {"script", "link", "img", "iframe"} or names & {"src", "onload", "onclick"}:
            self.elements.append(tag)


def loaded(html: str) -> list[str]:
    parser = Loaded()
    parser.feed(html)
    return parser.elements


def test_the_report_of_a_run_is_one_page_with_its_strip_events_and_curves(
    client: httpx.Client, context: ServerContext, post: Post
) -> None:
    columns = healthy()
    columns["loss"][1400:] = ["NaN"] * 100
    run_id = post(columns, run="<b>7b</b>")["run_id"]
    answer = client.get(f"/api/v1/runs/{run_id}/report")
    assert answer.headers["content-type"].startswith("text/html")
    html = answer.text
    assert "<h1>&lt;b&gt;7b&lt;/b&gt;</h1>" in html
    assert 'class="strip"' in html
    assert html.count('class="plot"') >= 4
    assert "url(http" not in html
    assert loaded(html) == []
    assert client.get("/api/v1/runs/unknown/report").status_code == 404


def test_the_weekly_page_of_a_project_lists_its_runs(client: httpx.Client, post: Post) -> None:
    post(healthy(), run="steady")
    html = client.get("/api/v1/projects/llm/report").text
    assert "steady" in html
    assert loaded(html) == []
    old = client.get("/api/v1/projects/llm/report", params={"week": "2001-W01"}).text
    assert "No run of this project logged anything" in old
    assert client.get("/api/v1/projects/llm/report", params={"week": "2001-W60"}).status_code == 422


def test_weeks_begin_on_monday_in_utc() -> None:
    begin, end = week_bounds("2026-W48")
    assert (begin, end - begin) == (1_795_392_000.0, 7 * 86_400)
    assert week_of(begin) == week_of(end - 1) == "2026-W48"
    with pytest.raises(WeekError, match="expected a week such as"):
        week_bounds("last")


def test_the_command_writes_a_report_to_a_file(
    client: httpx.Client,
    context: ServerContext,
    post: Post,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post({"step": [1, 2, 3], "loss": [3.0, 2.0, 1.0]}, run="small")
    file = tmp_path / "report.html"
    database = ["--database-url", context.settings.database]
    assert main(["report", "llm/small", "--output", str(file), *database]) == 0
    assert re.search("<h1>small</h1>", file.read_text())
    assert main(["report", "nobody", *database]) == 1
    assert "there is no run 'nobody'" in capsys.readouterr().err
