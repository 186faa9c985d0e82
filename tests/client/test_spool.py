"""The spool on disk: everything comes out once and in order, whatever is killed, torn or full."""

from __future__ import annotations

import base64
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.client import spool as spools
from holter.client.spool import Spool

MEGABYTE = 2**20


def new(root: Path, name: str = "host-1-a", *, limit: int = MEGABYTE) -> Spool:
    return spools.create(root, name, {"server": "http://s", "host": "host"}, limit=limit)


def drain(spool: Spool) -> list[bytes]:
    bodies = []
    while (body := spool.next()) is not None:
        bodies.append(body)
        spool.acknowledge(body)
    return bodies


def line(number: int, size: int = 20) -> bytes:
    return json.dumps({"n": number, "pad": "x" * size}).encode() + b"\n"


@given(
    actions=st.lists(st.sampled_from(["append", "append", "send", "reopen"]), max_size=60),
    limit=st.sampled_from([400, MEGABYTE]),
)
@settings(max_examples=60, deadline=None)
def test_what_goes_in_comes_out_once_and_in_order(actions: list[str], limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        spool, adopted = new(root, limit=limit), False
        put, got = 0, []
        for action in actions:
            if action == "append" and not adopted:
                put += spool.append(line(put))
            elif action == "send" and (body := spool.next()) is not None:
                got.append(body)
                spool.acknowledge(body)
            elif action == "reopen" and spool.next() is not None:
                spool.close()
                reopened = spools.take_over(spool.folder)
                assert reopened is not None
                spool, adopted = reopened, True
        got += drain(spool)
        assert got == [line(number) for number in range(put)]
        spool.close()
        assert list(root.iterdir()) == []


def test_a_sent_file_is_removed_and_makes_room(tmp_path: Path) -> None:
    spool = new(tmp_path, limit=2_000)
    for number in range(500):
        assert spool.append(line(number))
        assert drain(spool) == [line(number)]
    assert sum(path.stat().st_size for path in spool.folder.glob("0*.spool")) < 2_000
    spool.close()


def test_at_its_bound_it_takes_no_more_and_loses_nothing(tmp_path: Path) -> None:
    spool = new(tmp_path, limit=2_000)
    taken = 0
    while spool.append(line(taken)):
        taken += 1
    assert 1_900 < sum(path.stat().st_size for path in spool.folder.glob("0*.spool")) <= 2_000
    assert drain(spool) == [line(number) for number in range(taken)]
    spool.close()


@pytest.mark.parametrize("torn", [1, 7, 8, 10, 30])
def test_a_last_body_that_was_torn_by_a_crash_is_left_out(tmp_path: Path, torn: int) -> None:
    spool = new(tmp_path)
    spool.append(line(0))
    path = spools.segment_path(spool.folder, 1)
    spool.close()
    path.write_bytes(spools.frame(line(0)) + spools.frame(line(1))[:torn])
    again = spools.take_over(spool.folder)
    assert again is not None
    assert drain(again) == [line(0)]
    again.close()


@pytest.mark.parametrize("at", [0, 4, 8, 30], ids=["length", "checksum", "first byte", "middle"])
def test_a_body_with_a_wrong_bit_is_not_sent(tmp_path: Path, at: int) -> None:
    spool = new(tmp_path)
    spool.append(line(0))
    spool.append(line(1))
    path = spools.segment_path(spool.folder, 1)
    spool.close()
    content = bytearray(path.read_bytes())
    content[len(spools.frame(line(0))) + at] ^= 0x01
    path.write_bytes(content)
    again = spools.take_over(spool.folder)
    assert again is not None
    assert again.next_bodies(MEGABYTE) == [line(0)]
    assert drain(again) == [line(0)]
    again.close()


def test_what_follows_a_removed_file_is_sent_although_the_position_was_not_written(tmp_path: Path) -> None:
    spool = new(tmp_path, limit=600)  # two bodies a file
    for number in range(4):
        assert spool.append(line(number, 80))
    spool.close()
    assert spools.segment_numbers(spool.folder) == [1, 2]
    spools.segment_path(spool.folder, 1).unlink()
    again = spools.take_over(spool.folder)
    assert again is not None
    assert drain(again) == [line(number, 80) for number in range(2, 4)]
    again.close()


def test_a_spool_is_reused_for_a_run_with_a_shorter_name(tmp_path: Path) -> None:
    spool = new(tmp_path)
    spool.start_run({"server": "http://s", "run": "a run with a long name"})
    spool.start_run({"server": "http://s", "run": "b"})
    spool.append(line(0))
    spool.close()
    headers = []
    [found] = spools.orphaned_spools(tmp_path, lambda header: headers.append(header) or True)  # type: ignore[func-returns-value]
    assert [header["run"] for header in headers] == ["b"]
    assert drain(found) == [line(0)]
    found.close()


def test_a_note_of_what_was_sent_that_was_torn_by_a_crash_means_sending_again(tmp_path: Path) -> None:
    spool = new(tmp_path)
    spool.append(line(0))
    spool.append(line(1))
    spool.acknowledge(line(0))
    spool.close()
    with (spool.folder / "state").open("r+b") as state:
        state.write(b"0000000000\xff")
    again = spools.take_over(spool.folder)
    assert again is not None
    assert drain(again) == [line(0), line(1)]
    again.close()


def test_nobody_takes_over_what_a_living_process_holds(tmp_path: Path) -> None:
    spool = new(tmp_path)
    spool.append(line(0))
    assert spools.take_over(spool.folder) is None
    assert list(spools.orphaned_spools(tmp_path, lambda header: True)) == []
    spool.close()
    found = list(spools.orphaned_spools(tmp_path, lambda header: header["host"] == "host"))
    assert [drain(one) for one in found] == [[line(0)]]
    for one in found:
        one.close()


def test_a_forked_child_does_not_keep_a_dead_parents_spool_locked(tmp_path: Path) -> None:
    script = f"""
import os, time, holter
run = holter.init("p", "r", server="http://127.0.0.1:9", spool={str(tmp_path)!r})
run.log({{"loss": 1.0}})
if os.fork() == 0:
    print("forked", flush=True)
    time.sleep(60)
    os._exit(0)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert parent.stdout is not None
        parent.stdout.readline()
        [header] = tmp_path.glob("*/state")
        assert spools.take_over(header.parent) is None
        parent.kill()
        parent.wait()
        taken = spools.take_over(header.parent)
        assert taken is not None
        taken.close()
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.communicate()


def test_a_refused_body_is_kept_aside_with_the_reason(tmp_path: Path) -> None:
    spool = new(tmp_path)
    spool.append(line(0))
    spool.append(line(1))
    kept = spool.reject(line(0), "422: step: expected a whole number")
    assert drain(spool) == [line(1)]
    spool.close()
    refused = json.loads(kept.read_text())
    assert refused["reason"] == "422: step: expected a whole number"
    assert base64.b64decode(refused["body"]) == line(0)


def test_a_request_has_a_limited_number_of_bodies(tmp_path: Path) -> None:
    spool = new(tmp_path)
    for number in range(2 * spools.REQUEST_BODIES + 1):
        spool.append(line(number))
    requests = []
    while bodies := spool.next_bodies(MEGABYTE):
        requests.append(len(bodies))
        spool.acknowledge(*bodies)
    assert max(requests) == spools.REQUEST_BODIES
    assert sum(requests) == 2 * spools.REQUEST_BODIES + 1
    spool.close()


def fill(spool: Spool, taken: list[bytes]) -> None:
    while spool.append(line(len(taken))):
        taken.append(line(len(taken)))


def test_a_full_disk_loses_no_complete_body(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    spool = new(tmp_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))  # the kernel refuses what goes beyond
    taken: list[bytes] = []
    try:
        with pytest.raises(OSError, match=r"File too large|No space left"):
            fill(spool, taken)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert spool.append(b"after\n")
    assert drain(spool) == [*taken, b"after\n"]
    spool.close()
