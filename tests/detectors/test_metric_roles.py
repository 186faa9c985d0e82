"""Metric names of the frameworks have the right roles."""

from __future__ import annotations

import pytest

from holter.roles import Role, role_of
from holter.types import SeriesKey, labels_of

NAMES = {
    Role.LOSS: [
        "loss",
        "train/loss",
        "train_loss",
        "train_loss_step",
        "Train/Loss",
        "lm loss",
        "lm_loss",
        "lm-loss-training/lm loss",
        "reduced_train_loss",
        "train/lm_loss",
        "loss/train/total",
        "train/CrossEntropyLoss",
        "train/CE loss",
        "loss_metrics/global_avg_loss",
        "learning/loss",
        "train/nll",
        "train/epoch_loss",
    ],
    Role.EVAL_LOSS: [
        "eval/loss",
        "eval_loss",
        "val_loss",
        "val/loss",
        "lm loss validation",
        "lm-loss-validation/lm loss validation",
        "validation loss",
        "valid/loss",
        "test_loss",
        "loss/val",
        "validation/epoch_loss",
    ],
    Role.DATASET_LOSS: ["loss/cm4", "train/loss/books"],
    Role.THROUGHPUT: [
        "tokens_per_s",
        "tokens_per_sec",
        "throughput",
        "throughput(tps)",
        "tflops",
        "tps",
        "train/tokens_per_second",
        "throughput/device/tokens_per_second",
        "perf/per_device_tflops_per_sec",
        "samples_per_sec",
        "runtime/samples_per_sec",
        "train/train_samples_per_second",
        "wps",
        "model_tflops_per_gpu",
        "tokens_per_sec_per_gpu",
    ],
    Role.STEP_TIME: [
        "step_time",
        "iteration-time",
        "iteration-time/iteration-time",
        "train_step_time",
        "train_step_timing in s",
        "perf/step_time_seconds",
        "iter_time",
        "step_time_ms",
        "runtime/iteration_time",
    ],
    Role.MFU: ["mfu", "mfu(%)", "throughput/device/mfu", "hfu"],
    Role.GRAD_NORM: [
        "grad_norm",
        "grad-norm",
        "grad-norm/grad-norm",
        "train/grad_norm",
        "optim/total grad norm",
        "gnorm",
        "gradient_norm",
    ],
    Role.LEARNING_RATE: [
        "lr",
        "learning_rate",
        "learning-rate",
        "train/learning_rate",
        "lr-AdamW",
        "learning-rate/learning-rate",
    ],
    Role.LOSS_SCALE: ["loss_scale", "loss-scale", "train/loss_scale"],
    Role.MIXTURE: ["mix/books"],
    Role.BATCH_SIZE: ["batch_size", "batch-size", "global_batch_size", "batch-size/batch-size"],
    Role.COMPUTE_TIME: ["compute_time"],
    Role.COLLECTIVE_TIME: ["collective_time"],
    Role.MEMORY: [
        "memory",
        "mem_max_bytes",
        "mem-reserved-bytes/mem-reserved-bytes",
        "memory/max_reserved(GiB)",
        "memory(GiB)",
        "System/Peak GPU Memory (MB)",
        "cuda_memory_allocated",
        "gpu.0.memoryAllocatedBytes",
        "proc.memory.rssMB",
        "system.memory_percent",
        "host_rss",
        "DCGM_FI_DEV_FB_USED",
        "gb_free",
    ],
    Role.SKIPPED: [
        "number of skipped iterations",
        "number of nan iterations",
        "skipped_steps_total",
    ],
    Role.FAULTS: [
        "xid",
        "DCGM_FI_DEV_XID_ERRORS",
        "ecc_errors_uncorrected",
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        "gpu.0.uncorrectedMemoryErrors",
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
    ],
    Role.SEQUENCE: ["coll_sn", "collective_seq", "nccl_op_count", "opCount"],
    Role.EPOCH: ["epoch", "train/epoch"],
    Role.OTHER: [
        "lm loss vs samples",
        "accuracy",
        "gpu.0.memoryClock",
        "gpu.0.memory",
        "gpu.0.correctedMemoryErrors",
        "memory_bandwidth_gbs",
        "membership",
        "reward",
        "weight_loss_ratio_of_dog",
        "params-norm",
    ],
}


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in NAMES.items() for name in names])
def test_a_metric_name_has_its_role(role: Role, name: str) -> None:
    assert role_of(SeriesKey(name)) is role


def test_a_training_loss_with_a_dataset_label_is_a_dataset_loss() -> None:
    assert role_of(SeriesKey("loss", labels_of({"dataset": "cm4"}))) is Role.DATASET_LOSS
