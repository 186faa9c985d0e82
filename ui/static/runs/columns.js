// @ts-check
/** The columns of the overview: what a cell shows, how wide it is, how it is sorted. */

import { drawStrip } from "../charts/health_strip.js";
import { severityMark, stateMark } from "../lib/badges.js";
import { healthTitle, incidentTitle, metricUnit, severityRank } from "../lib/catalogue.js";
import { h, link, svg } from "../lib/dom.js";
import { ago, count, number, reading, step as stepText, stepTime } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").RunInfo} RunInfo */
/**
 * @typedef {{ key: string, title: string, width: string, sort?: string, descends?: boolean, isNumber?: boolean,
 *   isPicture?: boolean, cell: (run: RunInfo) => import("../lib/dom.js").Child | import("../lib/dom.js").Child[] }} Column
 *   `sort`: the order that the heading selects; `descends`: from the highest first; `isPicture`: drawn after text
 */

const TREND_WIDTH = 100;
const TREND_HEIGHT = 24;
const MOST_ABOVE = 20; // heights of a trend above it to which it is drawn
const WARM_UP = 0.1; // share of the trend that does not set its range

/** The time of a run's newest point. @param {RunInfo} run */
export const lastUpdate = (run) => run.last_time ?? run.updated_at;

/** @type {Column[]} */
const BUILT_IN = [
  { key: "name", title: "Run", width: "minmax(10rem, 1.4fr)", sort: "name", cell: nameCell },
  {
    key: "project",
    title: "Project",
    width: "minmax(5rem, 0.7fr)",
    sort: "project",
    cell: (run) => h("span", { class: "cell-text quiet", title: run.project }, run.project),
  },
  { key: "state", title: "State", width: "6rem", sort: "state", cell: (run) => stateMark(run.state) },
  { key: "problem", title: "Problem", width: "minmax(8.5rem, 2fr)", sort: "health", descends: true, cell: problemCell },
  {
    key: "history",
    title: "History",
    width: "minmax(4.75rem, 1.1fr)",
    isPicture: true,
    cell: (run) => drawStrip(run.strip, [170, 22]),
  },
  { key: "trend", title: "Trend", width: "6rem", isPicture: true, cell: drawTrend },
  {
    key: "loss",
    title: "Loss",
    width: "5.75rem",
    isNumber: true,
    cell: lossCell,
  },
  { key: "speed", title: "Throughput", width: "7.5rem", isNumber: true, cell: speedCell },
  {
    key: "step",
    title: "Step",
    width: "5.5rem",
    sort: "steps",
    descends: true,
    isNumber: true,
    cell: (run) => stepText(run.last_step),
  },
  {
    key: "updated",
    title: "Updated",
    width: "5.75rem",
    sort: "updated",
    descends: true,
    isNumber: true,
    cell: (run) => timeCell(lastUpdate(run)),
  },
  {
    key: "created",
    title: "Created",
    width: "6.25rem",
    sort: "created",
    descends: true,
    isNumber: true,
    cell: (run) => timeCell(run.created_at),
  },
  {
    key: "attempts",
    title: "Attempts",
    width: "5rem",
    sort: "attempts",
    descends: true,
    isNumber: true,
    cell: (run) => String(run.attempts),
  },
  {
    key: "group",
    title: "Group",
    width: "minmax(5rem, 0.7fr)",
    sort: "group",
    cell: (run) => h("span", { class: "cell-text", title: run.group }, run.group ?? ""),
  },
  { key: "tags", title: "Tags", width: "minmax(6rem, 1fr)", sort: "tags", cell: (run) => tagList(run.tags) },
  {
    key: "note",
    title: "Notes",
    width: "minmax(8rem, 1.2fr)",
    cell: (run) => h("span", { class: "cell-text quiet", title: run.note }, run.note),
  },
];
const BY_KEY = new Map(BUILT_IN.map((column) => [column.key, column]));
const WIDE = ["name", "project", "problem", "history", "trend", "loss", "speed", "step", "updated"];
const MEDIUM = ["name", "problem", "history", "loss", "updated"];
const NARROW = ["name", "problem", "history", "updated"];
const CARD = ["name", "problem", "project", "history", "loss", "speed", "step", "updated"];

/** All columns of runs themselves, as key and title. */
export const builtInColumns = () => BUILT_IN.map(({ key, title }) => ({ key, title }));

/** The columns that a window of this width has room for, in rem. Pure. @param {number} width @returns {string[]} */
export const defaultColumns = (width) => (width >= 77 ? WIDE : width >= 48.5 ? MEDIUM : NARROW);

/** The columns of a card. @returns {string[]} */
export const cardColumns = () => CARD;

/** Whether a column is a setting or a metric, whose values the server must be asked for. @param {string} key */
export const isValue = (key) => !BY_KEY.has(key);

/** @param {string} key @returns {Column} */
export function columnOf(key) {
  const known = BY_KEY.get(key);
  if (known) return known;
  const isMetric = /^(last|best|min|max|mean)\(.+\)$/.test(key);
  return {
    key,
    title: key.replace(/^config\./, ""),
    width: "minmax(5.5rem, 0.6fr)",
    sort: key.startsWith("mean(") ? undefined : key,
    descends: isMetric,
    isNumber: true,
    cell: (run) => valueCell(run.values[key]),
  };
}

