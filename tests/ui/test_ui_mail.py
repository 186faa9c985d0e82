"""An e-mail as a browser shows it: on telephones and wide, light and dark, readable and with its strip."""

from __future__ import annotations

import pytest

from holter.server.alerting.messages import compose_example
from holter.server.channels.message import MessageStrip
from tests.support.channel_messages import PICTURE, message_about
from tests.support.chat_pages import chat_page
from tests.support.mail_pages import mail_page
from tests.support.pages import Opener

STRIP = MessageStrip(
    parts=(("attempt", 0.5), ("lost", 0.1), ("gap", 0.1), ("critical", 0.0125), ("critical-extent", 0.2875)),
    caption="Steps 0 to 1,530 · 2 attempts · 1 incident, 1 open",
)


def html_of_mail(*, example: bool = False) -> str:
    message = message_about(strip=STRIP)
    if example:
        message = compose_example("team", key="1", sent_at=1.7e9, address="https://holter", picture=None)
    return mail_page(message)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800])
@pytest.mark.parametrize("example", [False, True])
def test_a_mail_fits_and_is_accessible(
    open_page: Opener, axe: str, theme: str, width: int, example: bool
) -> None:
    page = open_page("about:blank", width=width, color_scheme=theme)
    page.set_content(html_of_mail(example=example))
    assert page.evaluate("document.documentElement.scrollWidth") == width
    strip = page.get_by_role("img", name="Health strip of the run: Steps 0 to 1,530")
    assert strip.is_visible()
    page.evaluate(axe)
    rules = {"landmark-one-main": {"enabled": False}, "region": {"enabled": False}}  # of pages, not of mails
    rules |= {"page-has-heading-one": {"enabled": False}}
    violations = page.evaluate(
        "(rules) => axe.run(document, { rules }).then((result) => result.violations)", rules
    )
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in violations] == []


def test_the_curve_is_inverted_where_the_mail_is_dark(open_page: Opener) -> None:
    shown = {}
    for theme in ("light", "dark"):
        page = open_page("about:blank", color_scheme=theme)
        page.set_content(mail_page(message_about(picture=PICTURE)))
        shown[theme] = page.locator("img.curve").evaluate("(image) => getComputedStyle(image).filter")
    assert shown == {"light": "none", "dark": "invert(0.88) hue-rotate(180deg)"}


def test_the_drawing_of_chats_has_the_message_of_each(open_page: Opener) -> None:
    page = open_page("about:blank")
    page.set_content(chat_page(message_about()))
    message = message_about()
    parts = page.locator("section").all_inner_texts()
    assert len(parts) == 4
    assert all(message.headline in part and message.advice in part for part in parts)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_parts_of_a_strip_have_different_colours(open_page: Opener, theme: str) -> None:
    page = open_page("about:blank", color_scheme=theme)
    page.set_content(html_of_mail())
    colours = page.locator("table[role=img] td").evaluate_all(
        "(cells) => cells.map((cell) => getComputedStyle(cell).backgroundColor)"
    )
    assert len(set(colours)) == len(STRIP.parts)
    widths = page.locator("table[role=img] td").evaluate_all(
        "(cells) => cells.map((cell) => cell.getBoundingClientRect().width)"
    )
    assert all(
        abs(width / sum(widths) - share) < 0.005
        for width, (_, share) in zip(widths, STRIP.parts, strict=True)
    )
