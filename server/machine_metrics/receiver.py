"""Stores the samples of a request in the runs that they belong to."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

from holter.ingest.telemetry.metric_allowlist import build_allowlist
from holter.server.context import ServerContext
from holter.server.machine_metrics.samples import MAX_SERIES, MachineSample, batch_of_samples
from holter.server.machine_metrics.target_runs import TargetRuns
from holter.server.tracked_runs import check_names
from holter.types import Delivery

_LEFT_OUT = f"more than {MAX_SERIES:,} series in a request for one run, or a time that is none"


class MachineMetricsReceiver:
    """Takes the metrics of machines; `is_allowed`: whether a metric of this name is stored."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._targets = TargetRuns(context)
        self.is_allowed: Callable[[str], bool] = build_allowlist(context.settings.scrape.also)

    def store(
        self, protocol: str, body: bytes, samples: Sequence[MachineSample], project: str, run: str
    ) -> Counter[str]:
        """Store samples in the named run, or in the active ones; returns how many are not stored, by reason.

        Without an active run they are discarded, as when exporters are scraped. A repeated `body` is stored
        once. Raises InvalidNameError, and the errors of the store.
        """
        if run:
            check_names(project or "default", run)
        refused: Counter[str] = Counter()
        digest = hashlib.sha256(body).hexdigest()
        for target in self._targets.find(project, run):
            batch, left_out = batch_of_samples(sample for sample in samples if target.takes(sample))
            if left_out:
                refused[_LEFT_OUT] += left_out
            if len(batch.steps):
                delivery = Delivery(
                    project=target.project, run=target.name, writer=protocol, batch_id=digest, batch=batch
                )
                self._context.store.accept(delivery)
        return refused
