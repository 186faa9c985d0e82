"""The files of a spool: their sizes, permissions and number, and what other processes find in them."""

from __future__ import annotations

import json
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holter.client import spool as spools
from holter.client.spool import HEADER, RECENT_BODIES, Spool

HEAD = {"server": "http://s", "host": "host"}
LIMIT = 4_000
BODY = b"x" * (100 - HEADER.size)  # 100 bytes in a file


def new(root: Path, name: str = "host-1-a", *, limit: int = LIMIT) -> Spool:
    return spools.create(root, name, HEAD, limit=limit)


def take_over(folder: Path) -> Spool:
    spool = spools.take_over(folder)
    assert spool is not None
    return spool


def open_files(folder: Path) -> int:
    """Files below `folder` that this process has open: a test before may have left others that close now."""
    opened = [os.path.realpath(entry) for entry in Path("/proc/self/fd").iterdir()]
    return sum(path.startswith(f"{folder.resolve()}/") for path in opened)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system writes no byte after the first `size` of a file, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_bodies_that_fill_the_limit_exactly_are_taken(tmp_path: Path) -> None:
    exact, less = new(tmp_path, "exact", limit=200), new(tmp_path, "less", limit=199)
    assert (exact.append(BODY), exact.append(BODY), exact.append(b"y")) == (True, True, False)
    assert (less.append(BODY), less.append(BODY)) == (True, False)
    exact.close()
    less.close()


