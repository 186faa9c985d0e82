"""A run whose stored data is damaged is marked on the overview, with what to do; others are unaffected."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from playwright.sync_api import expect

from tests.support.pages import Opener, Server


def test_a_damaged_run_is_marked_on_the_overview(tmp_path: Path, open_page: Opener) -> None:
    server = Server(tmp_path)
    try:
        for name in ("hurt", "well"):
            server.post(name, {"step": list(range(50)), "loss": [2.0] * 50})
        [file] = tmp_path.glob("**/*.db")
        with sqlite3.connect(file, timeout=30) as database:
            database.execute("UPDATE log SET payload = zeroblob(length(payload)) WHERE run_id = 1")
            database.execute("UPDATE run SET revision = revision + 1 WHERE id = 1")  # invalidates caches
        page = open_page(f"{server.address}/")
        expect(page.get_by_role("heading", level=1, name="1 needs attention")).to_be_visible()
        hurt = page.locator(".run-row", has_text="hurt").first
        expect(hurt.get_by_text("Damaged", exact=True)).to_be_visible()
        expect(hurt.get_by_text("holter db check")).to_be_visible()
        expect(
            page.locator(".run-row", has_text="well").first.get_by_text("Damaged", exact=True)
        ).to_have_count(0)
    finally:
        server.close()
