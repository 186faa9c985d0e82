"""Joins the modules and style sheets of the pages into one file each, so that a page needs few requests.

The modules stay as they are: no build step. Each becomes a function whose result has its exports; comments of
documentation are left out. Only what the pages use is understood: static imports at the beginning of a line,
named exports of declarations, no cycles.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

SCRIPT = "all.js"
STYLES = "styles/all.css"
_IMPORT = re.compile(
    r"^import\s+(?:\{(?P<names>[^}]*)\}|\*\s+as\s+(?P<module>\w+))\s+from\s+\"(?P<path>[^\"]+)\";[ \t]*$",
    re.M,
)
_EXPORT = re.compile(r"^export\s+(?=(?:async\s+function|function|class|const)\b)", re.M)
_DECLARED = re.compile(r"^export\s+(?:async\s+function|function|class|const)\s+(\w+)", re.M)
_LISTED = re.compile(r"^export\s+\{([^}]*)\};[ \t]*$", re.M)
_COMMENT = re.compile(r"^[ \t]*/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*\n", re.M)
_UNKNOWN = re.compile(r"^(?:import|export)\b.*$", re.M)
_STYLE_LINK = re.compile(
    r"^[ \t]*<link rel=\"stylesheet\" href=\"\{\{static\}\}/(styles/[\w-]+\.css)\">\n", re.M
)
_PRELOAD = re.compile(r"^[ \t]*<link rel=\"modulepreload\"[^>\n]*>\n", re.M)
_MAIN = '<script type="module" src="{{static}}/main.js"></script>'


class BundleError(ValueError):
    """The modules cannot be joined."""


def bundle_modules(sources: Mapping[str, str], entry: str) -> str:
    """The modules that `entry` needs, and itself, as one script. Raises BundleError."""
    order: list[str] = []
    _visit(entry, sources, (), order)
    number = {path: index for index, path in enumerate(order)}
    parts = [
        f"const m{index} = {_as_function(path, sources[path], number)};" for path, index in number.items()
    ]
    return "\n".join(['"use strict";', *parts, ""])


def _visit(path: str, sources: Mapping[str, str], above: tuple[str, ...], order: list[str]) -> None:
    if path in order:
        return
    if path in above:
        raise BundleError(f"modules import each other: {' -> '.join((*above, path))}")
    if path not in sources:
        raise BundleError(f"{above[-1] if above else 'the page'}: there is no module {path}")
    for match in _IMPORT.finditer(sources[path]):
        _visit(_resolved(path, match["path"]), sources, (*above, path), order)
    order.append(path)


def _resolved(path: str, imported: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), imported))


def _as_function(path: str, source: str, number: Mapping[str, int]) -> str:
    """A module as the call of a function that returns its exports."""

    def binding(match: re.Match[str]) -> str:
        module = f"m{number[_resolved(path, match['path'])]}"
        if match["module"]:
            return f"const {match['module']} = {module};"
        names = (part.strip() for part in match["names"].split(","))
        pairs = ", ".join(name.replace(" as ", ": ") for name in names if name)
        return f"const {{ {pairs} }} = {module};"

    exported = _DECLARED.findall(source)
    for listed in _LISTED.findall(source):
        exported += [name.strip() for name in listed.split(",") if name.strip()]
    body = _COMMENT.sub("", source)
    body = _EXPORT.sub("", _LISTED.sub("", _IMPORT.sub(binding, body)))
    if unknown := _UNKNOWN.search(body):
        raise BundleError(f"{path}: {unknown[0]!r}, expected a static import or the export of a declaration")
    return f"(() => {{ // {path}\n{body}\nreturn {{ {', '.join(exported)} }};\n}})()"


def bundle_styles(sources: Mapping[str, str], index: str) -> str:
    """The style sheets of the page in their order. Raises BundleError."""
    paths = _STYLE_LINK.findall(index)
    if missing := [path for path in paths if path not in sources]:
        raise BundleError(f"index.html: there is no {missing[0]}")
    return "\n".join(sources[path] for path in paths)


def bundled_index(index: str) -> str:
    """The page with one script and one style sheet. Raises BundleError."""
    if _MAIN not in index or not _STYLE_LINK.search(index):
        raise BundleError("index.html: expected main.js and style sheets")
    styles = f'  <link rel="stylesheet" href="{{{{static}}}}/{STYLES}">\n'
    text = _STYLE_LINK.sub("", _PRELOAD.sub("", index))
    text = text.replace("</head>", f"{styles}</head>")
    return text.replace(_MAIN, f'<script type="module" src="{{{{static}}}}/{SCRIPT}"></script>')
