"""Communication on the run page: slow ranks, and the bandwidth of collectives against the hardware."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.pages import Opener, Server, healthy

RANKS, CALLS = 4, 60


@pytest.fixture(scope="module")
def inspected(server: Server) -> str:
    """A run with two kinds of collective calls and a rank that all others wait for."""
    config = {"gpu": {"name": "NVIDIA H100 80GB HBM3"}}
    run = server.post("inspected", healthy(), config=config)
    for what, comm, size, unit in (
        ("AllReduce", "0x7f8c496ae9f661", 2**27, 400.0),
        ("AllGather", "0xbeef", 2**20, 40.0),
    ):
        for rank in range(RANKS):
            time = unit if rank == 2 else 1.4 * unit
            columns = {
                "step": list(range(CALLS)),
                "collective_time (us)": [time] * CALLS,
                "busbw_gbs": [size * 1.5 / time / 1e3] * CALLS,
                "message_bytes": [float(size)] * CALLS,
            }
            labels = {
                "steps": "sequence number",
                "comm": comm,
                "collective": what,
                "rank": str(rank),
                "host": "n1",
            }
            server.post("inspected", columns, writer=f"{what}{rank}", labels={**labels, "size": f"{size}"})
    return run


@pytest.mark.parametrize("width", [1440, 360])
def test_slow_ranks_and_bus_bandwidth_are_shown(
    open_page: Opener, server: Server, inspected: str, width: int
) -> None:
    page = open_page(f"{server.address}/runs/{inspected}", width=width)
    section = page.locator(".communication")
    expect(section.get_by_role("listitem").first).to_contain_text("Rank 2 (n1) was last in 100")
    row = section.get_by_role("row").nth(1)
    expect(row).to_contain_text("AllReduce")
    expect(row).to_contain_text("128\u202fMiB")
    expect(row).to_contain_text("503\u202fGB/s")
    expect(row).to_contain_text("112")
    assert row.get_by_text("NVLink 4, 450").is_visible() == (width > 600)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_run_without_collectives_has_no_communication_section(open_page: Opener, server: Server) -> None:
    run = server.post("plain", healthy())
    page = open_page(f"{server.address}/runs/{run}")
    expect(page.locator(".configuration")).to_have_count(1)
    expect(page.locator(".communication")).to_be_hidden()
