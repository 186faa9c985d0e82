"""The page that compares runs, and what its charts draw."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.pages import Opener, Runs, Server, healthy

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def pair(server: Server) -> tuple[str, str]:
    """Two runs with other settings: the second logs another loss and half as many tokens per step."""
    ids = []
    for name, rate, shift, tokens in (("first-lr", 1e-3, 0.0, 4096), ("second-lr", 3e-4, 0.2, 2048)):
        columns = healthy(0, 600)
        columns["loss"] = [value + shift for value in columns["loss"]]
        columns["tokens_seen"] = [tokens * (step + 1) for step in columns["step"]]
        config = {"optimizer": {"lr": rate}, "seed": 1}
        ids.append(server.post(name, columns, config=config, finished=True))
    return ids[0], ids[1]


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=f"Chart of {title}", exact=True)


def names(plot: Locator) -> list[str]:
    return list(plot.evaluate("node => node.figure.data.map((trace) => trace.name)"))


def drawn(page: Page, title: str) -> Locator:
    plot = panel(page, title).locator(".plot")
    expect(plot).to_have_attribute("data-drawn", re.compile(r"\d"))
    return plot


def test_runs_are_overlaid_in_their_colours_with_sentences_and_only_what_differs(
    open_page: Opener, server: Server, pair: tuple[str, str]
) -> None:
    page = open_page(f"{server.address}/compare?runs={','.join(pair)}")
    plot = drawn(page, "Loss")
    expect(page.get_by_role("list", name="Compared runs")).to_contain_text("first-lr")
    traces = names(plot)
    assert any(name.startswith(pair[0]) for name in traces)
    assert any(name.startswith(pair[1]) for name in traces)
    colours = plot.evaluate(
        "node => [...new Set(node.figure.data.filter((t) => !t.fill && t.line).map((t) => t.line.color))]"
    )
    assert len(colours) == 2
    table = page.get_by_role("region", name="What differs")
    expect(table).to_contain_text("learning_rate")
    expect(table).to_contain_text("0.0003")
    expect(table).not_to_contain_text("seed")  # it is equal
    expect(page.locator(".compare-statistics")).to_contain_text("second-lr")


def test_the_difference_from_the_baseline_the_axis_and_the_baseline_are_in_the_address(
    open_page: Opener, server: Server, pair: tuple[str, str]
) -> None:
    page = open_page(f"{server.address}/compare?runs={','.join(pair)}")
    plot = drawn(page, "Loss")
    page.get_by_role("button", name="Difference", exact=True).click()
    expect(page).to_have_url(re.compile("show=difference"))
    page.get_by_label("X axis").select_option("tokens")
    expect(page).to_have_url(re.compile("x=tokens"))
    page.get_by_role("button", name="Baseline: second-lr").click()
    expect(page).to_have_url(re.compile(f"baseline={pair[1]}"))
    theirs = open_page(page.url)
    plot = drawn(theirs, "Loss")
    theirs.wait_for_function(
        "id => document.querySelector('.plot').figure?.data.some((trace) => trace.name.startsWith(id))",
        arg=pair[0],
    )
    assert not any(name.startswith(pair[1]) for name in names(plot))  # the baseline has no difference
    assert plot.evaluate("node => node.figure.layout.meta.xKind") == "value"


def test_runs_are_added_and_removed_in_place(
    open_page: Opener, server: Server, runs: Runs, pair: tuple[str, str]
) -> None:
    page = open_page(f"{server.address}/runs/{pair[0]}")
    page.get_by_role("link", name="Compare with…").click()
    expect(page).to_have_url(f"{server.address}/compare?runs={pair[0]}")
    page.get_by_role("combobox", name="Add a run").fill("second-lr")
    page.get_by_role("option", name="second-lr").click()
    # the list covers the comparison: it opens again when it is wanted
    expect(page.get_by_role("listbox", name="Runs")).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("listbox", name="Runs")).to_be_visible()
    expect(page).to_have_url(re.compile(f"runs={pair[0]}(%2C|,){pair[1]}"))
    page.get_by_role("button", name="Remove first-lr").click()
    expect(page.get_by_role("list", name="Compared runs").get_by_role("listitem")).to_have_count(1)
    assert page.url.endswith(f"runs={pair[1]}")


def test_parts_of_names_with_commas_between_add_several_runs(
    open_page: Opener, server: Server, pair: tuple[str, str]
) -> None:
    page = open_page(f"{server.address}/compare")
    page.get_by_role("combobox", name="Add a run").fill("first-l, second-l")
    choice = page.get_by_role("listbox", name="Runs").get_by_role("option")
    expect(choice).to_have_count(1)
    expect(choice).to_contain_text("first-lr, second-lr")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"runs={pair[0]}(%2C|,){pair[1]}"))
    expect(page.get_by_role("list", name="Compared runs").get_by_role("listitem")).to_have_count(2)


def test_a_name_with_a_comma_is_one_run(open_page: Opener, server: Server, pair: tuple[str, str]) -> None:
    run = server.post("rate=3,warm=9", healthy(0, 100), config={"seed": 2}, finished=True)
    page = open_page(f"{server.address}/compare")
    page.get_by_role("combobox", name="Add a run").fill("rate=3,warm=9")
    expect(page.get_by_role("listbox", name="Runs").get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"runs={run}$"))


def test_groups_are_a_mean_with_a_band(open_page: Opener, server: Server, pair: tuple[str, str]) -> None:
    page = open_page(f"{server.address}/compare?runs={','.join(pair)}&group=learning_rate")
    plot = drawn(page, "Loss")
    page.wait_for_function("() => document.querySelector('.plot').figure?.data.length > 0")
    traces = names(plot)
    assert any("group 0.001" in name for name in traces)
    assert any(name.endswith("band") for name in traces)


def test_a_page_without_runs_asks_for_them(open_page: Opener, server: Server) -> None:
    page = open_page(f"{server.address}/compare")
    expect(page.get_by_role("heading", name="Choose runs to compare")).to_be_visible()
    expect(page.get_by_role("combobox", name="Add a run")).to_be_focused()


def test_colours_of_many_runs_differ(call: Call) -> None:
    palette = {f"series-{i}": f"#00000{i}" for i in range(1, 9)}
    few = [call("compare/colours.js", "runColour", i, 8, palette, False) for i in range(8)]
    assert few == list(palette.values())
    many = [call("compare/colours.js", "runColour", i, 50, palette, True) for i in range(50)]
    assert len(set(many)) == 50
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in many)


def test_the_table_of_differences_leaves_out_what_is_equal_and_is_copied_as_text(call: Call) -> None:
    given = {
        "settings": [{"name": "lr", "category": "configuration", "values": [0.1, None], "folded": False}],
        "figures": [
            {"name": "loss", "title": "Loss", "unit": "", "values": [2.5, 2.25]},
            {"name": "steps", "title": "Steps", "unit": "", "values": [10, 10]},
            {"name": "duration", "title": "Duration", "unit": "s", "values": [5400, None]},
            {"name": "goodput", "title": "Goodput", "unit": "", "values": [0.9, 0.8125]},
        ],
        "incidents": [{"title": "Stall", "counts": [0, 2]}],
    }
    rows = call("compare/differences.js", "differenceRows", given)
    assert [(row["name"], row["values"]) for row in rows] == [
        ("lr", ["0.1", "not stated"]),
        ("Loss", ["2.500", "2.250"]),
        ("Duration", ["1\u202fh 30\u202fmin", "–"]),
        ("Goodput", ["90.0\u202f%", "81.3\u202f%"]),
        ("Stall", ["0", "2"]),
    ]
    assert call("compare/differences.js", "rowsAsText", rows[:1], ["a", "b"]) == "\ta\tb\nlr\t0.1\tnot stated"
