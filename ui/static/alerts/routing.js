// @ts-check
/** Routing as it is in force: the tree of routes, inhibition, time intervals and digests. */

import { severityMark } from "../lib/badges.js";
import { codeName, h } from "../lib/dom.js";
import { duration } from "../lib/format.js";
import { dataTable } from "../lib/page_parts.js";

/** @typedef {import("../lib/api_types.js").RouteView} RouteView */
/** @typedef {import("../lib/api_types.js").RoutingView} RoutingView */

/** What a route does besides its receiver, as a list of sentences. Pure. @param {RouteView} route @returns {string[]} */
export function routeSettings(route) {
  const { group_by: groups, group_wait: wait, mute_time_intervals: muted, active_time_intervals: active } = route;
  const isGroup = groups.join() !== "incident";
  const together = groups.join() === "..." ? "one message for equal labels" : `one message for equal ${groups.join(", ")}`;
  return [
    isGroup ? together : "one message for each incident",
    wait !== null && `the first after ${duration(wait)}`,
    isGroup && `more after ${duration(route.group_interval)}`,
    route.repeat_interval > 0 ? `reminder after ${duration(route.repeat_interval)}` : "no reminders",
    route.escalate_after > 0 && `to ${route.escalate_to} if nobody acknowledges within ${duration(route.escalate_after)}`,
    muted.length > 0 && `muted during ${muted.join(", ")}`,
    active.length > 0 && `active only during ${active.join(", ")}`,
    muted.length + active.length > 0 && (route.critical_passes ? "critical incidents pass" : "critical incidents, too"),
    route.continues && "the routes after it are tried, too",
  ].filter((text) => text !== false);
}

/** What each route of a tree adds to the route above it; everything where it takes something back. Pure. @param {RouteView[]} routes in the order of the tree */
export function addedSettings(routes) {
  /** @type {string[][]} by depth */
  const above = [];
  return routes.map((route) => {
    const all = routeSettings(route);
    const known = above[route.depth - 1] ?? [];
    above[route.depth] = routeSettings({ ...route, continues: false, mute_time_intervals: [], active_time_intervals: [] });
    return known.every((text) => all.includes(text)) ? all.filter((text) => !known.includes(text)) : all;
  });
}

/**
 * A policy as a tree and tables; of one that is compared with `other`, only the tables that differ.
 * @param {RoutingView} routing @param {RoutingView | null} [other]
 */
export function routingParts(routing, other = null) {
  const { routes, inhibit_rules: rules, time_intervals: intervals, digests } = routing;
  const added = addedSettings(routes);
  /** @param {"inhibit_rules" | "time_intervals" | "digests"} name */
  const isShown = (name) => routing[name].length > 0 && JSON.stringify(routing[name]) !== JSON.stringify(other?.[name]);
  return [
    h(
      "ol",
      { class: "route-tree", "aria-label": "Routes, in the order in which they are tried" },
      routes.map((route, i) => routeItem(route, added[i], routes.length === 1)),
    ),
    isShown("time_intervals") &&
      part(
        "Time intervals",
        ["Time interval", "When", "Now"],
        intervals.map(({ name, active, parts }) => [name, lines(parts), active ? severityMark("ok", "inside") : "outside"]),
      ),
    isShown("inhibit_rules") &&
      part(
        "Inhibition",
        ["Inhibition", "While open", "Muted", "With the same"],
        rules.map((rule) => [rule.name, matchers(rule.source_matchers), matchers(rule.target_matchers), rule.equal.join(", ")]),
      ),
    isShown("digests") &&
      part(
        "Digests",
        ["Digest", "Receiver", "When", "Incidents"],
        digests.map((digest) => [
          digest.name,
          digest.receiver,
          `${digest.weekday ?? "every day"}, ${digest.at} (${digest.location})`,
          digest.matchers.length ? matchers(digest.matchers) : "all",
        ]),
      ),
  ];
}

/** @param {RouteView} route @param {string[]} settings @param {boolean} isOnly */
function routeItem(route, settings, isOnly) {
  const { depth, path, matchers: all, receiver, channels } = route;
  const names = channels.join(", ");
  const rest = isOnly ? "Every incident" : depth === 0 ? "Whatever no route below takes" : "All others";
  return h(
    "li",
    { style: { "--depth": String(depth) } },
    h(
      "p",
      { class: "route-head" },
      all.length ? matchers(all) : h("span", {}, rest),
      h("span", { class: "route-to" }, "to ", h("b", {}, receiver === "none" ? "nobody" : receiver), names && names !== receiver && ` (${names})`),
    ),
    settings.length > 0 && h("p", { class: "quiet" }, settings.join(" · ")),
    h("p", { class: "quiet route-path" }, path),
  );
}

/** @param {string} title @param {string[]} columns @param {import("../lib/dom.js").Child[][]} rows */
const part = (title, columns, rows) => h("div", { class: "routing-part" }, h("h3", {}, title), dataTable(title, columns, rows));

/** @param {string[]} all */
const matchers = (all) => h("span", {}, all.map((matcher) => codeName(matcher, "matcher")));

/** @param {string[]} texts */
const lines = (texts) => h("span", {}, texts.map((text) => h("span", { class: "block" }, text)));
