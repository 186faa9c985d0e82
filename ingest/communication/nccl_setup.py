"""How NCCL and RCCL set communication up, by what they print while they start: settings of each host.

Sources: NCCL 2.7 to 2.30 (src/init.cc, src/transport, src/plugin, src/graph), RCCL 2.22, aws-ofi-nccl 1.0 to
1.14. Addresses are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from holter.ingest.console.dialect import DialectState, LineKind, LineSettings
from holter.ingest.names import storable_label
from holter.types import ConfigValue, labels_of

_PROCESS = re.compile(r"([\w.-]{1,100}):(\d{1,9}):\d{1,9} \[\d{1,3}\]")
_MAX_PROCESSES, _MAX_SAID, _MAX_LENGTH = 8192, 64, 400

_Found = re.Match[str]
_Settings = Iterator[tuple[str, ConfigValue]]

_CARD = re.compile(r"\[\d{1,4}\]\s?([\w.:/+-]{1,60})")
_LISTED = re.compile(
    r"Rank +\d{1,7} (?:Group +\d{1,7} )?Pid +(?P<pid>\d{1,9}) on +(?P<host>[\w.-]{1,100}) +device +\d{1,4}"
    r" \[[\w:.]{1,20}\] (?P<gpu>[^\r\n]{1,80})"
)
_FIRST = re.compile(r"Bootstrap ?: Using")
_OUT_OF_BAND = re.compile(r"OOB ([\w.-]{1,40}):")


def _channel(match: _Found) -> _Settings:
    """By which way data goes to another rank, and whether the network card reads it from the GPU."""
    way = match["way"].partition("/")[0].lower()
    yield f"nccl.channels.via_{'shm' if way.startswith('direct') else way}", True
    if "/GDRDMA" in match["way"]:
        yield "nccl.channels.via_net_gdrdma", True


def _environment(match: _Found) -> _Settings:
    yield f"nccl.env.{match['name']}", match["value"].strip().rstrip(".")


def _network(match: _Found) -> _Settings:
    yield "nccl.net", match["net"].strip()


def _cards(match: _Found) -> _Settings:
    """The network cards of InfiniBand and RoCE, or the interfaces of sockets."""
    sockets = match["what"] == "Socket"
    cards = [card.partition(":")[0] if sockets else card for card in _CARD.findall(match["list"])]
    if cards:
        yield f"nccl.{'socket' if sockets else 'ib'}.nics", " ".join(cards)
    if (other := _OUT_OF_BAND.search(match["list"])) is not None:
        yield "nccl.oob", other[1]


def _no_card(match: _Found) -> _Settings:
    yield "nccl.ib.nics", ""


def _out_of_band(match: _Found) -> _Settings:
    yield "nccl.oob", match["interface"]


def _no_plugin(match: _Found) -> _Settings:
    yield "nccl.net_plugin", "not found"


def _plugin(match: _Found) -> _Settings:
    yield "nccl.net_plugin", match["plugin"].strip()


def _provider(match: _Found) -> _Settings:
    yield "nccl.ofi.provider", match["provider"]
    if match["cards"]:
        yield "nccl.ofi.nics", int(match["cards"])


def _direct(match: _Found) -> _Settings:
    """GPU-direct RDMA of a card, or of a GPU with one; where it is off the reason, if it is told."""
    if match["word"] == "Enabled":
        yield "nccl.gdrdma.enabled", True
    else:
        yield "nccl.gdrdma.disabled", match["why"] or True


def _nodes(match: _Found) -> _Settings:
    yield "nccl.nodes", int(match["nodes"])
    yield "nccl.ranks_per_node", int(match["local"])


def _devices(match: _Found) -> _Settings:
    yield "nccl.net_devices.min", int(match["least"])
    yield "nccl.net_devices.max", int(match["most"])


def _speed(match: _Found) -> _Settings:
    yield "nccl.ib.mbps", int(match["mbps"])


def _topology(match: _Found) -> _Settings:
    yield "nccl.topology.gbs", float(match["gbs"])


def _version(match: _Found) -> _Settings:
    yield "nccl.version", match["version"]


_LINES: tuple[tuple[str, re.Pattern[str], Callable[[_Found], _Settings]], ...] = tuple(
    (words, re.compile(pattern), read)
    for words, pattern, read in (
        (
            " via ",
            r"Channel \S{1,9} ?:.{3,90}? via (?P<way>(?:P2P|SHM|NET|direct shared)[^\r\n]{0,90})",
            _channel,
        ),
        (
            " set by env",
            r"(?P<name>[NR]CCL_[A-Z0-9_]{2,60}) set by environment to (?P<value>.{0,400})",
            _environment,
        ),
        ("Using network", r"Using network (?P<net>[\w .+-]{1,60})", _network),
        ("NET/IB", r"NET/IB ?: \[\d{1,4}\] \S{1,100} provider=\S{1,40} speed=(?P<mbps>\d{1,9})", _speed),
        ("NET/", r"NET/(?P<what>IB\w*|Socket) ?: Using ?(?P<list>\[\d.{1,8000})", _cards),
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
            r"GPU Direct RDMA (?P<word>Enabled|Disabled) for [^(]{1,90}(?:\((?P<why>[^)]{1,90})\))?",
            _direct,
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
"""Words of a line, what it looks like, and how it is read."""


def _setup(line: str, state: DialectState) -> list[LineSettings]:
    """What a line states of its host, the first time that its process says so.

    The first word of a host is the host's; another process that says otherwise is named beside it.
    """
    said = next(_said(line), None)
    if said is None:
        return []
    prefixes = _PROCESS.findall(line)  # lines of several processes may be glued: the last one's it is
    if not prefixes:
        return [LineSettings(dict(said))]
    host, number = prefixes[-1]
    if _FIRST.search(line):
        _begin(host, number, state)
    return list(_of_process(host, number, said, state))


def _begin(host: str, number: str, state: DialectState) -> None:
    """A process begins, which says so once: of a number that had begun it is another, of a new launch.

    Numbers come again where each launch has a container of its own. Then all is said anew, also of the host,
    by the first of its processes.
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
    """A rank's GPU, as nccl-tests lists them: the job's, and that of each host."""
    match = _LISTED.search(line)
    if match is None:
        return []
    stated = list(_of_process(match["host"], match["pid"], [("gpu.name", match["gpu"].strip())], state))
    return [*(LineSettings(one.config) for one in stated[:1]), *stated]


