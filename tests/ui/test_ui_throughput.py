"""Throughput on the run page: MFU with its formula as tool tip, and the time breakdown."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.pages import Opener, Server, healthy

SHAPE: dict[str, Any] = {
    "num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "ffn_hidden_size": 11008,
    "swiglu": True, "padded_vocab_size": 32000, "seq_length": 4096, "world_size": 16, "bf16": True,
    "recompute_granularity": "full", "gpu": {"name": "NVIDIA H100 80GB HBM3"},
}  # fmt: skip


def logged(first: int, last: int, ends: float) -> dict[str, list[Any]]:
    """A Llama 2 7B at about 140,000 tokens per second."""
    columns = healthy(first, last, ends=ends)
    columns["tokens_per_second"] = [2.7 * value for value in columns["tokens_per_second"]]
    return columns


@pytest.fixture(scope="module")
def resumed(server: Server) -> str:
    """A run that resumed after ten minutes and repeated a hundred steps."""
    server.post("resumed", logged(0, 900, 1.7e9), attempt="0", config=SHAPE)
    return server.post("resumed", logged(800, 1300, 1.7e9 + 1100), attempt="1", config=SHAPE)


@pytest.mark.parametrize("width", [1440, 360])
def test_the_tool_tip_of_the_mfu_shows_its_formula(
    open_page: Opener, server: Server, resumed: str, width: int
) -> None:
    page = open_page(f"{server.address}/runs/{resumed}", width=width)
    tile = page.locator(".tile", has_text="MFU")
    expect(tile).to_contain_text("38.")
    expect(tile).to_contain_text("HFU")
    title = tile.get_attribute("title") or ""
    assert "Holter's 6 · active weights" in title
    assert "989" in title
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_time_breakdown_has_names_and_durations(open_page: Opener, server: Server, resumed: str) -> None:
    page = open_page(f"{server.address}/runs/{resumed}")
    parts = page.locator(".time-parts li")
    expect(parts.filter(has_text="Restarts")).to_contain_text("10")
    expect(parts.filter(has_text="Redone")).to_be_visible()
    expect(parts.first).to_contain_text("Productive")


def test_a_run_without_lost_time_has_no_time_breakdown(open_page: Opener, server: Server) -> None:
    run = server.post("straight", healthy())
    page = open_page(f"{server.address}/runs/{run}")
    expect(page.locator(".tile", has_text="Goodput")).to_be_visible()
    expect(page.locator(".time-breakdown")).to_be_hidden()


def test_without_a_model_shape_the_reported_mfu_is_shown_with_what_is_missing(
    open_page: Opener, server: Server
) -> None:
    columns = healthy()
    columns |= {"throughput(tps)": [6000.0] * len(columns["step"]), "mfu(%)": [38.5] * len(columns["step"])}
    run = server.post("reported", columns)
    page = open_page(f"{server.address}/runs/{run}")
    tile = page.locator(".tile", has_text="MFU")
    expect(tile).to_contain_text("as reported")
    expect(tile).to_contain_text("38.5")
    expect(tile).to_have_attribute("title", re.compile("torchtitan.*how many layers", re.DOTALL))
