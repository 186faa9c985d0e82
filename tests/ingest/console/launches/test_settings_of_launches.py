"""Settings of launches in logs: the launch that each belongs to, however the log is cut."""

from __future__ import annotations

import io
import re
import threading
from pathlib import Path, PurePath
from typing import Any

import pytest

from holter.attempts import Attempts
from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineSettings, LineValues
from holter.ingest.discovery.run_layout import RunAssignment
from holter.ingest.offline.read_run import read_run
from holter.ingest.tailing.follower import Follower
from holter.types import Batch, ConfigKey, ConfigValue

DATA = Path(__file__).parents[3] / "data" / "console"


def by_name(config: Any, **labels: str) -> dict[str, dict[int, ConfigValue]]:
    expected_labels = tuple(sorted(labels.items()))
    return {key.name: dict(values) for key, values in config.items() if key.labels == expected_labels}


def test_arguments_printed_before_steps_go_back_are_those_of_the_new_launch() -> None:
    config = by_name(read_run(DATA / "megatron-restarted.out").data.config)
    assert config["global_batch_size"] == {0: 256, 1: 512}
    assert config["hidden_size"] == {0: 4096, 1: 4096}
    assert config["lr"] == {0: 0.00015}
    assert config["world_size"] == {0: 8}
    assert config["padded_vocab_size"] == {0: 50688}
    assert config["distribute_checkpointed_activations_with_a_name"] == {0: False}


def test_keys_to_other_services_are_not_retained() -> None:
    assert "wandb_api_key" not in by_name(read_run(DATA / "megatron-restarted.out").data.config)


def test_arguments_of_a_real_log_are_complete() -> None:
    name = "gpt2-meg-ds-3d__meg_ds_3d_gpt2_perf_n16-ds-on.out.gz"
    config = by_name(read_run(DATA / "real" / name).data.config)
    shape = {"num_layers": 64, "hidden_size": 8192, "num_attention_heads": 32, "seq_length": 1024}
    assert {name: config[name][0] for name in shape} == shape
    assert config["padded_vocab_size"] == {0: 50688}


def test_gpt_neox_values_are_read_without_their_origin(tmp_path: Path) -> None:
    (tmp_path / "neox.log").write_text(
        "-------------------- arguments --------------------\n"
        "  num_layers ...................... 24..........................updated\n"
        "  attention_config ................ ['flash', 'flash', 'flash', 'flash']updated\n"
        "  optimizer_type .................. adam........................default\n"
        "---------------- end of arguments ----------------\n"
        " samples/sec: 11.903 | iteration      110/  320000 | lm_loss: 8.512000E+00 |\n"
    )
    config = by_name(read_run(tmp_path / "neox.log").data.config)
    assert config["num_layers"] == {0: 24}
    assert config["optimizer_type"] == {0: "adam"}
    assert config["attention_config"] == {0: "['flash', 'flash', 'flash', 'flash']"}


def test_launch_without_a_step_is_a_launch_of_its_own(tmp_path: Path) -> None:
    text = (DATA / "megatron-restarted.out").read_text()
    crashed = "---------- arguments ----------\n  global_batch_size ......... 1024\n"
    (tmp_path / "run.out").write_text(text + crashed)
    config = by_name(read_run(tmp_path / "run.out").data.config)
    assert config["global_batch_size"] == {0: 256, 1: 512, 2: 1024}


def _parse(line: str, state: DialectState) -> LineValues | list[LineValues | LineSettings] | LineSettings:
    word, number, value = line.split()
    if word == "step":
        return LineValues(int(number), {"loss": float(value)})
    if word == "nccl":
        state["seen"] = state.get("seen", 0) + 1
        labels = (("rank", number), ("steps", "calls"))
        stated = LineValues(state["seen"], {"calls": 1.0}, labels=labels)
        return [LineSettings({"net": value}, (("rank", number),)), stated]
    return LineSettings({number: value})


READER = ConsoleDialect(
    name="plain",
    signature=re.compile(rb"step"),
    kinds=(
        LineKind(pattern=re.compile(rb"step \d"), parse=_parse),
        LineKind(pattern=re.compile(rb"nccl \d"), parse=_parse, yields_settings=True),
        LineKind(pattern=re.compile(rb"set \w"), parse=_parse, yields_settings=True),
    ),
)
TEXT = b"".join(
    line + b"\n"
    for line in (
        b"set lr 1",
        b"nccl 0 ib",
        b"nccl 1 ib",
        *(b"step %d 2.5" % step for step in range(1, 5)),
        b"nccl 1 socket",
        b"set lr 2",
        b"set wd 3",
        b"nccl 0 socket",
        *(b"step %d 2.0" % step for step in range(3, 6)),
        b"set late yes",
    )
)
EXPECTED_CONFIG = {
    ConfigKey("lr"): {0: "1", 1: "2"},
    ConfigKey("net", (("rank", "0"),)): {0: "ib", 1: "socket"},
    ConfigKey("net", (("rank", "1"),)): {0: "ib", 1: "socket"},
    ConfigKey("wd"): {1: "3"},
}


