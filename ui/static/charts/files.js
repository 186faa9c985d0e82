// @ts-check
/** Charts as files: PNG, SVG, CSV, and a page with a chart that can be zoomed elsewhere. */

import { asPng, asSvg } from "./figure.js";
import { MARGIN } from "./traces.js";
import { plottingLibrary } from "../lib/chart_api.js";
import { seriesName } from "../lib/format.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("./curves.js").ChartCurve} ChartCurve */
/** @typedef {import("./drawing.js").Figure} Figure */

/** @param {Blob} content @param {string} name */
function save(content, name) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(content);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

/** A name of a file: letters, digits and dashes. Pure. @param {string} title */
export const fileName = (title) => title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-+|-+$/g, "") || "chart";

/** @param {HTMLElement} plot @param {string} title @param {import("./traces.js").Palette} palette */
function options(plot, title, palette) {
  return {
    title,
    width: plot.clientWidth,
    height: plot.clientHeight + 24,
    family: getComputedStyle(plot).fontFamily || "sans-serif",
    background: palette["paper-raised"],
    ink: palette.ink,
  };
}

/** @param {HTMLElement} plot @returns {Figure} */
const figureIn = (plot) => /** @type {any} */ (plot).figure;

/** @param {HTMLElement} plot @param {string} title @param {import("./traces.js").Palette} palette */
export async function savePng(plot, title, palette) {
  save(await asPng(figureIn(plot), options(plot, title, palette)), `${fileName(title)}.png`);
}

/** @param {HTMLElement} plot @param {string} title @param {import("./traces.js").Palette} palette */
export function saveSvg(plot, title, palette) {
  const text = asSvg(figureIn(plot), options(plot, title, palette));
  save(new Blob([text], { type: "image/svg+xml" }), `${fileName(title)}.svg`);
}

/** @param {ChartCurve[]} series @param {string} title */
export function saveCsv(series, title) {
  save(new Blob([curvesAsCsv(series)], { type: "text/csv" }), `${fileName(title)}.csv`);
}

/** A row for each point: run (where there are several), series, attempt, step, time, value. Pure. @param {ChartCurve[]} series */
export function curvesAsCsv(series) {
  const several = series.some((curve) => curve.run);
  const rows = series.flatMap((curve) =>
    curve.segments.flatMap(({ attempt, ghost, step, time, value }) =>
      step.map((each, i) =>
        [
          ...(several ? [quoted(curve.run?.name ?? "")] : []),
          quoted(curve.text ?? seriesName(curve)),
          attempt,
          ghost ? 1 : 0,
          each,
          time[i] ?? "",
          value[i],
        ].join(","),
      ),
    ),
  );
  return [`${several ? "run," : ""}series,attempt,superseded,step,time,value`, ...rows, ""].join("\n");
}

/** @param {string} text */
const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A page that shows the chart with Plotly, without a server. @param {HTMLElement} plot @param {string} title */
export async function saveInteractive(plot, title) {
  const address = /** @type {HTMLLinkElement} */ (document.getElementById("plotly")).href;
  const library = await plottingLibrary(address);
  const { data, layout } = figureIn(plot);
  const figure = JSON.stringify({
    data: data.map((trace) => ({ ...trace, hoverinfo: "all" })),
    layout: {
      ...layout,
      title: { text: escapedText(title) },
      margin: { ...MARGIN, t: 48 },
      hovermode: "x",
      dragmode: "zoom",
      autosize: true,
      width: undefined,
      height: undefined,
    },
  }).replaceAll("<", "\\u003c");
  const page =
    `<!doctype html><meta charset="utf-8"><title>${escapedText(title)}</title>` +
    `<div id="chart" style="height:95vh"></div><script>${library.replaceAll("</script", "<\\/script")}</script>` +
    `<script>const figure = ${figure}; Plotly.newPlot("chart", figure.data, figure.layout, { responsive: true });</script>`;
  save(new Blob([page], { type: "text/html" }), `${fileName(title)}.html`);
}

/** @param {string} text */
const escapedText = (text) =>
  text.replace(/[&<>]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter] ?? "");

/** Copy the address of the page with one chart added to it. @param {string} metric */
export async function copyLink(metric) {
  const address = new URL(location.href);
  if (!address.searchParams.getAll("chart").includes(metric)) address.searchParams.append("chart", metric);
  try {
    await navigator.clipboard.writeText(address.href);
    toast("Link copied");
  } catch {
    toast(address.href); // browsers allow no clipboard access without https
  }
}
