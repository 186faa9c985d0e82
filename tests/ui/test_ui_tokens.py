"""Contrast of the colours of both themes in tokens.css, as WCAG 2 defines it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOKENS = Path(__file__).parents[2] / "ui" / "static" / "styles" / "tokens.css"
TEXT = ("ink", "ink-quiet", "accent", "ok", "info", "warning", "critical")
BACKGROUNDS = ("paper", "paper-raised")
SEVERITIES = ("info", "warning", "critical", "ok")


def theme(name: str) -> dict[str, str]:
    """Every colour of a theme, by its token."""
    block = re.search(rf'data-theme="{name}"\] \{{(.*?)\n\}}', TOKENS.read_text(), re.DOTALL)
    assert block is not None
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block[1]))


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb", 0 to 1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1 to 21."""
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("token", TEXT)
def test_text_has_enough_contrast_on_every_background(name: str, token: str) -> None:
    colours = theme(name)
    papers = [*BACKGROUNDS, "paper-sunken"] if token in {"ink", "ink-quiet"} else BACKGROUNDS
    for paper in papers:
        assert contrast(colours[token], colours[paper]) >= 4.5, f"{token} on {paper}"


@pytest.mark.parametrize("name", ["light", "dark"])
def test_text_has_enough_contrast_on_tints_and_filled_buttons(name: str) -> None:
    colours = theme(name)
    for severity in SEVERITIES:
        assert contrast(colours[severity], colours[f"{severity}-soft"]) >= 4.5, severity
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
    assert contrast(colours["ink"], colours["accent-soft"]) >= 4.5
    assert contrast(colours["paper-raised"], colours["critical"]) >= 4.5  # the badge in the bar


@pytest.mark.parametrize("name", ["light", "dark"])
def test_marks_and_curves_have_enough_contrast(name: str) -> None:
    colours = theme(name)
    marks = [token for token in colours if re.fullmatch(r"series-\w+|mark-\w+|ghost", token)]
    assert len(marks) == 13
    for token in marks:
        assert contrast(colours[token], colours["paper-raised"]) >= 3, token


@pytest.mark.parametrize("name", ["light", "dark"])
def test_all_curves_have_similar_luminance(name: str) -> None:
    levels = [luminance(theme(name)[f"series-{i}"]) for i in range(1, 9)]
    assert max(levels) / min(levels) < 1.5


def test_both_themes_define_the_same_tokens() -> None:
    assert theme("light").keys() == theme("dark").keys()