/** @param {import("../lib/api_types.js").RunInfo["values"][string] | undefined} value */
function valueCell(value) {
  if (value === null || value === undefined) return h("span", { class: "quiet" }, "–");
  const text = typeof value === "number" ? number(value) : String(value);
  return h("span", { class: "cell-text", title: String(value) }, text);
}

/** @param {RunInfo} run */
function nameCell(run) {
  const title = [run.name, run.display_name, run.note].filter(Boolean).join("\n");
  return [
    healthMark(run),
    link(`/runs/${encodeURIComponent(run.id)}`, { class: "run-link", title }, run.name),
    run.starred && h("span", { class: "star", role: "img", "aria-label": "Starred", title: "Starred" }, "★"),
    tagList(run.tags),
  ];
}

/** @param {string[]} tags */
const tagList = (tags) =>
  tags.length > 0 &&
  h(
    "span",
    { class: "tags", title: tags.join(", ") },
    tags.slice(0, 3).map((tag) => h("span", { class: "tag" }, tag)),
    tags.length > 3 && h("span", { class: "quiet" }, `+${tags.length - 3}`),
  );

/** @param {RunInfo} run */
function problemCell(run) {
  if (run.damaged)
    return h("span", { class: "cell-text", title: run.damaged }, `${run.damaged}. `, h("code", {}, "holter db check"), " lists all damage.");
  if (!run.worst && run.unjudged)
    return h("span", { class: "cell-text quiet", title: run.unjudged }, run.unjudged);
  if (!run.worst) return null;
  const { id, kind, metric, summary } = run.worst;
  const more = run.open_incidents > 1 && h("span", { class: "quiet" }, ` +${run.open_incidents - 1}`);
  const title = `${summary}${run.open_incidents > 1 ? ` (and ${count(run.open_incidents - 1, "more", "more")})` : ""}`;
  return h(
    "span",
    { class: "problem" },
    link(`/incidents/${id}`, { class: "problem-link", title }, incidentTitle({ kind, metric, state: "open", classified_step: 0 })),
    h("span", { class: "problem-more" }, ` at ${stepText(run.worst.start_step)}`, more),
  );
}

/** The loss; the reward, called so, of a run that trains a policy. @param {RunInfo} run */
function lossCell({ latest: { loss, reward } }) {
  if (reward)
    return h("span", { title: reward.metric }, number(reward.value, 3), h("small", { class: "quiet" }, " reward"));
  return loss ? number(loss.value) : "–";
}

/** @param {RunInfo} run */
function speedCell({ latest: { throughput, step_time: time } }) {
  if (throughput)
    return [
      reading("throughput", throughput.value),
      h("small", { class: "quiet" }, ` ${metricUnit("throughput", throughput.metric)}`),
    ];
  if (!time) return "–";
  const [seconds, unit] = stepTime(time.value, metricUnit("step_time", time.metric));
  return [seconds, h("small", { class: "quiet" }, ` ${unit}/step`)];
}

/** @param {number} time */
const timeCell = (time) => h("time", { class: "quiet", data: { ago: String(time) } }, ago(time));

/** The health of a run; a stalled run without severe incidents is shown as stalled. @param {RunInfo} run */
function healthMark(run) {
  if (run.damaged) return severityMark("critical", "Damaged");
  if (run.state === "stalled" && severityRank(run.health) > severityRank("warning"))
    return severityMark("warning", "Stalled");
  if (run.health === "ok") return stateMark(run.state);
  return severityMark(run.health, healthTitle(run.health));
}

/**
 * The range of a trend: of what follows the warm-up. Pure.
 * @param {number[]} values @returns {[number, number]}
 */
export function trendRange(values) {
  const settled = values.slice(Math.floor(WARM_UP * values.length));
  const sorted = [...settled].sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => sorted[Math.round(share * (sorted.length - 1))];
  return [at(0.02), at(0.98)];
}

/**
 * The points of a trend. What is above its range leaves the picture at the top: at its edge it would look like a
 * level. Pure.
 * @param {number[]} values @returns {[number, number][]}
 */
export function trendPoints(values) {
  const [low, high] = trendRange(values);
  const span = high - low || 1;
  return values.map((value, i) => {
    const y = Math.min(MOST_ABOVE, Math.max(0, (value - low) / span));
    return [(TREND_WIDTH * i) / (values.length - 1), (TREND_HEIGHT - 4) * (1 - y) + 2];
  });
}

/** The loss, or the reward, as a small curve. @param {RunInfo} run */
function drawTrend({ trend: values, latest }) {
  if (values.length < 2) return null;
  const points = trendPoints(values).map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
  return svg(
    "svg",
    {
      class: "trend",
      viewBox: `0 0 ${TREND_WIDTH} ${TREND_HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${latest.reward ? "Reward" : "Loss"} from ${number(values[0])} to ${number(values[values.length - 1])}`,
    },
    svg("path", { d: `M${points.join("L")}`, "vector-effect": "non-scaling-stroke" }),
  );
}
