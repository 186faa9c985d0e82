// @ts-check
/** A chart on a canvas: drawing, the crosshair, zooming and picking by mouse, touch and keyboard, pictures as files. */

import { drawFigure, scales } from "./drawing.js";
import { layout } from "./layout.js";
import { canvasSurface, svgSurface } from "./surface.js";
import { MARGIN, traces } from "./traces.js";
import { h } from "../lib/dom.js";

export { traces };

/** @typedef {import("./traces.js").Picture} Picture */
/** @typedef {import("./drawing.js").Figure} Figure */
/**
 * @typedef {{ onZoom: (range: [number, number]) => void, onReset: () => void,
 *   onHover: (position: { x: number, y: number | null } | null) => void, onPick: () => void,
 *   onFail: (reason: string) => void }} FigureEvents `y`: pixel of the pointer, null with the keyboard
 */

const FRAME = 10; // ms of drawing per animation frame
const DRAG = 4; // pixels from which a press is a drag
const EDGE = 4; // pixels next to the plot in which the pointer still sets the crosshair
const WHEEL = 0.002; // zoom per pixel of the wheel
const KEY_SHARE = 0.01; // share of the axis per arrow key; ten times as much with Shift

/**
 * Conversion between x values and pixels in a chart that is `width` pixels wide. Pure.
 * @param {[number, number]} range @param {number} width @param {boolean} [log] logarithmic
 */
export function scale(range, width, log = false) {
  const inner = Math.max(1, width - MARGIN.l - MARGIN.r);
  const [low, high] = log ? range.map(logarithm) : range;
  const span = high - low || 1;
  return {
    toPixel: (/** @type {number} */ x) => MARGIN.l + (((log ? logarithm(x) : x) - low) / span) * inner,
    toValue(/** @type {number} */ pixel) {
      const value = low + ((pixel - MARGIN.l) / inner) * span;
      return log ? 10 ** value : value;
    },
  };
}

/** @param {number} value */
const logarithm = (value) => Math.log10(Math.max(value, Number.MIN_VALUE));

/** @type {Map<object, () => void>} */
const waiting = new Map();
let painting = false;
const paper = matchMedia("print");

/**
 * Draw in animation frames of limited length, so that many charts that change at once do not block the page. A
 * drawing is dropped if a newer one of the same chart is queued.
 * @param {object} chart @param {() => void} paint
 */
function enqueue(chart, paint) {
  if (paper.matches) return paint(); // no frame comes before the page is printed
  waiting.set(chart, paint);
  if (painting) return;
  painting = true;
  requestAnimationFrame(paintWaiting);
}

function paintWaiting() {
  const end = performance.now() + FRAME;
  do {
    const [next] = waiting;
    if (!next) break;
    waiting.delete(next[0]);
    next[1]();
  } while (performance.now() < end);
  painting = waiting.size > 0;
  if (painting) requestAnimationFrame(paintWaiting);
}

/** The figure of a picture. @param {Picture} picture @returns {Figure} */
export const figureOf = (picture) => ({ data: traces(picture), layout: layout(picture) });

/** The fonts of an element. @param {Element} element */
const family = (element) => getComputedStyle(element).fontFamily || "sans-serif";

/** @param {HTMLElement} node the plot; it gets the canvas and the keyboard focus @param {FigureEvents} events */
export function createChart(node, events) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "plot-canvas", "aria-hidden": "true" }));
  const selection = h("div", { class: "plot-selection", hidden: true });
  node.append(canvas, h("div", { class: "plot-area" }), selection);
  /** @type {Picture | null} */
  let current = null;

  /** @param {Picture} picture */
  function paint(picture) {
    const [width, height] = [node.clientWidth, node.clientHeight];
    if (!node.isConnected || width < 20) return;
    const figure = figureOf(picture);
    const ratio = devicePixelRatio || 1;
    const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== across || canvas.height !== down) Object.assign(canvas, { width: across, height: down });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    drawFigure(canvasSurface(context, family(node)), figure, { width, height });
    current = picture;
    Object.assign(node, { figure }); // for files and tests
    node.dataset.drawn = String(Number(node.dataset.drawn ?? 0) + 1);
  }

  /** @param {Picture} picture */
  function tryPaint(picture) {
    try {
      paint(picture);
    } catch (error) {
      events.onFail(/** @type {Error} */ (error).message);
    }
  }

  const range = () => current?.range ?? null;
  const converter = () => {
    const shown = range();
    return shown && scale(shown, node.clientWidth, current?.xLog);
  };
  listenToPointer(node, selection, {
    ...events,
    converter,
    preview(shifted) {
      if (current) tryPaint({ ...current, range: shifted });
    },
    range,
  });
  listenToKeys(node, { ...events, converter });

  return {
    /** @param {Picture} picture */
    draw: (picture) => enqueue(node, () => tryPaint(picture)),
    destroy: () => waiting.delete(node),
    canvas,
    /** A function from values on the y axis to pixels. */
    yScale: () => scales(layoutOf(node), node.clientWidth, node.clientHeight).y,
  };
}

