// @ts-check
/** Icons as outlines on a 16 by 16 grid. Every colour with a meaning has an icon, too. */

import { svg } from "./dom.js";

/** @type {Record<string, string[]>} */
const PATHS = {
  pulse: ["M1 8.5h3l1.5-2 2 6 2.5-10 2 7.5 1-1.5h2"],
  ok: ["M3.5 8.5l3 3 6-7"],
  unknown: ["M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4z", "M5.2 8h5.6"],
  info: ["M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4z", "M8 7.4v3.6", "M8 4.9v.2"],
  warning: ["M8 2l6.5 11.5h-13z", "M8 6.5v3.2", "M8 11.5v.2"],
  critical: ["M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3l-3.5-3.5V5.3z", "M8 4.6v4", "M8 11v.2"],
  running: ["M5 3.5v9l7-4.5z"],
  stalled: ["M5.5 3.5v9", "M10.5 3.5v9"],
  finished: ["M3.5 14V2.5", "M3.5 3h8.5l-2 2.8 2 2.8H3.5"],
  search: ["M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10z", "M10.8 10.8L14.3 14.3"],
  auto: ["M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z", "M8 2v12", "M8 5h5.2M8 8h6M8 11h5.2"],
  light: [
    "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6z",
    "M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  ],
  dark: ["M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3z"],
  help: [
    "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4z",
    "M6.2 6.2c0-2.3 3.6-2.3 3.6 0 0 1.5-1.8 1.5-1.8 3",
    "M8 11.2v.2",
  ],
  leave: ["M6.5 2.5h-4v11h4", "M6 8h8M11 5l3 3-3 3"],
  close: ["M3.5 3.5l9 9M12.5 3.5l-9 9"],
  plus: ["M8 3v10M3 8h10"],
  runs: ["M2 4h12M2 8h12M2 12h8"],
  compare: ["M2 12.5c3 0 3-7 6-7s3 4 6 4", "M2 8.5c3 0 3 3 6 3s3-7 6-7"],
  planned: ["M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2.2v2.6M10.5 2.2v2.6"],
  alerts: ["M8 2.2a4 4 0 0 0-4 4v3L2.8 11.4h10.4L12 9.2v-3a4 4 0 0 0-4-4z", "M6.5 13.4a1.6 1.6 0 0 0 3 0"],
  settings: ["M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6", "M10 6.3a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM6 13.3a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z"],
  mute: ["M3.2 6.2h2.3L8.5 3.4v9.2L5.5 9.8H3.2z", "M11 6.2l3 3.6M14 6.2l-3 3.6"],
  person: ["M8 7.6a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2z", "M3 13.8c.4-5.2 9.6-5.2 10 0"],
  rollback: ["M5.5 2.8L2.5 5.8l3 3", "M2.8 5.8h6.4a4 4 0 0 1 0 7.6H5"],
  report: ["M3.5 1.8h6l3 3v9.4h-9z", "M5.8 8h4.4M5.8 10.8h4.4M5.8 5.2h1.8"],
  restart: ["M13.2 8a5.2 5.2 0 1 1-1.6-3.7", "M13.4 1.8v3h-3"],
  hardware: ["M4.5 4.5h7v7h-7z", "M6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14"],
  arrow: ["M3 8h10M9.5 4.5L13 8l-3.5 3.5"],
  back: ["M13 8H3M6.5 4.5L3 8l3.5 3.5"],
  wide: ["M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10"],
  more: ["M2.8 8h.9M7.6 8h.9M12.4 8h.9"],
  pin: ["M6 2.5h4l-.5 4 2.5 2.5H4L6.5 6.5z", "M8 9v5"],
  comment: ["M2.5 3h11v8h-6l-3 2.5V11h-2z"],
};

/** @param {string} name @param {string} [label] name for screen readers; without it the icon is decoration */
export function icon(name, label) {
  const paths = (PATHS[name] ?? PATHS.info).map((d) => svg("path", { d }));
  return svg(
    "svg",
    {
      class: `icon icon-${name}`,
      viewBox: "0 0 16 16",
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 1.5,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
      role: label ? "img" : null,
      "aria-label": label ?? null,
      "aria-hidden": label ? null : "true",
    },
    paths,
  );
}