def _of_process(
    host: str, number: str, said: list[tuple[str, ConfigValue]], state: DialectState
) -> Iterator[LineSettings]:
    process = f"{host}:{number}"
    for name, value in _not_yet(state, process, said):
        value = storable_label(value[:_MAX_LENGTH]) if isinstance(value, str) else value
        of_host = state.setdefault(f"host {host}", {}) if _is_room(state) else {}
        other = {"process": process} if of_host.setdefault(name, value) != value else {}
        yield LineSettings({name: value}, labels_of({"host": host, **other}))


def _said(line: str) -> Iterator[list[tuple[str, ConfigValue]]]:
    for words, pattern, read in _LINES:
        if words in line and (match := pattern.search(line)) is not None:
            yield list(read(match))


def _not_yet(
    state: DialectState, process: str, said: list[tuple[str, ConfigValue]]
) -> list[tuple[str, ConfigValue]]:
    """Those settings of which a process has not spoken."""
    if f"setup {process}" not in state and not _is_room(state):
        return []
    known: list[str] = state.setdefault(f"setup {process}", [])
    fresh = [(name, value) for name, value in said if name not in known][: _MAX_SAID - len(known)]
    known.extend(name for name, _ in fresh)
    return fresh


def _is_room(state: DialectState) -> bool:
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
