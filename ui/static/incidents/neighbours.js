// @ts-check
/** The incidents before and after one in the list that was last shown. */

import * as api from "../lib/api.js";
import { h, link, refill } from "../lib/dom.js";

const LISTED = 200; // incidents that are searched without a list
/** @type {number[]} */
let listed = [];

/** Remember the incidents of a list in its order. @param {number[]} ids */
export const rememberList = (ids) => void (listed = ids);

/** The one before and the one after. Pure. @param {number[]} ids @param {number} id @returns {{ previous: number | null, next: number | null }} */
export function neighboursIn(ids, id) {
  const at = ids.indexOf(id);
  if (at < 0) return { previous: null, next: null };
  return { previous: ids[at - 1] ?? null, next: ids[at + 1] ?? null };
}

/** Links to the neighbours of an incident. @param {number} id @param {AbortSignal} signal */
export function createNeighbours(id, signal) {
  const element = h("span", { class: "incident-neighbours" });
  /** @type {ReturnType<typeof neighboursIn>} */
  let found = { previous: null, next: null };

  async function load() {
    if (!listed.includes(id)) {
      const { incidents } = await api.incidentPage({ state: "all", order: "event", limit: LISTED }, signal);
      listed = incidents.map((incident) => incident.id);
    }
    found = neighboursIn(listed, id);
    refill(element, entry(found.previous, "Previous", "k"), entry(found.next, "Next", "j"));
  }

  /** @param {number | null} to @param {string} text @param {string} key */
  const entry = (to, text, key) =>
    to === null ? null : link(`/incidents/${to}`, { title: `${text} incident (${key})` }, text);

  load().catch(() => {}); // the page is complete without them
  return {
    element,
    /** The address of a neighbour, null without one. @param {"previous" | "next"} which */
    address: (which) => (found[which] === null ? null : `/incidents/${found[which]}`),
  };
}
