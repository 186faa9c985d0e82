// @ts-check
/** What of a run could not be read or was not kept: said on its page, so that nothing is missing in silence. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { go } from "../lib/router.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/api_types.js").UnreadableLocation} UnreadableLocation */

/** Was it readable, but refused: too much, or names that never come again? Pure. @param {UnreadableLocation} place */
export const isRefused = ({ place, reason }) => place.startsWith("max_") || reason.startsWith(`${place}:`);

/** What is missing, in a line. Pure. @param {UnreadableLocation[]} places the newest @param {number} total */
export function unreadableSummary(places, total) {
  const refused = places.filter(isRefused).length;
  const unread = total - refused;
  return [
    unread && `${count(unread, "place")} in the logs could not be read`,
    refused && (unread ? "series were not kept" : "Series were not kept"),
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
        h("li", {}, isRefused(location) ? location.reason : `${location.source}, ${location.place}: ${location.reason}`),
      ),
      total > unreadable.length ? h("li", { class: "quiet" }, `The newest ${unreadable.length} are shown.`) : "",
    );
  }

  return { element, show };
}

const FORMATS = ["parquet", "csv", "json"];

/** @param {{ id: string, name: string, points: () => number }} run */
export function createExportDelete(run) {
  const deletion = h("p", { class: "export-delete-confirm" });
  const files = FORMATS.map((form) =>
    h("a", { class: "button", href: api.exportOf(run.id, form), download: "" }, form.toUpperCase()),
  );
  const element = h(
    "details",
    { class: "all-series export-delete" },
    h("summary", {}, "Export or delete"),
    h("p", {}, "Everything as it is stored: ", ...files),
    deletion,
  );
  showDelete();

  function showDelete() {
    refill(deletion, button("Delete this run…", askConfirmation));
  }

  function askConfirmation() {
    const keep = button("Keep it", showDelete);
    const warning = `${run.name} goes with its ${count(run.points(), "point")} and its incidents. There is no way back. `;
    refill(deletion, h("b", {}, warning), button("Delete for good", () => void remove()), " ", keep);
    keep.focus(); // a second Enter must not delete
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

  return { element };
}

/** @param {string} text @param {() => void} onClick */
function button(text, onClick) {
  return h("button", { type: "button", class: "button", on: { click: onClick } }, text);
}
