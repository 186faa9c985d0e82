// @ts-check
/** The data of a run: what could not be read or was not stored, export, deletion. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { go } from "../lib/router.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/api_types.js").UnreadableLocation} UnreadableLocation */

/** Whether data was refused by a limit rather than unreadable. Pure. @param {UnreadableLocation} location */
export const isRefused = ({ place, reason }) => place.startsWith("max_") || reason.startsWith(`${place}:`);

/** What is missing, in one line. Pure. @param {UnreadableLocation[]} locations the newest @param {number} total */
export function unreadableSummary(locations, total) {
  const refused = locations.filter(isRefused).length;
  const unread = total - refused;
  return [
    unread && `${count(unread, "log location")} could not be read`,
    refused && (unread ? "series were not stored" : "Series were not stored"),
  ]
    .filter(Boolean)
    .join(", and ");
}

export function createUnreadable() {
  const summary = h("summary", {});
  const list = h("ul", {});
  const element = h("details", { class: "all-series unreadable", hidden: true }, summary, list);

  /** @param {RunDetail} run */
  function show(run) {
    const { unreadable, unreadable_count: total } = run;
    element.hidden = total === 0;
    refill(summary, unreadableSummary(unreadable, total));
    refill(
      list,
      ...unreadable.map((location) =>
        h(
          "li",
          {},
          isRefused(location) ? location.reason : `${location.source}, ${location.place}: ${location.reason}`,
        ),
      ),
      total > unreadable.length
        ? h("li", { class: "quiet" }, `The newest ${unreadable.length} are shown.`)
        : "",
    );
  }

  return { element, show };
}

const FORMATS = ["parquet", "csv", "json"];

/** @param {{ id: string, name: string, project: string, points: () => number }} run */
export function createExportDelete(run) {
  const deletion = h("p", { class: "export-delete-confirm" });
  const files = FORMATS.map((form) =>
    h("a", { class: "button", href: api.exportOf(run.id, form), download: "" }, form.toUpperCase()),
  );
  const finish = h("p", {}, "A run that is not over becomes stalled when it is silent: ", button("Mark as finished", () => void markFinished()));
  const element = h(
    "details",
    { class: "all-series export-delete" },
    h("summary", {}, "Report, export or delete"),
    h(
      "p",
      {},
      "One page to send or print: ",
      h("a", { class: "button", href: api.reportOf(run.id), target: "_blank", rel: "noopener" }, icon("report"), "Report of this run"),
      h("a", { class: "button", href: api.weekReportOf(run.project), target: "_blank", rel: "noopener" }, icon("report"), `This week in ${run.project}`),
    ),
    finish,
    h("p", {}, "Export all points: ", ...files),
    deletion,
  );
  showDelete();

  function showDelete() {
    refill(deletion, button("Delete run…", askConfirmation));
  }

  function askConfirmation() {
    const cancel = button("Cancel", showDelete);
    const warning = `This deletes ${run.name}, its ${count(run.points(), "point")} and its incidents. It cannot be undone. `;
    refill(
      deletion,
      h("b", {}, warning),
      button("Delete permanently", () => void remove()),
      " ",
      cancel,
    );
    cancel.focus(); // pressing Enter twice must not delete
  }

  async function remove() {
    try {
      await api.deleteRun(run.id);
      toast(`Deleted: ${run.name}`);
      go("/");
    } catch (error) {
      toast(`Not deleted: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
    }
  }

  async function markFinished() {
    try {
      await api.finishRun(run.id);
      toast(`Finished: ${run.name}`);
    } catch (error) {
      toast(`Not changed: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
    }
  }

  return {
    element,
    /** @param {RunDetail} shown */
    show: ({ state }) => (finish.hidden = state === "finished"),
  };
}

/** @param {string} text @param {() => void} onClick */
function button(text, onClick) {
  return h("button", { type: "button", class: "button", on: { click: onClick } }, text);
}
