"""The JSDoc types of the pages are those of the REST interface's schemas."""

from __future__ import annotations

from holter.server.schemas.jsdoc import PATH, api_types


def test_the_generated_types_are_up_to_date() -> None:
    assert PATH.read_text() == api_types(), "run `make types-js`"
