"""Pictures of messages for the documentation: `python -m tests.support.message_pictures docs/images`.

A real server finds an incident in a run; its message is composed as for the channels. E-mails are the HTML
that is sent, in a browser with a light and a dark scheme, wide and as narrow as a telephone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from holter.server.channels import Message
from tests.support import install_chromium
from tests.support.chat_pages import chat_page
from tests.support.mail_pages import mail_page, stored_message
from tests.support.pages import FLAGS, Server, healthy, until

WIDTHS = {"desktop": 760, "phone": 390}


def main() -> None:
    """Write the pictures into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    program = install_chromium.find()
    if program is None:
        raise SystemExit("message_pictures: no chromium: apt-get install chromium")
    message = spike_message()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for size, width in WIDTHS.items():
            for theme in ("light", "dark"):
                path = folder / f"message-mail-{size}-{theme}.png"
                take_picture(browser, mail_page(message), path, width=width, theme=theme)
        take_picture(browser, chat_page(message), folder / "message-chats.png", width=1200)
        browser.close()


def spike_message() -> Message:
    """The message about a spike of the loss after a rise of the learning rate, which a server has found."""
    columns = healthy(ends=time.time() - 30)
    noise = np.random.default_rng(0).normal(0, 0.04, len(columns["loss"]))
    spike = 3 * np.exp(-np.maximum(np.array(columns["step"]) - 1200, 0) / 200)
    spike[:1200] = 0
    columns["loss"] = (np.array(columns["loss"]) + noise + spike).tolist()
    columns["lr"][1195:] = [3 * value for value in columns["lr"][1195:]]
    with tempfile.TemporaryDirectory(prefix="holter-messages-") as folder:
        server = Server(Path(folder))
        try:
            config = {"world_size": 64, "learning_rate": 3e-4}
            run = server.post("104b-restart", columns, config=config)
            path = f"/runs/{run}/incidents"
            [incident, *_] = until(lambda: server.ask(path)["incidents"], seconds=300)
            return stored_message(Path(folder), int(incident["id"]))
        finally:
            server.close()


def take_picture(browser: Browser, html: str, path: Path, *, width: int, theme: str = "light") -> None:
    """A picture of a complete page."""
    page = browser.new_page(viewport={"width": width, "height": 600}, color_scheme=theme)  # type: ignore[arg-type]
    page.set_content(html)
    page.screenshot(path=path, full_page=True)
    page.close()


if __name__ == "__main__":
    main()
