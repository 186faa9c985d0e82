"""A log that is rewritten while it is read is recognised by its first bytes and those before the cursor."""

from __future__ import annotations

import io

from holter.ingest.tailing.file_identity import take_snapshot


def test_a_file_that_grew_after_what_was_compared_is_the_same() -> None:
    stream = io.BytesIO(b"x" * 2000)
    snapshot = take_snapshot(stream, 1500)
    stream.seek(0, io.SEEK_END)
    stream.write(b"more")
    assert snapshot.still_holds(stream, 2004)


def test_other_bytes_at_the_beginning_are_another_file() -> None:
    snapshot = take_snapshot(io.BytesIO(b"x" * 2000), 1500)
    assert not snapshot.still_holds(io.BytesIO(b"y" * 2000), 2000)


def test_what_was_read_of_a_file_that_was_empty_before_and_is_empty_again_is_not_its_content() -> None:
    snapshot = take_snapshot(io.BytesIO(b""), 0)
    assert not snapshot.still_holds(io.BytesIO(b""), 300)
    assert snapshot.still_holds(io.BytesIO(b""), 0)


def test_a_short_file_must_not_have_grown_since() -> None:
    snapshot = take_snapshot(io.BytesIO(b"step,loss\n"), 0)
    assert snapshot.still_holds(io.BytesIO(b"step,loss\n"), 10)
    assert not snapshot.still_holds(io.BytesIO(b"step,loss\n1,2\n"), 10)
