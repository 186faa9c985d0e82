"""Trees of routes decide as a real Alertmanager: 500 generated ones, recorded from Debian's amtool."""

from __future__ import annotations

import json

from holter.server.alerting.routing import match_routes
from holter.server.alerting.routing.route_tree import build_route
from holter.settings.alerting import RouteSettings
from tests.support.alertmanager_routes import RECORDED, TREES, make_case


def receivers(seed: int) -> list[str]:
    tree, labels = make_case(seed)
    root = build_route(RouteSettings.model_validate(tree))
    return [route.receiver for route in match_routes(root, {name: (labels[name],) for name in labels})]


def test_five_hundred_trees_decide_as_alertmanager_does() -> None:
    recorded = json.loads(RECORDED.read_text())["receivers"]
    assert len(recorded) == TREES
    assert sum(len(names) > 1 for names in recorded) > 50  # `continue` matters
    assert [receivers(seed) for seed in range(TREES)] == recorded
