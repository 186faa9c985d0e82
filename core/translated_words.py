"""English words for those of other languages in which programs name steps, data and metrics.

Names stay as they are printed; the words say what they mean.
"""

from __future__ import annotations

import re
from functools import lru_cache

COUNTERS: dict[str, str] = {
    **dict.fromkeys(("全局步数", "全局步", "グローバルステップ", "глобальный шаг"), "global step"),
    **dict.fromkeys(
        (
            *("迭代次数", "迭代", "训练次数", "训练步数", "步数", "步", "訓練次數", "訓練步數", "步數", "次"),
            *("イテレーション", "ステップ", "反復"),
            *("스텝", "단계", "반복", "이터레이션"),
            *("итерация", "итерации", "шаг", "шагов"),
            *("iteración", "iteração", "itération", "paso", "passo", "étape", "schritt"),
            *("krok", "ad\u0131m", "stap", "bước", "langkah", "iterazione", "itérations", "schritte"),
        ),
        "step",
    ),
    **dict.fromkeys(("批次", "批", "バッチ", "배치", "батч", "пакет", "lote"), "batch"),
    **dict.fromkeys(
        (
            *("轮次", "轮数", "轮", "輪", "周期", "エポック", "回", "에포크", "에폭"),
            *("эпоха", "эпохи", "época", "époque", "epoca", "epoche"),
            *("epoka", "epoki", "dönem", "epok", "kỷ nguyên"),
        ),
        "epoch",
    ),
    **dict.fromkeys(
        ("回合", "エピソード", "에피소드", "эпизод", "episodio", "épisode", "episódio"), "episode"
    ),
    **dict.fromkeys(("runde", "ronda", "rodada", "ラウンド", "라운드", "раунд"), "round"),
    **dict.fromkeys(
        ("generación", "génération", "geração", "generazione", "世代", "세대", "поколение"), "generation"
    ),
}
"""What a number counts."""

DATA: dict[str, str] = {
    **dict.fromkeys(
        (
            *("训练集", "训练", "訓練", "学習", "훈련", "обучение", "обучения", "entrenamiento"),
            *("entraînement", "treinamento", "treino", "addestramento"),
        ),
        "train",
    ),
    **dict.fromkeys(
        (
            *("验证集", "验证", "驗證", "検証", "バリデーション", "검증"),
            *("валидация", "валидации", "проверка", "validación", "validação", "validierung", "validazione"),
        ),
        "val",
    ),
    **dict.fromkeys(("测试集", "测试", "測試", "テスト", "테스트", "тест", "prueba", "teste"), "test"),
    **dict.fromkeys(
        ("评估", "評估", "評価", "평가", "оценка", "evaluación", "évaluation", "avaliação"), "eval"
    ),
}
"""The data that a line is about."""

METRICS: dict[str, str] = {
    **dict.fromkeys(
        (
            *("损失值", "损失", "損失", "ロス", "誤差", "손실", "потери", "потеря", "лосс", "ошибка"),
            *("pérdida", "perda", "perte", "verlust", "perdita", "strata", "kay\u0131p", "verlies"),
        ),
        "loss",
    ),
    **dict.fromkeys(
        (
            *("准确率", "準確率", "准确度", "正确率", "精度", "正解率", "정확도", "точность"),
            *("precisión", "exactitud", "précision", "exactitude", "genauigkeit", "acurácia"),
            *("accuratezza", "dokładność", "doğruluk", "nauwkeurigheid", "độ chính xác", "akurasi"),
        ),
        "accuracy",
    ),
    **dict.fromkeys(
        ("学习率", "學習率", "学習率", "학습률", "скорость обучения", "lernrate"), "learning rate"
    ),
    **dict.fromkeys(("梯度范数", "勾配ノルム"), "grad norm"),
    **dict.fromkeys(
        (
            *("奖励", "獎勵", "回报", "報酬", "보상", "награда", "recompensa"),
            *("récompense", "ricompensa", "belohnung"),
        ),
        "reward",
    ),
    **dict.fromkeys(
        ("适应度", "適應度", "適応度", "적합도", "приспособленность", "aptitud", "aptidão"), "fitness"
    ),
    **dict.fromkeys(("代价", "コスト", "비용", "coste", "custo", "coût", "kosten"), "cost"),
    **dict.fromkeys(("误差", "오차", "fehler", "erreur", "erro", "errore"), "error"),
    **dict.fromkeys(("困惑度", "パープレキシティ", "перплексия"), "perplexity"),
    **dict.fromkeys(("召回率", "再現率", "재현율", "полнота"), "recall"),
    **dict.fromkeys(("精确率", "適合率", "정밀도"), "precision"),
    **dict.fromkeys(("得分", "分数", "スコア", "점수"), "score"),
}
"""What is measured."""

SETTINGS: dict[str, str] = {
    **dict.fromkeys(
        (
            "バッチサイズ",
            "批次大小",
            "批量大小",
            "批大小",
            "批處理大小",
            "배치 크기",
            "배치 사이즈",
            "размер батча",
        ),
        "batch size",
    ),
    **dict.fromkeys(
        ("データ数", "サンプル数", "样本数", "樣本數", "数据量", "데이터 수", "샘플 수"), "num samples"
    ),
}
"""What is set, or how much data there is."""

_GERMAN = {
    data + metric: f"{data_in_english} {METRICS[metric]}"
    for data, data_in_english in (("trainings", "train"), ("validierungs", "val"), ("test", "test"))
    for metric in ("verlust", "fehler", "genauigkeit")
}
"""Words for data and what is measured in one: `Trainingsverlust`."""
METRICS |= _GERMAN

_QUALIFIERS: dict[str, str] = dict.fromkeys(
    (
        *("当前", "當前", "目前", "現在の", "現在", "현재"),
        *("текущий", "текущая", "текущее", "текущей", "aktuelle", "aktueller", "actuelle", "atual"),
    ),
    "current",
)
"""Words for the current one before the word of what counts."""

_ENGLISH = {**COUNTERS, **DATA, **METRICS, **SETTINGS, **_QUALIFIERS}
_LETTERS = r"a-z\u0430-\u044f\u0451\u00e0-\u00ff"
_WHOLE_WORD = re.compile(
    "|".join(
        # of scripts with spaces between words only whole words count
        rf"(?<![{_LETTERS}]){re.escape(word)}(?![{_LETTERS}])" if word[0] < "\u1100" else re.escape(word)
        for word in sorted(_ENGLISH, key=len, reverse=True)
    ),
    re.IGNORECASE,
)
_MAX_LENGTH = 1000


@lru_cache(maxsize=4096)
def in_english(text: str) -> str:
    """A text with English words for the known ones; a text without any is returned as it is."""
    if len(text) > _MAX_LENGTH:
        return text
    return _WHOLE_WORD.sub(lambda word: f" {_ENGLISH[word[0].lower()]} ", text)
