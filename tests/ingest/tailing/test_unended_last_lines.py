"""The last line of a followed text that nothing ends: read where it is surely complete, left where not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.tailing.follower import Follower


class Followed:
    """A file that is followed, and the clock of the follower."""

    def __init__(self, path: Path, memory: Any) -> None:
        self._now, self._path, self._memory = 0.0, path, memory
        self._follower = Follower([path], memory, clock=lambda: self._now)

    def losses(self, text: str, *, after: float) -> list[tuple[int, float]]:
        """The losses once a text was appended, and some seconds later."""
        with self._path.open("a") as file:
            file.write(text)
        self._follower.catch_up()
        self._now += after
        self._follower.catch_up()
        found: list[tuple[int, float]] = self._memory.collect(self._memory.deliveries[0].run).values("loss")
        return found


@pytest.fixture
def followed(tmp_path: Path, memory: Any) -> Followed:
    return Followed(tmp_path / "train.log", memory)


def lines(*steps: int, form: str = "step {n} loss {loss:.3f}\n") -> str:
    return "".join(form.format(n=n, loss=8 / n) for n in steps)


def losses(steps: Sequence[int], *, digits: int = 3) -> list[tuple[int, float]]:
    return [(n, round(8 / n, digits)) for n in steps]


COMPLETE = {
    "a number with as many decimals": "step {n} loss {loss:.3f}\n",
    "a unit": "step {n} loss {loss:.3f} took {n}ms\n",
    "a bracket": "[step {n} | loss {loss:.3f}]\n",
    "a number with an exponent": "step {n} loss {loss:.3f} lr 2.50e-05\n",
}
INCOMPLETE = {
    "a number with fewer decimals": ("step {n} loss {loss:.3f}\n", 1),
    "a whole number": ("loss {loss:.3f} step {n}\n", 0),
    "a number without its unit": ("step {n} loss {loss:.3f} took {n}ms\n", 2),
    "a text that continues in other lines": ("step {n} loss {loss:.3f} lr 0.250\n", 9),
    "an exponent that misses a digit": ("step {n} loss {loss:.3f} lr 2.50e-05\n", 1),
}


@pytest.mark.parametrize("form", COMPLETE.values(), ids=COMPLETE)
def test_a_last_line_that_ends_like_those_above_is_read_after_half_a_minute(
    followed: Followed, form: str
) -> None:
    text = lines(1, 2, 3, 4, 5, form=form).removesuffix("\n")
    assert followed.losses(text, after=10) == losses([1, 2, 3, 4])
    assert followed.losses("", after=30) == losses([1, 2, 3, 4, 5])
    assert followed.losses("\n" + lines(6, form=form), after=0) == losses(range(1, 7))


@pytest.mark.parametrize(("form", "missing"), INCOMPLETE.values(), ids=INCOMPLETE)
def test_a_last_line_that_may_go_on_is_left_until_it_ends(
    followed: Followed, form: str, missing: int
) -> None:
    text = lines(1, 2, 3, 4, 5, form=form).removesuffix("\n")
    cut = len(text) - missing
    assert followed.losses(text[:cut], after=600) == losses([1, 2, 3, 4])
    assert followed.losses(text[cut:] + "\n", after=0) == losses([1, 2, 3, 4, 5])


def test_a_line_whose_kind_was_never_complete_is_left(followed: Followed) -> None:
    text = lines(1, 2, 3, 4) + "evaluated step 4 loss 0.125"
    assert followed.losses(text, after=600) == losses([1, 2, 3, 4])


def test_a_bar_that_may_be_drawn_once_more_is_left(followed: Followed) -> None:
    bars = "\r".join(f"{10 * n}%|### | {n}/10 [00:0{n}<00:09, 1.00it/s, loss={8 / n:.3f}]" for n in (1, 2, 4))
    assert followed.losses(lines(1, 2, 3) + bars, after=600)[:3] == losses([1, 2, 3])
    assert (4, 2.0) not in followed.losses("", after=600)


def test_a_last_line_that_has_just_grown_waits_for_half_a_minute_again(followed: Followed) -> None:
    text = lines(1, 2, 3, 4, 5).removesuffix("\n")
    assert followed.losses(text[:-2], after=29) == losses([1, 2, 3, 4])
    assert followed.losses(text[-2:], after=29) == losses([1, 2, 3, 4])
    assert followed.losses("", after=30) == losses([1, 2, 3, 4, 5])
