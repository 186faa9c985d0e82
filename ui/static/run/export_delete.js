// @ts-check
/** What becomes of a run as a whole: a file of it, or its end, at the foot of its page. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { go } from "../lib/router.js";
import { toast } from "../lib/toasts.js";

const FORMATS = ["parquet", "csv", "json"];

/** @param {{ id: string, name: string, points: () => number }} run */
export function createExportDelete(run) {
  const deletion = h("p", { class: "keeping-end" });
  const files = FORMATS.map((form) =>
    h("a", { class: "button", href: api.exportOf(run.id, form), download: "" }, form.toUpperCase()),
  );
  const element = h(
    "details",
    { class: "all-series keeping" },
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
