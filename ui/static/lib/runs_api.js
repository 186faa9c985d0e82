// @ts-check
/** Requests of the overview: runs page by page, completion, descriptions, saved views, share links. */

import { request, search } from "./api.js";

/** @typedef {import("./api_types.js").RunList} RunList */
/** @typedef {import("./api_types.js").SavedView} SavedView */
/** @typedef {{ name: string, project: string, filter: string, sort: string, columns: string[], is_default: boolean }} ViewContent */

/**
 * A page of runs.
 * @param {{ filter: string, sort: string, columns: string[] }} query
 * @param {{ offset: number, limit: number, since: string }} page @param {AbortSignal} [signal] @returns {Promise<RunList>}
 */
export function listRuns({ filter, sort, columns }, { offset, limit, since }, signal) {
  const query = search({ filter, sort, limit, cursor: offset, since });
  const more = columns.map((column) => `&columns=${encodeURIComponent(column)}`).join("");
  return request(`/runs${query}${more}`, { signal });
}

/** @param {string} filter @param {number} at @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").CompletionList>} */
export const completions = (filter, at, signal) => request(`/completions${search({ filter, at })}`, { signal });

/** @param {string} q @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").ColumnList>} */
export const availableColumns = (q, signal) => request(`/columns${search({ q })}`, { signal });

/** @param {string} id @param {{ add_tags?: string[], remove_tags?: string[], starred?: boolean, notes?: string, group?: string }} changes @returns {Promise<import("./api_types.js").RunDetail>} */
export const describeRun = (id, changes) =>
  request(`/runs/${encodeURIComponent(id)}`, { method: "PATCH", body: changes });

/** @param {AbortSignal} [signal] @returns {Promise<SavedView[]>} */
export const savedViews = async (signal) => (await request("/views", { signal })).views;

/** @param {ViewContent} view @returns {Promise<SavedView>} */
export const saveView = (view) => request("/views", { method: "POST", body: view });

/** @param {number} id @param {ViewContent} view @returns {Promise<SavedView>} */
export const replaceView = (id, view) => request(`/views/${id}`, { method: "PUT", body: view });

/** @param {number} id */
export const deleteView = (id) => request(`/views/${id}`, { method: "DELETE" });

/** @returns {Promise<import("./api_types.js").ShareLink[]>} */
export const shareLinks = async () => (await request("/shares")).links;

/** @param {string} path @param {number} days @returns {Promise<import("./api_types.js").NewShareLink>} */
export const shareLink = (path, days) => request("/shares", { method: "POST", body: { path, days } });

/** @param {number} id */
export const revokeLink = (id) => request(`/shares/${id}`, { method: "DELETE" });
