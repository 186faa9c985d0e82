"""Ingest: formats that turn the bytes of logs into batches, and the discovery and tailing of log files."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holter.custom_format import CustomFormat
    from holter.ingest.format import Format


def formats(custom: Sequence[CustomFormat] = ()) -> dict[str, Format]:
    """Every format by its name: the built-in ones, custom ones, and those that installed packages announce.

    Lines that match a custom pattern are read by it in any text; a text with such lines and no lines of a
    framework is of the custom format. Raises TypeError where an announced format lacks a part of `Format`.
    """
    # a third of a second to import, which a server whose files are read by other processes need not spend
    found: dict[str, Format] = import_module("holter.ingest.all_formats").all_formats(custom)
    return found
