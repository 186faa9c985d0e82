"""Scraping Prometheus exporters: their pages, every few seconds, become points of the runs under way."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.telemetry.metric_allowlist import choice
from holter.ingest.telemetry.prometheus import metric_of, sample_of
from holter.ingest.telemetry.timestamped import row_at
from holter.plurals import counted, verb
from holter.types import Batch, ConfigKey, ConfigValue, Delivery

_log = logging.getLogger(__name__)

LARGEST = 16 * 1024 * 1024
MOST_SERIES = 4096
MOST_ENDPOINTS = 1024
_CONNECT, _WHOLE = 3.0, 10.0
"""Seconds to reach an endpoint, and for its whole answer."""

UNDER_WAY = 600.0
"""Seconds since a run's last points of training within which it is under way."""
Runs = Callable[[], Sequence[tuple[str, str]]]
"""The runs under way, by project and name."""


class Takes(Protocol):
    """Where points go."""

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> object:
        """Keep a delivery, or raise."""
        ...


class ScrapeError(Exception):
    """An endpoint did not answer with a page that can be used; says why."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """What an endpoint said at a moment. `left_out` counts series beyond the bound, `broken` lines."""

    batch: Batch
    left_out: int
    broken: int


def page_of(text: str, moment: float, host: str, chosen: Callable[[str], bool]) -> Page:
    """A page's samples at one moment, whatever times they bear; series without a host are of `host`."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    config: dict[ConfigKey, ConfigValue] = {}
    count = left_out = broken = 0
    for line in text.splitlines():
        if not line or line[0] == "#" or not chosen(metric_of(line)):
            continue
        sample = sample_of(line)
        if sample is None:
            broken += 1
        elif sample.metric is not None:
            labels = {"host": host, **sample.labels}
            values = rows.setdefault(tuple(sorted(labels.items())), {})
            if sample.metric not in values and count >= MOST_SERIES:
                left_out += 1
                continue
            count += sample.metric not in values
            values[sample.metric] = sample.value
            for key, value in sample.about:
                config[ConfigKey(key.name, tuple(sorted({"host": host, **dict(key.labels)}.items())))] = value
    found = [row_at(moment, values, **dict(labels)) for labels, values in rows.items()]
    one: list[LogRow] = [row for row in found if row is not None]
    return Page(batch=replace(batch_from_rows(one), config=config), left_out=left_out, broken=broken)


class Scraper:
    """Scrapes each endpoint every so many seconds, independently of the others, into the runs under way.

    An endpoint that does not answer, answers too slowly, too much, or sends elsewhere, is told once, and
    again when it answers; no redirect is followed. What comes while no run is under way is not kept.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        sink: Takes,
        runs: Runs,
        *,
        every: float = 15.0,
        also: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._endpoints = tuple(dict.fromkeys(endpoints))[:MOST_ENDPOINTS]
        self._sink, self._runs, self._every, self._clock = sink, runs, every, clock
        self._chosen = choice(also)
        self._troubles: dict[str, str] = {}

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Scrape in a thread, until the end."""
        loop = asyncio.new_event_loop()
        stop = asyncio.Event()
        thread = threading.Thread(
            target=loop.run_until_complete, args=(self._work(stop),), name="scraper", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()
            loop.close()

    async def _work(self, stop: asyncio.Event) -> None:
        timeout = httpx.Timeout(_CONNECT, read=_WHOLE)
        async with httpx.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False) as client:
            await asyncio.gather(*(self._keep(client, one, stop) for one in self._endpoints))

    async def _keep(self, client: httpx.AsyncClient, endpoint: str, stop: asyncio.Event) -> None:
        while not stop.is_set():
            began = time.monotonic()
            await self._once(client, endpoint)
            pause = max(0.0, self._every - (time.monotonic() - began))
            try:
                await asyncio.wait_for(stop.wait(), pause)
            except TimeoutError:
                continue

    async def _once(self, client: httpx.AsyncClient, endpoint: str) -> None:
        """Scrape once; whatever goes wrong is this endpoint's alone, and over with the next time."""
        moment = self._clock()
        try:
            text = await asyncio.wait_for(read_page(client, endpoint), _WHOLE)
            page = page_of(text, moment, host_of(endpoint), self._chosen)
            if not len(page.batch.steps):
                raise ScrapeError("expected metrics of machines, found none that are kept")
            await asyncio.to_thread(self._deliver, endpoint, page.batch, moment)
        except Exception as error:
            self._trouble(endpoint, _reason(error))
            return
        left = f"{page.left_out:,} series beyond {MOST_SERIES:,} left out" if page.left_out else ""
        no = verb(page.broken, "is no sample", "are no samples")
        broken = f"{counted(page.broken, 'line')} {no}" if page.broken else ""
        self._trouble(endpoint, "; ".join(part for part in (left, broken) if part))

    def _deliver(self, endpoint: str, batch: Batch, moment: float) -> None:
        writer = f"scrape {shown(endpoint)}"
        for project, run in self._runs():
            batch_id = f"{writer} {moment:.6f}"
            delivery = Delivery(project=project, run=run, writer=writer, batch_id=batch_id, batch=batch)
            self._sink.accept(delivery, timeout=_WHOLE)

    def _trouble(self, endpoint: str, reason: str) -> None:
        before = self._troubles.get(endpoint, "")
        self._troubles[endpoint] = reason
        if reason and reason != before:
            _log.warning("%s: %s", shown(endpoint), reason)
        elif before and not reason:
            _log.warning("%s: answers again", shown(endpoint))


async def read_page(client: httpx.AsyncClient, endpoint: str) -> str:
    """An endpoint's page. Raises ScrapeError for another answer, httpx.HTTPError where there is none."""
    accept = {"Accept": "text/plain;version=0.0.4", "Accept-Encoding": "identity"}
    async with client.stream("GET", endpoint, headers=accept) as answer:
        if answer.is_redirect:
            raise ScrapeError(f"expected a page, was sent elsewhere ({answer.status_code})")
        if answer.status_code != 200:
            raise ScrapeError(f"expected a page, found status {answer.status_code}")
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise ScrapeError("expected a page that is not compressed")
        parts, size = [], 0
        async for part in answer.aiter_raw():
            size += len(part)
            if size > LARGEST:
                raise ScrapeError(f"expected at most {LARGEST // 2**20} MiB")
            parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


def host_of(endpoint: str) -> str:
    """The host that an endpoint watches."""
    name = urlsplit(endpoint).hostname or ""
    return socket.gethostname() if name in ("localhost", "127.0.0.1", "::1") else name


def shown(endpoint: str) -> str:
    """An endpoint as it may be shown: without a user and password."""
    parts = urlsplit(endpoint)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return f"no whole answer within {_WHOLE:.0f} s"
    return str(error) or type(error).__name__
