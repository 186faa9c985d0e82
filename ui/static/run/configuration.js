// @ts-check
/** How a run's launches are set up: what is remarked on it, what changed between attempts, every setting. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { severityMark } from "../lib/labels.js";

/** @typedef {import("../lib/types.js").Remark} Remark */
/** @typedef {import("../lib/types.js").RunConfig} RunConfig */
/** @typedef {import("../lib/types.js").ChangedLaunch} ChangedLaunch */
/** @typedef {import("../lib/types.js").Setting} Setting */

const PATIENCE = 300; // ms after the last letter until the server is asked

/** @param {{ runId: string, signal: AbortSignal, onRemarks: (found: Remark[]) => void }} options `onRemarks`: each once */
export function createSetUp({ runId, signal, onRemarks }) {
  const remarks = h("ul", { class: "setup-remarks" });
  const changes = folded("setup-changes");
  const settings = folded("setup-settings");
  const search = h("input", {
    class: "field", type: "search", placeholder: "Name or value", "aria-label": "Find a setting",
  });
  const table = h("div", {});
  settings.body.append(search, table);
  const heading = h("h2", { tabindex: -1 }, "Set-up");
  const element = h("section", { class: "setup", hidden: true }, heading, remarks, changes.element, settings.element);
  let known = ""; // what of the run they were fetched for
  let timer = 0;

  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void api.configOf(runId, value(search), signal).then(showSettings, () => {}), PATIENCE);
  });

  /** @param {Remark[]} found @param {RunConfig} config */
  function show(found, config) {
    const several = config.attempts.length > 1;
    const once = together(found);
    onRemarks(once);
    element.hidden = found.length === 0 && config.settings_count === 0;
    remarks.hidden = found.length === 0;
    refill(remarks, ...once.map((one) => remarkItem(one, several)));
    changes.element.hidden = config.changes.length === 0;
    changes.summary.textContent = `Changed ${atAttempts(config.changes.map((one) => one.attempt))}`;
    refill(changes.body, ...config.changes.map(changedLaunch));
    settings.element.hidden = config.settings_count === 0;
    settings.summary.textContent = `All ${count(config.settings_count, "setting")}`;
    if (!value(search)) showSettings(config);
  }

  /** @param {RunConfig} config */
  function showSettings({ settings: found, settings_count: all, attempts }) {
    const rest = all - found.length;
    refill(
      table,
      found.length ? settingsTable(found, attempts) : h("p", { class: "quiet" }, "No setting says that."),
      rest > 0 ? h("p", { class: "quiet" }, `And ${count(rest, "more", "more")}: type to find them.`) : null,
    );
  }

  return {
    element,
    /** Bring it into sight, and readers of screens to its heading. */
    goTo() {
      element.scrollIntoView({ block: "start" });
      heading.focus({ preventScroll: true });
    },
    /** The run is as it is now: look again where its launches may say something new. @param {import("../lib/types.js").RunDetail} run */
    follow(run) {
      const now = `${run.attempts} ${run.state} ${run.series} ${Object.keys(run.config).length}`;
      if (now === known) return;
      known = now;
      void Promise.all([api.remarksOn(runId, signal), api.configOf(runId, "", signal)]).then(
        ([found, config]) => show(found, config),
        () => (known = ""), // the next news asks again
      );
    },
  };
}

/** "at attempt 3", "at attempts 1, 3". Pure. @param {number[]} attempts */
export function atAttempts(attempts) {
  const shown = attempts.slice(0, 8).join(", ");
  return `at attempt${attempts.length === 1 ? "" : "s"} ${shown}${attempts.length > 8 ? " and more" : ""}`;
}

/** A setting's value as its log has it. Pure. @param {import("../lib/types.js").ConfigValue | null} stated */
export function valueText(stated) {
  if (stated === null) return "not stated";
  return stated === "" ? "(empty)" : String(stated);
}

/** Whose a value is, where it is not the whole job's. Pure. @param {import("../lib/types.js").Holders} holders */
export function holdersText({ processes, labels }) {
  if (!processes) return "";
  const [first] = labels;
  const named = Object.entries(first ?? {}).map(([name, label]) => `${name} ${label}`).join(", ");
  return processes === 1 ? named : `${count(processes, "process", "processes")}, e.g. ${named}`;
}

/** Attempts as ranges: 0–2, 5. Pure. @param {number[]} attempts */
export function ranges(attempts) {
  /** @type {[number, number][]} */
  const found = [];
  for (const one of attempts) {
    const last = found.at(-1);
    if (last && last[1] === one - 1) last[1] = one;
    else found.push([one, one]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
}

/**
 * The same words on several attempts are one remark, in the place of the first. Pure.
 * @param {Remark[]} found @returns {(Remark & { attempts: number[] })[]}
 */
export function together(found) {
  const known = /** @type {Map<string, Remark & { attempts: number[] }>} */ (new Map());
  for (const one of found) {
    const words = JSON.stringify([one.code, one.labels, one.severity, one.summary, one.advice]);
    const before = known.get(words);
    if (before) before.attempts.push(one.attempt);
    else known.set(words, { ...one, attempts: [one.attempt] });
  }
  return [...known.values()];
}

/** @param {Remark & { attempts: number[] }} remark @param {boolean} several are there several attempts? */
function remarkItem(remark, several) {
  const { labels, attempts } = remark;
  const whose = Object.entries(labels)
    .filter(([name, label]) => name !== "host" || !remark.summary.includes(label)) // its sentence may name it
    .map(([name, label]) => `${name} ${label}`);
  const when = several ? [`attempt${attempts.length > 1 ? "s" : ""} ${ranges(attempts)}`] : [];
  const where = [...when, ...whose].join(", ");
  return h(
    "li",
    {},
    h("div", { class: "setup-where" }, severityMark(remark.severity), where ? h("span", { class: "quiet number" }, where) : null),
    h("p", {}, remark.summary),
    remark.advice ? h("p", { class: "quiet" }, remark.advice) : null,
  );
}

/** @param {ChangedLaunch} launch */
function changedLaunch({ attempt, settings, settings_count: all }) {
  const rows = settings.map((one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, one.name, holder(one)),
      h("td", { class: "number" }, h("span", { class: "quiet" }, `${valueText(one.before)} → `), valueText(one.after)),
    ),
  );
  return [
    h("h3", {}, `Attempt ${attempt}`),
    h("table", { class: "setup-table" }, h("tbody", {}, rows)),
    all > settings.length ? h("p", { class: "quiet" }, `And ${all - settings.length} more.`) : null,
  ];
}

/** @param {Setting[]} settings @param {number[]} attempts */
function settingsTable(settings, attempts) {
  const rows = settings.flatMap(({ name, values }) =>
    values.map((one, at) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, at ? "" : name),
        h(
          "td",
          { class: "number" },
          valueText(one.value),
          one.attempts.length < attempts.length
            ? h("span", { class: "quiet" }, ` attempt${one.attempts.length > 1 ? "s" : ""} ${ranges(one.attempts)}`)
            : null,
          holder(one),
        ),
      ),
    ),
  );
  return h("table", { class: "setup-table" }, h("tbody", {}, rows));
}

/** @param {import("../lib/types.js").Holders} holders */
function holder(holders) {
  const text = holdersText(holders);
  return text ? h("span", { class: "quiet" }, ` ${text}`) : null;
}

/** @param {string} name */
function folded(name) {
  const summary = h("summary", {});
  const body = h("div", {});
  return { summary, body, element: h("details", { class: name, hidden: true }, summary, body) };
}

/** @param {HTMLElement} input */
const value = (input) => /** @type {HTMLInputElement} */ (input).value.trim();
