"""`holter alert`: lists the configured channels, and sends a test message."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from math import inf
from uuid import uuid4

import numpy as np

from holter.cli.commands import fail
from holter.curve_plot import PlotBand, plot_curve
from holter.curves import LineSegment
from holter.server.alerting.messages import compose_example
from holter.server.channels import ChannelError, ConfiguredChannel, Delivered, open_channels
from holter.server.rendering.incident_chart import PictureRequest, render_png
from holter.settings import Settings, SettingsError, load
from holter.terminal_text import printable
from holter.types import Severity

_NO_CHANNELS = "No channels are set up. docs/alerts.md has three steps for each."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`alert list` and `alert test CHANNEL`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="the configured channels and their destinations")
    test = actions.add_parser("test", help="send a test message and print whether it arrived")
    test.add_argument("channel", metavar="CHANNEL", help="its name, as `holter alert list` shows it")


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: the message did not arrive; 2: the settings or the channel's name are wrong."""
    try:
        settings = load()
        channels = open_channels(settings.all_channels())
    except (SettingsError, ChannelError) as error:
        return fail(str(error), 2)
    if arguments.action == "list":
        print("\n".join(_line(opened) for opened in channels.values()) or _NO_CHANNELS)
        return 0
    opened = channels.get(arguments.channel)
    if opened is None:
        known = f"expected one of {', '.join(sorted(channels))}" if channels else _NO_CHANNELS
        return fail(f"there is no channel {arguments.channel!r}: {known}", 2)
    return _test(opened, settings)


def _line(opened: ConfiguredChannel) -> str:
    return f"{opened.name}: {opened.channel.destination}, from {opened.settings.minimum.value} upwards"


def _test(opened: ConfiguredChannel, settings: Settings) -> int:
    message = compose_example(
        opened.name,
        key=f"test.{uuid4().hex}",
        sent_at=time.time(),
        address=settings.address,
        picture=_picture() if opened.channel.wants_picture else None,
    )
    outcome = opened.channel.send(message, None)
    if isinstance(outcome, Delivered):
        print(f"{opened.name}: the test message arrived ({opened.channel.destination})")
        return 0
    return fail(f"{opened.name}: not delivered. {printable(outcome.reason)}")


def _picture() -> bytes | None:
    """A picture of a synthetic spike, drawn like one of a real incident."""
    step = np.arange(1300, 1800)
    value = 2.2 - 2e-4 * (step - 1300) + np.where(step < 1514, 0.0, 1.8 * np.exp(-(step - 1514) / 15))
    segment = LineSegment(attempt=0, ghost=False, step=step, value=value.astype(np.float64))
    band = PlotBand(start=1514, end=1580, ended=True, severity=Severity.INFO.value)
    plot = plot_curve(
        [segment], first_step=1300, last_step=1799, columns=len(step), body_widths=inf, bands=[band]
    )
    try:
        return render_png(PictureRequest(plot=plot, title="train/loss (an example)", baseline=2.16))
    except (subprocess.SubprocessError, OSError) as error:
        print(f"holter: the picture could not be drawn: {error}", file=sys.stderr)
        return None
