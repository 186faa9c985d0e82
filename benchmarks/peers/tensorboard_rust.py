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

from peers.tensorboard_files import Peer as Files
from peers.workloads import Workload

_LARGEST = 512 * 1024 * 1024


class Server:
    """The data server over a folder, loaded once."""

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
        options = [("grpc.max_receive_message_length", _LARGEST)]
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port.read_text().strip()}", options=options)
        self._stub = data_provider_pb2_grpc.TensorBoardDataProviderStub(self.channel)

    def points(self, tags: list[str], downsample: int) -> int:
        """How many points of these series it gives, in one call."""
        request = data_provider_pb2.ReadScalarsRequest(
            experiment_id="x", plugin_filter=data_provider_pb2.PluginFilter(plugin_name="scalars")
        )
        request.run_tag_filter.tags.names.extend(tags)
        request.downsample.num_points = downsample
        answer = self._stub.ReadScalars(request, wait_for_ready=True)
        return sum(len(tag.data.step) for run in answer.runs for tag in run.tags)

    def last_step(self) -> int:
        """The highest step that it has of the slowest series; -1 before anything is there."""
        request = data_provider_pb2.ListScalarsRequest(
            experiment_id="x", plugin_filter=data_provider_pb2.PluginFilter(plugin_name="scalars")
        )
        answer = self._stub.ListScalars(request, wait_for_ready=True)
        steps = [tag.metadata.max_step for run in answer.runs for tag in run.tags]
        return min(steps, default=-1)

    def close(self) -> None:
        """End it."""
        self.channel.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._process.kill()
        self._process.wait()


class Peer:
    """A folder of event files, written by TensorBoard in Python, which is not measured here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._servers: list[Server] = []

    def prepare(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Write the files, load them with every sample kept."""
        Files(self._folder).write(workload, rows)
        self._loaded(self._folder, workload.steps - 1, samples="all")

    def readers(self, workload: Workload) -> dict[str, Any]:
        """From memory; at most `downsample` points of a series, taken at random."""
        names = [f"train/metric_{n}" for n in range(min(20, workload.metrics))]
        server = self._servers[-1]
        return {
            "one series": (lambda: server.points(names[:1], workload.steps), workload.steps),
            "20 series": (lambda: server.points(names, 1000), min(workload.steps, 1000)),
        }

    def loaders(self, path: Path) -> dict[str, Any]:
        """From its start until the last step can be asked for."""
        last = int((path / "last_step").read_text())

        def load(samples: str, checksums: bool) -> int:
            self._loaded(path, last, samples=samples, checksums=checksums)
            return int((path / "points").read_text())

        return {
            "1,000 samples a tag": lambda: load("", False),
            "1,000 samples a tag, checksums": lambda: load("", True),
            "all samples": lambda: load("all", False),
            "all samples, checksums": lambda: load("all", True),
        }

    def _loaded(self, path: Path, last: int, *, samples: str, checksums: bool = False) -> None:
        for server in self._servers:
            server.close()
        self._servers = [server := Server(path, samples=samples, checksums=checksums)]
        while server.last_step() < last:
            time.sleep(0.005)

    def close(self) -> None:
        """End the servers."""
        for server in self._servers:
            server.close()