/** The layout that a plot shows. @param {HTMLElement} node */
const layoutOf = (node) => /** @type {any} */ (node).figure?.layout ?? { xaxis: {}, yaxis: {} };

/**
 * @typedef {FigureEvents & { converter: () => ReturnType<typeof scale> | null, range: () => [number, number] | null,
 *   preview: (range: [number, number]) => void }} PointerEvents
 */

/** @param {HTMLElement} node @param {HTMLElement} selection @param {PointerEvents} options */
function listenToPointer(node, selection, { converter, range, preview, onZoom, onReset, onHover, onPick }) {
  /** @type {Map<number, number>} the x pixels of the pointers that are down */
  const down = new Map();
  /** @type {{ from: number, shift: boolean, range: [number, number], touch: boolean } | null} */
  let press = null;
  let dragging = false;
  /** @type {{ from: [number, number], range: [number, number] } | null} */
  let pinch = null;
  let wheelTimer = 0;
  /** @type {[number, number] | null} */
  let wheelRange = null;

  const left = (/** @type {PointerEvent | WheelEvent} */ event) => event.clientX - node.getBoundingClientRect().left;
  const top = (/** @type {PointerEvent} */ event) => event.clientY - node.getBoundingClientRect().top;
  const limited = (/** @type {number} */ pixel) =>
    Math.max(MARGIN.l, Math.min(pixel, node.clientWidth - MARGIN.r));

  /** @param {PointerEvent} event */
  function hover(event) {
    const convert = converter();
    const pixel = left(event);
    const inside = pixel >= MARGIN.l - EDGE && pixel <= node.clientWidth - MARGIN.r + EDGE;
    onHover(convert && inside ? { x: convert.toValue(limited(pixel)), y: top(event) } : null);
  }

  node.addEventListener("pointerdown", (event) => {
    const shown = range();
    if (event.button !== 0 || shown === null) return;
    down.set(event.pointerId, left(event));
    if (down.size === 2) {
      const [a, b] = [...down.values()];
      pinch = { from: [a, b], range: shown };
      press = null;
      return;
    }
    press = { from: left(event), shift: event.shiftKey, range: shown, touch: event.pointerType === "touch" };
    dragging = false;
    if (event.pointerType === "touch") hover(event);
  });
  node.addEventListener("pointermove", (event) => {
    const convert = converter();
    if (down.has(event.pointerId)) down.set(event.pointerId, left(event));
    if (pinch && down.size === 2 && convert) return movePinch(pinch, [...down.values()], preview, node.clientWidth);
    if (press && !press.touch && Math.abs(left(event) - press.from) >= DRAG) {
      dragging = true;
      node.setPointerCapture?.(event.pointerId);
    }
    if (!press || !dragging) return hover(event);
    const [a, b] = [press.from, limited(left(event))].sort((x, y) => x - y);
    if (press.shift) preview(shifted(press.range, press.from - left(event), node.clientWidth));
    else {
      selection.hidden = false;
      Object.assign(selection.style, { left: `${a}px`, width: `${b - a}px` });
    }
  });
  const end = (/** @type {PointerEvent} */ event) => {
    const convert = converter();
    if (pinch && down.size === 2) {
      onZoom(pinched(pinch.range, pinch.from, /** @type {[number, number]} */ ([...down.values()]), node.clientWidth));
      pinch = null;
    }
    down.delete(event.pointerId);
    selection.hidden = true;
    const released = press;
    press = null;
    if (!released || !convert || event.type === "pointercancel") return;
    if (!dragging) return onPick();
    dragging = false;
    if (released.shift) return onZoom(shifted(released.range, released.from - left(event), node.clientWidth));
    const [a, b] = [limited(released.from), limited(left(event))].sort((x, y) => x - y);
    onZoom([convert.toValue(a), convert.toValue(b)]);
  };
  node.addEventListener("pointerup", end);
  node.addEventListener("pointercancel", end);
  node.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && onHover(null));
  node.addEventListener("dblclick", onReset);
  node.addEventListener(
    "wheel",
    (event) => {
      const shown = wheelRange ?? range();
      if (!(event.ctrlKey || event.metaKey) || shown === null) return; // the wheel alone scrolls the page
      event.preventDefault();
      const centre = scale(shown, node.clientWidth).toValue(limited(left(event)));
      const factor = Math.exp(event.deltaY * WHEEL);
      wheelRange = [centre - (centre - shown[0]) * factor, centre + (shown[1] - centre) * factor];
      preview(wheelRange);
      clearTimeout(wheelTimer);
      wheelTimer = window.setTimeout(() => {
        if (wheelRange) onZoom(wheelRange);
        wheelRange = null;
      }, 160);
    },
    { passive: false },
  );
}

