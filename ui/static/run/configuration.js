// @ts-check
/** The configuration and the environment of a run's launches: diagnostics, changes between attempts, all settings. */

import * as api from "../lib/api.js";
import { severityMark } from "../lib/badges.js";
import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").DiagnosticView} DiagnosticView */
/** @typedef {import("../lib/api_types.js").RunConfig} RunConfig */
/** @typedef {import("../lib/api_types.js").LaunchChanges} LaunchChanges */
/** @typedef {import("../lib/api_types.js").LaunchSetting} LaunchSetting */

const SEARCH_DELAY = 300; // ms after the last keystroke until the search starts

/** @param {{ runId: string, signal: AbortSignal, onDiagnostics: (found: DiagnosticView[]) => void }} options `onDiagnostics`: each once */
export function createConfiguration({ runId, signal, onDiagnostics }) {
  const diagnosticList = h("ul", { class: "diagnostics", hidden: true });
  const settings = createSettings({
    name: "config",
    load: (q) => api.configOf(runId, q, signal),
    changesTitle: "Changes",
    allTitle: (settingsCount) => settingsCount === 1 ? "1 setting" : `All ${count(settingsCount, "setting")}`,
    placeholder: "Name or value",
    searchLabel: "Search settings",
  });
  const environment = createSettings({
    name: "environment",
    load: (q) => api.environmentOf(runId, q, signal),
    changesTitle: "Changes of the environment",
    allTitle: (settingsCount) => `Environment: ${count(settingsCount, "value")}`,
    placeholder: "Package, variable or value",
    searchLabel: "Search the environment",
  });
  const heading = h("h2", { tabindex: -1 }, "Configuration");
  const element = h(
    "section",
    { class: "configuration", hidden: true },
    heading,
    diagnosticList,
    settings.element,
    environment.element,
  );
  let fetchedFor = { diagnostics: "", settings: "" }; // the versions of the run for which data was fetched

  /** @param {DiagnosticView[]} diagnostics @param {boolean} hasAttempts */
  function showDiagnostics(diagnostics, hasAttempts) {
    const unique = mergeAttempts(diagnostics);
    onDiagnostics(unique);
    diagnosticList.hidden = diagnostics.length === 0;
    refill(diagnosticList, ...unique.map((diagnostic) => diagnosticItem(diagnostic, hasAttempts)));
    if (unique.length > 0) element.hidden = false;
  }

  /** @param {RunConfig} config @param {RunConfig} launched the environment */
  function showSettings(config, launched) {
    element.hidden = diagnosticList.hidden && config.settings_count === 0 && launched.settings_count === 0;
    settings.show(config);
    environment.show(launched);
  }

  return {
    element,
    /** Scroll to the section and focus its heading. */
    goTo() {
      element.scrollIntoView({ block: "start" });
      heading.focus({ preventScroll: true });
    },
    /**
     * Fetch again if the run has new attempts, series or settings, or has ended; settings once the section is near.
     * @param {import("../lib/api_types.js").RunDetail} run @param {boolean} isNear
     */
    follow(run, isNear) {
      const version = `${run.attempts} ${run.state} ${run.series} ${Object.keys(run.config).length}`;
      if (version !== fetchedFor.diagnostics) {
        fetchedFor.diagnostics = version;
        void api.diagnosticsOf(runId, signal).then(
          (diagnostics) => showDiagnostics(diagnostics, run.attempts > 1),
          () => (fetchedFor.diagnostics = ""), // the next event fetches again
        );
      }
      if (!isNear || version === fetchedFor.settings) return;
      fetchedFor.settings = version;
      void Promise.all([api.configOf(runId, "", signal), api.environmentOf(runId, "", signal)]).then(
        ([config, launched]) => showSettings(config, launched),
        () => (fetchedFor.settings = ""),
      );
    },
  };
}

const IN_ONE_COLUMN = 16; // settings

/**
 * The changes between attempts, and all settings with a search; both folded.
 * @param {{ name: string, load: (q: string) => Promise<RunConfig>, changesTitle: string,
 *   allTitle: (settingsCount: number) => string, placeholder: string, searchLabel: string }} options
 */
function createSettings({ name, load, changesTitle, allTitle, placeholder, searchLabel }) {
  const changes = foldedSection(`${name}-changes`);
  const all = foldedSection(`${name}-settings`);
  const search = h("input", { class: "field", type: "search", placeholder, "aria-label": searchLabel });
  const table = h("div", {});
  all.body.append(search, table);
  const element = h("div", {}, changes.element, all.element);
  let timer = 0;

  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void load(value(search)).then(showSettings, () => {}), SEARCH_DELAY);
  });

  /** @param {RunConfig} config */
  function show(config) {
    changes.element.hidden = config.changes.length === 0;
    changes.summary.textContent = `${changesTitle} ${atAttempts(config.changes.map((launch) => launch.attempt))}`;
    refill(changes.body, ...config.changes.map(changedLaunch));
    all.element.hidden = config.settings_count === 0;
    all.summary.textContent = allTitle(config.settings_count);
    if (!value(search)) showSettings(config);
  }

  /** @param {RunConfig} config */
  function showSettings({ settings: shown, settings_count: found, attempts }) {
    const hidden = found - shown.length;
    table.className = shown.length > IN_ONE_COLUMN ? "settings-columns" : "";
    refill(
      table,
      shown.length ? settingsTable(shown, attempts) : h("p", { class: "quiet" }, "No matching settings."),
      hidden > 0
        ? h("p", { class: "quiet" }, `${count(hidden, "more", "more")}: search to find them.`)
        : null,
    );
  }

  return { element, show };
}

