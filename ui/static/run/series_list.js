// @ts-check
/** Every series of a run: found by typing, listed at the foot of the page. Fetched when it is first asked for. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { createPicker, seriesTable } from "./metric_picker.js";

/** @typedef {import("../lib/types.js").SeriesSummary} SeriesSummary */

/**
 * @param {{ runId: string, signal: AbortSignal, onPick: (metric: string) => void,
 *   isShown: (metric: string) => boolean }} options
 */
export function createSeriesList({ runId, signal, onPick, isShown }) {
  /** @type {SeriesSummary[]} */
  let series = [];
  /** @type {Promise<void> | null} */
  let loading = null;
  let fetchedCount = 0; // when they were fetched
  let loaded = false;
  const pick = (/** @type {import("./metric_picker.js").MetricGroup} */ group) => onPick(group.metric);
  const picker = createPicker({ onPick: pick, isShown });
  const summary = h("summary", {});
  const frame = h("div", {});
  const element = /** @type {HTMLDetailsElement} */ (h("details", { class: "all-series" }, summary, frame));

  async function fetchSeries() {
    series = await api.seriesOf(runId, signal);
    loaded = true;
    picker.offer(series);
    draw();
  }

  function draw() {
    if (element.open) refill(frame, seriesTable(series, pick, isShown));
  }

  /** @returns {Promise<void>} once they are known */
  function load() {
    loading ??= fetchSeries().catch((error) => {
      loading = null; // the next one who asks tries again
      if (!signal.aborted) throw error;
    });
    return loading;
  }

  element.addEventListener("toggle", () => void load().then(draw, () => {}));
  return {
    element,
    picker,
    load,
    draw,
    all: () => series,
    /** Have they been fetched? */
    known: () => loaded,
    /** @param {number} now how many there are */
    show(now) {
      summary.textContent = `All ${count(now, "series", "series")}`;
      const changed = now !== fetchedCount;
      fetchedCount = now;
      if (loading === null || !changed) return;
      loading = null;
      void load().catch(() => {});
    },
  };
}
