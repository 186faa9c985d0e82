"""TensorBoard's data server in Rust: reads event files into memory and answers over gRPC."""

from __future__ import annotations

import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import tensorboard_data_server
from tensorboard.data.proto import data_provider_pb2, data_provider_pb2_grpc

from peers.peer import PeerBase
from peers.tensorboard_files import TensorBoardPeer
from peers.workloads import LoggedRun, Workload

_MAX_MESSAGE_BYTES = 512 * 1024 * 1024


class DataServer:
    """A process of the data server that loads a folder once."""

    def __init__(self, folder: Path, *, samples: str, checksums: bool) -> None:
        port = Path(tempfile.mkdtemp()) / "port"
        self._process = subprocess.Popen(
            [
                tensorboard_data_server.server_binary(),
                f"--logdir={folder}",
                "--reload=once",
                "--port=0",
                f"--port-file={port}",
                "--die-after-stdin",
                *([f"--samples-per-plugin=scalars={samples}"] if samples else []),
                *(["--checksum"] if checksums else []),
            ],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        while not (port.exists() and port.read_text().endswith("\n")):
            time.sleep(0.001)
        options = [("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES)]
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port.read_text().strip()}", options=options)
        self._stub = data_provider_pb2_grpc.TensorBoardDataProviderStub(self.channel)

    def points(self, tags: list[str], downsample: int) -> int:
        """The number of points that one call returns for these series."""
        request = data_provider_pb2.ReadScalarsRequest(
            experiment_id="x", plugin_filter=data_provider_pb2.PluginFilter(plugin_name="scalars")
        )
        request.run_tag_filter.tags.names.extend(tags)
        request.downsample.num_points = downsample
        answer = self._stub.ReadScalars(request, wait_for_ready=True)
        return sum(len(tag.data.step) for run in answer.runs for tag in run.tags)

    def last_step(self) -> int:
        """The last step that is loaded of every series; -1 if there are no series yet."""
        request = data_provider_pb2.ListScalarsRequest(
            experiment_id="x", plugin_filter=data_provider_pb2.PluginFilter(plugin_name="scalars")
        )
        answer = self._stub.ListScalars(request, wait_for_ready=True)
        steps = [tag.metadata.max_step for run in answer.runs for tag in run.tags]
        return min(steps, default=-1)

    def close(self) -> None:
        """Stop the process."""
        self.channel.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._process.kill()
        self._process.wait()


class TensorBoardRustPeer(PeerBase):
    """TensorBoard's data server on event files written by TensorBoard in Python (not measured)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._servers: list[DataServer] = []

    def prepare(self, workload: Workload, runs: list[LoggedRun]) -> None:
        """Write the files."""
        TensorBoardPeer(self.folder).write(workload, runs)

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Load everything, then read from memory; points of longer series are sampled at random."""
        self._restart(self.folder, workload.steps - 1, samples="all")
        (server,) = self._servers
        names = workload.names[:20]
        expected = min(workload.steps, 1000)
        return {
            "one series": (lambda: server.points(names[:1], workload.steps), workload.steps),
            "20 series": (lambda: server.points(names, 1000), len(names) * expected),
            "long series": (lambda: server.points(names, 1000), expected),
            # a sample of one point is a random one: last values need all points
        }

    def loaders(self, path: Path) -> dict[str, Any]:
        """Start the server and wait until the last step can be queried."""
        last = int((path / "last_step").read_text())

        def load(samples: str, checksums: bool) -> int:
            self._restart(path, last, samples=samples, checksums=checksums)
            return int((path / "points").read_text())

        return {
            "1,000 samples a tag": lambda: load("", False),
            "1,000 samples a tag, checksums": lambda: load("", True),
            "all samples": lambda: load("all", False),
            "all samples, checksums": lambda: load("all", True),
        }

    def _restart(self, path: Path, last: int, *, samples: str, checksums: bool = False) -> None:
        for server in self._servers:
            server.close()
        self._servers = [server := DataServer(path, samples=samples, checksums=checksums)]
        while server.last_step() < last:
            time.sleep(0.005)

    def close(self) -> None:
        """Stop the servers."""
        for server in self._servers:
            server.close()
