// @ts-check
/** The menus of saved views and of share links. */

import { copyLine, h, link, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { popover } from "../lib/popover.js";
import * as api from "../lib/runs_api.js";
import { clock } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").SavedView} SavedView */
/** @typedef {{ filter: string, sort: string, columns: string[] }} ViewState */

/** The project that a filter asks for, "" for none or several. Pure. @param {string} filter */
export const projectOf = (filter) => /(?:^|\s)project:([^\s,"*?]+)(?=\s|$)/.exec(filter)?.[1] ?? "";

/**
 * @param {{ views: () => SavedView[], current: () => ViewState, currentView: () => SavedView | null,
 *   onSaved: (view: SavedView | null) => Promise<void> }} options
 */
export function viewsMenu({ views, current, currentView, onSaved }) {
  return popover({ label: "Views", image: icon("pin"), className: "views-menu" }, (close) => {
    const view = currentView();
    const name = /** @type {HTMLInputElement} */ (
      h("input", { class: "field", "aria-label": "Name of the view", placeholder: "Name", maxlength: 100, required: true, value: view?.name ?? "" })
    );
    const project = projectOf(current().filter);
    const isDefault = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", checked: view?.is_default ?? false }));
    const problem = h("p", { class: "filter-message filter-error", role: "alert" });
    const form = h(
      "form",
      { class: "menu-body" },
      h("h3", {}, "Save the present filter, order and columns"),
      name,
      h("label", { class: "check" }, isDefault, project ? `Default of the project ${project}` : "Default of the overview"),
      h("button", { type: "submit", class: "button button-strong" }, "Save view"),
      problem,
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const wanted = { ...current(), name: name.value, project, is_default: isDefault.checked };
      const same = views().find((each) => each.name === name.value.trim());
      try {
        const saved = await (same ? api.replaceView(same.id, wanted) : api.saveView(wanted));
        close();
        await onSaved(saved);
      } catch (error) {
        problem.textContent = /** @type {Error} */ (error).message;
      }
    });
    const list = h("ul", { class: "menu-list", "aria-label": "Saved views" });
    function draw() {
      refill(
        list,
        views().map((each) =>
          h(
            "li",
            {},
            link(`/?view=${each.id}`, { class: "cell-text", title: each.filter, on: { click: close } }, each.name),
            each.is_default && h("span", { class: "tag" }, each.project ? `default of ${each.project}` : "default"),
            h(
              "button",
              {
                type: "button",
                class: "icon-button",
                "aria-label": `Delete the view ${each.name}`,
                on: { click: () => api.deleteView(each.id).then(() => onSaved(null)).then(draw) },
              },
              icon("close"),
            ),
          ),
        ),
      );
    }
    draw();
    return h("div", {}, views().length > 0 && h("div", { class: "menu-body" }, h("h3", {}, "Saved views"), list), form);
  });
}

const DAYS = [
  ["1", "1 day"],
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
];

/** The menu of share links to a page. @param {() => string} path the address of the page within the server */
export function shareMenu(path) {
  return popover({ label: "Share", image: icon("arrow"), className: "share-menu" }, () => {
    const days = /** @type {HTMLSelectElement} */ (
      h("select", { class: "select", "aria-label": "Ends after" }, DAYS.map(([value, text]) => h("option", { value, selected: value === "7" }, text)))
    );
    const result = h("div", { role: "status" });
    const list = h("ul", { class: "menu-list", "aria-label": "Share links" });
    async function draw() {
      const links = (await api.shareLinks().catch(() => [])).filter((each) => each.revoked_at === null && each.expires_at > Date.now() / 1000);
      refill(
        list,
        links.map((each) =>
          h(
            "li",
            {},
            h("span", { class: "cell-text", title: each.path }, each.path),
            h("span", { class: "quiet number" }, `until ${clock(each.expires_at)}`),
            h(
              "button",
              { type: "button", class: "icon-button", "aria-label": `Revoke the link to ${each.path}`, on: { click: () => api.revokeLink(each.id).then(draw) } },
              icon("close"),
            ),
          ),
        ),
      );
    }
    async function create() {
      try {
        const made = await api.shareLink(path(), Number(days.value));
        refill(result, h("p", { class: "quiet" }, "Anybody with this address sees this page, read-only. It is shown once."), copyLine(made.address));
        void draw();
      } catch (error) {
        refill(result, h("p", { class: "filter-message filter-error" }, /** @type {Error} */ (error).message));
      }
    }
    void draw();
    const button = h("button", { type: "button", class: "button button-strong", on: { click: create } }, "Create link");
    return h("div", { class: "menu-body" }, h("h3", {}, "Read-only link to this page"), h("div", { class: "row" }, days, button), result, h("h3", {}, "Links in force"), list);
  });
}
