"""Lines that NCCL and RCCL print at start: network, transports and versions, as settings of each host.

Sources: NCCL 2.7 to 2.30 (src/init.cc, src/transport, src/plugin, src/graph), RCCL 2.22, aws-ofi-nccl 1.0 to
1.14. Addresses are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from holter.ingest.console.dialect import DialectState, LineKind, LineSettings
from holter.ingest.names import storable_label
from holter.types import ConfigValue, labels_of

_PROCESS = re.compile(r"([\w.-]{1,100}):(\d{1,9}):\d{1,9} \[\d{1,3}\]")
_MAX_PROCESSES, _MAX_SETTINGS, _MAX_LENGTH = 8192, 64, 400

_Match = re.Match[str]
_Settings = Iterator[tuple[str, ConfigValue]]

_CARD = re.compile(r"\[\d{1,4}\]\s?([\w.:/+-]{1,60})")
_RANK_LINE = re.compile(
    r"Rank +\d{1,7} (?:Group +\d{1,7} )?Pid +(?P<pid>\d{1,9}) on +(?P<host>[\w.-]{1,100}) +device +\d{1,4}"
    r" \[[\w:.]{1,20}\] (?P<gpu>[^\r\n]{1,80})"
)
_PROCESS_START = re.compile(r"Bootstrap ?: Using")
_OUT_OF_BAND = re.compile(r"OOB ([\w.-]{1,40}):")


def _channel(match: _Match) -> _Settings:
    """The transport to another rank, and whether the network card reads from the GPU (GPUDirect RDMA)."""
    transport = match["transport"].partition("/")[0].lower()
    yield f"nccl.channels.via_{'shm' if transport.startswith('direct') else transport}", True
    if "/GDRDMA" in match["transport"]:
        yield "nccl.channels.via_net_gdrdma", True


def _environment(match: _Match) -> _Settings:
    yield f"nccl.env.{match['name']}", match["value"].strip().rstrip(".")


def _network(match: _Match) -> _Settings:
    yield "nccl.net", match["net"].strip()


def _cards(match: _Match) -> _Settings:
    """The network cards of InfiniBand and RoCE, or the interfaces of sockets."""
    sockets = match["kind"] == "Socket"
    cards = [card.partition(":")[0] if sockets else card for card in _CARD.findall(match["list"])]
    if cards:
        yield f"nccl.{'socket' if sockets else 'ib'}.nics", " ".join(cards)
    if (other := _OUT_OF_BAND.search(match["list"])) is not None:
        yield "nccl.oob", other[1]


def _no_card(match: _Match) -> _Settings:
    yield "nccl.ib.nics", ""


def _out_of_band(match: _Match) -> _Settings:
    yield "nccl.oob", match["interface"]


def _no_plugin(match: _Match) -> _Settings:
    yield "nccl.net_plugin", "not found"


def _plugin(match: _Match) -> _Settings:
    yield "nccl.net_plugin", match["plugin"].strip()


def _provider(match: _Match) -> _Settings:
    yield "nccl.ofi.provider", match["provider"]
    if match["cards"]:
        yield "nccl.ofi.nics", int(match["cards"])


def _gpudirect_rdma(match: _Match) -> _Settings:
    """GPUDirect RDMA of a network card or a GPU with one; if it is disabled, the reason if stated."""
    if match["state"] == "Enabled":
        yield "nccl.gdrdma.enabled", True
    else:
        yield "nccl.gdrdma.disabled", match["reason"] or True


def _nodes(match: _Match) -> _Settings:
    yield "nccl.nodes", int(match["nodes"])
    yield "nccl.ranks_per_node", int(match["local"])


def _devices(match: _Match) -> _Settings:
    yield "nccl.net_devices.min", int(match["least"])
    yield "nccl.net_devices.max", int(match["most"])


def _speed(match: _Match) -> _Settings:
    yield "nccl.ib.mbps", int(match["mbps"])


def _topology(match: _Match) -> _Settings:
    yield "nccl.topology.gbs", float(match["gbs"])


def _version(match: _Match) -> _Settings:
    yield "nccl.version", match["version"]


_LINES: tuple[tuple[str, re.Pattern[str], Callable[[_Match], _Settings]], ...] = tuple(
    (literal, re.compile(pattern), parse)
    for literal, pattern, parse in (
        (
            " via ",
            r"Channel \S{1,9} ?:.{3,90}? via (?P<transport>(?:P2P|SHM|NET|direct shared)[^\r\n]{0,90})",
            _channel,
        ),
        (
            " set by env",
            r"(?P<name>[NR]CCL_[A-Z0-9_]{2,60}) set by environment to (?P<value>.{0,400})",
            _environment,
        ),
        ("Using network", r"Using network (?P<net>[\w .+-]{1,60})", _network),
        ("NET/IB", r"NET/IB ?: \[\d{1,4}\] \S{1,100} provider=\S{1,40} speed=(?P<mbps>\d{1,9})", _speed),
        ("NET/", r"NET/(?P<kind>IB\w*|Socket) ?: Using ?(?P<list>\[\d.{1,8000})", _cards),
        ("No device", r"NET/IB\w* ?: No device found", _no_card),
        ("Bootstrap", r"Bootstrap ?: Using (?:\[0\])?(?P<interface>[\w.-]{1,40}):", _out_of_band),
        ("NET/Plugin", r"NET/Plugin ?: (?:Could not find:|No plugin found)", _no_plugin),
        ("NET/Plugin", r"NET/Plugin ?: Loaded net plugin (?P<plugin>[\w .()-]{1,80})", _plugin),
        ("aws-ofi", r"NET/OFI (?:Initializing|Using) (?P<plugin>aws-ofi-[nr]ccl [\w.-]{1,40})", _plugin),
        (
            "NET/OFI Sel",
            r"Selected [Pp]rovider is (?P<provider>[\w;.-]{1,60})(?:[^(]{0,80}\(found (?P<cards>\d{1,4}))?",
            _provider,
        ),
        (
            "GPU Direct RDMA",
            r"GPU Direct RDMA (?P<state>Enabled|Disabled) for [^(]{1,90}(?:\((?P<reason>[^)]{1,90})\))?",
            _gpudirect_rdma,
        ),
        (" nNodes ", r"nNodes (?P<nodes>\d{1,7}) localRanks (?P<local>\d{1,7})", _nodes),
        (
            "Local Net",
            r"Local Net device counts .{0,40}min (?P<least>\d{1,6}) max (?P<most>\d{1,6})",
            _devices,
        ),
        ("=== System", r"=== System : maxBw (?P<gbs>\d{1,6}(?:\.\d{1,3})?)", _topology),
        ("CCL version", r"[NR]CCL version ?:? (?P<version>\d[\w.+-]{1,60})", _version),
    )
)
"""A literal text of each kind of line, its pattern, and the function that yields its settings."""


def _setup(line: str, state: DialectState) -> list[LineSettings]:
    """The settings of a line that its process has not stated before.

    A host's setting has the label `host`. If another process of the host states another value, that has the
    label `process` as well.
    """
    settings = next(_line_settings(line), None)
    if settings is None:
        return []
    prefixes = _PROCESS.findall(line)  # lines of several processes may be joined: the last prefix counts
    if not prefixes:
        return [LineSettings(dict(settings))]
    host, number = prefixes[-1]
    if _PROCESS_START.search(line):
        _start_process(host, number, state)
    return list(_process_settings(host, number, settings, state))


def _start_process(host: str, number: str, state: DialectState) -> None:
    """Forget a process's settings if a process with its number starts again, which is one of a new launch.

    Process numbers are repeated where each launch has a container of its own. The first process of a new
    launch also makes its host's settings be stated again.
    """
    process = f"{host}:{number}"
    if f"setup {process}" not in state or "nccl.oob" not in state[f"setup {process}"]:
        return
    launches = state[f"begun {process}"] = state.get(f"begun {process}", 0) + 1
    del state[f"setup {process}"]
    if launches > state.get(f"begun {host}", 0):
        state[f"begun {host}"] = launches
        state.pop(f"host {host}", None)


def _gpu(line: str, state: DialectState) -> list[LineSettings]:
    """A rank's GPU in the list that nccl-tests prints, as a setting of the job and of the host."""
    match = _RANK_LINE.search(line)
    if match is None:
        return []
    settings = [("gpu.name", match["gpu"].strip())]
    stated = list(_process_settings(match["host"], match["pid"], settings, state))
    return [*(LineSettings(gpu.config) for gpu in stated[:1]), *stated]


