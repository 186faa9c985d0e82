// @ts-check
/** What the logs of collectives tell: how fast against the hardware, what they cost, who waits for whom. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count, number, percent } from "../lib/format.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("../lib/types.js").Collective} Collective */
/** @typedef {import("../lib/types.js").RunCollectives} RunCollectives */
/** @typedef {import("../lib/types.js").CommunicationOverlap} CommunicationOverlap */
/** @typedef {import("../lib/types.js").WaitedFor} WaitedFor */

const SHOWN = 8; // kinds of calls, and sentences; the rest is folded
const OFTEN = 0.5; // last in so many calls, a rank holds the others up
const UNITS = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]];
const TIMES = [["s", 1], ["ms", 1e-3], ["µs", 1e-6]];

/** @param {{ runId: string, signal: AbortSignal }} options */
export function createCollectives({ runId, signal }) {
  const sentences = h("ul", { class: "collectives-said" });
  const table = h("div", { class: "collectives-table" });
  const rest = h("summary", {});
  const others = h("div", { class: "collectives-table" });
  const folded = h("details", {}, rest, others);
  const note = h("p", { class: "quiet", hidden: true });
  const element = h("section", { class: "collectives", hidden: true }, h("h2", {}, "Collectives"), sentences, table, folded, note);
  let known = ""; // what of the run they were fetched for

  /** @param {RunCollectives} found */
  function show({ collectives, collectives_count: all, overlap, waited_for: waited, behind, series_left_out: left }) {
    const said = [...waited.slice(0, SHOWN).map(waitItem), ...behind.slice(0, SHOWN).map(endItem), ...worst(overlap).map(overlapItem)];
    element.hidden = all === 0 && said.length === 0;
    refill(sentences, ...said);
    sentences.hidden = said.length === 0;
    const first = collectives.slice(0, SHOWN);
    const more = collectives.slice(SHOWN);
    refill(table, first.length ? callsTable(first) : null);
    folded.hidden = more.length === 0;
    rest.textContent = count(all - first.length, "more kind of calls", "more kinds of calls");
    refill(others, more.length ? callsTable(more) : null);
    const words = [
      collectives.some((one) => one.link === null) ? "A share of the hardware's is told where logs name the GPU and, between nodes, its network cards." : "",
      left ? `${count(left, "series was", "series were")} too many to be compared.` : "",
    ].filter(Boolean);
    note.hidden = words.length === 0 || element.hidden;
    note.textContent = words.join(" ");
  }

  return {
    element,
    /** The run is as it is now: compare again where it has new series or has ended. @param {import("../lib/types.js").RunDetail} run */
    follow(run) {
      const now = `${run.attempts} ${run.state} ${run.series}`;
      if (now === known) return;
      known = now;
      void api.collectivesOf(runId, signal).then(show, () => (known = "")); // the next news asks again
    },
  };
}

/** Bytes of a call: 16 MiB. Pure. @param {Collective} one */
export function sizeText({ bytes, size }) {
  const found = UNITS.find(([, unit]) => bytes >= Number(unit));
  return found ? `${number(bytes / Number(found[1]), 3)}\u202f${found[0]}` : size;
}

/** The share of the hardware's bandwidth; small calls are a matter of latency. Pure. @param {Collective} one */
export const shareText = ({ share, link }) => (share !== null ? percent(share) : link ? "too small" : "–");

/** A short time: 12.4 ms. Pure. @param {number} seconds */
export function timeText(seconds) {
  const found = TIMES.find(([, unit]) => seconds >= Number(unit));
  return found ? `${number(seconds / Number(found[1]), 3)}\u202f${found[0]}` : "–";
}

/** The ranks whose GPU waits most for communication, the worst first. Pure. @param {CommunicationOverlap[]} overlap */
export const worst = (overlap) => [...overlap].sort((a, b) => b.exposed_share - a.exposed_share).slice(0, 3);

/** A communicator's name, cut where it is an id. Pure. @param {string} name */
export const short = (name) => (name.length > 18 ? `${name.slice(0, 14)}…` : name);

/** @param {WaitedFor} one */
function waitItem(one) {
  const who = one.host ? `Rank ${one.rank} (${one.host})` : `Rank ${one.rank}`;
  return h(
    "li",
    { title: one.communicator },
    one.share >= OFTEN ? icon("warning", "Warning") : null,
    h(
      "span",
      {},
      `${who} came last in ${percent(one.share)} of ${count(one.calls, "call")} in ${short(one.communicator)}: the others waited ${timeText(one.mean_wait)} for it each time, ${timeText(one.waited)} in all.`,
    ),
  );
}

/** @param {import("../lib/types.js").EndsBefore} one */
function endItem(one) {
  const who = one.host ? `Rank ${one.rank} (${one.host})` : `Rank ${one.rank}`;
  return h(
    "li",
    { title: one.communicator },
    `${who} ends at call ${count(one.last, "", "").trim()} in ${short(one.communicator)}, the others at ${count(one.others, "", "").trim()}: if the job hangs, it is the one that has not come.`,
  );
}

/** @param {CommunicationOverlap} one */
function overlapItem(one) {
  const who = one.rank === "" ? "The GPU" : `Rank ${one.rank}`;
  return h(
    "li",
    {},
    `${who} spends ${percent(one.exposed_share)} of its busy time waiting for collectives alone; computing hides ${percent(one.hidden_share)} of ${timeText(one.communication)} in them.`,
  );
}

/** @param {Collective[]} rows */
function callsTable(rows) {
  const head = ["Collective", "Size", "Among", "Calls", "Time", "Bus bandwidth", "Of the hardware’s"];
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, head.map((name, at) => h("th", { scope: "col", class: at && at !== 2 ? "right" : "" }, name)))),
    h("tbody", {}, rows.map(callRow)),
  );
}

/** @param {Collective} one */
function callRow(one) {
  const among = one.communicator || (one.ranks ? count(one.ranks, "rank") : one.source);
  const share = h("span", { class: "share" }, shareText(one));
  if (one.share !== null) share.style.setProperty("--share", String(Math.min(1, one.share)));
  return h(
    "tr",
    { title: `${one.source}, ${count(one.ranks, "rank")}` },
    h("th", { scope: "row" }, one.collective),
    h("td", { class: "number right", title: `${one.bytes} bytes` }, sizeText(one)),
    h("td", { class: "among", title: among }, short(among)),
    h("td", { class: "number right" }, one.calls ? count(one.calls, "", "").trim() : "–"),
    h("td", { class: "number right" }, timeText(one.seconds)),
    h("td", { class: "number right" }, `${number(one.busbw_gbs, 3)}\u202fGB/s`),
    h("td", { class: "number right", title: one.link_source ?? "" }, share, one.link ? h("span", { class: "quiet" }, ` ${one.link}, ${number(one.link_gbs, 3)}`) : null),
  );
}
