// @ts-check
/** Collective communication of a run: bandwidth, exposed time, ranks that others wait for. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count, number, percent } from "../lib/format.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("../lib/api_types.js").CollectiveSpeed} CollectiveSpeed */
/** @typedef {import("../lib/api_types.js").RunCollectives} RunCollectives */
/** @typedef {import("../lib/api_types.js").CommunicationOverlap} CommunicationOverlap */
/** @typedef {import("../lib/api_types.js").RankWait} RankWait */

const MAX_ROWS = 8; // rows and sentences shown; further rows are folded
const STRAGGLER_SHARE = 0.5; // a rank that is last in this share of calls is marked as a warning
const SIZE_UNITS = [
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
  ["B", 1],
];
const TIME_UNITS = [
  ["s", 1],
  ["ms", 1e-3],
  ["µs", 1e-6],
];

/** @param {{ runId: string, signal: AbortSignal }} options */
export function createCommunication({ runId, signal }) {
  const list = h("ul", { class: "communication-findings" });
  const table = h("div", { class: "communication-table" });
  const moreSummary = h("summary", {});
  const moreTable = h("div", { class: "communication-table" });
  const folded = h("details", {}, moreSummary, moreTable);
  const note = h("p", { class: "quiet", hidden: true });
  const element = h(
    "section",
    { class: "communication", hidden: true },
    h("h2", {}, "Communication"),
    list,
    table,
    folded,
    note,
  );
  let fetchedFor = ""; // the version of the run for which data was fetched

  /** @param {RunCollectives} analysis */
  function show({
    collectives,
    collectives_count: all,
    overlap,
    waited_for: waits,
    behind,
    series_left_out: leftOut,
  }) {
    const findings = [
      ...waits.slice(0, MAX_ROWS).map(stragglerItem),
      ...behind.slice(0, MAX_ROWS).map(missingRankItem),
      ...mostExposed(overlap).map(overlapItem),
    ];
    element.hidden = all === 0 && findings.length === 0;
    refill(list, ...findings);
    list.hidden = findings.length === 0;
    const first = collectives.slice(0, MAX_ROWS);
    const more = collectives.slice(MAX_ROWS);
    refill(table, first.length ? callsTable(first) : null);
    folded.hidden = more.length === 0;
    moreSummary.textContent = count(all - first.length, "more kind of calls", "more kinds of calls");
    refill(moreTable, more.length ? callsTable(more) : null);
    const words = [
      collectives.some((collective) => collective.link === null)
        ? "The share of the hardware's bandwidth is known where the logs state the GPU and, between nodes, the network adapters."
        : "",
      leftOut ? `${count(leftOut, "series was", "series were")} not compared, since there are too many.` : "",
    ].filter(Boolean);
    note.hidden = words.length === 0 || element.hidden;
    note.textContent = words.join(" ");
  }

  return {
    element,
    /** Fetch again if the run has new series or attempts, or has ended. @param {import("../lib/api_types.js").RunDetail} run */
    follow(run) {
      const version = `${run.attempts} ${run.state} ${run.series}`;
      if (version === fetchedFor) return;
      fetchedFor = version;
      void api.collectivesOf(runId, signal).then(show, () => (fetchedFor = "")); // the next event fetches again
    },
  };
}

/** Size of a call: 16 MiB. Pure. @param {CollectiveSpeed} call */
export function sizeText({ bytes, size }) {
  const match = SIZE_UNITS.find(([, unit]) => bytes >= Number(unit));
  return match ? `${number(bytes / Number(match[1]), 3)}\u202f${match[0]}` : size;
}

/** The share of the hardware's bandwidth; none for small calls, whose time is latency. Pure. @param {CollectiveSpeed} call */
export const shareText = ({ share, link }) =>
  share !== null ? percent(share) : link ? "latency-bound" : "–";

/** A short duration: 12.4 ms. Pure. @param {number} seconds */
export function timeText(seconds) {
  const match = TIME_UNITS.find(([, unit]) => seconds >= Number(unit));
  return match ? `${number(seconds / Number(match[1]), 3)}\u202f${match[0]}` : "–";
}

/** The three ranks with the largest share of exposed communication. Pure. @param {CommunicationOverlap[]} overlap */
export const mostExposed = (overlap) =>
  [...overlap].sort((a, b) => b.exposed_share - a.exposed_share).slice(0, 3);

/** The name of a communicator, shortened. Pure. @param {string} name */
export const shortenName = (name) => (name.length > 18 ? `${name.slice(0, 14)}…` : name);

/** @param {RankWait} rank */
function stragglerItem(rank) {
  const rankText = rank.host ? `Rank ${rank.rank} (${rank.host})` : `Rank ${rank.rank}`;
  return h(
    "li",
    { title: rank.communicator },
    rank.share >= STRAGGLER_SHARE ? icon("warning", "Warning") : null,
    h(
      "span",
      {},
      `${rankText} was last in ${percent(rank.share)} of ${count(rank.calls, "call")} in ${shortenName(rank.communicator)}: the other ranks waited ${timeText(rank.mean_wait)} for it per call, ${timeText(rank.waited)} in total.`,
    ),
  );
}

/** @param {import("../lib/api_types.js").LaggingRank} rank */
function missingRankItem(rank) {
  const rankText = rank.host ? `Rank ${rank.rank} (${rank.host})` : `Rank ${rank.rank}`;
  return h(
    "li",
    { title: rank.communicator },
    `${rankText} stopped at call ${count(rank.last, "", "").trim()} in ${shortenName(rank.communicator)}, the others are at ${count(rank.others, "", "").trim()}. If the job hangs, it waits for this rank.`,
  );
}

/** @param {CommunicationOverlap} rank */
function overlapItem(rank) {
  const rankText = rank.rank === "" ? "The GPU" : `Rank ${rank.rank}`;
  return h(
    "li",
    {},
    `${rankText} spends ${percent(rank.exposed_share)} of its busy time in exposed communication; compute hides ${percent(rank.hidden_share)} of ${timeText(rank.communication)} of communication.`,
  );
}

/** @param {CollectiveSpeed[]} rows */
function callsTable(rows) {
  const head = ["Collective", "Size", "Communicator", "Calls", "Time", "Bus bandwidth", "Of hardware"];
  return h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head.map((name, column) =>
          h("th", { scope: "col", class: column && column !== 2 ? "right" : "" }, name),
        ),
      ),
    ),
    h("tbody", {}, rows.map(callRow)),
  );
}

/** @param {CollectiveSpeed} collective */
function callRow(collective) {
  const among =
    collective.communicator || (collective.ranks ? count(collective.ranks, "rank") : collective.source);
  const share = h("span", { class: "share" }, shareText(collective));
  if (collective.share !== null) share.style.setProperty("--share", String(Math.min(1, collective.share)));
  return h(
    "tr",
    { title: `${collective.source}, ${count(collective.ranks, "rank")}` },
    h("th", { scope: "row" }, collective.collective),
    h("td", { class: "number right", title: `${collective.bytes} bytes` }, sizeText(collective)),
    h("td", { class: "among", title: among }, shortenName(among)),
    h("td", { class: "number right" }, collective.calls ? count(collective.calls, "", "").trim() : "–"),
    h("td", { class: "number right" }, timeText(collective.seconds)),
    h("td", { class: "number right" }, `${number(collective.busbw_gbs, 3)}\u202fGB/s`),
    h(
      "td",
      { class: "number right", title: collective.link_source ?? "" },
      share,
      collective.link
        ? h("span", { class: "quiet" }, ` ${collective.link}, ${number(collective.link_gbs, 3)}`)
        : null,
    ),
  );
}
