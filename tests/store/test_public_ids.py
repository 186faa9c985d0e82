"""Ids of runs in addresses are made of their names, also where two names were chosen to give the same id."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from sqlalchemy import Engine

from holter.types import SeriesKey
from tests.support.stored_runs import delivery, running_store

COLLIDING = ("a681963", "a1ccaa53")
"""Two names of runs of the project `llm` whose 48 bits are the same, found in a minute."""


def test_runs_whose_names_collide_on_purpose_are_both_stored(engine: Engine) -> None:
    digests = {blake2b(f"3/llm/{name}".encode(), digest_size=6).hexdigest() for name in COLLIDING}
    assert len(digests) == 1
    steps, receipts = np.arange(3), []
    for round_ in range(2):  # the second time as new writers of known runs
        with running_store(engine) as store:
            receipts += [
                store.accept(
                    delivery(
                        steps + 10 * round_,
                        {SeriesKey("loss"): np.full(3, float(index))},
                        batch_id=f"{name}{round_}",
                        run=name,
                    )
                )
                for index, name in enumerate(COLLIDING)
            ]
            for index, receipt in enumerate(receipts[-2:]):
                assert set(store.read(receipt.run_id)[SeriesKey("loss")].value.tolist()) == {float(index)}
    first, second = (receipt.public_id for receipt in receipts[:2])
    assert first in digests
    assert second != first
    assert [receipt.public_id for receipt in receipts[2:]] == [first, second]
