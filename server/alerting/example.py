"""Test messages: what `holter alert test` and the page send through a channel."""

from __future__ import annotations

import logging
import subprocess
import time
from math import inf
from uuid import uuid4

import numpy as np

from holter.curve_plot import PlotBand, plot_curve
from holter.curves import LineSegment
from holter.server.alerting.messages import compose_example
from holter.server.channels import ConfiguredChannel, Delivered, GiveUp, Retry
from holter.server.rendering.incident_chart import PictureRequest, render_png
from holter.types import Severity

_logger = logging.getLogger(__name__)


def send_example(opened: ConfiguredChannel, *, address: str) -> Delivered | Retry | GiveUp:
    """Send a test message, with a picture if the channel can show one; `address` is the server's."""
    message = compose_example(
        opened.name,
        key=f"test.{uuid4().hex}",
        sent_at=time.time(),
        address=address,
        picture=_picture() if opened.channel.wants_picture else None,
    )
    return opened.channel.send(message, None)


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
        _logger.warning("the picture could not be drawn: %s", error)
        return None
