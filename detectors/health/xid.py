"""The meaning of NVIDIA's XID errors, and what to do about each.

After the catalogue at https://docs.nvidia.com/deploy/xid-errors/, in its terms: restart the application,
reset the GPU, restart the node; and which come from programs more often than from hardware.
"""

from __future__ import annotations

from typing import NamedTuple

from holter.types import Severity

PROGRAM = (
    "Check the program first: this error mostly comes from it. If it recurs on this GPU with other"
    " programs, run diagnostics (dcgmi diag -r 3)."
)
RESET = (
    "Drain the node, reset the GPU (nvidia-smi --gpu-reset, amd-smi reset --gpureset) and run diagnostics"
    " before using it again."
)
REBOOT = (
    "Drain the node, power-cycle it and run diagnostics; if it recurs, the GPU or its slot must be replaced."
)
MEMORY = (
    "Drain the node after this job and reset the GPU, so that the row is replaced; if that fails, the GPU"
    " must be replaced."
)
LINK = (
    "Drain the node, reset its GPUs and switches, and check the link's counters (nvidia-smi nvlink -e); if"
    " it recurs, have the link's hardware checked."
)
GSP = (
    "Drain the node and reset the GPU, or restart the node if that fails; a newer driver fixes many of these."
)
WATCH = "Nothing is lost yet. Watch this GPU's error counters, and run diagnostics when the node is free."


class Xid(NamedTuple):
    """An error's meaning as the end of a sentence, its severity, and what to do."""

    meaning: str
    severity: Severity
    advice: str


_CRITICAL, _WARNING = Severity.CRITICAL, Severity.WARNING

CATALOGUE = {
    8: Xid("the GPU stopped working on a command", _WARNING, PROGRAM),
    13: Xid("the program read or wrote where it must not", _WARNING, PROGRAM),
    31: Xid("the program read or wrote where it must not", _WARNING, PROGRAM),
    32: Xid("a command buffer was broken", _WARNING, PROGRAM),
    43: Xid("a program was stopped on it", _WARNING, PROGRAM),
    45: Xid("a program was ended on it", _WARNING, PROGRAM),
    48: Xid("an error in its memory could not be corrected", _CRITICAL, RESET),
    61: Xid("its microcontroller failed", _CRITICAL, RESET),
    62: Xid("its microcontroller has stopped", _CRITICAL, RESET),
    63: Xid("a row of its memory is worn out and marked to be replaced", _CRITICAL, MEMORY),
    64: Xid("a row of its memory could not be replaced", _CRITICAL, MEMORY),
    68: Xid("its video decoder failed", _WARNING, PROGRAM),
    69: Xid("a graphics class failed", _WARNING, PROGRAM),
    74: Xid("an NVLink failed", _CRITICAL, LINK),
    79: Xid("it has fallen off the bus", _CRITICAL, REBOOT),
    92: Xid("many errors in its memory had to be corrected", _WARNING, WATCH),
    94: Xid("an error in its memory was contained", _CRITICAL, f"Restart the job. {MEMORY}"),
    95: Xid("an error in its memory was not contained", _CRITICAL, RESET),
    109: Xid("a switch of its work ran out of time", _WARNING, PROGRAM),
    119: Xid("its system processor does not answer", _CRITICAL, GSP),
    120: Xid("its system processor reported an error", _CRITICAL, GSP),
    121: Xid("its link to the CPU corrected errors", _WARNING, WATCH),
    137: Xid("a request over NVLink failed", _WARNING, PROGRAM),
    140: Xid("an error in its memory could not be corrected", _CRITICAL, RESET),
    143: Xid("it could not be set up", _CRITICAL, RESET),
    **{code: Xid("an NVLink failed", _CRITICAL, LINK) for code in range(144, 151)},
    154: Xid("it needs to be reset", _CRITICAL, RESET),
}


def describe_xid(code: int) -> Xid:
    """The entry of an error; unknown errors count as critical."""
    return CATALOGUE.get(code) or Xid("see the vendor's catalogue", _CRITICAL, RESET)
