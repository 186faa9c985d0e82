// @ts-check
/** Loads Plotly, draws charts with it and reports zooming. No other module uses Plotly. */

import { layout } from "./layout.js";
import { MARGIN, traces } from "./traces.js";

export { traces };

/** @typedef {import("./traces.js").Picture} Picture */

/** @type {Promise<any> | null} */
let loading = null;

/** Plotly, loaded with the first chart, so that pages without charts do not wait for it. @returns {Promise<any>} */
function library() {
  loading ??= new Promise((resolve, reject) => {
    const address = /** @type {HTMLLinkElement} */ (document.getElementById("plotly")).href;
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => resolve(/** @type {any} */ (window).Plotly);
    script.onerror = () => {
      loading = null;
      reject(new Error("The charts could not be loaded. Reload the page."));
    };
    document.head.append(script);
  });
  return loading;
}

/** Load Plotly while the points are still being fetched. */
export function prepare() {
  library().catch(() => {}); // the first chart tries again and reports the error
}

/**
 * Conversion between x values and pixels in a chart that is `width` pixels wide. Pure.
 * @param {[number, number]} range @param {number} width
 */
export function scale(range, width) {
  const inner = Math.max(1, width - MARGIN.l - MARGIN.r);
  const span = range[1] - range[0] || 1;
  return {
    toPixel: (/** @type {number} */ x) => MARGIN.l + ((x - range[0]) / span) * inner,
    toValue: (/** @type {number} */ pixel) => range[0] + ((pixel - MARGIN.l) / inner) * span,
  };
}

/** A bound of a range as Plotly reports it (dates in local time), as a number. @param {unknown} bound */
const asNumber = (bound) => (typeof bound === "string" ? Date.parse(bound.replace(" ", "T")) : Number(bound));

/** @type {Map<object, () => Promise<void>>} */
const waiting = new Map();
let painting = false;

/**
 * Draw one chart per animation frame, so that twenty charts that change at once do not block the page. A
 * drawing is dropped if a newer one of the same chart is queued.
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
 * @param {{ onZoom: (range: [number, number]) => void, onReset: () => void, onFail: (reason: string) => void }} events
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
