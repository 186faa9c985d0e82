"""One server per SQLite file: the second is told, whatever path it takes; after a kill the next starts."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from sqlalchemy import text

from holter.__main__ import main
from holter.server.database import WAL_BYTES, connect, writing
from holter.server.store import Store, StoreLockedError
from holter.server.store.space import checkpoint
from tests.faults.conftest import Nursery


@pytest.fixture
def linked(sqlite_url: str, tmp_path: Path) -> list[str]:
    """Addresses of one file: its own, through a linked folder, a link to the file, and a detour."""
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    (tmp_path / "folder").symlink_to(file.parent)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "link.db").symlink_to(file)
    names = [file.name, f"folder/{file.name}", "other/link.db", f"other/../{file.name}"]
    return [f"sqlite:///{tmp_path / name}" for name in names]


def test_a_second_server_is_refused_whatever_path_it_takes_until_the_first_is_gone(
    linked: list[str], nursery: Nursery, capsys: pytest.CaptureFixture[str]
) -> None:
    nursery.serve(linked[0])
    holder = nursery.child
    for address in linked:
        assert main(["serve", "--port", "0", "--database-url", address]) == 1
        said = capsys.readouterr().err
        assert f"is in use by another Holter server (process {holder})" in said
        assert "Traceback" not in said
    assert nursery.answers("/readyz") == 200
    nursery.end(signal.SIGKILL)
    for address in linked:
        nursery.serve(address)
        assert nursery.end(signal.SIGKILL) == -signal.SIGKILL
    assert main(["db", "check", "--database-url", linked[0]]) == 0


def test_the_lock_file_of_a_dead_server_and_its_remains_are_no_reason_to_refuse(sqlite_url: str) -> None:
    lock = Path(sqlite_url.removeprefix("sqlite:///") + ".lock")
    lock.write_text("4194304000 and what not")
    engine = connect(sqlite_url)
    store = Store(engine)
    store.start()
    assert lock.read_text() == str(os.getpid())
    with pytest.raises(StoreLockedError, match=f"process {os.getpid()}"):
        Store(engine).start()
    store.close()
    engine.dispose()


def test_the_write_ahead_log_of_a_linked_file_does_not_grow_for_ever(linked: list[str]) -> None:
    engine = connect(linked[2])
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE heap (blob BLOB)"))
        connection.execute(text(f"INSERT INTO heap VALUES (zeroblob({WAL_BYTES}))"))
    file = Path(linked[0].removeprefix("sqlite:///"))
    before = file.stat().st_size
    checkpoint(engine)
    assert file.stat().st_size > before + WAL_BYTES / 2
    engine.dispose()
