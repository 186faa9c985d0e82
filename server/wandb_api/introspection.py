"""Questions about the server: who the user is, which features and operations there are."""

from __future__ import annotations

import json
import re
from typing import Any

from holter.server.wandb_api.operations import GraphqlCall, Operation
from holter.server.wandb_api.run_state import DEFAULT_ENTITY

_TYPE = re.compile(
    r"\b(\w{1,100}+)\s{0,9}+:\s{0,9}+__type\s{0,9}+\(\s{0,9}+name\s{0,9}+:\s{0,9}+\"(\w{1,100})\""
)
_TYPES = {
    "Mutation": ("createRunFiles", "notifyScriptableRunAlert", "upsertBucket", "rewindRun", "stopRun"),
    "Query": ("viewer", "serverInfo", "model", "project"),
    "ServerInfo": ("cliVersionInfo", "latestLocalVersionInfo", "features"),
}
_FEATURES = ("FILESTREAM_GZIP",)
# without these, clients before 0.18 send no alerts, and all before 0.26 print that the server is old
_SERVER_INFO: dict[str, Any] = {
    "cliVersionInfo": {"max_cli_version": "99.0.0"},
    "latestLocalVersionInfo": {
        "outOfDate": False,
        "latestVersionString": "0.1.0",
        "versionOnThisInstanceString": "0.1.0",
    },
    "features": [{"name": name, "isEnabled": True} for name in _FEATURES],
}


def describe_types(call: GraphqlCall) -> dict[str, Any]:
    """The fields of each type that the query names; none for types that Holter does not have."""
    return {
        alias: {"name": name, "fields": [{"name": field} for field in _TYPES.get(name, ())]}
        for alias, name in _TYPE.findall(call.query)
    }


def viewer(call: GraphqlCall) -> dict[str, Any]:
    """The user of the key."""
    name = call.user or DEFAULT_ENTITY
    person: dict[str, Any] = {
        "id": name,
        "entity": DEFAULT_ENTITY,
        "username": name,
        "name": name,
        "email": "",
        "admin": False,
        "deletedAt": None,
        "flags": json.dumps({}),
        "teams": {"edges": [{"node": {"name": DEFAULT_ENTITY}}]},
        "apiKeys": {"edges": []},
        "defaultEntity": {"name": DEFAULT_ENTITY},
    }
    return {"viewer": person, "serverInfo": _SERVER_INFO}


def server_info(_: GraphqlCall) -> dict[str, Any]:
    """The features of the server."""
    return {"serverInfo": _SERVER_INFO}


OPERATIONS: dict[str, Operation] = {
    "Viewer": viewer,
    "GetViewer": viewer,
    "GetDefaultEntity": viewer,
    "ServerFeaturesQuery": server_info,
    "ServerInfo": server_info,
    "ProbeServerCapabilities": describe_types,
    "ProbeServerSettings": describe_types,
}
