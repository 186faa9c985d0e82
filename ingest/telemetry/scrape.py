"""Scrapes Prometheus exporters at an interval and adds their samples to the active runs."""

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
from holter.ingest.telemetry.metric_allowlist import build_allowlist
from holter.ingest.telemetry.prometheus import metric_name, parse_sample
from holter.ingest.telemetry.timestamped import clock_row
from holter.plurals import counted, verb
from holter.types import Batch, ConfigKey, ConfigValue, Delivery

_log = logging.getLogger(__name__)

MAX_PAGE_BYTES = 16 * 1024 * 1024
MAX_SERIES = 4096
MAX_ENDPOINTS = 1024
_CONNECT_TIMEOUT, _RESPONSE_TIMEOUT = 3.0, 10.0
"""Seconds to connect to an endpoint, and for its complete response."""

ACTIVE_SECONDS = 600.0
"""A run is active for so many seconds after its last points of training."""
ActiveRuns = Callable[[], Sequence[tuple[str, str]]]
"""Returns the active runs as (project, name)."""


class DeliverySink(Protocol):
    """Takes the points of a run: a store, or a client that uploads them."""

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> object:
        """Store a delivery, or raise."""
        ...


class ScrapeError(Exception):
    """An endpoint's response cannot be used; the message states the reason."""


@dataclass(frozen=True, kw_only=True)
class ScrapedPage:
    """The samples of one response of an endpoint.

    `left_out` is the number of series beyond `MAX_SERIES`, `broken` that of lines that are no samples.
    """

    batch: Batch
    left_out: int
    broken: int


def parse_page(text: str, unix_time: float, host: str, allowlist: Callable[[str], bool]) -> ScrapedPage:
    """A page's samples at one time, whatever times they state; series without a host get `host`."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    config: dict[ConfigKey, ConfigValue] = {}
    count = left_out = broken = 0
    for line in text.splitlines():
        if not line or line[0] == "#" or not allowlist(metric_name(line)):
            continue
        sample = parse_sample(line)
        if sample is None:
            broken += 1
        elif sample.metric is not None:
            labels = {"host": host, **sample.labels}
            values = rows.setdefault(tuple(sorted(labels.items())), {})
            if sample.metric not in values and count >= MAX_SERIES:
                left_out += 1
                continue
            count += sample.metric not in values
            values[sample.metric] = sample.value
            for key, value in sample.settings:
                config[ConfigKey(key.name, tuple(sorted({"host": host, **dict(key.labels)}.items())))] = value
    log_rows: list[LogRow] = [
        row
        for labels, values in rows.items()
        if (row := clock_row(unix_time, values, **dict(labels))) is not None
    ]
    batch = replace(batch_from_rows(log_rows), config=config)
    return ScrapedPage(batch=batch, left_out=left_out, broken=broken)


class Scraper:
    """Scrapes each endpoint every `every` seconds, independently of the others, into the active runs.

    An endpoint that does not answer, is too slow, sends too much or redirects is logged once, and again when
    it recovers. No redirect is followed. Samples are discarded while no run is active.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        sink: DeliverySink,
        runs: ActiveRuns,
        *,
        every: float = 15.0,
        also: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._endpoints = tuple(dict.fromkeys(endpoints))[:MAX_ENDPOINTS]
        self._sink, self._runs, self._every, self._clock = sink, runs, every, clock
        self._allowlist = build_allowlist(also)
        self._problems: dict[str, str] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Scrape in a thread until the context ends."""
        loop = asyncio.new_event_loop()
        stop = asyncio.Event()
        thread = threading.Thread(
            target=loop.run_until_complete, args=(self._scrape_all(stop),), name="scraper", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()
            loop.close()

    async def _scrape_all(self, stop: asyncio.Event) -> None:
        timeout = httpx.Timeout(_CONNECT_TIMEOUT, read=_RESPONSE_TIMEOUT)
        async with httpx.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False) as client:
            await asyncio.gather(
                *(self._scrape_endpoint(client, endpoint, stop) for endpoint in self._endpoints)
            )

    async def _scrape_endpoint(self, client: httpx.AsyncClient, endpoint: str, stop: asyncio.Event) -> None:
        while not stop.is_set():
            began = time.monotonic()
            await self._scrape_once(client, endpoint)
            pause = max(0.0, self._every - (time.monotonic() - began))
            try:
                await asyncio.wait_for(stop.wait(), pause)
            except TimeoutError:
                continue

    async def _scrape_once(self, client: httpx.AsyncClient, endpoint: str) -> None:
        """Scrape an endpoint once; a failure affects neither other endpoints nor the next scrape."""
        now = self._clock()
        try:
            text = await asyncio.wait_for(read_page(client, endpoint), _RESPONSE_TIMEOUT)
            page = parse_page(text, now, endpoint_host(endpoint), self._allowlist)
            if not len(page.batch.steps):
                raise ScrapeError("expected metrics of machines, found none of the allowlist")
            await asyncio.to_thread(self._deliver, endpoint, page.batch, now)
        except Exception as error:
            self._log_problem(endpoint, _reason(error))
            return
        left = f"{page.left_out:,} series beyond {MAX_SERIES:,} left out" if page.left_out else ""
        no_sample = verb(page.broken, "is no sample", "are no samples")
        broken = f"{counted(page.broken, 'line')} {no_sample}" if page.broken else ""
        self._log_problem(endpoint, "; ".join(part for part in (left, broken) if part))

    def _deliver(self, endpoint: str, batch: Batch, unix_time: float) -> None:
        writer = f"scrape {without_credentials(endpoint)}"
        for project, run in self._runs():
            batch_id = f"{writer} {unix_time:.6f}"
            delivery = Delivery(project=project, run=run, writer=writer, batch_id=batch_id, batch=batch)
            self._sink.accept(delivery, timeout=_RESPONSE_TIMEOUT)

    def _log_problem(self, endpoint: str, reason: str) -> None:
        before = self._problems.get(endpoint, "")
        self._problems[endpoint] = reason
        if reason and reason != before:
            _log.warning("%s: %s", without_credentials(endpoint), reason)
        elif before and not reason:
            _log.warning("%s: responds again", without_credentials(endpoint))


async def read_page(client: httpx.AsyncClient, endpoint: str) -> str:
    """An endpoint's page. Raises ScrapeError for an unusable response, httpx.HTTPError without a response."""
    accept = {"Accept": "text/plain;version=0.0.4", "Accept-Encoding": "identity"}
    async with client.stream("GET", endpoint, headers=accept) as response:
        if response.is_redirect:
            raise ScrapeError(f"expected a page, found a redirect ({response.status_code})")
        if response.status_code != 200:
            raise ScrapeError(f"expected a page, found status {response.status_code}")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ScrapeError("expected a page that is not compressed")
        parts, size = [], 0
        async for part in response.aiter_raw():
            size += len(part)
            if size > MAX_PAGE_BYTES:
                raise ScrapeError(f"expected at most {MAX_PAGE_BYTES // 2**20} MiB")
            parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


def endpoint_host(endpoint: str) -> str:
    """The host that an endpoint monitors: that of its address, this machine's name for localhost."""
    name = urlsplit(endpoint).hostname or ""
    return socket.gethostname() if name in ("localhost", "127.0.0.1", "::1") else name


def without_credentials(endpoint: str) -> str:
    """An endpoint's address without user, password, query and fragment, for messages and names."""
    parts = urlsplit(endpoint)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return f"no complete response within {_RESPONSE_TIMEOUT:.0f} s"
    return str(error) or type(error).__name__
