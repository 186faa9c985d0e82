// @ts-check
/** The summary tiles of a run: state, step, loss or reward and its slope, throughput, MFU, goodput, lost steps. */

import { stateMark } from "../lib/badges.js";
import { metricUnit } from "../lib/catalogue.js";
import { h } from "../lib/dom.js";
import {
  ago,
  count,
  duration,
  number,
  percent,
  reading,
  si,
  step as stepText,
  stepTime,
} from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/api_types.js").LatestValue} LatestValue */

/** The trend of the loss or the reward and what is wrong with it, as the second line of its tile. Pure. @param {RunDetail["loss_trend"]} trend */
export function trendText(trend) {
  if (!trend) return null;
  const { nonfinite_since: since, last_finite: last, last_finite_step: step, slope } = trend;
  if (since !== null) {
    const finite = last === null ? "never finite" : `last finite ${number(last)} at step ${stepText(step)}`;
    return `since step ${stepText(since)}, ${finite}`;
  }
  if (slope === null) return null;
  if (slope === 0) return "→ flat";
  return `${slope < 0 ? "↓" : "↑"} ${number(Math.abs(slope), 2)} per 1,000 steps`;
}

/** The name of a loss, with its metric unless that is plainly the loss: a component is not the total. Pure. @param {string} metric */
export const lossName = (metric) => (/(^|\/)loss$/i.test(metric) ? "Loss" : `Loss: ${metric}`);

/** The name of a reward, with its metric unless that is plainly the reward. Pure. @param {string} metric */
const rewardName = (metric) => (/(^|\/)reward$/i.test(metric) ? "Reward" : `Reward: ${metric}`);

/** @typedef {[name: string, newest: LatestValue, trend: RunDetail["loss_trend"]]} Progress */

/**
 * What measures the progress of a run: the reward where a policy is trained, whose loss says nothing about it
 * unless it is broken; else the loss. Pure.
 * @param {RunDetail} run
 */
export function progressOf({ latest: { loss, reward }, loss_trend: lossTrend, reward_trend: rewardTrend }) {
  const isBroken = lossTrend && lossTrend.nonfinite_since !== null;
  /** @type {Progress[]} */
  const shown = [];
  if (reward) shown.push([rewardName(reward.metric), reward, rewardTrend]);
  if (loss && (!reward || isBroken)) shown.push([lossName(loss.metric), loss, lossTrend]);
  return shown;
}

/** The next round number of steps. Pure. @param {number} step */
export function nextRoundStep(step) {
  const size = 10 ** Math.max(3, Math.floor(Math.log10(Math.max(1, step))));
  return (Math.floor(step / size) + 1) * size;
}

/** Mean seconds per step of the newest attempt. Pure. @param {RunDetail} run */
export function secondsPerStep(run) {
  const last = run.strip.attempts.at(-1);
  if (!last || last.first_time === null || last.last_time === null || last.last_step <= last.first_step)
    return null;
  return (last.last_time - last.first_time) / (last.last_step - last.first_step);
}

/** @param {string} name @param {import("../lib/dom.js").Child} value @param {import("../lib/dom.js").Child} [more] @param {string} [title] @param {string} [tone] a severity */
function tile(name, value, more = null, title = undefined, tone = "") {
  return h(
    "div",
    { class: `tile${tone ? ` tile-${tone}` : ""}`, title },
    h("dt", {}, name),
    h("dd", { class: "number" }, value),
    more ? h("dd", { class: "tile-more quiet number" }, more) : null,
  );
}

/**
 * @param {RunDetail} run
 * @param {import("../lib/api_types.js").ThroughputReport | null} throughput null: not loaded yet
 */
export function summaryTiles(run, throughput) {
  const { latest } = run;
  const tiles = [
    tile(
      "State",
      stateMark(run.state),
      run.last_time === null ? null : h("time", { data: { ago: String(run.last_time) } }, ago(run.last_time)),
    ),
    run.last_step === null && run.points > 0
      ? null
      : tile("Step", stepText(run.last_step), nextMilestone(run)),
  ];
  for (const [name, value, trend] of progressOf(run))
    tiles.push(
      tile(
        name,
        number(value.value),
        trendText(trend),
        progressTitle(trend, value),
        trend && trend.nonfinite_since !== null ? "critical" : "",
      ),
    );
  if (latest.throughput) tiles.push(throughputTile(run, latest.throughput));
  else if (latest.step_time)
    tiles.push(
      tile(
        "Step time",
        stepTime(latest.step_time.value, metricUnit("step_time", latest.step_time.metric)).join(" "),
        null,
        latest.step_time.metric,
      ),
    );
  const mfu = mfuTile(throughput);
  if (mfu) tiles.push(tile("MFU", mfu.value, mfu.more, mfu.title));
  else if (latest.mfu)
    tiles.push(
      tile(
        "MFU",
        reading("mfu", latest.mfu.value),
        "as reported",
        `${latest.mfu.metric}, as reported by the run`,
      ),
    );
  if (run.goodput !== null) tiles.push(goodputTile(run, run.goodput));
  const attempts = count(run.attempts, "attempt");
  tiles.push(
    tile(
      "Rolled back",
      run.lost_steps ? `${stepText(run.lost_steps)} steps` : "0 steps",
      run.lost_steps && run.lost_seconds !== null ? `${duration(run.lost_seconds)}, ${attempts}` : attempts,
      "Steps superseded by a rollback",
    ),
  );
  return h("dl", { class: "tiles" }, tiles);
}

