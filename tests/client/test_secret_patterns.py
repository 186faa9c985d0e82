"""Secrets are recognised by their names and by the form of their values; ordinary settings are not."""

from __future__ import annotations

import pytest

from holter.client.launch_variables import launcher_values, relevant_variables
from holter.secret_patterns import is_secret, is_secret_variable, names_secret
from tests.support.secret_samples import NAMES, VALUES

ORDINARY = {
    "NCCL_DEBUG": "INFO",
    "NCCL_IB_HCA": "mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7",
    "NCCL_SOCKET_IFNAME": "eth0",
    "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7",
    "CUDA_LAUNCH_BLOCKING": "1",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,max_split_size_mb:512",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    "OMP_NUM_THREADS": "8",
    "TOKENIZERS_PARALLELISM": "false",
    "XLA_FLAGS": "--xla_gpu_enable_latency_hiding_scheduler=true",
    "HF_HUB_OFFLINE": "1",
    "LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
    "NVTE_FUSED_ATTN": "1",
    "PYTHONHASHSEED": "0",
}


def test_at_least_200_patterns_are_tested() -> None:
    assert len({*NAMES, *VALUES}) >= 200


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_says_secret_is_never_sent(name: str) -> None:
    assert names_secret(name)
    assert not relevant_variables({name: "anything"})


@pytest.mark.parametrize("value", VALUES)
def test_a_value_of_a_known_form_is_never_sent_under_any_name(value: str) -> None:
    assert is_secret_variable("NCCL_DEBUG", value)
    assert relevant_variables({"NCCL_DEBUG": value, "XLA_FLAGS": f"--flag {value}"}).get("NCCL_DEBUG") is None
    assert "job_name" not in launcher_values({"SLURM_JOB_NAME": value})


@pytest.mark.parametrize("value", VALUES)
def test_settings_with_such_values_are_secrets_too(value: str) -> None:
    assert is_secret("anything", value)


def test_what_changes_how_a_training_runs_is_sent() -> None:
    assert relevant_variables(ORDINARY) == ORDINARY


def test_names_that_are_not_listed_are_not_sent() -> None:
    assert relevant_variables({"HOME": "/home/ana", "USER": "ana", "MY_SETTING": "1", "PATH": "/bin"}) == {}


def test_what_differs_by_chance_is_not_sent() -> None:
    by_chance = {
        "TORCH_MASTER_PORT": "29500",
        "OMP_PID": "17",
        "CUDA_CACHE_PATH": "/tmp/x",
        "TRITON_CACHE_DIR": "/home/ana/.triton",
        "TORCHELASTIC_RUN_ID": "1f2e",
        "TORCHINDUCTOR_ROOT": "/tmp/torchinductor",
    }
    assert relevant_variables(by_chance) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", "4096"),
        ("tokenizer", "gpt2"),
        ("lr_key_value", "x"),
        ("commit", "a" * 40),
        ("optim", "adamw"),
    ],
)
def test_ordinary_settings_are_no_secrets(name: str, value: str) -> None:
    assert not is_secret(name, value)
