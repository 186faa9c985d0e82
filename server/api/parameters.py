"""Parameters that a route does not have are refused: a mistyped filter must not answer with everything."""

from __future__ import annotations

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute


async def only_known(request: Request) -> None:
    """A dependency. Raises RequestValidationError naming the parameter and those that there are."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = [parameter.alias for parameter in route.dependant.query_params]
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        expected = f"expected {', '.join(known)}" if known else "this address takes none"
        raise RequestValidationError(
            [{"loc": ("query", name), "msg": f"there is no such parameter; {expected}"} for name in unknown]
        )
