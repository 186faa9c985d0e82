"""Lines in the same words as others in which nothing was found are passed over."""

from __future__ import annotations

import pytest

from holter.ingest.console.line.passed_lines import PassedLines


@pytest.mark.parametrize("encode", [str, str.encode], ids=["text", "bytes"])
def test_lines_that_differ_in_digits_alone_are_in_the_same_words(encode):
    passed = PassedLines()
    for number in range(3):
        assert not passed.has(encode(f"saved step-{number:05d}.bin in 3.2 s"))
        passed.add(encode(f"saved step-{number:05d}.bin in 3.2 s"))

    assert passed.has(encode("saved step-7.bin in 12.25 s"))
    assert not passed.has(encode("loaded step-7.bin in 12.25 s"))


def test_a_record_behind_other_lines_in_its_words_is_none_only_after_several():
    passed = PassedLines()
    passed.add("epoch 0 loss 1")
    passed.add("epoch 1 loss 2")

    assert not passed.has("epoch 2 loss 3")
