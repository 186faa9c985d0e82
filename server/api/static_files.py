"""The files of the pages, in memory, under addresses with a content hash that browsers may cache forever.

starlette's StaticFiles reads from disk per request and has neither precompressed files nor content hashes.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import mimetypes
import threading
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from plotly.offline import get_plotlyjs_version

import holter.ui
from holter.server.api.page_bundle import (
    SCRIPT,
    STYLES,
    BundleError,
    bundle_modules,
    bundle_styles,
    bundled_index,
)

FOLDER = Path(holter.ui.__file__).parent / "static"
PLOTLY_PATH = f"/vendor/plotly-{get_plotlyjs_version()}.min.js"
_log = logging.getLogger(__name__)
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}


@dataclass(frozen=True, kw_only=True)
class PageFile:
    """The content of a file."""

    content: bytes
    media_type: str

    @cached_property
    def zipped(self) -> bytes:
        """Its gzip, made at the first request: of most files browsers get what the bundles have of them."""
        return _zip(self.content)


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFiles:
    """All files at one time, by path below static/, with the hash of their contents."""

    hash: str
    stamps: tuple[tuple[str, int, int], ...]
    by_path: dict[str, PageFile]


class PageFileCache:
    """Reads the files at the first request and when one has changed, so that editing needs no restart."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._files: PageFiles | None = None

    def files(self) -> PageFiles:
        """The present files."""
        with self._lock:
            stamps = _stamps(self._folder)
            if self._files is None or self._files.stamps != stamps:
                self._files = _read(self._folder, stamps)
            return self._files

    def index(self) -> str:
        """The HTML of all pages, with the addresses of the files filled in."""
        current = self.files()
        text = current.by_path["index.html"].content.decode()
        return text.replace("{{static}}", f"/static/{current.hash}").replace("{{plotly}}", PLOTLY_PATH)


@cache
def zipped_plotly() -> bytes:
    """The JavaScript library of the installed plotly package, compressed once: that saves 70 % of a visit."""
    return _zip((files("plotly") / "package_data" / "plotly.min.js").read_bytes())


@cache
def unzipped_plotly() -> bytes:
    """The same for clients that do not accept gzip, which is rare: one copy for all responses."""
    return gzip.decompress(zipped_plotly())


def _zip(content: bytes) -> bytes:
    return gzip.compress(content, 6, mtime=0)


def _stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return tuple(
        (path.relative_to(folder).as_posix(), path.stat().st_mtime_ns, path.stat().st_size) for path in paths
    )


def _read(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> PageFiles:
    digest = hashlib.sha256()
    by_path = {}
    for name, _, _ in stamps:
        content = (folder / name).read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
        by_path[name] = _page_file(name, content)
    by_path |= _bundles(by_path)
    return PageFiles(hash=digest.hexdigest()[:16], stamps=stamps, by_path=by_path)


def _page_file(name: str, content: bytes) -> PageFile:
    return PageFile(content=content, media_type=_media_type(name))


def _bundles(by_path: dict[str, PageFile]) -> dict[str, PageFile]:
    """All modules and all style sheets as one file each, and the page that uses them.

    None where they cannot be joined, as while they are edited: the page then loads them one by one.
    """
    sources = {
        name: file.content.decode()
        for name, file in by_path.items()
        if name.endswith((".js", ".css", ".html"))
    }
    try:
        texts = {
            SCRIPT: bundle_modules(sources, "main.js"),
            STYLES: bundle_styles(sources, sources["index.html"]),
            "index.html": bundled_index(sources["index.html"]),
        }
    except (BundleError, KeyError) as error:
        _log.warning("the modules of the pages are served one by one: %s", error)
        return {}
    return {name: _page_file(name, text.encode()) for name, text in texts.items()}


def _media_type(name: str) -> str:
    suffix = Path(name).suffix
    media_type = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type