def settled(batches: list[Batch], attempts: Attempts) -> dict[ConfigKey, dict[int, ConfigValue]]:
    found: dict[ConfigKey, dict[int, ConfigValue]] = {}
    for batch in batches:
        for number, piece in attempts.split("log", batch):
            for key, value in piece.config.items():
                found.setdefault(key, {})[number] = value
    return dict(sorted(found.items()))


def test_config_is_the_same_wherever_the_reader_resumes() -> None:
    for cut in range(len(TEXT) + 1):
        state: Any = {}
        attempts, batches, position = Attempts(), list[Batch](), 0
        for size in (cut, len(TEXT)):
            reader, stream = ConsoleReader(READER, state), io.BytesIO(TEXT[:size])
            stream.seek(position)
            batches += [record for record in reader.read(stream) if isinstance(record, Batch)]
            state, position = reader.state(), stream.tell()
        assert settled(batches, attempts) == EXPECTED_CONFIG
        assert [dict(settings.config) for settings in attempts.pending_config()] == [
            {ConfigKey("late"): "yes"}
        ]


def test_resuming_from_stored_attempts_loses_no_pending_settings() -> None:
    stream = io.BytesIO(TEXT)
    found: dict[ConfigKey, dict[int, ConfigValue]] = {}
    attempts = Attempts()
    for record in ConsoleReader(READER, {}).read(stream):
        assert isinstance(record, Batch)
        for key, values in settled([record], attempts).items():
            found.setdefault(key, {}).update(values)
        attempts = Attempts.from_json(attempts.to_json())
    assert dict(sorted(found.items())) == EXPECTED_CONFIG


def test_of_processes_that_print_the_same_setting_the_first_counts() -> None:
    text = b"[rank1]: set lr 1\n[rank0]: set lr 2\n[rank0]: step 1 2.5\n[rank1]: set wd 4\n"
    batches = [
        record for record in ConsoleReader(READER, {}).read(io.BytesIO(text)) if isinstance(record, Batch)
    ]
    attempts = Attempts()
    assert settled(batches, attempts) == {ConfigKey("lr"): {0: "1"}}
    assert [dict(settings.config) for settings in attempts.pending_config()] == [{ConfigKey("wd"): "4"}]


def test_line_kind_that_yields_settings_undeclared_is_an_error() -> None:
    silent = LineKind(pattern=re.compile(rb"set \w"), parse=_parse)
    dialect = ConsoleDialect(name="wrong", signature=silent.pattern, kinds=(silent,))
    with pytest.raises(TypeError, match="yields_settings=True"):
        list(ConsoleReader(dialect, {}).read(io.BytesIO(b"set lr 1\n")))


def test_assignment_adds_its_labels_to_settings(reading: Any) -> None:
    name, content = "megatron.out", (DATA / "megatron-restarted.out").read_bytes()
    [first, *_] = reading.format_of(name, content).reader(PurePath(name), {}).read(io.BytesIO(content))
    put = RunAssignment(run="r", writer="w", prefix="eval/", labels=(("rank", "3"),)).apply(first)
    assert put.config[ConfigKey("hidden_size", (("rank", "3"),))] == 4096


def test_torchtitan_model_devices_and_batch_are_read(tmp_path: Path) -> None:
    stated = (
        "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]",
        "Building llama3 8B with TransformerModelArgs(_enforced='', dim=4096, n_layers=32, n_heads=32, "
        "n_kv_heads=8, vocab_size=128256, norm_eps=1e-05, moe_args=MoEArgs(num_experts=8), max_seq_len=8192)",
        "CUDA capacity: NVIDIA H200 with 139.81GiB memory",
        "Model llama3 8B size: 8,030,261,248 total parameters",
        "Applied selective activation checkpointing to the model",
        "Peak FLOPS used for computing MFU: 9.890e+14",
        "Trainer is initialized with local batch size 2, global batch size 8, gradient accumulation steps 1, "
        "sequence length 8192, total steps 1000 (warmup 200)",
        "step:  1  loss:  8.1  memory: 60.00GiB(42.00%)  tps: 5,000  tflops: 250.0  mfu: 25.00%",
    )
    log = tmp_path / "titan.log"
    stamp = "[rank0]:[titan] 2025-11-25 19:44:58,595 - root - INFO - "
    log.write_text("".join(f"{stamp}{line}\n" for line in stated))
    config = {name: values[0] for name, values in by_name(read_run(log).data.config).items()}
    assert config == {
        "model": "llama3 8B", "dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8,
        "vocab_size": 128256, "norm_eps": 1e-05, "num_experts": 8, "max_seq_len": 8192, "_enforced": "",
        "world_size": 8, "parallelism.dp_shard": 4, "parallelism.tp": 2, "gpu.name": "NVIDIA H200",
        "gpu.memory_gib": 139.81, "num_parameters": 8030261248, "activation_checkpoint.mode": "selective",
        "peak_flops": 9.89e14, "local_batch_size": 2, "global_batch_size": 8,
        "gradient_accumulation_steps": 1, "seq_len": 8192, "steps": 1000, "warmup_steps": 200,
    }  # fmt: skip


