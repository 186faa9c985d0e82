"""The own MFU of a Hugging Face run by the files in its folder: none of its logs says the model's shape."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from holter.flops import Peaks, run_throughput
from holter.flops.mfu import OwnThroughput
from holter.ingest.offline.read_run import read_run

CONFIG = Path(__file__).parents[1] / "data" / "settings" / "hf" / "config.json"


def own_of(folder: Path) -> OwnThroughput:
    return run_throughput(read_run(folder).data, Peaks()).own


def make_run(folder: Path) -> None:
    """A run of LLaMA-Factory with accelerate: states, the model's config, arguments, nvidia-smi's table."""
    checkpoint = folder / "checkpoint-40"
    checkpoint.mkdir()
    logged = [{"step": step, "loss": 2.0, "train_samples_per_second": 16.0} for step in range(10, 50, 10)]
    (checkpoint / "trainer_state.json").write_text(json.dumps({"global_step": 40, "log_history": logged}))
    shutil.copy(CONFIG, checkpoint)


def test_the_own_mfu_lacks_the_sequence_length_and_the_device(tmp_path: Path) -> None:
    make_run(tmp_path)
    own = own_of(tmp_path)
    assert own.level(own.mfu) is None
    missing = " ".join(own.missing)
    assert "how long sequences are" in missing
    assert "accelerator" in missing
    assert "layers" not in missing
    assert "vocabulary" not in missing


def test_all_files_of_a_folder_together_give_the_own_mfu(tmp_path: Path) -> None:
    make_run(tmp_path)
    (tmp_path / "training_args.yaml").write_text("cutoff_len: 2048\nfinetuning_type: full\nbf16: true\n")
    (tmp_path / "default_config.yaml").write_text("distributed_type: FSDP\nnum_processes: 2\n")
    (tmp_path / "nvidia-smi.csv").write_text(
        "timestamp, name, index, utilization.gpu [%]\n"
        + "".join(
            f"2026/05/05 12:00:{second:02}.000, NVIDIA H100 80GB HBM3, {gpu}, 98 %\n"
            for second in range(20)
            for gpu in (0, 1)
        )
    )
    own = own_of(tmp_path)
    assert own.missing == ()
    level = own.level(own.mfu)
    assert level is not None
    # 16 sequences of 2,048 tokens a second on two devices of 989.4 TFLOPS
    assert own.launch.shape is not None
    assert own.launch.shape.parameters == pytest.approx(1.1e9, rel=0.001)
    flops = 6 * own.launch.shape.active_weights + 6 * 22 * 2048 * 2048
    assert level.typical == pytest.approx(16 * 2048 / 2 * flops / 989.4e12, rel=0.02)
