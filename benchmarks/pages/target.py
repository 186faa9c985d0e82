"""A measured figure beside what it may be, and Chromium's own figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import CDPSession, Page

FIRST_CURVE = ".plot[data-drawn]"
SETTLED_SECONDS = 2.0


@dataclass(frozen=True)
class Measured:
    """A figure in a unit; `target` as words, empty where there is none."""

    what: str
    value: float
    unit: str
    target: str = ""


def metric(session: CDPSession, name: str) -> float:
    """One of Chromium's metrics of a page."""
    metrics: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == name))


def heap_size(page: Page, session: CDPSession) -> float:
    """Megabytes of JavaScript objects after a garbage collection."""
    session.send("HeapProfiler.collectGarbage")
    return metric(session, "JSHeapUsedSize") / 1e6


def watched(page: Page) -> CDPSession:
    """A session that has Chromium's metrics of a page."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    return session