def test_the_trainers_model_and_batch_are_those_of_training_not_of_evaluations(tmp_path: Path) -> None:
    log = tmp_path / "hf.log"
    log.write_text(
        "INFO:__main__:Overriding config: n_head=32,use_cache=False\n"
        "[INFO|configuration_utils.py:553] 2021-05-25 06:37:53,744 >> Model config GPT2Config {\n"
        '  "activation_function": "gelu_new",\n  "architectures": [\n    "GPT2LMHeadModel"\n  ],\n'
        '  "n_embd": 768,\n  "n_inner": null,\n  "n_head": 12,\n  "n_layer": 12,\n'
        '  "use_cache": true,\n'
        '  "vocab_size": 50257\n}\n'
        "Generate config GenerationConfig {\n"
        '  "bos_token_id": 50256\n}\n'
        "[INFO|trainer.py:1143] 2021-05-25 06:38:26,284 >> ***** Running training *****\n"
        "[INFO|trainer.py:1144] 2021-05-25 06:38:26,285 >>   Num examples = 1,000\n"
        "[INFO|trainer.py:1147] >>   Total train batch size (w. parallel, distributed & accumulation) = 64\n"
        "{'loss': 1.5214, 'learning_rate': 1.4e-06, 'epoch': 0.01}\n"
        "***** Running Evaluation *****\n  Num examples = 240\n"
    )
    assert by_name(read_run(log).data.config) == {
        "activation_function": {0: "gelu_new"}, "n_embd": {0: 768}, "n_layer": {0: 12},
        "use_cache": {0: False}, "n_head": {0: 32}, "vocab_size": {0: 50257}, "num_examples": {0: 1000},
        "global_batch_size": {0: 64},
    }  # fmt: skip


def test_tailed_settings_are_read_once_for_the_right_launch_across_restarts(
    tmp_path: Path, memory: Any
) -> None:
    content = (DATA / "megatron-restarted.out").read_bytes()
    log = tmp_path / "run.out"
    for size in [*range(0, len(content), 97), len(content)]:
        log.write_bytes(content[:size])
        Follower([log], memory, stop=threading.Event()).catch_up()  # each time as after a kill
    attempts = Attempts()
    batches = [delivery.batch for delivery in memory.deliveries]
    found = by_name(settled(batches, attempts))
    assert found == by_name(read_run(DATA / "megatron-restarted.out").data.config)
    assert attempts.pending_config() == []


def test_a_launch_that_hangs_before_its_first_step_is_read(tmp_path: Path) -> None:
    text = (DATA / "megatron-restarted.out").read_text()
    (tmp_path / "run.out").write_text(text[: text.index(" iteration ")])
    gathered = read_run(tmp_path)
    assert by_name(gathered.data.config)["hidden_size"] == {0: 4096}
    assert (gathered.points, gathered.files) == (0, {"run.out": "megatron"})


def test_table_of_llm_c_is_read(tmp_path: Path) -> None:
    rows = {
        "Parameter": "Value", "device": "NVIDIA H100 80GB HBM3", "precision": "BF16", "num_layers L": "12",
        "padded_vocab_size Vp": "50304", "num_heads NH": "12", "channels C": "768", "num_processes": "8",
        "total batch size": "524288", "learning rate (LR)": "6.0e-04",
    }  # fmt: skip
    table = "".join(f"| {name:<21} | {value:<50} |\n" for name, value in rows.items())
    step = "step    1/19560 | loss 11.01 (+nanz)| norm 15.1 (+nanz)| lr 8.57e-07 | 4688.25 ms | 111 tok/s\n"
    (tmp_path / "llmc.txt").write_text(table + step)
    config = by_name(read_run(tmp_path / "llmc.txt").data.config)
    assert {name: values[0] for name, values in config.items()} == {
        "gpu.name": "NVIDIA H100 80GB HBM3", "precision": "BF16", "num_layers": 12,
        "padded_vocab_size": 50304, "num_heads": 12, "channels": 768, "world_size": 8,
        "total_batch_size": 524288,
    }  # fmt: skip


def test_launch_with_repeated_process_numbers_states_its_nccl_settings_again(
    tmp_path: Path,
) -> None:
    text = ""
    for network in ("IB", "Socket"):
        for pid in (101, 102):
            begins = f"n1:{pid}:{pid} [0] NCCL INFO"
            text += f"{begins} Bootstrap : Using ib0:10.0.0.1<0>\n{begins} Using network {network}\n"
        text += "".join(f"step: {step} loss: {3.5 - step / 10}\n" for step in range(4))
    (tmp_path / "train.out").write_text(text)
    config = by_name(read_run(tmp_path / "train.out").data.config, host="n1")
    assert config["nccl.net"] == {0: "IB", 1: "Socket"}
    assert config["nccl.oob"] == {0: "ib0", 1: "ib0"}