def _process_settings(
    host: str, number: str, settings: Sequence[tuple[str, ConfigValue]], state: DialectState
) -> Iterator[LineSettings]:
    process = f"{host}:{number}"
    for name, value in _new_settings(state, process, settings):
        value = storable_label(value[:_MAX_LENGTH]) if isinstance(value, str) else value
        host_settings = state.setdefault(f"host {host}", {}) if _has_capacity(state) else {}
        process_label = {"process": process} if host_settings.setdefault(name, value) != value else {}
        yield LineSettings({name: value}, labels_of({"host": host, **process_label}))


def _line_settings(line: str) -> Iterator[list[tuple[str, ConfigValue]]]:
    for literal, pattern, parse in _LINES:
        if literal in line and (match := pattern.search(line)) is not None:
            yield list(parse(match))


def _new_settings(
    state: DialectState, process: str, settings: Sequence[tuple[str, ConfigValue]]
) -> list[tuple[str, ConfigValue]]:
    """The settings that a process has not stated before; none beyond the bounds."""
    if f"setup {process}" not in state and not _has_capacity(state):
        return []
    known: list[str] = state.setdefault(f"setup {process}", [])
    new = [(name, value) for name, value in settings if name not in known][: _MAX_SETTINGS - len(known)]
    known.extend(name for name, _ in new)
    return new


def _has_capacity(state: DialectState) -> bool:
    return len(state) < _MAX_PROCESSES


KINDS = (
    LineKind(
        pattern=re.compile(
            rb"NCCL INFO (?:Channel |NET/|Using network|Bootstrap|GPU Direct|[NR]CCL_[A-Z0-9_]+ set by"
            rb"|comm 0x[0-9a-f]+ rank \d+ nRanks|Local Net|=== System|[NR]CCL version)"
        ),
        parse=_setup,
        yields_settings=True,
    ),
    LineKind(pattern=re.compile(rb"CCL version [\d:]"), parse=_setup, yields_settings=True),
    LineKind(
        pattern=re.compile(rb"Rank +\d+ (?:Group +\d+ )?Pid +\d+ on "), parse=_gpu, yields_settings=True
    ),
)
