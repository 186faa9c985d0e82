"""`holter alert`: lists the configured channels, sends a test message, and explains the routing."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

from holter.cli.commands import fail
from holter.cli.commands.db import add_database_flags, on_database
from holter.server.alerting.dry_run import DryRun, route_incident
from holter.server.alerting.example import send_example
from holter.server.alerting.incident_labels import make_labels
from holter.server.alerting.routing import NotificationPolicy, RoutingError, build_policy
from holter.server.channels import ChannelError, ConfiguredChannel, Delivered, open_channels
from holter.server.database import is_missing
from holter.server.models import Base
from holter.settings import Settings, SettingsError, load
from holter.terminal_text import printable
from holter.types import Kind, Severity

_NO_CHANNELS = "No channels are set up. docs/alerts.md has three steps for each."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`alert list`, `alert test CHANNEL` and `alert route`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="the configured channels and their destinations")
    test = actions.add_parser("test", help="send a test message and print whether it arrived")
    test.add_argument("channel", metavar="CHANNEL", help="its name, as `holter alert list` shows it")
    route = actions.add_parser("route", help="a dry run: which channels an incident would go to, and why")
    add_database_flags(route)
    route.add_argument("--kind", choices=[kind.value for kind in Kind], default=Kind.SPIKE_SLOW.value)
    severities = [severity.value for severity in Severity]
    route.add_argument("--severity", choices=severities, default=Severity.WARNING.value)
    route.add_argument("--project", default="", help="the name of the run's project")
    route.add_argument("--run", default="", help="the run's name")
    route.add_argument("--tag", action="append", default=[], help="a tag of the run (repeatable)")
    route.add_argument("--metric", default="", help="the metric, such as train/loss")
    route.add_argument("--confidence", type=float, default=1.0, help="0 to 1")
    route.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a label, such as rank=3 (repeatable)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: the message did not arrive; 2: the settings or the channel's name are wrong."""
    try:
        settings = load()
        channels = open_channels(settings.all_channels())
        policy = build_policy(channels, settings.alerting)  # what `serve` refuses is refused here, too
        if arguments.action == "route":
            return _route(arguments, policy)
    except (SettingsError, ChannelError, RoutingError) as error:
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
    outcome = send_example(opened, address=settings.address)
    if isinstance(outcome, Delivered):
        print(f"{opened.name}: the test message arrived ({opened.channel.destination})")
        return 0
    return fail(f"{opened.name}: not delivered. {printable(outcome.reason)}")


def _route(arguments: argparse.Namespace, policy: NotificationPolicy) -> int:
    """Print where an incident would go, with the silences and open incidents of the database."""
    series = dict(label.partition("=")[::2] for label in arguments.label)
    labels = make_labels(
        project=arguments.project,
        run=arguments.run,
        tags=arguments.tag,
        kind=arguments.kind,
        severity=arguments.severity,
        confidence=arguments.confidence,
        metric=arguments.metric,
        attempt=0,
        series_labels=series,
    )
    with _database(arguments) as engine, Session(engine) as session:
        result = route_incident(session, policy, labels, now=time.time())
    _print(result)
    return 0


@contextmanager
def _database(arguments: argparse.Namespace) -> Iterator[Engine]:
    """The database of the flags; an empty one where there is none yet."""
    flags = ("data_dir", "database_url", "database_url_file")
    if is_missing(load({name: getattr(arguments, name) for name in flags}).database):
        engine = create_engine("sqlite://")
        Base.metadata.create_all(engine)
        yield engine
        engine.dispose()
    else:
        with on_database(arguments) as (engine, _):
            yield engine


def _print(result: DryRun) -> None:
    print(printable(result.text))
    for step in result.steps:
        outcome = "matches" if step.failed is None else f"does not match: {step.failed}"
        print(printable(f"  {step.route.path} -> {step.route.receiver}: {outcome}"))
