"""Answers about searching runs: completion of filters, columns, saved views, share links."""

from __future__ import annotations

from holter.server.schemas.base import ApiObject


class Completion(ApiObject):
    """One way to go on with a filter: the text to insert, and what it means."""

    text: str
    detail: str


class CompletionList(ApiObject):
    """What can stand in a filter between the characters `start` and `end`."""

    start: int
    end: int
    completions: list[Completion]


class ColumnList(ApiObject):
    """What can be a column of the overview: settings and metrics, at most 2,000 of each."""

    settings: list[str]
    metrics: list[str]


class SavedView(ApiObject):
    """A named filter of the overview with its order and columns. `project` is empty for all projects."""

    id: int
    name: str
    project: str
    filter: str
    sort: str
    columns: list[str]
    is_default: bool
    created_at: float
    created_by: str | None


class SavedViewList(ApiObject):
    """All saved views by name."""

    views: list[SavedView]


class ShareLink(ApiObject):
    """A link that shows one page read-only. Times are Unix seconds. `path` is the page within the server."""

    id: int
    path: str
    created_at: float
    created_by: str | None
    expires_at: float
    revoked_at: float | None
    last_used_at: float | None


class NewShareLink(ShareLink):
    """A share link with its address, which cannot be read again later."""

    address: str


class ShareLinkList(ApiObject):
    """All share links, the newest first."""

    links: list[ShareLink]
