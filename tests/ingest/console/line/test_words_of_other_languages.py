"""Words of other languages for what is counted and measured, in lines and in headings of blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.roles import Role, role_of
from holter.types import SeriesKey
from tests.support.log_runs import assert_steps

N = range(3, 8)


@pytest.mark.parametrize(
    ("counted", "measured"),
    [
        ("Runde", "Verlust"),
        ("Ronda", "pérdida"),
        ("Rodada", "perda"),
        ("Раунд", "потери"),
        ("라운드", "손실"),
        ("ラウンド", "損失"),
        ("Generación", "aptitud"),
        ("Generazione", "errore"),
        ("Geração", "aptidão"),
        ("Поколение", "приспособленность"),
        ("世代", "適応度"),
        ("세대", "적합도"),
        ("Iterazione", "Kosten"),
    ],
)
@pytest.mark.parametrize("form", ["--- {} {} ---\n{}: 0.{}5\n", "{} {}: {} = 0.{}5\n"])
def test_rounds_and_generations_are_counted_in_other_languages(
    counted: str, measured: str, form: str, tmp_path: Path
) -> None:
    text = "".join(form.format(counted, n, measured, n) for n in N)
    assert_steps(tmp_path, "Gestartet\n" + text, {measured: [*N]})


@pytest.mark.parametrize(
    "settings",
    [
        "訓練開始:エポック:5 バッチサイズ:16 学習率:0.01 学習データ数:640",
        "开始训练 轮数:5 批次大小:16 学习率:0.01 样本数:640",
        "훈련 시작 에포크:5 배치 크기:16 학습률:0.01 데이터 수:640",
    ],
)
def test_settings_in_other_languages_are_no_record(settings: str, tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}/5: loss 0.{n}\n" for n in N)
    assert_steps(tmp_path, f"{settings}\n{text}", {"loss": [*N]})


def test_a_word_within_another_one_counts_nothing(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}: loss 0.{n}\nrundell 7: erroneous 3, corundum 5\n" for n in N)
    assert_steps(tmp_path, text, {"loss": [*N]})


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Trainingsverlust", Role.LOSS),
        ("Validierungsverlust", Role.EVAL_LOSS),
        ("Testgenauigkeit", Role.ACCURACY),
        ("Belohnung", Role.REWARD),
    ],
)
def test_german_words_of_data_and_metric_have_its_role(name: str, role: Role) -> None:
    assert role_of(SeriesKey(name)) is role
