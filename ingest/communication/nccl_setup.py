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
_MOST_PROCESSES, _MOST_SAID, _LONGEST = 8192, 64, 400

_Found = re.Match[str]
_Settings = Iterator[tuple[str, ConfigValue]]

_CARD = re.compile(r"\[\d{1,4}\]\s?([\w.:/+-]{1,60})")
_LISTED = re.compile(
    r"Rank +\d{1,7} (?:Group +\d{1,7} )?Pid +(?P<pid>\d{1,9}) on +(?P<host>[\w.-]{1,100}) +device +\d{1,4}"
    r" \[[\w:.]{1,20}\] (?P<gpu>[^\r\n]{1,80})"
)
_FIRST = re.compile(r"Bootstrap ?: Using")
_OUT_OF_BAND = re.compile(r"OOB ([\w.-]{1,40}):")


def _channel(found: _Found) -> _Settings:
    """By which way data goes to another rank, and whether the network card reads it from the GPU."""
    way = found["way"].partition("/")[0].lower()
    yield f"nccl.channels.via_{'shm' if way.startswith('direct') else way}", True
    if "/GDRDMA" in found["way"]:
        yield "nccl.channels.via_net_gdrdma", True


def _environment(found: _Found) -> _Settings:
    yield f"nccl.env.{found['name']}", found["value"].strip().rstrip(".")


def _network(found: _Found) -> _Settings:
    yield "nccl.net", found["net"].strip()


def _cards(found: _Found) -> _Settings:
    """The network cards of InfiniBand and RoCE, or the interfaces of sockets."""
    sockets = found["what"] == "Socket"
    cards = [card.partition(":")[0] if sockets else card for card in _CARD.findall(found["list"])]
    if cards:
        yield f"nccl.{'socket' if sockets else 'ib'}.nics", " ".join(cards)
    if (other := _OUT_OF_BAND.search(found["list"])) is not None:
        yield "nccl.oob", other[1]


def _no_card(found: _Found) -> _Settings:
    yield "nccl.ib.nics", ""


def _out_of_band(found: _Found) -> _Settings:
    yield "nccl.oob", found["interface"]


def _no_plugin(found: _Found) -> _Settings:
    yield "nccl.net_plugin", "not found"


def _plugin(found: _Found) -> _Settings:
    yield "nccl.net_plugin", found["plugin"].strip()


def _provider(found: _Found) -> _Settings:
    yield "nccl.ofi.provider", found["provider"]
    if found["cards"]:
        yield "nccl.ofi.nics", int(found["cards"])


def _direct(found: _Found) -> _Settings:
    """GPU-direct RDMA of a card, or of a GPU with one; where it is off the reason, if it is told."""
    if found["word"] == "Enabled":
        yield "nccl.gdrdma.enabled", True
    else:
        yield "nccl.gdrdma.disabled", found["why"] or True


def _nodes(found: _Found) -> _Settings:
    yield "nccl.nodes", int(found["nodes"])
    yield "nccl.ranks_per_node", int(found["local"])


def _devices(found: _Found) -> _Settings:
    yield "nccl.net_devices.min", int(found["least"])
    yield "nccl.net_devices.max", int(found["most"])


def _speed(found: _Found) -> _Settings:
    yield "nccl.ib.mbps", int(found["mbps"])


def _topology(found: _Found) -> _Settings:
    yield "nccl.topology.gbs", float(found["gbs"])


def _version(found: _Found) -> _Settings:
    yield "nccl.version", found["version"]


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


def _setup(line: str, memory: DialectState) -> list[LineSettings]:
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
        _begin(host, number, memory)
    return list(_of_process(host, number, said, memory))


def _begin(host: str, number: str, memory: DialectState) -> None:
    """A process begins, which says so once: of a number that had begun it is another, of a new launch.

    Numbers come again where each launch has a container of its own. Then all is said anew, also of the host,
    by the first of its processes.
    """
    process = f"{host}:{number}"
    if f"setup {process}" not in memory or "nccl.oob" not in memory[f"setup {process}"]:
        return
    launches = memory[f"begun {process}"] = memory.get(f"begun {process}", 0) + 1
    del memory[f"setup {process}"]
    if launches > memory.get(f"begun {host}", 0):
        memory[f"begun {host}"] = launches
        memory.pop(f"host {host}", None)


def _gpu(line: str, memory: DialectState) -> list[LineSettings]:
    """A rank's GPU, as nccl-tests lists them: the job's, and that of each host."""
    found = _LISTED.search(line)
    if found is None:
        return []
    stated = list(_of_process(found["host"], found["pid"], [("gpu.name", found["gpu"].strip())], memory))
    return [*(LineSettings(one.config) for one in stated[:1]), *stated]


def _of_process(
    host: str, number: str, said: list[tuple[str, ConfigValue]], memory: DialectState
) -> Iterator[LineSettings]:
    process = f"{host}:{number}"
    for name, value in _not_yet(memory, process, said):
        value = storable_label(value[:_LONGEST]) if isinstance(value, str) else value
        of_host = memory.setdefault(f"host {host}", {}) if _is_room(memory) else {}
        other = {"process": process} if of_host.setdefault(name, value) != value else {}
        yield LineSettings({name: value}, labels_of({"host": host, **other}))


def _said(line: str) -> Iterator[list[tuple[str, ConfigValue]]]:
    for words, pattern, read in _LINES:
        if words in line and (found := pattern.search(line)) is not None:
            yield list(read(found))


def _not_yet(
    memory: DialectState, process: str, said: list[tuple[str, ConfigValue]]
) -> list[tuple[str, ConfigValue]]:
    """Those settings of which a process has not spoken."""
    if f"setup {process}" not in memory and not _is_room(memory):
        return []
    known: list[str] = memory.setdefault(f"setup {process}", [])
    fresh = [(name, value) for name, value in said if name not in known][: _MOST_SAID - len(known)]
    known.extend(name for name, _ in fresh)
    return fresh


def _is_room(memory: DialectState) -> bool:
    return len(memory) < _MOST_PROCESSES


KINDS = (
    LineKind(
        mark=re.compile(
            rb"NCCL INFO (?:Channel |NET/|Using network|Bootstrap|GPU Direct|[NR]CCL_[A-Z0-9_]+ set by"
            rb"|comm 0x[0-9a-f]+ rank \d+ nRanks|Local Net|=== System|[NR]CCL version)"
        ),
        read=_setup,
        states=True,
    ),
    LineKind(mark=re.compile(rb"CCL version [\d:]"), read=_setup, states=True),
    LineKind(mark=re.compile(rb"Rank +\d+ (?:Group +\d+ )?Pid +\d+ on "), read=_gpu, states=True),
)