/** "at attempt 3", "at attempts 1, 3". Pure. @param {number[]} attempts */
export function atAttempts(attempts) {
  const shown = attempts.slice(0, 8).join(", ");
  return `at attempt${attempts.length === 1 ? "" : "s"} ${shown}${attempts.length > 8 ? " and more" : ""}`;
}

/** The value of a setting, as text. Pure. @param {import("../lib/api_types.js").ConfigValue | null} stated */
export function valueText(stated) {
  if (stated === null) return "not stated";
  return stated === "" ? "(empty)" : String(stated);
}

/** The processes that have a value, unless it is one of the entire job. Pure. @param {import("../lib/api_types.js").SettingHolders} holders */
export function holdersText({ processes, labels }) {
  if (!processes) return "";
  const [first] = labels;
  const named = Object.entries(first ?? {})
    .map(([name, label]) => `${name} ${label}`)
    .join(", ");
  return processes === 1 ? named : `${count(processes, "process", "processes")}, e.g. ${named}`;
}

/** Attempts as ranges: 0–2, 5. Pure. @param {number[]} attempts */
export function attemptRanges(attempts) {
  /** @type {[number, number][]} */
  const merged = [];
  for (const attempt of attempts) {
    const last = merged.at(-1);
    if (last && last[1] === attempt - 1) last[1] = attempt;
    else merged.push([attempt, attempt]);
  }
  return merged.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
}

/**
 * Merge equal diagnostics of several attempts, at the position of the first. Pure.
 * @param {DiagnosticView[]} diagnostics @returns {(DiagnosticView & { attempts: number[] })[]}
 */
export function mergeAttempts(diagnostics) {
  const merged = /** @type {Map<string, DiagnosticView & { attempts: number[] }>} */ (new Map());
  for (const diagnostic of diagnostics) {
    const words = JSON.stringify([
      diagnostic.code,
      diagnostic.labels,
      diagnostic.severity,
      diagnostic.summary,
      diagnostic.advice,
    ]);
    const before = merged.get(words);
    if (before) before.attempts.push(diagnostic.attempt);
    else merged.set(words, { ...diagnostic, attempts: [diagnostic.attempt] });
  }
  return [...merged.values()];
}

/** @param {DiagnosticView & { attempts: number[] }} diagnostic @param {boolean} several are there several attempts? */
function diagnosticItem(diagnostic, several) {
  const { labels, attempts } = diagnostic;
  const owner = Object.entries(labels)
    .filter(([name, label]) => name !== "host" || !diagnostic.summary.includes(label)) // the summary may name the host
    .map(([name, label]) => `${name} ${label}`);
  const when = several ? [`attempt${attempts.length > 1 ? "s" : ""} ${attemptRanges(attempts)}`] : [];
  const where = [...when, ...owner].join(", ");
  return h(
    "li",
    {},
    h(
      "div",
      { class: "diagnostic-location" },
      severityMark(diagnostic.severity),
      where ? h("span", { class: "quiet number" }, where) : null,
    ),
    h("p", {}, diagnostic.summary),
    diagnostic.advice ? h("p", { class: "quiet" }, diagnostic.advice) : null,
  );
}

/** @param {LaunchChanges} launch */
function changedLaunch({ attempt, settings, settings_count: all }) {
  const rows = settings.map((setting) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, setting.name, holder(setting)),
      h(
        "td",
        { class: "number" },
        h("span", { class: "quiet" }, `${valueText(setting.before)} → `),
        valueText(setting.after),
      ),
    ),
  );
  return [
    h("h3", {}, `Attempt ${attempt}`),
    h("table", { class: "settings-table" }, h("tbody", {}, rows)),
    all > settings.length ? h("p", { class: "quiet" }, `${all - settings.length} more.`) : null,
  ];
}

/** @param {LaunchSetting[]} settings @param {number[]} attempts */
function settingsTable(settings, attempts) {
  const rows = settings.flatMap(({ name, values }) =>
    values.map((variant, index) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, index ? "" : name),
        h(
          "td",
          { class: "number" },
          valueText(variant.value),
          variant.attempts.length < attempts.length
            ? h(
                "span",
                { class: "quiet" },
                ` attempt${variant.attempts.length > 1 ? "s" : ""} ${attemptRanges(variant.attempts)}`,
              )
            : null,
          holder(variant),
        ),
      ),
    ),
  );
  return h("table", { class: "settings-table" }, h("tbody", {}, rows));
}

/** @param {import("../lib/api_types.js").SettingHolders} holders */
function holder(holders) {
  const text = holdersText(holders);
  return text ? h("span", { class: "quiet" }, ` ${text}`) : null;
}

/** @param {string} name */
function foldedSection(name) {
  const summary = h("summary", {});
  const body = h("div", {});
  return { summary, body, element: h("details", { class: name, hidden: true }, summary, body) };
}

/** @param {HTMLElement} input */
const value = (input) => /** @type {HTMLInputElement} */ (input).value.trim();