def test_a_file_ends_when_a_quarter_of_the_limit_is_full(tmp_path: Path) -> None:
    spool = new(tmp_path)
    while spool.append(BODY):
        pass
    sizes = [path.stat().st_size for path in sorted(spool.folder.glob("*.spool"))]
    assert sizes == [LIMIT // 4] * 4
    spool.close()


def test_what_waits_is_what_was_appended_and_not_acknowledged(tmp_path: Path) -> None:
    spool = new(tmp_path)
    waiting = [spool.waiting()]
    for _ in range(30):
        spool.append(BODY)
        waiting.append(spool.waiting())
    assert waiting == [100 * number for number in range(31)]
    for left in range(29, -1, -1):
        assert spool.next() == BODY  # removes files whose bodies are all acknowledged
        spool.acknowledge(BODY)
        assert spool.waiting() == 100 * left
    # the thread that sends may be ahead of the count of the one that appends
    spool.acknowledge(BODY)
    assert spool.waiting() == 0
    spool.close()


def test_the_files_are_private(tmp_path: Path) -> None:
    spool = new(tmp_path / "root")
    spool.append(BODY)
    spool.reject(BODY, "422")
    paths = [spool.folder.parent, spool.folder, *spool.folder.iterdir()]
    assert len(paths) == 5
    for path in paths:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    spool.close()


def test_however_many_files_there_are_few_are_open(tmp_path: Path) -> None:
    spool = new(tmp_path)
    while spool.append(BODY):
        pass
    while spool.next() is not None:
        spool.acknowledge(BODY)
        assert open_files(tmp_path) <= 3  # the state, one that is written, one that is read
    spool.close()
    assert open_files(tmp_path) == 0


def test_a_spool_that_another_process_has_is_not_left_open(tmp_path: Path) -> None:
    spool = new(tmp_path)
    before = open_files(tmp_path)
    assert spools.take_over(spool.folder) is None
    assert spools.take_over(tmp_path / "nothing") is None
    assert open_files(tmp_path) == before
    spool.close()


def test_whoever_releases_its_lock_leaves_the_spool_to_others(tmp_path: Path) -> None:
    spool = new(tmp_path)
    spool.append(BODY)
    spool.release_lock()
    taken = take_over(spool.folder)
    assert taken.next() == BODY
    taken.close()


def test_the_state_has_the_position_and_the_header(tmp_path: Path) -> None:
    spool = new(tmp_path)

    def state() -> tuple[list[int], object]:
        position, header = (spool.folder / "state").read_bytes().split(b"\n", 1)
        return [int(word) for word in position.split()], json.loads(header)["host"]

    assert state() == ([1, 0], "host")
    spool.append(BODY)
    spool.acknowledge(BODY)
    assert state() == ([1, 100], "host")
    spool.close()


def test_where_the_state_does_not_fit_on_the_disk_there_is_no_spool(tmp_path: Path) -> None:
    with files_of_at_most(60), pytest.raises(OSError, match="No space left"):
        new(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == []
    spool = new(tmp_path, "other")
    with files_of_at_most(60), pytest.raises(OSError, match="No space left"):
        spool.start_run(HEAD)
    spool.close()


def test_a_spool_whose_folder_was_removed_is_not_reused(tmp_path: Path) -> None:
    spool = new(tmp_path)
    (spool.folder / "state").unlink()
    spool.folder.rmdir()
    with pytest.raises(FileNotFoundError, match="host-1-a"):
        spool.start_run(HEAD)


def test_a_spool_whose_folder_was_removed_is_closed(tmp_path: Path) -> None:
    spool = new(tmp_path)
    before = open_files(tmp_path)
    shutil.rmtree(spool.folder)
    spool.close()
    assert open_files(tmp_path) == before - 1


def test_zeros_that_a_power_failure_left_are_no_bodies(tmp_path: Path) -> None:
    spool = new(tmp_path)
    spool.append(b"1")  # the shortest body
    path = spools.segment_path(spool.folder, 1)
    spool.close()
    path.write_bytes(path.read_bytes() + bytes(100))
    again = take_over(spool.folder)
    assert again.next_bodies(LIMIT) == [b"1"]
    again.acknowledge(b"1")
    assert again.next() is None
    again.close()


@pytest.mark.parametrize(("most", "count"), [(0, 1), (10, 1), (11, 1), (29, 2), (30, 3), (31, 3)])
@pytest.mark.parametrize("reopened", [False, True], ids=["from memory", "from disk"])
def test_a_request_has_bodies_of_a_limited_size_together(
    tmp_path: Path, most: int, count: int, reopened: bool
) -> None:
    spool = new(tmp_path)
    for number in range(5):
        spool.append(b"%010d" % number)
    if reopened:
        spool.close()
        spool = take_over(spool.folder)
    assert spool.next_bodies(most) == [b"%010d" % number for number in range(count)]
    spool.close()


def test_some_recent_bodies_are_sent_without_reading_them_from_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, bodies = new(tmp_path), [b"%04d" % number for number in range(RECENT_BODIES + 3)]
    for _ in range(3):
        for body in bodies:
            spool.append(body)
        with monkeypatch.context() as patch:
            patch.setattr(spools, "read_body_at", lambda *_: None)
            cached = spool.next_bodies(LIMIT)
        assert cached == bodies[:RECENT_BODIES]  # not more: they are memory of a training process
        spool.acknowledge(*cached)
        assert spool.next_bodies(LIMIT) == bodies[RECENT_BODIES:]
        spool.acknowledge(*bodies[RECENT_BODIES:])
    spool.close()


def test_spools_of_dead_processes_are_found_oldest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, began in (("b", 20.0), ("c", 10.0), ("a", 30.0), (".hidden", 5.0)):
        monkeypatch.setattr(spools.time, "time", lambda now=began: now)
        spool = new(tmp_path, name)
        spool.append(name.encode())
        spool.close()
    (tmp_path / "no folder").write_text("")
    position = b" " * spools.POSITION_BYTES
    for name, state in (("empty", b""), ("other", b"x" * 100), ("list", position + b"[]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state").write_bytes(state)
    found = list(spools.orphaned_spools(tmp_path, lambda header: header["host"] == "host"))
    assert [spool.next() for spool in found] == [b"c", b"b", b"a"]
    for spool in found:
        spool.close()
    assert list(spools.orphaned_spools(tmp_path, lambda header: header["host"] == "another")) == []
    assert list(spools.orphaned_spools(tmp_path / "missing", lambda header: True)) == []


def test_only_a_spool_without_unsent_and_rejected_bodies_is_removed(tmp_path: Path) -> None:
    spools_by_name = {name: new(tmp_path, name) for name in ("empty", "sent", "unsent", "rejected")}
    for name in ("sent", "unsent", "rejected"):
        spools_by_name[name].append(BODY)
    spools_by_name["sent"].acknowledge(BODY)
    spools_by_name["rejected"].reject(BODY, "422")
    assert {name: spool.clean for name, spool in spools_by_name.items()} == {
        "empty": True, "sent": True, "unsent": True, "rejected": False,
    }  # fmt: skip
    for spool in spools_by_name.values():
        spool.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rejected", "unsent"]
