"""Peaks are found by the names that drivers print, each with where it stands; a user has the last word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.flops.peaks import Peaks, Precision, accelerators, find_accelerator


@pytest.mark.parametrize(
    ("printed", "bf16"),
    [
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA H100 NVL", 835.5),
        ("NVIDIA H200", 989),
        ("NVIDIA H200 NVL", 835.5),
        ("NVIDIA H20", 148),
        ("NVIDIA GH200 480GB", 989),
        ("NVIDIA B200", 2250),
        ("NVIDIA B300 SXM6 AC", 2250),
        ("NVIDIA GB200", 2500),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA A100-SXM4-40GB", 312),
        ("NVIDIA A100-PCIE-40GB", 312),
        ("NVIDIA A100 80GB PCIe", 312),
        ("A100-SXM4-40GB", 312),
        ("NVIDIA L40S", 362),
        ("NVIDIA L40", 181),
        ("NVIDIA L4", 121),
        ("NVIDIA A40", 149.7),
        ("NVIDIA A10", 125),
        ("NVIDIA RTX A6000", 154.85),
        ("NVIDIA GeForce RTX 4090", 165.2),
        ("NVIDIA GeForce RTX 3090", 71),
        ("AMD Instinct MI250X", 191.5),
        ("AMD Instinct MI250X / MI250", 191.5),
        ("AMD Instinct MI300X", 1307.4),
        ("AMD Instinct MI300X OAM", 1307.4),
        ("AMD Instinct MI325X", 1307.4),
        ("AMD Instinct MI355X", 2500),
        ("HL-225", 432),
        ("TPU v4", 275),
        ("TPU v5 lite", 197),
        ("TPU v5p", 459),
        ("TPU v6 lite", 918),
    ],
)
def test_devices_are_known_by_the_names_that_drivers_print(printed: str, bf16: float) -> None:
    peak = Peaks().of(printed, Precision.BF16)
    assert peak is not None
    assert peak.tflops == bf16
    assert peak.source


@pytest.mark.parametrize(
    "printed",
    [
        "NVIDIA A10G",  # not an A10
        "NVIDIA A100-SXM-64GB",  # Leonardo's own, with more cores
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA RTX 6000 Ada Generation",
        "Tesla P100-PCIE-16GB",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "cpu",
        "",
    ],
)
def test_an_unknown_device_has_no_peak(printed: str) -> None:
    assert Peaks().of(printed, Precision.BF16) is None


def test_a_precision_that_a_device_lacks_has_no_peak() -> None:
    assert Peaks().of("Tesla V100-SXM2-32GB", Precision.BF16) is None
    assert Peaks().of("Tesla V100-SXM2-32GB", Precision.FP16) is not None
    assert Peaks().of("NVIDIA A100-SXM4-80GB", Precision.FP8) is None


def test_one_card_of_mi250x_shows_as_two_devices() -> None:
    known = find_accelerator("AMD Instinct MI250X")
    assert known is not None
    assert known.card == 2
    assert known.card * known.peak[Precision.BF16] == 383


def test_every_entry_has_its_source_and_the_day_it_was_read() -> None:
    for one in accelerators():
        assert one.source
        assert one.read.startswith("20")
        assert all(tflops > 0 for tflops in one.peak.values())
        # shorter numbers are never slower
        ordered = [
            one.peak[precision] for precision in Precision if precision in one.peak and precision != "fp16"
        ]
        assert ordered == sorted(ordered), one.name


def test_overrides_take_precedence_and_the_longest_name_wins() -> None:
    peaks = Peaks({"H100": {Precision.BF16: 900.0}, "h100 80gb": {Precision.BF16: 800.0}})
    found = peaks.of("NVIDIA H100 80GB HBM3", Precision.BF16)
    assert found is not None
    assert found.tflops == 800
    assert found.source == "[peaks] of the settings"
    other = peaks.of("NVIDIA H100 80GB HBM3", Precision.FP8)
    assert other is not None
    assert other.tflops == 1979
    new = Peaks({"A10G": {Precision.BF16: 70.0}}).of("NVIDIA A10G", Precision.BF16)
    assert new is not None
    assert new.tflops == 70


@given(st.text(max_size=200))
def test_any_name_can_be_looked_up(printed: str) -> None:
    Peaks().of(printed, Precision.BF16)
