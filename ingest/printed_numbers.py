"""Numbers as programs print the objects that hold them: `tensor(0.25, device='cuda:0')`."""

from __future__ import annotations

import re

NUMBER_TYPE = (
    r"(?:[A-Za-z_]\w{0,20}\.){0,3}(?:[A-Za-z]\w{0,20}?)?"
    r"(?:[Tt]ensor|[Aa]rray|[Vv]ariable|[Ff]loat|[Ii]nt)\d{0,2}"
)
"""The name of a type whose objects hold numbers: `tensor`, `np.float32`, `jnp.DeviceArray`."""
_ANY_TYPE = r"(?:[A-Za-z_]\w{0,20}\.){0,3}[A-Za-z_]\w{0,30}"
_ARGUMENTS = r", {0,4}(?:dtype|device|grad_fn|requires_grad|shape|weak_type)="
"""What no other call has behind a number: how it is stored, or computed."""
_CALL = re.compile(rf"(?<![\w.]){NUMBER_TYPE}\($")
_ANY_CALL = re.compile(rf"(?<![\w.]){_ANY_TYPE}\($")
_BEGIN_OF_ARGUMENTS = re.compile(_ARGUMENTS)
_REST_OF_CALL = re.compile(_ARGUMENTS + r"[^()\n]{0,80}(?:\(\)[^()\n]{0,60})?\)")
_ATTRIBUTE = re.compile(r"<[A-Za-z][\w.]{0,40}[: ][^<>\n]{0,80}\bnumpy=$")
"""What is before a number of TensorFlow: `<tf.Tensor: shape=(), dtype=float32, numpy=0.25>`."""
BEFORE_NUMBER = (
    rb"(?:(?:[A-Za-z_]\w{0,20}\.){0,3}\w{0,20}(?:[Tt]ensor|[Aa]rray|[Vv]ariable|[Ff]loat|[Ii]nt)\d{0,2}\(\[?"
    rb"|<[A-Za-z][\w.]{0,40}[: ][^<>\n]{0,80}numpy=)?"
)
"""The same as a pattern of what may be before a number, for searches."""
_OBJECT = re.compile(
    rf"(?<![\w.])(?:{NUMBER_TYPE}|{_ANY_TYPE}(?=\([^()\[\],\n]{{1,40}}{_ARGUMENTS}))"
    r"\(\[?([-+.\deEnaif]{1,40})\]?(?:,[^()\n]{0,80}(?:\(\)[^()\n]{0,40})?)?\)"
)


def without_objects(text: str) -> str:
    """The text with each such number alone: `Error 0.25`."""
    return _OBJECT.sub(r"\1", text) if "(" in text else text


def without_calls(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts between the numbers of a line without what is printed around each of these.

    Arguments with numbers of their own (`device='cuda:0'`) stay behind the number.
    """
    found = list(texts)
    for index in range(len(found) - 1):
        before, behind = found[index], found[index + 1]
        if before.endswith("("):
            if behind.startswith(")"):
                call, rest = _CALL.search(before), behind[1:]
            elif _BEGIN_OF_ARGUMENTS.match(behind) is not None:
                call, rest = _ANY_CALL.search(before), _REST_OF_CALL.sub("", behind, count=1)
            else:
                continue
        elif before.endswith("numpy=") and behind.startswith(">"):
            call, rest = _ATTRIBUTE.search(before), behind[1:]
        else:
            continue
        if call is not None:
            found[index], found[index + 1] = before[: call.start()], rest
    return tuple(found)