/** @param {RunDetail} run @param {import("../lib/api_types.js").LatestValue} latest */
function throughputTile(run, latest) {
  const name = metricUnit("throughput", latest.metric);
  const latestShare = [...(run.strip.throughput?.relative ?? [])].reverse().find((share) => share !== null);
  const against = typeof latestShare === "number" ? `${percent(latestShare)} of best` : null;
  return tile(
    "Throughput",
    h("span", {}, si(latest.value), h("small", {}, ` ${name}`)),
    against,
    `${latest.metric} at step ${stepText(latest.step)}`,
  );
}

/** @param {RunDetail["loss_trend"]} trend @param {LatestValue} latest */
function progressTitle(trend, latest) {
  const newest = `${latest.metric} at step ${stepText(latest.step)}`;
  if (!trend || trend.slope === null) return newest;
  return `${newest}\nTrend over steps ${stepText(trend.from_step)} to ${stepText(trend.to_step)}`;
}

/** Goodput with what takes time from it at present. @param {RunDetail} run @param {number} goodput */
function goodputTile({ state, spent, last_time: last }, goodput) {
  const stalled = state === "stalled" && last !== null ? `stalled for ${duration(Date.now() / 1000 - last)}` : null;
  const broken = spent && spent.nonfinite.seconds > 0 ? `NaN for ${duration(spent.nonfinite.seconds)}` : null;
  return tile(
    "Goodput",
    percent(goodput, 1),
    stalled ?? broken ?? "of total time",
    "Share of the time since the first point in which the run progressed at its best speed with a finite loss",
    stalled || broken ? "warning" : "",
  );
}

/** @param {RunDetail} run @param {number} [now] Unix seconds */
function nextMilestone(run, now = Date.now() / 1000) {
  const stepSeconds = secondsPerStep(run);
  if (run.state !== "running" || stepSeconds === null || run.last_step === null) return null;
  const next = nextRoundStep(run.last_step);
  const remaining = (run.last_time ?? 0) + (next - run.last_step) * stepSeconds - now;
  return remaining > 0 ? `${stepText(next)} in ${duration(remaining)}` : null; // the step is overdue
}

/** @typedef {import("../lib/api_types.js").ThroughputReport} ThroughputReport */

/**
 * The MFU tile: value, second line, and a tool tip with the formula and its inputs. Null without an MFU. Pure.
 * @param {ThroughputReport | null} throughput
 */
export function mfuTile(throughput) {
  if (!throughput) return null;
  const reported = throughput.reported.find(
    (quantity) => quantity.quantity === "MFU" && quantity.newest !== null,
  );
  const { own } = throughput;
  if (own.mfu.newest !== null)
    return { value: percent(own.mfu.newest, 1), more: secondLine(own), title: ownTitle(own, reported) };
  if (!reported || reported.newest === null) return null;
  const missing = own.missing.length ? `\nHolter's own needs: ${own.missing.join("; ")}` : "";
  return {
    value: percent(reported.newest, 1),
    more: "as reported",
    title: `${reportedText(reported)}${missing}`,
  };
}

/** @param {ThroughputReport["own"]} own */
function secondLine({ mfu, hfu }) {
  if (mfu.best !== null && mfu.newest !== null && mfu.best > 1.01 * mfu.newest)
    return `best ${percent(mfu.best, 1)}`;
  return hfu.newest !== null && mfu.newest !== null && hfu.newest > 1.001 * mfu.newest
    ? `HFU ${percent(hfu.newest, 1)}`
    : null;
}

/** @param {ThroughputReport["own"]} own @param {ThroughputReport["reported"][number] | undefined} reported */
function ownTitle(own, reported) {
  const assumed = own.precision_assumed ? " (assumed)" : "";
  const lines = [
    `${own.formula}, from ${own.measured_from}`,
    `${si(own.tflops.newest)} of ${si(own.peak_tflops, 4)} TFLOPS, ${own.precision}${assumed}, ${own.device}`,
  ];
  if (own.hfu.newest !== null)
    lines.push(`HFU ${percent(own.hfu.newest, 1)}, with ${own.recomputed} recomputed`);
  if (reported) lines.push(`Reported: ${reportedText(reported)}`);
  return lines.join("\n");
}

/** @param {ThroughputReport["reported"][number]} series */
const reportedText = ({ metric, newest, framework, formula }) =>
  `${metric} ${percent(newest, 1)}, ${framework ? `${framework}: ` : ""}${formula}`;
