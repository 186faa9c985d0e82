"""Writes the types of the REST interface as JSDoc typedefs for the pages (`make types-js`)."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typing_extensions import get_original_bases, is_typeddict

import holter.ui
from holter.server.schemas import (
    alerting,
    base,
    client_status,
    compare,
    events,
    findings,
    incidents,
    launches,
    points,
    run_search,
    runs,
    service,
)

MODULES = (
    base,
    points,
    client_status,
    incidents,
    events,
    runs,
    run_search,
    launches,
    findings,
    compare,
    alerting,
    service,
)
PATH = Path(holter.ui.__file__).parent / "static" / "lib" / "api_types.js"
_HEADER = """\
// @ts-check
// Generated from server/schemas by `make types-js`: do not edit.
/** Types of the REST interface's JSON. Times are Unix seconds. */

"""
_SIMPLE = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null", Any: "any"}


def api_types() -> str:
    """The content of the JavaScript file: a typedef for each schema, literal alias and enum."""
    aliases = {
        value: name
        for module in MODULES
        for name, value in vars(module).items()
        if get_origin(value) in {Literal, UnionType, Union} and module.__name__ == _home(module, name)
    }
    schemas = [schema for module in MODULES for schema in _classes(module)]
    enums: dict[str, type[Enum]] = {}
    typedefs = [_alias(name, value, aliases) for value, name in aliases.items()]
    typedefs += [_object(schema, aliases, enums) for schema in schemas]
    typedefs = [_enum(enum) for _, enum in sorted(enums.items())] + typedefs
    return _HEADER + "\n".join(typedefs) + "\nexport {};\n"


def _home(module: ModuleType, name: str) -> str:
    """The name of the first module that has a name: where an alias is defined, not where it is imported."""
    return next(candidate.__name__ for candidate in MODULES if name in vars(candidate))


def _classes(module: ModuleType) -> Iterator[type]:
    for value in vars(module).values():
        defined_here = inspect.isclass(value) and value.__module__ == module.__name__
        if defined_here and not issubclass(value, Enum) and value is not base.ApiObject:
            yield value


def _object(schema: type, aliases: Mapping[Any, str], enums: dict[str, type[Enum]]) -> str:
    fields = get_type_hints(schema)
    extras = get_type_hints(schema, include_extras=True)
    optional = {name for name, kind in extras.items() if get_origin(kind) is NotRequired}
    parents: list[Any] = []
    if is_typeddict(schema):
        parents = [parent for parent in get_original_bases(schema) if parent is not base.ApiObject]
        inherited = {name for parent in parents for name in get_type_hints(parent)}
        fields = {name: kind for name, kind in fields.items() if name not in inherited}
    else:
        assert issubclass(schema, BaseModel)
        fields = {name: fields[name] for name in schema.model_fields}
    start = "".join(f"{parent.__name__} & " for parent in parents) + "{"
    lines = [f"@typedef {{{start}"]
    for name, kind in fields.items():
        lines.append(f"  {name}{'?' if name in optional else ''}: {_type(kind, aliases, enums)},")
    return _comment(inspect.getdoc(schema) or "", [*lines, f"}}}} {schema.__name__}"])


def _type(kind: Any, aliases: Mapping[Any, str], enums: dict[str, type[Enum]]) -> str:
    """A Python type as TypeScript writes it. Raises TypeError for one that JSON does not have."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in aliases:
        return aliases[kind]
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if origin in {UnionType, Union}:
        return _union(arguments, aliases, enums)
    if origin is list:
        item = _type(arguments[0], aliases, enums)
        return f"({item})[]" if " " in item else f"{item}[]"
    if origin is dict:
        return f"Record<string, {_type(arguments[1], aliases, enums)}>"
    if inspect.isclass(kind) and issubclass(kind, Enum):
        enums[kind.__name__] = kind
        return kind.__name__
    if inspect.isclass(kind) and (is_typeddict(kind) or issubclass(kind, BaseModel)):
        return kind.__name__
    raise TypeError(f"no JSON type: {kind!r}")


def _union(members: Iterable[Any], aliases: Mapping[Any, str], enums: dict[str, type[Enum]]) -> str:
    members = list(members)
    # a union with an alias is flattened, so that the alias is recognised by its members
    for alias, name in aliases.items():
        if members[-1] is NoneType and get_args(alias) == tuple(members[:-1]):
            return f"{name} | null"
    return " | ".join(dict.fromkeys(_type(member, aliases, enums) for member in members))


def _alias(name: str, value: Any, aliases: Mapping[Any, str]) -> str:
    others = {alias: known for alias, known in aliases.items() if known != name}
    return _comment("", [f"@typedef {{{_type(value, others, {})}}} {name}"])


def _enum(enum: type[Enum]) -> str:
    values = " | ".join(f'"{member.value}"' for member in enum)
    return _comment(inspect.getdoc(enum) or "", [f"@typedef {{{values}}} {enum.__name__}"])


def _comment(text: str, lines: list[str]) -> str:
    paragraphs = [textwrap.wrap(paragraph, 105) for paragraph in text.split("\n\n")]
    described = [line for paragraph in paragraphs for line in paragraph]
    return "\n".join(["/**", *(f" * {line}" for line in [*described, *lines]), " */", ""])


if __name__ == "__main__":
    PATH.write_text(api_types())
