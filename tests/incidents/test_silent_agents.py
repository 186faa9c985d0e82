"""Agents that fall silent, in both databases, with servers in place of Slack and mail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.server.agents import AgentRegistry, AgentReport
from holter.server.alerting import (
    Incident,
    IncidentStore,
    NotificationSender,
    build_policy,
    read_incidents,
)
from holter.server.alerting.agent_monitor import AgentMonitor
from holter.server.channels import open_channels
from holter.server.models.alerting import IncidentEventRow, IncidentRow, NotificationRow
from holter.server.schemas.incidents import incident_view
from tests.support.alerting import Clock, NoCharts, channels_at, headlines, make_candidate
from tests.support.receivers import MailServer, SlackServer


class Site:
    """Agents that report every half minute to a server, which checks every ten seconds."""

    def __init__(self, engine: Engine, clock: Clock, settings: dict[str, dict[str, Any]]) -> None:
        self.engine, self.clock = engine, clock
        self.channels = open_channels(settings)
        self.agents = AgentRegistry(engine, clock=clock)
        self.incidents = IncidentStore(engine, policy=build_policy(self.channels), clock=clock)
        self.sender = NotificationSender(
            engine, NoCharts(), self.channels, public_url="http://h", clock=clock
        )
        self.monitor = self.new_monitor()
        self.alive: dict[str, int] = {}

    def new_monitor(self) -> AgentMonitor:
        return AgentMonitor(self.agents, self.incidents, clock=self.clock)

    def report(self, host: str, **fields: Any) -> None:
        report = {"agent": f"{host}:1", "host": host, "files": 4, "paths": [f"/logs/{host}"]}
        assert self.agents.record(AgentReport(**report | {"project": "llm"} | fields)) is not None

    def pass_by(self, seconds: float, *, checks: bool = True) -> None:
        """Let time pass, ten seconds at a time; `alive` maps each host to the third in which it reports."""
        for _ in range(round(seconds / 10)):
            self.clock.now += 10
            for host, third in self.alive.items():
                if round(self.clock.now / 10) % 3 == third:
                    self.report(host)
            if checks:
                self.monitor.check()
            for name in self.channels:
                while self.sender.send_next(name) == 0:
                    pass

    def about_agents(self) -> list[Incident]:
        query = select(IncidentRow).where(IncidentRow.run_id.is_(None)).order_by(IncidentRow.id)
        with Session(self.engine) as session:
            return read_incidents(session, session.scalars(query).all())


@pytest.fixture
def make_site(engine: Engine, clock: Clock) -> Callable[..., Site]:
    return lambda settings, hosts=("n17", "n18", "n19"): _site(engine, clock, settings, hosts)


def _site(engine: Engine, clock: Clock, settings: dict[str, Any], hosts: tuple[str, ...]) -> Site:
    site = Site(engine, clock, settings)
    site.alive = {host: number % 3 for number, host in enumerate(hosts)}
    site.pass_by(120)
    return site


def sentence(slack: SlackServer, number: int = -1) -> str:
    text: str = slack.payloads[number]["blocks"][1]["text"]["text"]
    return text


def fields(slack: SlackServer) -> dict[str, str]:
    (section,) = [block for block in slack.payloads[-1]["blocks"] if "fields" in block]
    texts = [one["text"] for one in section["fields"]]
    return {name.strip("*"): value for name, _, value in (text.partition("\n") for text in texts)}


@pytest.mark.slow
def test_a_dead_machine_is_one_message_and_its_return_another(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    site = make_site(channels_at(slack))
    third = site.alive.pop("n17")
    site.pass_by(150)
    assert headlines(slack) == [], "a report or two may be lost"
    site.pass_by(120)
    assert headlines(slack) == ["Agent silent on n17"]
    assert sentence(slack) == (
        "Agent on n17 stopped reporting without announcing its end. What it follows is not watched meanwhile."
    )
    assert fields(slack)["Onset"].endswith("(3 minutes ago)")
    assert fields(slack)["Machines"] == "n17"
    assert fields(slack)["Follows"] == "/logs/n17"
    site.pass_by(3600)
    assert len(slack.payloads) == 1
    site.alive["n17"] = third
    site.pass_by(100)
    assert len(slack.payloads) == 1, "it may not stay"
    site.pass_by(120)
    assert headlines(slack)[1:] == ["Recovered: agent silent on n17"]
    assert sentence(slack) == "Agent on n17 is back, silent for 65 min."
    assert [one.state for one in site.about_agents()] == ["recovered"]


@pytest.mark.slow
def test_a_switch_that_fails_is_one_message_for_a_whole_cluster(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    hosts = tuple(f"n{number:03}" for number in range(60))
    site = make_site(channels_at(slack), ("login", *hosts))
    for host in hosts:
        site.alive.pop(host)
    site.pass_by(400)
    assert headlines(slack) == ["60 agents silent on 60 machines"]
    assert "No agent reports" not in sentence(slack)
    assert fields(slack)["Machines"] == "n000, n001, n002, n003, n004, 55 more"
    site.alive |= {host: number % 3 for number, host in enumerate(hosts[:58])}
    site.agents.forget("n059:1")
    site.report("n058", ended=True)
    site.pass_by(300)
    assert headlines(slack)[1:] == ["Recovered: 60 agents silent on 60 machines"]
    summary = "60 agents on 60 machines: 58 back, 1 back and finished, 1 no longer expected, silent for "
    assert sentence(slack).startswith(summary)


def test_when_no_agent_reports_the_connection_is_suspected(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    site = make_site(channels_at(slack))
    site.alive.clear()
    site.pass_by(400)
    assert headlines(slack) == ["3 agents silent on 3 machines"]
    assert sentence(slack).endswith("the connection to Holter may be broken.")
    assert "network, proxy, certificate" in str(slack.payloads[0])


def test_an_announced_end_is_not_a_silence(make_site: Callable[..., Site], slack: SlackServer) -> None:
    site = make_site(channels_at(slack))
    for host in tuple(site.alive):
        site.report(host, ended=True, spool_bytes=100, kind="pipe")
    site.alive.clear()
    site.pass_by(4000)
    assert (headlines(slack), site.about_agents()) == ([], [])


def test_a_server_that_was_down_misses_no_agent_that_reports_again(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    site = make_site(channels_at(slack))
    alive, site.alive = site.alive, {}
    site.pass_by(3600, checks=False)  # suspended
    site.monitor.check()
    site.pass_by(60)
    site.clock.now += 3600  # stopped
    site.monitor = site.new_monitor()
    site.monitor.check()
    site.pass_by(100)
    site.alive = {"n17": alive["n17"], "n18": alive["n18"]}
    site.pass_by(400)
    assert headlines(slack) == ["Agent silent on n19"], "only the one that did not come back"


@pytest.mark.slow
def test_a_network_that_comes_and_goes_is_one_incident(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    site = make_site(channels_at(slack))
    third = site.alive.pop("n17")
    for _ in range(8):
        site.pass_by(240)
        site.alive["n17"] = third
        site.pass_by(60)
        del site.alive["n17"]
    assert headlines(slack) == ["Agent silent on n17"]


def test_forgetting_an_agent_closes_its_incident(make_site: Callable[..., Site], slack: SlackServer) -> None:
    site = make_site(channels_at(slack))
    site.alive.pop("n17")
    site.pass_by(300)
    site.agents.forget("n17:1")
    site.pass_by(20)
    assert headlines(slack) == ["Agent silent on n17", "Closed: agent silent on n17"]
    assert sentence(slack) == "Agent on n17 is no longer expected."


def test_channels_for_critical_incidents_get_nothing(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    site = make_site(channels_at(slack, minimum="critical"))
    site.alive.clear()
    site.pass_by(600)
    assert (slack.payloads, site.about_agents()[0].state) == ([], "open")


def test_servers_that_share_a_database_send_it_once(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    site = make_site(channels_at(slack))
    other = site.new_monitor()
    site.alive.pop("n17")
    for _ in range(30):
        threads = [threading.Thread(target=monitor.check) for monitor in (site.monitor, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        site.pass_by(10, checks=False)
    assert headlines(slack) == ["Agent silent on n17"]


def test_mails_about_it_are_one_thread(
    make_site: Callable[..., Site], mail_server: Callable[..., MailServer]
) -> None:
    mail = mail_server("none", login=False)
    url = f"smtp://127.0.0.1:{mail.port}?security=none"
    site = make_site({"oncall": {"type": "email", "url": url, "to": "oncall@example.com"}})
    third = site.alive.pop("n17")
    site.pass_by(300)
    site.alive["n17"] = third
    site.pass_by(300)
    first, second = mail.mails
    assert first["Subject"] == "[Holter] Agent silent on n17"
    assert second["Subject"] == "Re: [Holter] Agent silent on n17"
    assert second["In-Reply-To"] == first["Message-ID"]
    html = first.get_body(("html",))
    assert html is not None
    assert "Open the incident" in html.get_content()
    plain = first.get_body(("plain",))
    assert plain is not None
    assert "What to do: Check that the machine is up" in plain.get_content()


def test_a_silence_that_is_over_before_the_mail_server_is_back_is_one_message(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    site = make_site(channels_at(slack))
    third = site.alive.pop("n17")
    for _ in range(100):
        slack.answer(503)
    site.pass_by(300)
    site.alive["n17"] = third
    site.pass_by(600)
    slack.answers.clear()
    site.pass_by(900)
    assert headlines(slack) == ["Agent silent on n17"]
    assert sentence(slack).startswith("Agent on n17 is back, silent for ")


@pytest.mark.slow
def test_a_summary_includes_incidents_about_agents(
    make_site: Callable[..., Site], slack: SlackServer, run_id: int
) -> None:
    site = make_site(channels_at(slack, burst=1))
    site.incidents.update_run(run_id, [make_candidate()])
    site.pass_by(10)
    site.incidents.update_run(run_id, [make_candidate(start_step=step) for step in (1514, 1700, 1800)])
    site.alive.pop("n17")
    site.pass_by(3700)
    assert headlines(slack)[1:] == [
        "2 incidents in llm/104b and 1 incident of agents: Fast loss spike, Agent silent"
    ]
    assert "Agent silent on n17 · open" in str(slack.payloads[1])
    assert "all are open" in sentence(slack)


def test_old_incidents_about_agents_are_deleted_with_their_messages(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    site = make_site(channels_at(slack))
    third = site.alive.pop("n17")
    site.pass_by(300)
    site.alive["n17"] = third
    site.pass_by(300)
    site.clock.now += 31 * 86_400
    site.pass_by(120)
    site.alive.pop("n18")
    site.pass_by(300)
    (incident,) = site.about_agents()
    assert incident.is_open
    with Session(site.engine) as session:
        assert set(session.scalars(select(NotificationRow.incident_id))) == {incident.id}
        assert set(session.scalars(select(IncidentEventRow.incident_id))) == {incident.id}


def test_people_work_on_it_as_on_any_other_incident(
    make_site: Callable[..., Site], slack: SlackServer
) -> None:
    site = make_site(channels_at(slack))
    third = site.alive.pop("n17")
    site.pass_by(300)
    (incident,) = site.about_agents()
    site.incidents.acknowledge(incident.id, by="ann")
    closed = site.incidents.close(incident.id, by="ann", text="It is being repaired.")
    assert [entry.type for entry in closed.history] == ["opened", "notified", "acknowledged", "closed"]
    site.pass_by(600)
    assert [one.state for one in site.about_agents()] == ["closed"], "it is not opened again"
    site.alive["n17"] = third
    site.pass_by(600)
    (incident,) = site.about_agents()
    assert (incident.state, incident.finding.end_step is not None) == ("closed", True)
    assert headlines(slack) == ["Agent silent on n17", "Closed: agent silent on n17"]
    site.alive.pop("n17")
    site.pass_by(300)
    assert [one.state for one in site.about_agents()] == ["closed", "open"]


def test_its_json_has_no_run_and_names_the_agents(make_site: Callable[..., Site], slack: SlackServer) -> None:
    site = make_site(channels_at(slack))
    site.alive.pop("n17")
    site.pass_by(300)
    shown = incident_view(site.about_agents()[0])
    assert (shown["run_id"], shown["run"], shown["project"]) == (None, None, None)
    assert (shown["kind"], shown["labels"]) == ("agent_silent", {"host": "n17", "steps": "milliseconds"})
    assert shown["start_step"] == round(1000 * shown["start_time"])
    assert shown["evidence"]["machines"] == ["n17"]
    assert shown["evidence"]["members"][0]["agent"] == "n17:1"
