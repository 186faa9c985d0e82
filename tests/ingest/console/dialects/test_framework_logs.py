"""Console logs by framework, with prefixes, colours and odd lines around them."""

from __future__ import annotations

import time
from math import log
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.console.text.values import parse_number
from holter.ingest.offline.read_run import read_run
from holter.types import SeriesKey

DATA = Path(__file__).parents[3] / "data" / "console"


@pytest.fixture
def read_sample(reading: Any) -> Any:
    return lambda name: reading.read_complete(name, (DATA / name).read_bytes())


def test_megatron_shows_its_metrics_under_the_names_it_prints(read_sample: Any) -> None:
    result = read_sample("megatron.out")
    assert result.values("lm loss") == [(10, 10.18812)]
    assert result.values("throughput per GPU (TFLOP/s/GPU)") == [(10, 243.6)]
    assert result.values("grad norm") == [(10, 1.3)]


def test_an_interval_whose_loss_is_not_a_number_is_known_by_its_counter(read_sample: Any) -> None:
    result = read_sample("megatron.out")
    assert result.values("number of nan iterations") == [(20, 10.0)]
    assert [step for step, _ in result.values("lm loss")] == [10]


def test_megatron_shows_validation_and_checkpoints(read_sample: Any) -> None:
    result = read_sample("megatron.out")
    assert result.values("validation/lm loss") == [(20, 2.1)]
    assert result.values("checkpoint saved", local_rank="0") == [(20, 20.0)]


def test_what_neox_puts_before_the_iteration_counts_as_well(read_sample: Any) -> None:
    result = read_sample("gpt-neox.log")
    assert result.values("samples/sec") == [(110, 11.903)]
    assert result.values("approx flops per GPU") == [(110, 150.3e12)]
    assert result.values("lm_loss") == [(110, 8.512)]
    assert result.values("validation/lm_loss") == [(110, 8.25)]


def test_of_ranks_that_print_the_same_the_first_is_the_voice_of_the_run(read_sample: Any) -> None:
    result = read_sample("torchtitan.txt")
    assert result.values("loss_metrics/global_avg_loss") == [(4, 7.62585), (5, 7.5)]
    assert result.values("throughput(tps)") == [(4, 10050.0), (5, 10050.0)]
    assert result.values("throughput(tps)", rank="1") == [(4, 10051.0)]
    assert result.values("throughput(tps)", rank="0") == [(5, 10050.0)]
    assert result.values("mfu(%)", rank="1") == []


def test_torchtitan_shows_when_a_line_was_printed(read_sample: Any) -> None:
    moment = time.mktime((2026, 2, 24, 19, 46, 17, 0, 0, -1)) + 0.508
    first = read_sample("torchtitan.txt").points[("loss_metrics/global_avg_loss", ())][0]
    assert float(first[2]) == pytest.approx(moment, abs=1e-3)


def test_nanogpts_unknown_mfu_is_no_mfu(read_sample: Any) -> None:
    result = read_sample("nanogpt.out")
    assert result.values("mfu(%)") == [(10, 0.19), (20, 0.19)]
    assert result.values("val/loss") == [(0, 4.2823)]
    assert [step for step, _ in result.values("loss")] == [0, 10, 20]


def test_llm_c_shows_the_same_in_both_of_its_logs(read_sample: Any) -> None:
    console, main = read_sample("llmc.txt"), read_sample("main.log")
    assert console.values("train/loss") == [(1, 11.010252), (200, 5.5)]
    assert console.values("mfu(%)") == [(200, 28.8)]
    assert console.values("val/loss") == [(0, 11.009978), (200, 3.265413)]
    assert main.values("train/loss") == [(0, 11.0091), (1, 10.9598)]
    assert main.values("val/loss") == [(0, 11.0092)]


