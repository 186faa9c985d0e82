// @ts-check
/** Starts the app: top bar, keyboard shortcuts, live stream, first page. */

import { stripLegend } from "./charts/health_strip.js";
import { inRun } from "./incidents/details.js";
import * as api from "./lib/api.js";
import { incidentTitle, setCatalogue, severityRank } from "./lib/catalogue.js";
import { announce, byId, h, link, refill } from "./lib/dom.js";
import { ago } from "./lib/format.js";
import { showFavicon } from "./lib/favicon.js";
import { icon } from "./lib/icons.js";
import * as keys from "./lib/keyboard.js";
import * as live from "./lib/live.js";
import { addSource, togglePalette } from "./lib/palette.js";
import * as prefs from "./lib/preferences.js";
import * as router from "./lib/router.js";
import { toast } from "./lib/toasts.js";
import { show as alerts } from "./pages/alerts.js";
import { show as compare } from "./pages/compare.js";
import { show as inbox } from "./pages/inbox.js";
import { show as incident } from "./pages/incident.js";
import { show as login } from "./pages/login.js";
import { show as notFound } from "./pages/not_found.js";
import { show as overview } from "./pages/overview.js";
import { show as planned } from "./pages/planned.js";
import { show as run } from "./pages/run.js";
import { show as settings } from "./pages/settings.js";

const THEMES = ["auto", "light", "dark"];
const neverAborted = new AbortController().signal;
/** @type {Map<number, string>} severities of open incidents that are not acknowledged, for the badge */
const unacknowledged = new Map();
const COUNTED = 100; // incidents that the badge counts
/** Whether more are unacknowledged than were counted. */
let uncounted = false;
/** @type {Set<number>} incidents already announced */
const announced = new Set();

