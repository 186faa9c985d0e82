"""Requests of people to a training loop: to stop, and to save a checkpoint."""

from __future__ import annotations

from collections.abc import Callable

from holter.client import Run
from holter.integrations.process_group import agree, world_size

STOP, SAVE = 1, 2


class LoopRequests:
    """Tells a loop at each step whether somebody asks it to stop or to save.

    In a training of one process at every step. With several processes all ranks must act at the same step:
    rank 0 alone knows the status and shares it every `every` steps by a broadcast, which only happens if
    the user of a plug-in asked for it (`act=True`); `act=False` never acts.
    """

    def __init__(self, run: Run, *, rank: int | None, act: bool | None, every: int) -> None:
        self._run = run
        self._rank = rank or 0
        self._act = act
        self._every = max(1, every)
        self._check: Callable[[int], int] | None = None

    def at(self, step: int) -> int:
        """The requests at a step, as `STOP` and `SAVE` bits; all ranks call it at each step."""
        check = self._check
        if check is None:  # decided at the first step: process groups exist by then
            check = self._check = self._chosen()
        return check(step)

    def _chosen(self) -> Callable[[int], int]:
        if self._act is False or (self._act is None and (self._rank or world_size() > 1)):
            return lambda step: 0
        return self._shared if world_size() > 1 else self._own

    def _own(self, step: int) -> int:
        status = self._run.status()
        if status.stop is None and status.save is None:
            return 0
        return (STOP if status.stop is not None else 0) | (SAVE if status.save is not None else 0)

    def _shared(self, step: int) -> int:
        if step % self._every:
            return 0
        return agree(self._own(step) if self._rank == 0 else 0)