def test_a_printed_script_is_no_record_and_passed_time_gives_the_time_of_a_step(read_sample: Any) -> None:
    result = read_sample("modded-nanogpt.txt")
    assert result.values("val_loss") == [(0, 10.8258)]
    assert result.values("step_time (ms)") == [(1, 79.0), (3, 57.0)]


def test_any_line_with_a_step_and_names_is_understood(read_sample: Any) -> None:
    result = read_sample("key-value.log")
    assert [step for step, _ in result.values("loss")] == [10, 20, 30]
    assert result.values("tokens/s") == [(10, 10050.0), (20, 10100.0), (30, 10050.0)]


def test_prose_that_mentions_steps_is_not_taken_for_a_log(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("step 1: buy milk\nstep 2: loss of patience\nstep 3: sleep\n" * 50)
    assert read_run(tmp_path).files == {}


@pytest.mark.parametrize(
    ("line", "text", "labels"),
    [
        (b"  3: iteration", "iteration", {"rank": "3"}),
        (b"[rank12]: loss", "loss", {"rank": "12"}),
        (b"[default7]:[rank5]: loss", "loss", {"rank": "5"}),
        (b"retraining/0 [default0]:loss", "loss", {"local_rank": "0"}),
        (b"(RayTrainWorker pid=615, ip=10.72.7.6) loss", "loss", {"pid": "615"}),
        (b"[1,3]<stdout>:loss", "loss", {"rank": "3"}),
        (b"[1,mpirank:2,algo-1]<stderr>: loss", "loss", {"rank": "2"}),
        (b"(worker1, rank=1, pid=123) loss", "loss", {"rank": "1"}),
        (b"trainer-1  | loss", "loss", {"container": "trainer-1"}),
        (b"node12: [08/30] loss", "[08/30] loss", {"host": "node12"}),
        (b"top1: 76.0", "top1: 76.0", {}),
        (b"epoch1: [3/4] loss", "epoch1: [3/4] loss", {}),
        (b"\x1b[36m[rank1]:\x1b[0m \x1b[38;2;180;60;0mloss\x1b[0m", "loss", {"rank": "1"}),
        (b"[pod/gpt-worker-1/pytorch] loss", "loss", {"pod": "gpt-worker-1"}),
        (b"[pod/a/b] 2026-08-22T10:00:00.5Z [default3]:loss", "loss", {"local_rank": "3", "pod": "a"}),
        (b"[pod/a/b] [rank3]: loss", "loss", {"rank": "3"}),
        (b"2026-08-22T10:00:00.123456789+02:00 stdout F   4: loss", "loss", {"rank": "4"}),
        (b"2026-08-22T10:00:00 loss", "2026-08-22T10:00:00 loss", {}),
        (b"loss", "loss", {}),
    ],
)
def test_what_launchers_put_before_a_line_is_taken_off(
    line: bytes, text: str, labels: dict[str, str]
) -> None:
    assert strip_prefixes(line)[:2] == (text, tuple(labels.items()))


def test_a_clock_that_a_prefix_shows_is_exact() -> None:
    assert strip_prefixes(b"2026-08-22T10:00:00.25Z stderr F x").time == 1787392800.25
    assert strip_prefixes(b"[pod/a/b] 2026-08-22T12:00:00+02:00 x").time == 1787392800
    assert strip_prefixes(b"9999-99-99T12:00:00Z x").text == "x", "a date that is none is no reason to stop"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10,050", 10050.0),
        ("4.71K", 4710.0),
        ("67.4M", 67.4e6),
        ("150.3TFLOPS", 150.3e12),
        ("13.99%", 13.99),
        ("'0.1745'", 0.1745),
        ("1e+06", 1e6),
        ("-inf", float("-inf")),
        ("N/A", None),
        ("1_000", None),
        ("", None),
    ],
)
def test_numbers_are_read_as_people_print_them(text: str, value: float | None) -> None:
    assert parse_number(text) == value


