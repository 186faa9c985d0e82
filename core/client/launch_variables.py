"""Environment variables that describe a launch: those of launchers, and those that change how it runs.

Only names that are listed here are read, and of these only values that do not look like secrets.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from typing import Any

from holter.secret_patterns import is_secret_variable

MAX_VARIABLES = 200
MAX_VALUE = 500
LOCAL_RANKS = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
_RELEVANT = re.compile(
    r"(?:NCCL|RCCL|TORCH|PYTORCH|TORCHINDUCTOR|TORCHDYNAMO|TRITON|CUDA|CUBLAS|CUDNN|NVTE|NVIDIA|HIP|HSA|ROCR|"
    r"OMP|MKL|KMP|GOMP|OPENBLAS|NUMEXPR|UCX|FI|GLOO|OMPI_MCA|IBV|XLA|JAX|TF|KERAS|LIBTPU|TPU|PJRT|"
    r"DEEPSPEED|DS|ACCELERATE|FSDP|MEGATRON|TOKENIZERS|HF|TRANSFORMERS|BITSANDBYTES|BNB|FLASH_ATTENTION|VLLM|"
    r"PYTHON|LD|MALLOC|TCMALLOC|JEMALLOC)_[A-Z0-9_]+"
    r"|PYTHONHASHSEED|PYTHONOPTIMIZE|CUDA_VISIBLE_DEVICES|LD_PRELOAD|CONDA_DEFAULT_ENV|ENV_NAME"
)
"""Variables that change how a training runs."""
_EPHEMERAL = re.compile(
    r"(?i)(?:^|_)(?:PORT|PID|PPID|ADDR(?:ESS)?|URL|URI|ENDPOINT|HOST(?:NAME|S)?|IP|SOCKET|FD|FIFO|UUID|ID|TMP|"
    r"TEMP|TMPDIR|TEMPDIR|PATH|DIR|HOME|CACHE|FILE|STORE|RANK|LOCALID|PROCID|NODEID|RUN_ID|RESTART_COUNT|"
    r"ERROR_FILE|TIMESTAMP|CONFIG_FILE)$"
)
"""Names whose values differ from launch to launch without meaning anything, or are personal paths."""
_RELEVANT_PATHS = frozenset({"LD_PRELOAD", "NCCL_TOPO_FILE", "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN"})
_TEMPORARY = re.compile(r"^(?:/tmp|/var/tmp|/dev/shm|/run|/scratch/tmp|[A-Z]:\\Temp)(?:/|$)")

_LAUNCHER: Mapping[str, tuple[str, ...]] = {
    "world_size": ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
    "local_world_size": ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    "nodes": ("GROUP_WORLD_SIZE", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "restart_count": ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT", "JOBSET_RESTART"),
    "max_restarts": ("TORCHELASTIC_MAX_RESTARTS",),
    "hosts": ("SLURM_JOB_NODELIST", "SLURM_NODELIST"),
    "job": ("SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID", "JOB_COMPLETION_INDEX", "TORCHELASTIC_RUN_ID"),
    "job_name": ("SLURM_JOB_NAME", "JOBSET_NAME", "LSB_JOBNAME"),
    "partition": ("SLURM_JOB_PARTITION",),
    "cluster": ("SLURM_CLUSTER_NAME",),
    "pod": ("POD_NAME",),
    "namespace": ("POD_NAMESPACE", "KUBERNETES_NAMESPACE"),
    "node": ("NODE_NAME", "SLURMD_NODENAME"),
}
"""What launchers state, by our name: the first variable that is set."""


def launcher_values(environ: Mapping[str, str]) -> dict[str, Any]:
    """Host, job, sizes and restarts as SLURM, torchrun, MPI and Kubernetes state them."""
    found: dict[str, Any] = {"host": socket.gethostname()[:200]}
    for name, variables in _LAUNCHER.items():
        value = next((environ[variable] for variable in variables if environ.get(variable)), None)
        if value is not None and not is_secret_variable(name, value):
            found[name] = int(value) if value.isdecimal() and len(value) < 18 else value[:MAX_VALUE]
    if "KUBERNETES_SERVICE_HOST" in environ:
        found["launcher"] = "kubernetes"
    if "SLURM_JOB_ID" in environ:
        found["launcher"] = "slurm"
    if "TORCHELASTIC_RUN_ID" in environ:
        found["launcher"] = " ".join(part for part in (found.get("launcher"), "torchrun") if part)
    return found


def relevant_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that change how a training runs, by name, without secrets and what differs by chance."""
    names = sorted(name for name in environ if is_relevant(name, environ[name]))
    return {name: environ[name][:MAX_VALUE] for name in names[:MAX_VARIABLES]}


def is_relevant(name: str, value: str) -> bool:
    """Whether a variable is captured."""
    if name in _RELEVANT_PATHS:
        return not is_secret_variable(name, value) and not _TEMPORARY.match(value)
    if not _RELEVANT.fullmatch(name) or _EPHEMERAL.search(name):
        return False
    return not _TEMPORARY.match(value) and not is_secret_variable(name, value)


def local_rank(environ: Mapping[str, str]) -> int | None:
    """The rank of this process on its host; None where the launcher states none."""
    stated = (environ[name] for name in LOCAL_RANKS if environ.get(name, "").isdecimal())
    return next((int(rank) for rank in stated), None)
