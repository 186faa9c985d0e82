// @ts-check
/** A run's MFU in the headline: Holter's own where the run's shape is known, else as reported; by which formula. */

import { percent, si } from "../lib/format.js";

/** @typedef {import("../lib/types.js").Throughput} Throughput */

/**
 * What the tile says: value, a word below, and on hover the formula and what it rests on. Null: there is none. Pure.
 * @param {Throughput | null} throughput
 */
export function mfuTile(throughput) {
  if (!throughput) return null;
  const reported = throughput.reported.find((quantity) => quantity.quantity === "MFU" && quantity.newest !== null);
  const { own } = throughput;
  if (own.mfu.newest !== null) return { value: percent(own.mfu.newest, 1), more: secondLine(own), title: ownTitle(own, reported) };
  if (!reported || reported.newest === null) return null;
  const missing = own.missing.length ? `\nHolter's own needs: ${own.missing.join("; ")}` : "";
  return { value: percent(reported.newest, 1), more: "as reported", title: `${reportedText(reported)}${missing}` };
}

/** @param {Throughput["own"]} own */
function secondLine({ mfu, hfu }) {
  if (mfu.best !== null && mfu.newest !== null && mfu.best > 1.01 * mfu.newest) return `${percent(mfu.best, 1)} at best`;
  return hfu.newest !== null && mfu.newest !== null && hfu.newest > 1.001 * mfu.newest ? `HFU ${percent(hfu.newest, 1)}` : null;
}

/** @param {Throughput["own"]} own @param {Throughput["reported"][number] | undefined} reported */
function ownTitle(own, reported) {
  const assumed = own.precision_assumed ? " (assumed)" : "";
  const lines = [
    `${own.formula}, from ${own.measured_from}`,
    `${si(own.tflops.newest)} of ${si(own.peak_tflops, 4)} TFLOPS, ${own.precision}${assumed}, ${own.device}`,
  ];
  if (own.hfu.newest !== null) lines.push(`HFU ${percent(own.hfu.newest, 1)}, with ${own.recomputed} recomputed`);
  if (reported) lines.push(`Reported: ${reportedText(reported)}`);
  return lines.join("\n");
}

/** @param {Throughput["reported"][number]} one */
const reportedText = ({ metric, newest, framework, formula }) =>
  `${metric} ${percent(newest, 1)}, ${framework ? `${framework}: ` : ""}${formula}`;
