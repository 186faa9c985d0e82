"""The path of a run's data from memory to disk to the server; reused by a run that follows soon."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holter.client import spool as spools
from holter.client.encode import Envelope
from holter.client.identity import ProcessIdentity
from holter.client.notices import Notices
from holter.client.recorder import Recorder
from holter.client.uploader import IngestClient, ServerAccess, Uploader


@dataclass(frozen=True, kw_only=True)
class PipelineConfig:
    """Candidate folders for the spool in order of preference, its limit in bytes, and the server."""

    folders: Sequence[Path]
    limit: int
    access: ServerAccess


class Pipeline:
    """The threads, spool and connection behind a run.

    Creating and closing them takes longer than sending a short run. Once everything of a run is
    acknowledged, the pipeline stays open for a second, and a run with the same configuration reuses it.
    """

    def __init__(self, ends: PipelineConfig, spool: spools.Spool, nonce: str, notices: Notices) -> None:
        self.config = ends
        self.spool = spool
        client = IngestClient(ends.access, notices, stop=threading.Event(), rng=random.Random(nonce))
        self.uploader = Uploader(spool, client, release=lambda: IDLE_PIPELINES.remove(self))
        self.recorder = Recorder(spool, written=self.uploader.written)

    def start_run(self, header: Mapping[str, str], envelope: Envelope, notices: Notices) -> None:
        """Assign the pipeline to this run."""
        self.recorder.start_run(envelope, notices)
        self.uploader.start_run(header, notices)

    def start(self) -> None:
        """Start the threads."""
        self.recorder.start()
        self.uploader.start()

    def finish(self, *, sent: bool) -> None:
        """Close the run: keep the pipeline idle, or end it if something is unsent or was rejected."""
        if sent and self.spool.clean:
            IDLE_PIPELINES.put(self)
        else:
            self.end()

    def end(self) -> None:
        """End both threads."""
        self.recorder.end()
        self.uploader.end()


class IdlePipelines:
    """Pipelines that wait for another run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Pipeline] = []

    def put(self, pipeline: Pipeline) -> None:
        """Add an idle pipeline."""
        with self._lock:
            self._idle.append(pipeline)

    def take(self, ends: PipelineConfig) -> Pipeline | None:
        """Remove and return an idle pipeline with this configuration, None if there is none."""
        with self._lock:
            taken = next((pipeline for pipeline in self._idle if pipeline.config == ends), None)
            if taken is not None:
                self._idle.remove(taken)
            return taken

    def remove(self, pipeline: Pipeline) -> bool:
        """Remove a pipeline that is about to end; returns False if a run has taken it."""
        with self._lock:
            is_idle = pipeline in self._idle
            if is_idle:
                self._idle.remove(pipeline)
                pipeline.recorder.end()
            return is_idle

    def take_all(self) -> list[Pipeline]:
        """Remove and return all idle pipelines."""
        with self._lock:
            taken, self._idle = self._idle, []
            return taken

    def release_lock(self) -> None:
        """In a forked child: replace the lock, which may have been held, and release the spools' locks."""
        self._lock = threading.Lock()
        for pipeline in self.take_all():
            pipeline.spool.release_lock()


IDLE_PIPELINES = IdlePipelines()


def open_pipeline(
    ends: PipelineConfig, identity: ProcessIdentity, envelope: Envelope, notices: Notices
) -> Pipeline:
    """Return an idle or new pipeline for this run. Raises OSError where no spool can be created."""
    header = {
        "server": ends.access.server,
        "host": identity.host,
        "project": envelope.project,
        "run": envelope.run,
    }
    while (idle := IDLE_PIPELINES.take(ends)) is not None:
        try:
            idle.spool.start_run(header)
        except OSError:  # another process removed its folder
            idle.end()
            continue
        idle.start_run(header, envelope, notices)
        return idle
    name = f"{identity.host}-{identity.pid}-{identity.nonce}"
    spool = open_spool(ends.folders, name, header, ends.limit, notices)
    pipeline = Pipeline(ends, spool, identity.nonce, notices)
    pipeline.start_run(header, envelope, notices)
    pipeline.start()
    return pipeline


def open_spool(
    places: Sequence[Path], name: str, header: Mapping[str, str], limit: int, notices: Notices
) -> spools.Spool:
    """Create a spool in the first writable folder. Raises OSError if there is none."""
    for folder in places[:-1]:
        try:
            return spools.create(folder, name, header, limit=limit)
        except OSError as error:
            notices.note(
                f"spool {folder}", f"cannot create a spool in {folder} ({error}); trying another folder"
            )
    return spools.create(places[-1], name, header, limit=limit)


def end_all(pipes: Iterable[Pipeline], timeout: float) -> None:
    """End these pipelines, waiting at most `timeout` seconds for each."""
    for pipeline in pipes:
        pipeline.end()
        pipeline.uploader.join(timeout)