/** A range moved by some pixels. Pure. @param {[number, number]} range @param {number} pixels @param {number} width @returns {[number, number]} */
export function shifted([low, high], pixels, width) {
  const by = (pixels / Math.max(1, width - MARGIN.l - MARGIN.r)) * (high - low);
  return [low + by, high + by];
}

/**
 * The range after two fingers have moved: the values below them stay below them. Pure.
 * @param {[number, number]} range @param {[number, number]} from @param {[number, number]} to pixels of the fingers
 * @param {number} width @returns {[number, number]}
 */
export function pinched(range, from, to, width) {
  const { toValue } = scale(range, width);
  const [a, b] = from.map(toValue);
  if (Math.abs(to[1] - to[0]) < 8 || a === b) return range;
  const perPixel = (b - a) / (to[1] - to[0]);
  const low = a - perPixel * (to[0] - MARGIN.l);
  const high = low + perPixel * (width - MARGIN.l - MARGIN.r);
  return high > low ? [low, high] : range;
}

/** @param {{ from: [number, number], range: [number, number] }} pinch @param {number[]} fingers @param {(range: [number, number]) => void} preview @param {number} width */
function movePinch(pinch, fingers, preview, width) {
  preview(pinched(pinch.range, pinch.from, /** @type {[number, number]} */ (fingers), width));
}

/** The crosshair by keyboard. @param {HTMLElement} node @param {FigureEvents & { converter: () => ReturnType<typeof scale> | null }} options */
function listenToKeys(node, { converter, onHover, onPick }) {
  /** @type {number | null} share of the axis */
  let position = null;
  node.addEventListener("keydown", (event) => {
    const convert = converter();
    if (!convert || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = KEY_SHARE * (event.shiftKey ? 10 : 1);
    const moves = /** @type {Record<string, (share: number) => number>} */ ({
      ArrowLeft: (share) => share - step,
      ArrowRight: (share) => share + step,
      Home: () => 0,
      End: () => 1,
    });
    if (event.key === "Enter") onPick();
    else if (event.key === "Escape" && position !== null) {
      position = null;
      onHover(null);
    } else if (event.key in moves) {
      position = Math.max(0, Math.min(1, moves[event.key](position ?? 1)));
      const pixel = MARGIN.l + position * (node.clientWidth - MARGIN.l - MARGIN.r);
      onHover({ x: convert.toValue(pixel), y: null });
    } else return;
    event.preventDefault();
  });
  node.addEventListener("blur", () => {
    if (position !== null) onHover(null);
    position = null;
  });
}

/** A chart as an SVG document with its title. @param {Figure} figure @param {{ title: string, width: number, height: number, family: string, background: string, ink: string }} options */
export function asSvg(figure, { title, width, height, family: fonts, background, ink }) {
  const surface = svgSurface(width, height, fonts, background);
  surface.text(MARGIN.l, 14, title, { colour: ink, size: 13 });
  const shiftedSurface = below(surface, 24);
  drawFigure(shiftedSurface, figure, { width, height: height - 24 });
  return surface.file();
}

/** A chart as a PNG with its title, twice as fine as the screen. @param {Figure} figure @param {Parameters<typeof asSvg>[1]} options @returns {Promise<Blob>} */
export function asPng(figure, { title, width, height, family: fonts, background, ink }) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: 2 * width, height: 2 * height });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(2, 2);
  const surface = canvasSurface(context, fonts);
  surface.rect({ x: 0, y: 0, width, height }, background);
  surface.text(MARGIN.l, 14, title, { colour: ink, size: 13 });
  drawFigure(below(surface, 24), figure, { width, height: height - 24 });
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not make the picture."))), "image/png"),
  );
}

/** A surface shifted down by some pixels. @param {import("./surface.js").Surface} surface @param {number} by @returns {import("./surface.js").Surface} */
function below(surface, by) {
  const moved = (/** @type {ArrayLike<number>} */ y) => Float64Array.from(y, (value) => value + by);
  return {
    clip: (box, draw) => surface.clip({ ...box, y: box.y + by }, draw),
    path: (x, y, style) => surface.path(x, moved(y), style),
    rect: (box, fill) => surface.rect({ ...box, y: box.y + by }, fill),
    circle: (x, y, radius, fill, stroke) => surface.circle(x, y + by, radius, fill, stroke),
    text: (x, y, text, style) => surface.text(x, y + by, text, style),
  };
}
