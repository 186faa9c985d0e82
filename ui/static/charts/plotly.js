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

/** Fetch the library while the points are still on their way. */
export function prepare() {
  library().catch(() => {}); // the first chart tries again, and says so
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

/** @type {Map<object, () => Promise<void>>} */
const waiting = new Map();
let painting = false;

/**
 * Paint one chart a frame: twenty charts that change at once do not hold up the page. A picture that a
 * newer one of the same chart overtakes is never painted.
 * @param {object} chart @param {() => Promise<void>} paint
 */
function enqueue(chart, paint) {
  waiting.set(chart, paint);
  if (painting) return;
  painting = true;
  requestAnimationFrame(paintNext);
}

async function paintNext() {
  const [next] = waiting;
  if (!next) {
    painting = false;
    return;
  }
  waiting.delete(next[0]);
  await next[1]();
  requestAnimationFrame(paintNext);
}

/**
 * @param {HTMLElement} node
 * @param {{ onZoom: (range: [number, number]) => void, onReset: () => void, onFail: (reason: string) => void }} reader
 */
export function createChart(node, { onZoom, onReset, onFail }) {
  /** @type {any} */
  let plotly = null;
  let listening = false;

  /** @param {Picture} picture */
  async function paint(picture) {
    plotly ??= await library();
    const size = { width: node.clientWidth, height: node.clientHeight };
    if (!node.isConnected || size.width < 20) return;
    const config = { displayModeBar: false, doubleClick: false, responsive: false, showTips: false };
    await plotly.react(node, traces(picture), { ...layout(picture), ...size }, config);
    if (!listening) listen();
  }

  function listen() {
    listening = true;
    const events = /** @type {any} */ (node);
    events.on("plotly_relayout", (/** @type {Record<string, unknown>} */ change) => {
      const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (from !== undefined && to !== undefined) onZoom([asNumber(from), asNumber(to)]);
    });
    events.on("plotly_doubleclick", onReset);
  }

  return {
    /** @param {Picture} picture */
    draw: (picture) =>
      enqueue(node, () => paint(picture).catch((/** @type {Error} */ error) => onFail(error.message))),
    destroy() {
      waiting.delete(node);
      if (plotly) plotly.purge(node);
    },
  };
}
