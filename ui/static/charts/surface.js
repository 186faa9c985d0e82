// @ts-check
/** Surfaces on which charts are drawn: a canvas for the page, SVG for files. Both have the same methods. */

/**
 * @typedef {{ colour: string, width: number, dash?: number[], opacity?: number }} Stroke
 * @typedef {{ colour: string, size: number, align?: "left" | "center" | "right", baseline?: "top" | "middle" | "bottom" }} TextStyle
 * @typedef {{ clip: (box: Box, draw: () => void) => void,
 *   path: (x: ArrayLike<number>, y: ArrayLike<number>, style: { stroke?: Stroke, fill?: string, closed?: boolean }) => void,
 *   rect: (box: Box, fill: string) => void,
 *   circle: (x: number, y: number, radius: number, fill: string, stroke?: Stroke) => void,
 *   text: (x: number, y: number, text: string, style: TextStyle) => void }} Surface
 *   a path has a gap at every NaN
 * @typedef {{ x: number, y: number, width: number, height: number }} Box in pixels
 */

/** @param {CanvasRenderingContext2D} context @param {string} family of fonts @returns {Surface} */
export function canvasSurface(context, family) {
  /** @param {Stroke} stroke */
  function applyStroke({ colour, width, dash = [], opacity = 1 }) {
    context.globalAlpha = opacity;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.stroke();
    context.globalAlpha = 1;
  }

  return {
    clip({ x, y, width, height }, draw) {
      context.save();
      context.beginPath();
      context.rect(x, y, width, height);
      context.clip();
      draw();
      context.restore();
    },
    path(x, y, { stroke, fill, closed = false }) {
      context.lineJoin = "round";
      context.beginPath();
      let open = false;
      for (let i = 0; i < x.length; i++) {
        const [left, top] = [x[i], y[i]];
        if (Number.isNaN(left) || Number.isNaN(top)) {
          if (open && closed) context.closePath();
          open = false;
        } else if (open) context.lineTo(left, top);
        else {
          context.moveTo(left, top);
          open = true;
        }
      }
      if (open && closed) context.closePath();
      if (fill) {
        context.fillStyle = fill;
        context.fill();
      }
      if (stroke) applyStroke(stroke);
    },
    rect({ x, y, width, height }, fill) {
      context.fillStyle = fill;
      context.fillRect(x, y, width, height);
    },
    circle(x, y, radius, fill, stroke) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fillStyle = fill;
      context.fill();
      if (stroke) applyStroke(stroke);
    },
    text(x, y, text, { colour, size, align = "left", baseline = "middle" }) {
      context.font = `${size}px ${family}`;
      context.fillStyle = colour;
      context.textAlign = align;
      context.textBaseline = baseline;
      context.fillText(text, x, y);
    },
  };
}

const ANCHORS = { left: "start", center: "middle", right: "end" };
const SHIFTS = { top: 0.8, middle: 0.35, bottom: -0.15 }; // of the text size, from the position to the baseline

/** @param {number} value */
const short = (value) => String(Math.round(100 * value) / 100);

/** @param {string} text */
const escaped = (text) =>
  text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter] ?? "");

/**
 * @param {number} width @param {number} height @param {string} family of fonts @param {string} background
 * @returns {Surface & { file: () => string }} `file` returns the SVG document
 */
export function svgSurface(width, height, family, background) {
  /** @type {string[]} */
  const parts = [];
  let clips = 0;
  const strokeText = (/** @type {Stroke | undefined} */ stroke) =>
    stroke
      ? ` stroke="${stroke.colour}" stroke-width="${stroke.width}" stroke-linejoin="round"` +
        (stroke.dash?.length ? ` stroke-dasharray="${stroke.dash.join(" ")}"` : "") +
        (stroke.opacity !== undefined && stroke.opacity < 1 ? ` opacity="${stroke.opacity}"` : "")
      : "";
  return {
    clip({ x, y, width: w, height: h }, draw) {
      const id = `clip-${++clips}`;
      parts.push(
        `<clipPath id="${id}"><rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"/></clipPath>`,
        `<g clip-path="url(#${id})">`,
      );
      draw();
      parts.push("</g>");
    },
    path(x, y, { stroke, fill, closed = false }) {
      let open = false;
      let words = "";
      for (let i = 0; i < x.length; i++) {
        if (Number.isNaN(x[i]) || Number.isNaN(y[i])) {
          if (open && closed) words += "Z";
          open = false;
          continue;
        }
        words += `${open ? "L" : "M"}${short(x[i])} ${short(y[i])}`;
        open = true;
      }
      if (open && closed) words += "Z";
      if (words) parts.push(`<path d="${words}" fill="${fill ?? "none"}"${strokeText(stroke)}/>`);
    },
    rect({ x, y, width: w, height: h }, fill) {
      parts.push(
        `<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" fill="${fill}"/>`,
      );
    },
    circle(x, y, radius, fill, stroke) {
      parts.push(
        `<circle cx="${short(x)}" cy="${short(y)}" r="${short(radius)}" fill="${fill}"${strokeText(stroke)}/>`,
      );
    },
    text(x, y, text, { colour, size, align = "left", baseline = "middle" }) {
      parts.push(
        `<text x="${short(x)}" y="${short(y + SHIFTS[baseline] * size)}" font-size="${size}" fill="${colour}" ` +
          `text-anchor="${ANCHORS[align]}">${escaped(text)}</text>`,
      );
    },
    file: () =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      `font-family="${escaped(family)}"><rect width="100%" height="100%" fill="${background}"/>${parts.join("")}</svg>`,
  };
}
