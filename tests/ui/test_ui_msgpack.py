"""Chart data as msgpack: the decoder of the pages, and drawn points."""

from __future__ import annotations

import json
import struct
from typing import Any

import msgspec
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.support.pages import Opener, Runs, Server, until

READ = """async (bytes) => {
  const { decode } = await import("/lib/msgpack.js");
  return decode(new Uint8Array(bytes).buffer);
}"""


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        [0, 1, 127, 128, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**53],
        [-1, -32, -33, -128, -129, -32_768, -32_769, -(2**31), -(2**31) - 1, -(2**53)],
        [0.5, -1e300, 5e-324],
        ["", "ü" * 15, "x" * 32, "日" * 100, "y" * 70_000],
        {"": [], "a": {"b": [{}, [1]]}},
        {str(number): number for number in range(20)},
        list(range(70_000)),
    ],
    ids=lambda value: json.dumps(value)[:24],
)
def test_messages_are_decoded_as_they_were_encoded(modules: Page, value: Any) -> None:
    assert modules.evaluate(READ, list(msgspec.msgpack.encode(value))) == value


def test_32_bit_floats_and_unknown_types(modules: Page) -> None:
    assert modules.evaluate(READ, [0xCA, *struct.pack(">f", 1.5)]) == 1.5
    with pytest.raises(Exception, match="unsupported type 193"):
        modules.evaluate(READ, [0xC1])


def test_buffers_are_columns_of_numbers_at_any_alignment(modules: Page) -> None:
    steps = [0, 1, -1, 2**31, 2**32, -(2**32), 2**53, -(2**53)]
    values = [0.1, -0.0, 1e308, 5e-324]
    message = {
        "a": "x",
        "step": np.array(steps, "<i8").tobytes(),
        "value": np.array(values, "<f8").tobytes(),
        "none": b"",
        "long": np.arange(10_000, dtype="<i8").tobytes(),
    }
    decoded = modules.evaluate(
        """async (bytes) => {
          const { decode, floats, integers } = await import("/lib/msgpack.js");
          const { step, value, none, long } = decode(new Uint8Array(bytes).buffer);
          return [integers(step), floats(value), [...integers(none), ...floats(none)], integers(long)];
        }""",
        list(msgspec.msgpack.encode(message)),
    )
    assert decoded == [steps, values, [], list(range(10_000))]


def test_the_page_fetches_points_as_msgpack_and_draws_them(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page("about:blank")
    with page.expect_response(lambda answer: "/data?" in answer.url) as fetched:
        page.goto(f"{server.address}/runs/{runs.steady}?from=600&to=1000")
    assert fetched.value.headers["content-type"] == "application/msgpack"
    plot = page.get_by_role("region", name="Chart of Loss", exact=True).locator(".plot")
    expect(plot.locator(".plot-area")).to_be_visible()
    until(lambda: plot.evaluate("node => Boolean(node.figure)"))
    drawn = plot.evaluate("node => node.figure.data.map((trace) => [trace.name, trace.x, trace.y])")
    (curve,) = [(x, y) for name, x, y in drawn if name == "loss {}"]
    answer = server.ask(f"/runs/{runs.steady}/data?metric=loss&from=600&to=1000")
    segment = answer["series"][0]["segments"][0]
    assert curve == (segment["step"], segment["value"])


def test_a_chart_shows_how_many_points_retention_has_removed(modules: Page) -> None:
    head = """async (thinned) => {
      const { createPanelHeader } = await import('/charts/panel_header.js');
      const plan = { title: 'Loss', role: 'loss', series: [{ metric: 'loss', labels: {} }] };
      const { element, show } = createPanelHeader(plan, document.createElement('i'), { onMode() {} });
      show({ smoothing: 0, log: false, wide: false, whole: false, y: null, thinned });
      const badge = element.querySelector('.panel-downsampled');
      return badge.hidden ? null : [badge.textContent, badge.title];
    }"""
    assert modules.evaluate(head, 0) is None
    word, why = modules.evaluate(head, 51_792)
    assert word == "downsampled"
    assert "removed 51,792 points from this range" in why
