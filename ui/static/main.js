// @ts-check
/** Starts the app: top bar, keyboard shortcuts, live stream, first page. */

import { inRun } from "./incidents/details.js";
import * as api from "./lib/api.js";
import { incidentTitle, setCatalogue } from "./lib/catalogue.js";
import { announce, byId, h, link, refill } from "./lib/dom.js";
import { ago } from "./lib/format.js";
import { icon } from "./lib/icons.js";
import * as keys from "./lib/keyboard.js";
import * as live from "./lib/live.js";
import * as prefs from "./lib/preferences.js";
import * as router from "./lib/router.js";
import { toast } from "./lib/toasts.js";
import { show as inbox } from "./pages/inbox.js";
import { show as incident } from "./pages/incident.js";
import { show as login } from "./pages/login.js";
import { show as notFound } from "./pages/not_found.js";
import { show as overview } from "./pages/overview.js";
import { show as run } from "./pages/run.js";

const THEMES = ["auto", "light", "dark"];
const neverAborted = new AbortController().signal;
/** @type {Set<number>} open incidents that are not acknowledged, for the badge */
const unacknowledged = new Set();
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
const runsLink = link("/", { class: "bar-link" }, "Runs");
const inboxLink = link("/incidents", { class: "bar-link" }, "Incidents", badge);
const connection = h("span", { class: "connection", role: "status" });
const themeButton = h("button", { type: "button", class: "icon-button", on: { click: nextTheme } });
const helpButton = h(
  "button",
  {
    type: "button",
    class: "icon-button bar-help",
    "aria-label": "Keyboard shortcuts",
    title: "Keyboard shortcuts (?)",
    on: { click: keys.showHelp },
  },
  icon("help"),
);
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
    h("nav", { "aria-label": "Main" }, runsLink, inboxLink),
    h(
      "label",
      { class: "search" },
      icon("search"),
      h("span", { class: "visually-hidden", id: "search-label" }, "Search"),
      field,
      h("kbd", { "aria-hidden": "true" }, "/"),
    ),
    connection,
    themeButton,
    helpButton,
    logOutButton,
  );
  showTheme();
}

/** The part of a page's context that belongs to the top bar: title and search field. @param {{ name: string, signal: AbortSignal }} page */
function frame({ name, signal }) {
  byId("top-bar").hidden = name === "login";
  field.value = "";
  field.disabled = true;
  field.placeholder = "";
  const current = { overview: runsLink, run: runsLink, inbox: inboxLink, incident: inboxLink }[name];
  for (const item of [runsLink, inboxLink]) item.toggleAttribute("aria-current", item === current);
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
  if (item.state === "open" && !item.acknowledged_at && item.severity !== "info") unacknowledged.add(item.id);
  else unacknowledged.delete(item.id);
  badge.hidden = unacknowledged.size === 0;
  badge.textContent = String(unacknowledged.size);
  badge.setAttribute("aria-label", `${unacknowledged.size} unacknowledged`);
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

async function countUnacknowledged() {
  try {
    const open = await api.incidents({ state: "open" });
    unacknowledged.clear();
    for (const item of open) {
      announced.add(item.id);
      updateBadge(item);
    }
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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", prefs.applyTheme);
  buildBar();
  keys.start();
  keys.bind(null, [
    { keys: "/", label: "Search", run: () => field.focus() },
    { keys: "g r", label: "Go to runs", run: () => router.go("/") },
    { keys: "g i", label: "Go to incidents", run: () => router.go("/incidents") },
    { keys: "t", label: "Change theme", run: nextTheme },
    { keys: "?", label: "Show shortcuts", run: keys.showHelp },
  ]);
  field.addEventListener("keydown", (event) => event.key === "Escape" && field.blur());
  const toLogin = () => {
    if (location.pathname === "/login") return;
    router.go(`/login?next=${encodeURIComponent(location.pathname + location.search)}`, { replace: true });
  };
  const session = await loadSession();
  logOutButton.hidden = !session?.login_required;
  api.whenLoginRequired(toLogin);
  if (session?.login_required && !session.logged_in && location.pathname !== "/login") {
    history.replaceState(null, "", `/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  router.start({ overview, run, inbox, incident, login, missing: notFound }, frame);
  if (session?.login_required && !session.logged_in) return; // after the login the page is loaded again
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
