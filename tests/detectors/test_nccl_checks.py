"""How communication is set up, read from what NCCL prints: what is remarked on, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.detectors.launch_checks import run_launch_checks
from holter.ingest.offline.read_run import read_run
from holter.types import ConfigKey, Diagnostic, RunData, labels_of

DATA = Path(__file__).parents[1] / "data"
HOSTS, GPUS = ("n1", "n2"), 8
Lines = Callable[[str, int], list[str]]


def infiniband(host: str, gpu: int, *, cards: int = 8, direct: str = "/GDRDMA") -> list[str]:
    """What a process of a healthy job on InfiniBand prints (NCCL 2.27)."""
    listed = " ".join(f"[{card}]mlx5_{card}:1/IB" for card in range(cards))
    return [
        "NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0",
        f"NCCL INFO Bootstrap: Using eth0:10.0.0.{len(host)}<0>",
        "NCCL INFO cudaDriverVersion 12080",
        "NCCL INFO NCCL version 2.27.3+cuda12.8",
        "NCCL INFO NET/Plugin: Could not find: libnccl-net.so. ",
        f"NCCL INFO NET/IB : Using {listed} [RO]; OOB eth0:10.0.0.1<0>",
        "NCCL INFO Using network IB",
        f"NCCL INFO comm 0x55cc8aa86c70 rank {gpu} nRanks 16 nNodes 2 localRanks 8 localRank {gpu} MNNVL 0",
        f"NCCL INFO Channel 00/0 : {gpu}[{gpu}] -> {gpu + 1}[{gpu + 1}] via P2P/CUMEM",
        f"NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0{direct}",
    ]


def efa(host: str, gpu: int) -> list[str]:
    """The same on EFA, with aws-ofi-nccl."""
    return [
        "NCCL INFO Bootstrap : Using eth0:172.31.77.37<0>",
        "NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.13.2-aws",
        "NCCL INFO NET/OFI Selected Provider is efa (found 16 nics)",
        "NCCL INFO Using network AWS Libfabric",
        f"NCCL INFO Channel 01 : {gpu}[201c0] -> 7[a01d0] via P2P/IPC/read",
        "NCCL INFO Channel 03 : 15[a01d0] -> 6[a01c0] [receive] via NET/AWS Libfabric/3/GDRDMA",
    ]


def slingshot(host: str, gpu: int) -> list[str]:
    """The same on Slingshot without the plugin: RCCL falls back to sockets."""
    return [
        "NCCL INFO NCCL_SOCKET_IFNAME set by environment to hsn0,hsn1,hsn2,hsn3",
        "NCCL INFO Bootstrap : Using hsn0:10.253.1.10<0>",
        "NCCL INFO NET/Plugin : Plugin load (librccl-net.so) returned 2 : librccl-net.so: cannot open",
        "NCCL INFO NET/Plugin : No plugin found, using internal implementation",
        "NCCL INFO NET/IB : No device found.",
        "NCCL INFO NET/Socket : Using [0]hsn0:10.253.1.10<0> [1]hsn1:10.253.1.11<0>",
        "NCCL INFO Using network Socket",
        f"NCCL INFO Channel 00/0 : {gpu}[c9000] -> 8[d1000] [send] via NET/Socket/0 comm 0x1 nRanks 16",
    ]


def logged(folder: Path, lines: Lines, *, hosts: tuple[str, ...] = HOSTS) -> RunData:
    """The run of a folder with one log, in which the processes of all hosts print."""
    text = "".join(
        f"{host}:{1000 + gpu}:{1000 + gpu} [{gpu}] {line}\n"
        for host in hosts
        for gpu in range(GPUS)
        for line in lines(host, gpu)
    )
    (folder / "slurm-1.out").write_text(text)
    return read_run(folder).data


def codes(found: list[Diagnostic]) -> list[str]:
    return [remark.code for remark in found]


@pytest.mark.parametrize("lines", [infiniband, efa])
def test_a_healthy_network_is_left_alone(lines: Lines, tmp_path: Path) -> None:
    run = logged(tmp_path, lines)
    assert run.config[ConfigKey("nccl.channels.via_net_gdrdma", labels_of({"host": "n2"}))] == {0: True}
    assert run_launch_checks(run) == []


def test_nccls_log_is_read_by_host(tmp_path: Path) -> None:
    stated = {str(key): values[0] for key, values in logged(tmp_path, infiniband).config.items()}
    assert {name: value for name, value in stated.items() if name.endswith("{host=n1}")} == {
        "nccl.env.NCCL_SOCKET_IFNAME{host=n1}": "eth0",
        "nccl.oob{host=n1}": "eth0",
        "nccl.version{host=n1}": "2.27.3+cuda12.8",
        "nccl.net_plugin{host=n1}": "not found",
        "nccl.ib.nics{host=n1}": " ".join(f"mlx5_{card}:1/IB" for card in range(8)),
        "nccl.net{host=n1}": "IB",
        "nccl.nodes{host=n1}": 2,
        "nccl.ranks_per_node{host=n1}": 8,
        "nccl.channels.via_p2p{host=n1}": True,
        "nccl.channels.via_net{host=n1}": True,
        "nccl.channels.via_net_gdrdma{host=n1}": True,
    }


def test_the_real_log_of_two_nodes_that_fell_back_to_sockets_is_reported(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes((DATA / "collectives" / "rccl-mi300x-2node.log").read_bytes())
    run = read_run(tmp_path).data
    assert sum(map(len, run.series.values())) == 3 * 56  # communicators, their timings, warnings
    (found,) = run_launch_checks(run)
    assert found.code == "nccl-sockets"
    assert found.labels == (("host", "mi300x-01"),)
    assert found.evidence["plugin"] == "not found"
    assert len(found.evidence["interfaces"]) == 8
    assert all(word in found.advice for word in ("NCCL_IB_HCA", "/dev/infiniband"))


def test_the_missing_plugin_on_slingshot_is_named_with_the_remedy(tmp_path: Path) -> None:
    (found,) = run_launch_checks(logged(tmp_path, slingshot))
    assert found.code == "nccl-sockets"
    assert "factor of 3 to 4" in found.summary
    assert all(word in found.advice for word in ("FI_PROVIDER=cxi", "LD_LIBRARY_PATH"))


def test_a_single_node_needs_no_network(tmp_path: Path) -> None:
    def alone(host: str, gpu: int) -> list[str]:
        return [
            line.replace("nNodes 2", "nNodes 1")
            for line in slingshot(host, gpu)
            if "NET/Socket/0" not in line
        ]

    assert run_launch_checks(logged(tmp_path, alone, hosts=("n1",))) == []


def test_the_real_log_of_sixteen_nodes_gives_one_diagnostic_on_gpu_direct(
    tmp_path: Path,
) -> None:
    (tmp_path / "slurm-1.out").write_bytes((DATA / "collectives" / "nccl-2.7-16nodes.log").read_bytes())
    run = read_run(tmp_path).data
    (found,) = run_launch_checks(run)
    assert found.code == "nccl-no-gdr"
    assert len(found.evidence["hosts"]) == 16
    assert run.config[ConfigKey("nccl.version")] == {0: "2.7.8+cuda10.2"}
    nics = {values[0] for key, values in run.config.items() if key.name == "nccl.ib.nics"}
    assert {len(str(value).split()) for value in nics} == {4}


def test_network_cards_that_do_not_read_from_gpus_are_reported(tmp_path: Path) -> None:
    def without(host: str, gpu: int) -> list[str]:
        reason = "NCCL INFO GPU Direct RDMA Disabled for GPU 4c000 / HCA 0 (distance 5 > 4)"
        return [*infiniband(host, gpu, direct=""), reason]

    (found,) = run_launch_checks(logged(tmp_path, without))
    assert found.code == "nccl-no-gdr"
    assert found.evidence["hosts"] == ["n1", "n2"]
    assert "NCCL_NET_GDR_LEVEL" in found.advice


def test_a_node_with_fewer_cards_than_the_others_is_named(tmp_path: Path) -> None:
    (found,) = run_launch_checks(
        logged(tmp_path, lambda host, gpu: infiniband(host, gpu, cards=7 if host == "n2" else 8))
    )
    assert (found.code, found.evidence["hosts"]) == ("nccl-fewer-nics", ["n2"])
    assert found.evidence["missing"] == ["mlx5_7:1/IB"]


@pytest.mark.parametrize(
    ("line", "code", "mends"),
    [
        ("NCCL_P2P_DISABLE set by environment to 1", "nccl-p2p-disabled", "NCCL_P2P_DISABLE"),
        ("NCCL_P2P_LEVEL set by environment to LOC", "nccl-p2p-disabled", "NCCL_P2P_LEVEL"),
        ("NCCL_SHM_DISABLE set by environment to 1.", "nccl-shm-disabled", "NCCL_SHM_DISABLE"),
    ],
)
def test_paths_that_a_variable_disables_are_reported(
    line: str, code: str, mends: str, tmp_path: Path
) -> None:
    (found,) = run_launch_checks(
        logged(tmp_path, lambda host, gpu: [f"NCCL INFO {line}", *infiniband(host, gpu)])
    )
    assert found.code == code
    assert mends in found.advice


@pytest.mark.parametrize(
    ("interface", "code"), [("docker0", "nccl-virtual-interface"), ("eno1", "nccl-management-interface")]
)
def test_interfaces_that_are_not_for_data_are_reported(interface: str, code: str, tmp_path: Path) -> None:
    def over(host: str, gpu: int) -> list[str]:
        return [
            line.replace("hsn0:", f"{interface}:").replace("hsn1", "eth1") for line in slingshot(host, gpu)
        ]

    found = run_launch_checks(logged(tmp_path, over))
    assert codes(found) == [code, "nccl-sockets"] or codes(found) == ["nccl-sockets", code]
    assert any(f"NCCL_SOCKET_IFNAME=^{interface}" in one.advice for one in found)


def test_hosts_whose_settings_differ_are_named(tmp_path: Path) -> None:
    def mixed(host: str, gpu: int) -> list[str]:
        lines = [
            *infiniband(host, gpu),
            f"NCCL INFO NCCL_ALGO set by environment to {'Ring' if host == 'n1' else 'Tree'}",
        ]
        old = host == "n3"
        return [line.replace("2.27.3+", "2.21.5+") if old else line for line in lines]

    found = run_launch_checks(logged(tmp_path, mixed, hosts=("n1", "n2", "n3")))
    assert codes(found) == ["nccl-versions-differ", "nccl-settings-differ"]
    assert found[0].evidence["hosts"] == ["n3"]
    assert found[1].evidence["hosts"] == ["n1"]


@given(
    st.dictionaries(
        st.tuples(
            st.sampled_from(
                [
                    "net",
                    "nodes",
                    "ranks_per_node",
                    "ib.nics",
                    "socket.nics",
                    "oob",
                    "version",
                    "env.NCCL_P2P_DISABLE",
                    "channels.via_net",
                    "channels.via_shm",
                    "ofi.provider",
                    "net_devices.min",
                    "gdrdma.disabled",
                ]
            ),
            st.sampled_from(["", "a", "b"]),
        ),
        st.one_of(
            st.text(max_size=20), st.integers(), st.floats(), st.booleans(), st.sampled_from(["IB", "Socket"])
        ),
        max_size=20,
    )
)
def test_values_of_any_type_are_no_reason_to_raise(
    stated: dict[tuple[str, str], str | int | float | bool],
) -> None:
    config = {
        ConfigKey(f"nccl.{name}", labels_of({"host": host} if host else {})): {0: value}
        for (name, host), value in stated.items()
    }
    for remark in run_launch_checks(RunData(series={}, config=config)):
        assert remark.summary.endswith(".")
