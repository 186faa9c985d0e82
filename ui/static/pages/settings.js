// @ts-check
/** The settings of the server, read-only: what is set, where, and the defaults; and those of this browser. */

import * as api from "../lib/api.js";
import { codeName, h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { addSource } from "../lib/palette.js";
import { dataTable, pageHead, section } from "../lib/page_parts.js";
import { empty } from "../lib/placeholders.js";
import * as prefs from "../lib/preferences.js";

/** @typedef {import("../lib/api_types.js").SettingView} SettingView */

/** @type {Record<string, string>} */
const SOURCES = {
  default: "Default",
  flag: "Flag",
  environment: "Environment variable",
  file: "Settings file",
};

/** The settings that match all words, those that were set first. Pure. @param {SettingView[]} settings @param {string} q */
export function matchingSettings(settings, q) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = (/** @type {SettingView} */ { name, value, source }) => `${name} ${value} ${SOURCES[source]}`.toLowerCase();
  return settings
    .filter((setting) => words.every((word) => texts(setting).includes(word)))
    .sort((a, b) => Number(a.source === "default") - Number(b.source === "default"));
}

/** @type {import("../lib/router.js").Page} */
export async function show(root, { signal, query, setQuery, search, title }) {
  const { settings, file, version, database } = await api.serverSettings(signal);
  const table = h("div", {});
  title("Settings");

  function draw() {
    const shown = matchingSettings(settings, query().get("q") ?? "");
    refill(
      table,
      shown.length
        ? dataTable("Settings of the server", ["Setting", "Value", "From", "Default"], shown.map(row))
        : empty("No matching settings", "No setting has these words in its name or value."),
    );
  }

  const onInput = (/** @type {string} */ q) => {
    setQuery({ q });
    draw();
  };
  search({ label: "Search settings", value: query().get("q") ?? "", onInput });
  addSource(signal, () =>
    settings.map(({ name, value }) => ({
      group: "Settings",
      title: name,
      detail: value,
      run: () => onInput(name),
    })),
  );
  const changed = settings.filter(({ source }) => source !== "default").length;
  const from = file ? `Settings file: ${file}. ` : "There is no settings file. ";
  refill(
    root,
    pageHead(
      "Settings",
      `${count(changed, "setting")} of ${settings.length} set. ${from}Changes take effect when the server is started again.`,
    ),
    section("This browser", browserSettings()),
    section("Server", h("p", { class: "quiet" }, `Holter ${version}, database: ${database}`), table),
  );
  draw();
}

/** @param {SettingView} setting */
function row({ name, value, default: usual, source, secret }) {
  const set = source !== "default";
  return [
    codeName(name),
    value === "" ? h("span", { class: "quiet" }, "not set") : h(set ? "b" : "span", { class: "setting-value" }, value),
    h("span", { class: set ? "number" : "number quiet" }, SOURCES[source]),
    secret || usual === value ? null : h("span", { class: "quiet" }, usual || "not set"),
  ];
}

/** The name for comments and the theme, which this browser stores. */
function browserSettings() {
  const name = /** @type {HTMLInputElement} */ (
    h("input", { class: "field", id: "own-name", autocomplete: "name", value: prefs.get("name", "") })
  );
  name.addEventListener("change", () => prefs.set("name", name.value.trim()));
  return h(
    "div",
    { class: "browser-settings" },
    h("label", { for: "own-name" }, "Your name"),
    name,
    h("p", { class: "quiet" }, "For comments, acknowledgements and assignments."),
  );
}
