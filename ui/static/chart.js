// @ts-check
/** The plotting library behind one small door: load it, draw a picture, tell when the reader zooms. */

import { layout } from "./layout.js";
import { MARGIN, traces } from "./traces.js";

export { traces };

/** @typedef {import("./traces.js").Picture} Picture */

/** @type {Promise<any> | null} */
let loading = null;

/** The library, loaded with the first chart: the pages without charts do not wait for it. @returns {Promise<any>} */
function library() {
  loading ??= new Promise((resolve, reject) => {
    const address = /** @type {HTMLLinkElement} */ (document.getElementById("plotly")).href;
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => resolve(/** @type {any} */ (window).Plotly);
    script.onerror = () => {
      loading = null;
      reject(new Error("The charts could not be loaded."));
    };
    document.head.append(script);
  });
  return loading;
}

/**
 * Where a place on the x axis is in a chart that is `width` pixels wide, and back. Pure.
 * @param {[number, number]} range @param {number} width
 */
export function scale(range, width) {
  const inner = Math.max(1, width - MARGIN.l - MARGIN.r);
  const span = range[1] - range[0] || 1;
  return {
    toPixel: (/** @type {number} */ x) => MARGIN.l + ((x - range[0]) / span) * inner,
    toPlace: (/** @type {number} */ pixel) => range[0] + ((pixel - MARGIN.l) / inner) * span,
  };
}

/** A bound of a range as the library reports it (dates by the local clock), as a number. @param {unknown} bound */
const asNumber = (bound) => (typeof bound === "string" ? Date.parse(bound.replace(" ", "T")) : Number(bound));

/**
 * @param {HTMLElement} node @param {{ onZoom: (range: [number, number]) => void, onReset: () => void }} reader
 */
export function createChart(node, { onZoom, onReset }) {
  /** @type {any} */
  let plotly = null;
  let drawing = Promise.resolve();

  /** @param {Picture} picture */
  async function paint(picture) {
    const first = plotly === null;
    plotly ??= await library();
    if (!node.isConnected) return;
    const size = { width: node.clientWidth, height: node.clientHeight };
    if (size.width < 20) return;
    const config = { displayModeBar: false, doubleClick: false, responsive: false, showTips: false };
    await plotly.react(node, traces(picture), { ...layout(picture), ...size }, config);
    if (!first) return;
    const events = /** @type {any} */ (node);
    events.on("plotly_relayout", (/** @type {Record<string, unknown>} */ change) => {
      const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (from !== undefined && to !== undefined) onZoom([asNumber(from), asNumber(to)]);
    });
    events.on("plotly_doubleclick", onReset);
  }

  return {
    /** Draw, one after the other. @param {Picture} picture */
    draw(picture) {
      drawing = drawing.then(() => paint(picture));
      return drawing;
    },
    destroy() {
      if (plotly) plotly.purge(node);
    },
  };
}