const field = /** @type {HTMLInputElement} */ (
  h("input", {
    type: "search",
    class: "search-input",
    id: "search",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "search",
  })
);
const badge = h("span", { class: "badge", hidden: true });
/** Address, icon, text and keyboard shortcut of each page of the rail. @type {[string, string, string, string][]} */
const RAIL = [
  ["/", "runs", "Runs", "g r"],
  ["/compare", "compare", "Compare", "g c"],
  ["/incidents", "pulse", "Incidents", "g i"],
  ["/planned", "planned", "Planned", "g p"],
  ["/alerts", "alerts", "Alerts", "g a"],
  ["/settings", "settings", "Settings", "g s"],
];
/** The entry of the rail that a page belongs to. @type {Record<string, string>} */
const RAIL_OF_PAGE = { overview: "/", run: "/", inbox: "/incidents", incident: "/incidents" };
const railLinks = RAIL.filter(([address]) => router.match(address).name !== "missing").map(
  ([address, image, text, keyboard]) =>
    link(
      address,
      { class: "rail-link", title: `${text} (${keyboard})`, "aria-label": address === "/incidents" ? null : text },
      icon(image),
      h("span", { class: "rail-text" }, text),
      address === "/incidents" && badge,
    ),
);
const paletteButton = h(
  "button",
  {
    type: "button",
    class: "palette-button",
    title: "Command palette",
    on: { click: togglePalette },
  },
  h("kbd", {}, /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K"),
  h("span", { class: "visually-hidden" }, ", command palette"),
);
const connection = h("span", { class: "connection", role: "status" });
const themeButton = h("button", { type: "button", class: "icon-button", on: { click: nextTheme } });
const helpButton = h(
  "button",
  {
    type: "button",
    class: "icon-button bar-help",
    "aria-label": "Keyboard shortcuts",
    title: "Keyboard shortcuts (?)",
    on: { click: showHelp },
  },
  icon("help"),
);
/** The shortcuts of the page, and what the health strip of every run shows. */
function showHelp() {
  keys.showHelp(h("h2", { class: "help-strip" }, "Health strip"), stripLegend());
}
const logOutButton = h(
  "button",
  {
    type: "button",
    class: "icon-button",
    "aria-label": "Log out",
    title: "Log out",
    hidden: true,
    on: { click: logOut },
  },
  icon("leave"),
);

function buildBar() {
  refill(
    byId("top-bar"),
    link("/", { class: "brand", "aria-label": "Holter, all runs" }, icon("pulse"), h("span", {}, "Holter")),
    h(
      "label",
      { class: "search" },
      icon("search"),
      h("span", { class: "visually-hidden", id: "search-label" }, "Search"),
      field,
      h("kbd", { "aria-hidden": "true" }, "/"),
    ),
    paletteButton,
    connection,
    themeButton,
    helpButton,
    logOutButton,
  );
  refill(byId("rail"), ...railLinks);
  showTheme();
}

/** The part of a page's context that belongs to the top bar: title and search field. @param {{ name: string, signal: AbortSignal }} page */
function frame({ name, signal }) {
  byId("top-bar").hidden = byId("rail").hidden = name === "login";
  field.value = "";
  field.disabled = true;
  field.placeholder = "";
  const current = RAIL_OF_PAGE[name] ?? location.pathname;
  for (const item of railLinks) {
    if (item.getAttribute("href") === current) item.setAttribute("aria-current", "page");
    else item.removeAttribute("aria-current");
  }
  return {
    /** @param {string} text */
    title: (text) => (document.title = text ? `${text} · Holter` : "Holter"),
    /** @type {router.PageContext["search"]} */
    search({ label, value = "", onInput, onKey }) {
      field.disabled = false;
      field.value = value;
      field.placeholder = label;
      byId("search-label").textContent = label;
      field.addEventListener("input", () => onInput(field.value), { signal });
      if (onKey) field.addEventListener("keydown", onKey, { signal });
      return field;
    },
  };
}

function nextTheme() {
  prefs.set("theme", THEMES[(THEMES.indexOf(prefs.get("theme", "auto")) + 1) % THEMES.length]);
  prefs.applyTheme();
  showTheme();
}

function showTheme() {
  const chosen = prefs.get("theme", "auto");
  refill(themeButton, icon(chosen));
  themeButton.setAttribute("aria-label", `Theme: ${chosen}. Change theme`);
  themeButton.title = `Theme: ${chosen} (t)`;
}

async function logOut() {
  await api.logOut();
  location.assign("/login");
}

/** @param {import("./lib/api_types.js").IncidentView} item */
function updateBadge(item) {
  if (item.state === "open" && !item.acknowledged_at && item.severity !== "info")
    unacknowledged.set(item.id, item.severity);
  else unacknowledged.delete(item.id);
  badge.hidden = unacknowledged.size === 0;
  badge.textContent = unacknowledged.size > 99 ? "99+" : String(unacknowledged.size);
  if (uncounted && unacknowledged.size < COUNTED) countAgain();
  const worst = [...unacknowledged.values()].sort((a, b) => severityRank(a) - severityRank(b))[0];
  showFavicon(worst ?? "ok");
  badge.setAttribute("aria-label", `${badge.textContent} unacknowledged`);
}

/** @param {import("./lib/api_types.js").IncidentView} item */
function onIncident(item) {
  updateBadge(item);
  const isNew = item.state === "open" && !announced.has(item.id) && Date.now() / 1000 - item.opened_at < 60;
  announced.add(item.id);
  if (!isNew) return;
  const text = `${incidentTitle(item)}${inRun(item)}: ${item.summary}`;
  const here = location.pathname === `/incidents/${item.id}` || location.pathname === "/incidents";
  if (here) announce(text);
  else toast(text, { action: "Show", run: () => router.go(`/incidents/${item.id}`), tone: item.severity });
}

/** The actions that have a keyboard shortcut on the present page, for the palette. @returns {import("./lib/palette.js").PaletteItem[]} */
const actionsOfPage = () =>
  keys.bindings().map((binding) => ({
    group: binding.label.startsWith("Go to") ? "Pages" : "Actions",
    title: binding.label,
    keys: binding.keys.split(", ")[0],
    run: () => binding.run(new KeyboardEvent("keydown")),
  }));

/** The runs that match a query, for the palette. @param {string} query @returns {Promise<import("./lib/palette.js").PaletteItem[]>} */
async function matchingRuns(query) {
  const found = await api.findRuns(query);
  return found.map(({ id, name, project, state }) => ({
    group: "Runs",
    title: name,
    detail: `${project} · ${state}`,
    run: () => router.go(`/runs/${encodeURIComponent(id)}`),
  }));
}

const countAgain = live.throttled(neverAborted, 1000, countUnacknowledged);

async function countUnacknowledged() {
  try {
    const { incidents: open, total } = await api.incidentPage({ state: "unacknowledged", order: "severity", limit: COUNTED });
    unacknowledged.clear();
    uncounted = false; // while they are entered one by one
    for (const item of open) {
      announced.add(item.id);
      updateBadge(item);
    }
    uncounted = total > open.length && unacknowledged.size === open.length; // otherwise the rest is information
  } catch {
    // the page itself reports that the server is unreachable
  }
}

/** The session, whose catalogue the pages use; null if the server is unreachable. */
async function loadSession() {
  const session = await api.session().catch(() => null);
  if (session?.findings) setCatalogue(session.findings);
  return session;
}

async function start() {
  prefs.applyTheme();
  showFavicon("ok");
  for (const media of ["(prefers-color-scheme: dark)", "print"])
    matchMedia(media).addEventListener("change", prefs.applyTheme);
  buildBar();
  keys.start();
  keys.bind(null, [
    { keys: "/", label: "Search", run: () => field.focus() },
    ...RAIL.filter(([address]) => router.match(address).name !== "missing").map(([address, , text, keyboard]) => ({
      keys: keyboard,
      label: `Go to ${text.toLowerCase()}`,
      run: () => router.go(address),
    })),
    { keys: "t", label: "Change theme", run: nextTheme },
    { keys: "?", label: "Show shortcuts", run: showHelp },
  ]);
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    togglePalette();
  });
  addSource(null, actionsOfPage);
  addSource(null, matchingRuns);
  field.addEventListener("keydown", (event) => event.key === "Escape" && field.blur());
  const toLogin = () => {
    if (location.pathname === "/login") return;
    router.go(`/login?next=${encodeURIComponent(location.pathname + location.search)}`, { replace: true });
  };
  const session = await loadSession();
  logOutButton.hidden = !session?.login_required || Boolean(session.shared_path);
  api.whenLoginRequired(toLogin);
  if (session?.shared_path) document.documentElement.dataset.readOnly = "";
  const mustLogIn = session?.login_required && !session.logged_in; // a share link counts as a login
  if (mustLogIn && location.pathname !== "/login") {
    history.replaceState(null, "", `/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  router.start(
    { overview, run, compare, inbox, incident, planned, alerts, settings, login, missing: notFound },
    frame,
  );
  if (mustLogIn) return; // after the login the page is loaded again
  if (session?.shared_path) return; // a share link shows one page, without the live stream
  live.listen(neverAborted, {
    incident: onIncident,
    state: (connected) => refill(connection, connected ? "" : "Server unreachable, retrying"),
    reconnected() {
      if (!session) void loadSession(); // the server was unreachable when the page was loaded
      void countUnacknowledged();
    },
  });
  live.start();
  void countUnacknowledged();
  setInterval(() => {
    for (const element of document.querySelectorAll("[data-ago]"))
      element.textContent = ago(Number(/** @type {HTMLElement} */ (element).dataset.ago));
  }, 5000);
}

void start();