def test_a_progress_bar_is_many_lines(reading: Any) -> None:
    bar = b"".join(b"iter %d: loss 3.5, time 19.20ms, mfu 0.19%%\r" % step for step in range(5)) + b"\n"
    assert [step for step, _ in reading.read_complete("log.txt", bar).values("loss")] == [0, 1, 2, 3, 4]


def test_records_far_behind_the_beginning_of_a_text_are_found(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(
        b"NCCL INFO nothing to see\n" * 20_000 + (DATA / "nanogpt.out").read_bytes()
    )
    assert read_run(tmp_path).files == {"run.log": "nanogpt"}


def test_a_text_next_to_logs_of_the_same_run_is_left_to_them(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("step,loss\n0,4.2\n10,3.4\n")
    (tmp_path / "nohup.out").write_bytes((DATA / "nanogpt.out").read_bytes())
    assert read_run(tmp_path).files == {"metrics.csv": "csv"}


def test_mlperf_shows_steps_whether_vendors_count_steps_or_samples(read_sample: Any) -> None:
    result = read_sample("mlperf.txt")
    assert result.values("reduced_train_loss") == [(1, 6.58), (2, 6.5)]
    assert result.values("eval_accuracy") == [(2, 5.6)]
    assert result.values("validation_step_time", steps="validation steps") == [(0, 0.1)]


def test_deepspeed_shows_speed_rates_and_loss_scale(read_sample: Any) -> None:
    result = read_sample("deepspeed.log")
    assert result.values("samples/sec") == [(10, 171.9), (12, 64.0)]
    assert result.values("lr/1") == [(10, 4.8e-06)]
    assert result.values("loss scale") == [(0, 32768.0)]
    assert result.values("loss") == [(12, 2.5)]


def test_two_engines_that_print_the_same_step_are_retained_apart(read_sample: Any) -> None:
    result = read_sample("deepspeed.log")
    assert result.values("lr") == [(10, 9.6e-06)]
    assert result.values("second engine/lr") == [(10, 5e-06)]


def test_deepspeed_chat_shows_losses_reward_and_times(read_sample: Any) -> None:
    result = read_sample("deepspeed.log")
    assert result.values("act_loss") == [(2, 0.22314453125)]
    assert result.values("reward") == [(2, 0.1953125)]
    assert result.values("Generate time") == [(2, 2.78)]


def test_the_trainers_records_are_at_the_bar_that_follows_them(read_sample: Any) -> None:
    result = read_sample("hf-trainer-bars.log")
    assert result.values("train/loss") == [(10, 0.1745), (20, 0.15)]
    assert result.values("eval/loss") == [(10, 0.5)]


def test_without_bars_the_trainers_records_are_counted(read_sample: Any) -> None:
    result = read_sample("hf-trainer.log")
    assert [step for step, _ in result.values("train/loss")] == [1, 2]
    assert result.values("eval/loss") == [(2, 1.25)]
    assert result.values("train/grad_norm") == [(1, 82.9), (2, 2.5)]


def test_records_that_come_after_all_bars_are_at_their_epochs(read_sample: Any) -> None:
    result = read_sample("hf-trainer-in-bulk.log")
    assert result.values("train/loss") == [(10, 2.5), (20, 2.25), (30, 2.0), (40, 1.75)]
    assert result.values("train/train_loss") == [(40, 2.125)]
    assert result.values("train/block_size") == []


def test_the_step_that_a_record_names_itself_holds(read_sample: Any) -> None:
    result = read_sample("hf-trainer-own-step.log")
    assert result.values("train/loss") == [(1, 0.5), (2, 1.75), (3, 1.5)]
    assert result.values("train/step") == result.values("train/max_steps") == []


def test_primus_shows_a_value_with_its_mean(read_sample: Any) -> None:
    result = read_sample("primus.log")
    assert result.values("elapsed time per iteration (ms)") == [(4408, 13100.0)]
    assert result.values("throughput per GPU (TFLOP/s/GPU)") == [(4408, 579.4)]


def test_what_build_nanogpt_retains_is_read(read_sample: Any) -> None:
    result = read_sample("log.txt")
    assert result.values("loss") == [(0, 10.955), (1, 10.5)]
    assert result.values("val/loss") == [(0, 10.9555)]
    assert result.values("eval/hellaswag") == [(0, 0.2475)]


def test_a_unit_behind_nanogpts_loss_is_no_hindrance(read_sample: Any) -> None:
    result = read_sample("nanogpt-units.out")
    assert result.values("loss") == [(0, 6.1551), (10, 4.681)]
    assert result.values("val/loss") == [(0, 6.178)]


def test_maxtexts_first_steps_have_a_loss_but_no_speed(read_sample: Any) -> None:
    result = read_sample("maxtext.log")
    assert [step for step, _ in result.values("loss")] == [0, 1, 2]
    assert result.values("step_time (s)") == [(2, 5.667)]
    assert result.values("eval/loss") == [(2, 9.42)]


def test_fairseq_before_2020_shows_as_much(read_sample: Any) -> None:
    result = read_sample("fairseq-2019.log")
    assert result.values("loss") == [
        (445, pytest.approx(11.521 * log(2))),
        (495, pytest.approx(11.346 * log(2))),
    ]
    assert result.values("valid_loss") == [(600, pytest.approx(8.125 * log(2)))]
    assert result.values("train_loss") == [(1886, pytest.approx(9.5 * log(2)))]
    assert result.values("gnorm") == [(445, 1.543), (495, 1.507)]


def test_an_evaluation_that_litgpt_repeats_is_reported_once(read_sample: Any) -> None:
    result = read_sample("litgpt.log")
    assert result.values("train_loss") == [(1, 2.846), (2, 2.75), (3, 2.5), (4, 2.25)]
    assert result.values("val_loss") == [(2, 2.861)]


def test_nanotrons_suffixes_are_decimal(read_sample: Any) -> None:
    result = read_sample("nanotron.log")
    assert result.values("elapsed_time_per_iteration_ms") == [(1, 4710.0), (2, 4700.0)]
    assert result.values("consumed_tokens") == [(1, 512.0), (2, 1020.0)]


def test_olmos_metrics_are_at_the_step_above_them(read_sample: Any) -> None:
    result = read_sample("olmo.log")
    assert result.values("train/CrossEntropyLoss") == [(2, 10.73), (3, 10.5)]
    assert result.values("throughput/device/flopsPS") == [(3, 441e12)]


def test_composers_metrics_are_at_the_batch_above_them(read_sample: Any) -> None:
    result = read_sample("composer.log")
    assert result.values("loss/train/total") == [(1, 10.9736), (2, 10.5)]
    assert result.values("eval/LanguageCrossEntropy") == [(2, 3.5)]


def test_nemos_lines_and_bars_show_steps(read_sample: Any) -> None:
    assert read_sample("nemo-v2.log").values("reduced_train_loss") == [(0, 11.03), (1, 2.008)]
    assert read_sample("nemo-v1.log").values("reduced_train_loss") == [(7, 11.5), (17, 10.5)]


def test_fairseqs_bits_are_reported_as_nats(read_sample: Any) -> None:
    result = read_sample("fairseq.log")
    assert result.values("loss") == [(2, pytest.approx(11.0904, abs=1e-4))]
    assert result.values("valid_loss") == [(2, pytest.approx(5.5452, abs=1e-4))]
    assert result.values("loss_scale") == [(2, 4.0), (2, 2.0)]


@pytest.mark.parametrize(
    ("log", "metric", "records"),
    [
        ("gpt2-meg-ds-3d__meg_ds_3d_gpt2_perf_n16-ds-on.out", "lm-loss", 49),
        ("step1_sft_opt-1.3b.log", "samples/sec", 736),
        ("step1_sft_opt-1.3b.log", "lr", 736),
        ("step3_rlhf_opt-1.3b.log", "act_loss", 477),
        ("step3_rlhf_opt-1.3b.log", "second engine/lr", 47),
        ("2024-10-13_llmc_main.log", "train/loss", 19_560),
        ("2024-10-13_llmc_main.log", "val/loss", 80),
        ("NVIDIA__hsg_ngpu5120_ngc25.09_nemo__llama31_405b__result_0.txt", "reduced_train_loss", 270),
        ("NVIDIA__hsg_ngpu5120_ngc25.09_nemo__llama31_405b__result_0.txt", "interval/train_step_time", 3),
        ("Cisco__hpf_n16__llama31_8b__result_0.txt", "reduced_train_loss", 3456),
        ("Cisco__hpf_n16__llama31_8b__result_0.txt", "train_step_time", 3456),
    ],
)
def test_every_record_of_real_logs_is_read(log: str, metric: str, records: int) -> None:
    result = read_run(DATA / "real" / f"{log}.gz")
    assert len(result.data.series[SeriesKey(metric)]) == records
    assert result.attempts == 1


def test_megatrons_timers_are_at_the_iteration_above_them(read_sample: Any) -> None:
    result = read_sample("megatron-timers.out")
    assert result.values("forward-backward (ms)", across="min") == [(10, 3094.39)]
    assert result.values("forward-backward (ms)", across="max") == [(10, 3095.09)]
    assert result.values("optimizer (ms)", across="max") == [(10, 109.92)]
    assert result.values("save-checkpoint (ms)", across="max") == [(20, 24895.13)]
    assert not any(key.metric.startswith("model-and-optimizer") for key in result.points)  # of no iteration


def test_megatrons_timers_of_all_ranks_are_theirs(read_sample: Any) -> None:
    result = read_sample("megatron-timers.out")
    assert result.values("forward-backward (ms)", rank="0") == [(20, 3094.39)]
    assert result.values("forward-backward (ms)", rank="1") == [(20, 3095.09)]
    assert result.values("optimizer (ms)", rank="0") == [(20, 107.56)]


def test_megatrons_report_of_stragglers_shows_extremes_and_whose_they_are(read_sample: Any) -> None:
    result = read_sample("megatron-timers.out")
    assert result.values("MnRtt (ms)") == [(10, 3453.08)]
    assert result.values("MnRtt rank") == [(10, 8.0)]
    assert result.values("MxPwr (W)") == [(10, 683801.0)]
    assert result.values("MnEtpt (TF)") == [(10, 296.02)]
    ranked = {rank: result.values("Etpt (TF)", rank=rank) for rank in "0378"}
    assert ranked == {"0": [(10, 296.02)], "3": [(10, 296.1)], "7": [(10, 297.3)], "8": [(10, 297.32)]}


@pytest.mark.parametrize("printer", ["31: ", "[default7]:", "[rank31]: "])
def test_what_is_stated_for_all_ranks_is_nobodys_own(printer: str, reading: Any) -> None:
    lines = (DATA / "megatron-timers.out").read_text().replace(" 0: INFO", "INFO").splitlines()
    plain = reading.read_complete("a.out", "".join(f"{line}\n" for line in lines).encode())
    launched = reading.read_complete("a.out", "".join(f"{printer}{line}\n" for line in lines).encode())
    assert launched.points == plain.points


def test_megatrons_progress_shows_checkpoints_and_launches(read_sample: Any) -> None:
    result = read_sample("progress.txt")
    assert result.values("job throughput (TFLOP/s/GPU)") == [(500, 301.2), (1000, 302.0), (1500, 280.5)]
    assert result.values("checkpoint saved") == [(500, 500.0), (1000, 1000.0), (1500, 1500.0)]
    assert result.values("tokens (in billions)") == [(500, 2.1), (1000, 4.19), (1500, 6.29)]
    assert {value for (key, _), value in result.config.items() if key.name == "slurm.job_id"} == {
        "123456",
        "123457",
    }


@pytest.mark.parametrize(
    ("log", "numbers"),
    [
        # values in tracked_stats, and evaluations
        ("NVIDIA__hsg_ngpu5120_ngc25.09_nemo__llama31_405b__result_0.txt", 563 + 3),
        ("Cisco__hpf_n16__llama31_8b__result_0.txt", 7274 + 18),
        ("Dell__1xXE9680Lx8H200-SXM-141GB__llama2_70b_lora__result_0.txt", 52 + 5),
        ("MangoBoost__AS-8126GS-TNMR__llama2_70b_lora__result_0.txt", 5 + 5),
    ],
)
def test_every_number_of_mlperfs_results_is_a_point(log: str, numbers: int) -> None:
    assert read_run(DATA / "real" / f"{log}.gz").points == numbers


def test_mlperf_states_how_a_launch_is_set_up_and_nan_is_data(reading: Any) -> None:
    line = (
        b':::MLLOG {"time_ms": 1759859525333, "key": %s, "value": %s, '
        b'"metadata": {"step": 3, "samples_count": 48}}\n'
    )
    stated = ((b'"global_batch_size"', b"16"), (b'"opt_name"', b'"adamw"'), (b'"train_loss"', b"NaN"))
    result = reading.read_complete("result_0.txt", b"".join(line % pair for pair in stated))
    assert {str(key): value for (key, _), value in result.config.items()} == {
        "global_batch_size": 16,
        "opt_name": "adamw",
    }
    assert [(step, repr(value)) for step, value in result.values("train_loss")] == [(3, "nan")]


def mlperf_log(*records: tuple[str, str, str]) -> bytes:
    """Lines of MLPerf with a key, a value and the metadata that count."""
    return b"".join(
        b':::MLLOG {"time_ms": %d, "key": "%s", "value": %s, "metadata": {%s}}\n'
        % (1759859525333 + 1000 * number, *(each.encode() for each in record))
        for number, record in enumerate(records)
    )


def test_mlperfs_epochs_are_at_the_step_that_was_listed_with_the_last_one(reading: Any) -> None:
    log = mlperf_log(
        ("tracked_stats", '{"loss": 9.5}', '"step": [1, 100]'),
        ("tracked_stats", '{"loss": 9.25}', '"step": [1, 200]'),
        ("tracked_stats", '{"lr": 0.015}', '"step": 1'),
        ("eval_accuracy", "0.25", '"epoch_num": 1'),
        ("tracked_stats", '{"loss": 9.0}', '"step": [2, 300]'),
    )
    result = reading.read_complete("result_0.txt", log)
    assert result.values("loss") == [(100, 9.5), (200, 9.25), (300, 9.0)]
    assert (result.values("lr"), result.values("eval_accuracy")) == ([(200, 0.015)], [(200, 0.25)])


def test_a_step_of_mlperf_that_is_a_multiple_of_the_batch_remains_a_step(reading: Any) -> None:
    log = mlperf_log(
        ("global_batch_size", "96", ""),
        ("tracked_stats", '{"loss": 1.5}', '"step": 50'),
        ("tracked_stats", '{"loss": 1.25}', '"step": 2400'),
    )
    assert reading.read_complete("result_0.txt", log).values("loss") == [(50, 1.5), (2400, 1.25)]


def test_fairseqs_plain_lines_and_epochs_state_what_its_json_states(read_sample: Any) -> None:
    result = read_sample("fairseq-simple.log")
    assert result.values("loss") == [(100, pytest.approx(16 * log(2))), (200, pytest.approx(8 * log(2)))]
    assert result.values("valid_loss") == [(200, pytest.approx(4 * log(2)))]
    assert result.values("train_loss") == [(200, pytest.approx(12 * log(2)))]
    assert result.values("gnorm") == [(100, 1.682), (200, 1.5)]
    assert read_sample("fairseq.log").values("train_loss") == [(2, pytest.approx(16 * log(2)))]
