"""The formats that come with Holter, and those that a user or an installed package adds."""

from __future__ import annotations

from collections.abc import Sequence

from holter.custom_format import CustomFormat
from holter.ingest.communication.all_reduce_bench import AllReduceBench
from holter.ingest.communication.flight_recorder import FlightRecorder
from holter.ingest.communication.kineto import KinetoTrace
from holter.ingest.communication.nccl_inspector import NcclInspector
from holter.ingest.communication.ras_json import RasJson
from holter.ingest.communication.ras_text import RasText
from holter.ingest.config_files.config_file import ConfigFile
from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.format import Format
from holter.ingest.jsonl import JsonLines
from holter.ingest.slurm.jobs import SlurmJobs, SlurmJson
from holter.ingest.stdout import text_formats
from holter.ingest.stdout.system_text import NcclTests
from holter.ingest.telemetry.amd_smi import AmdCsv, AmdJson
from holter.ingest.telemetry.nvidia_smi import NvidiaSmi
from holter.ingest.telemetry.prometheus import PrometheusText
from holter.ingest.telemetry.smi_tables import NvidiaDmon, RocmSmi
from holter.ingest.tensorboard.event_file import EventFile
from holter.ingest.trainers.llama_factory import LlamaFactoryLog
from holter.ingest.trainers.torchtitan_trace import TorchtitanTrace
from holter.ingest.trainers.trainer_state import TrainerState
from holter.ingest.wandb.wandb_log import WandbLog
from holter.registry import build

_COMMUNICATION = (
    NcclInspector(),
    RasJson(),
    FlightRecorder(),
    KinetoTrace(),
    NcclTests(),
    AllReduceBench(),
    RasText(),
)
_TELEMETRY = (NvidiaSmi(), NvidiaDmon(), PrometheusText(), AmdCsv(), AmdJson(), RocmSmi())
_SCHEDULERS = (SlurmJobs(), SlurmJson())
BUILTIN: tuple[Format, ...] = (
    EventFile(),
    WandbLog(),
    CsvLog(),
    *_COMMUNICATION,
    *_TELEMETRY,
    *_SCHEDULERS,
    LlamaFactoryLog(),
    TorchtitanTrace(),
    TrainerState(),
    ConfigFile(),
    JsonLines(),
    *text_formats(),  # console logs in every dialect, and system text
)


def all_formats(custom: Sequence[CustomFormat]) -> dict[str, Format]:
    """Every format by its name, see `holter.ingest.formats`. Raises TypeError."""
    builtin: Sequence[Format] = BUILTIN
    if custom:
        in_text = {format_.name for format_ in text_formats()}
        others = [format_ for format_ in BUILTIN if format_.name not in in_text]
        builtin = (*others, *text_formats(custom))
    registry = build(builtin, group="holter.formats")
    for name, format_ in registry.items():
        if not isinstance(format_, Format):
            raise TypeError(f"format {name!r}: expected name, role, sniff and reader (holter.ingest.format)")
    return registry
