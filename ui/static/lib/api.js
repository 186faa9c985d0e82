// @ts-check
/** The client of the REST API and of the live stream. Only this module and `chart_api.js` send requests. */

import { decode, floats, integers } from "./msgpack.js";

/** @typedef {import("./api_types.js").RunInfo} RunInfo */
/** @typedef {import("./api_types.js").RunDetail} RunDetail */
/** @typedef {import("./api_types.js").IncidentView} IncidentView */

const BASE = "/api/v1";
const AWAY = "The page continues when the server is back. No data is lost.";
const NOT_SENT = "The server could not be reached. Try again when it is back.";
const RETRY_SECONDS = [1, 2, 4, 8, 15];

/** A failed request with the server's message; status 0 if the server could not be reached. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let onLoginRequired = () => {};

/** @param {() => void} listener called when the server requires a login */
export function whenLoginRequired(listener) {
  onLoginRequired = listener;
}

/**
 * @param {string} path @param {{ method?: string, body?: unknown, signal?: AbortSignal, accept?: string }} [options]
 *   `accept`: media type of the response, which is then returned as bytes
 * @returns {Promise<any>}
 */
export async function request(path, { method = "GET", body, signal, accept } = {}) {
  /** @type {Record<string, string>} */
  const headers = accept ? { accept } : {};
  if (body !== undefined) headers["content-type"] = "application/json";
  const init = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
  let response;
  try {
    response = await fetch(BASE + path, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, method === "GET" ? AWAY : NOT_SENT);
  }
  if (response.ok && accept) return response.arrayBuffer();
  if (response.ok) return response.status === 204 ? null : response.json();
  if (response.status === 401 && path !== "/session") onLoginRequired();
  throw new ApiError(response.status, await errorText(response));
}

/** @param {Response} response */
async function errorText(response) {
  try {
    const { detail } = await response.json();
    if (typeof detail === "string") return detail;
    return detail.map((/** @type {any} */ part) => `${(part.loc ?? []).join(".")}: ${part.msg}`).join("; ");
  } catch {
    return `The server responded with ${response.status} ${response.statusText}`;
  }
}

/** @param {Record<string, string | number | null | undefined>} values */
export function search(values) {
  const present = Object.entries(values).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const text = new URLSearchParams(present.map(([name, value]) => [name, String(value)])).toString();
  return text ? `?${text}` : "";
}

/** @param {AbortSignal} [signal] @returns {Promise<RunInfo[]>} */
export const runs = async (signal) => (await request("/runs", { signal })).runs;

const FOUND_RUNS = 50;

/** A filter for runs that have all words of a query in their texts. Pure. @param {string} query */
export const wordsFilter = (query) =>
  query
    .split(/[\s/"\\]+/)
    .filter(Boolean)
    .map((word) => `"${word}"`)
    .join(" ");

/** Some runs with all words of a query in their names, projects or other texts. @param {string} query @param {AbortSignal} [signal] @returns {Promise<RunInfo[]>} */
export const findRuns = async (query, signal) =>
  (await request(`/runs${search({ filter: wordsFilter(query), limit: FOUND_RUNS })}`, { signal })).runs;

/** @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").AgentStatus[]>} */
export const agents = async (signal) => (await request("/agents", { signal })).agents;

/** @param {string} agent */
export const forgetAgent = (agent) => request(`/agents/${encodeURIComponent(agent)}`, { method: "DELETE" });

/** @param {string} id @param {AbortSignal} [signal] @returns {Promise<RunDetail>} */
export const run = (id, signal) => request(`/runs/${encodeURIComponent(id)}`, { signal });

/** @param {string} id @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").SeriesInfo[]>} */
export const seriesOf = async (id, signal) =>
  (await request(`/runs/${encodeURIComponent(id)}/series`, { signal })).series;

/** @param {string} id @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").DiagnosticView[]>} */
export const diagnosticsOf = async (id, signal) =>
  (await request(`/runs/${encodeURIComponent(id)}/remarks`, { signal })).remarks;

/** The analysis of collective communication. @param {string} id @param {AbortSignal} [signal]
 * @returns {Promise<import("./api_types.js").RunCollectives>} */
export const collectivesOf = (id, signal) =>
  request(`/runs/${encodeURIComponent(id)}/collectives`, { signal });

/** The configuration of a run's launches. @param {string} id @param {string} q part of a name or value @param {AbortSignal} [signal]
 * @returns {Promise<import("./api_types.js").RunConfig>} */
export const configOf = (id, q, signal) =>
  request(`/runs/${encodeURIComponent(id)}/config${search({ q })}`, { signal });

/** The environment of a run's launches. @param {string} id @param {string} q part of a name or value @param {AbortSignal} [signal]
 * @returns {Promise<import("./api_types.js").RunConfig>} */
export const environmentOf = (id, q, signal) =>
  request(`/runs/${encodeURIComponent(id)}/environment${search({ q })}`, { signal });

/** @param {string} id @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").ThroughputReport>} */
export const throughputOf = (id, signal) => request(`/runs/${encodeURIComponent(id)}/throughput`, { signal });

/** Wall times; null where the log has none. @param {Uint8Array} bytes */
const clock = (bytes) => floats(bytes).map((time) => (Number.isNaN(time) ? null : time));

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").ChartData>} */
export async function charts(path, signal) {
  const response = decode(await request(path, { signal, accept: "application/msgpack" }));
  for (const { segments } of response.series) {
    for (const segment of segments) {
      const { step, time, value, band } = segment;
      Object.assign(segment, { step: integers(step), time: clock(time), value: floats(value) });
      if (band === null) continue;
      const [minimum, maximum, mean] = [band.minimum, band.maximum, band.mean].map(floats);
      segment.band = { step: integers(band.step), minimum, maximum, mean };
    }
  }
  return response;
}

/**
 * Curves over a range of steps. The server reduces them to about `points` points and keeps every extreme.
 * @param {string} id @param {string[]} metrics
 * @param {{ from?: number | null, to?: number | null, points?: number, labels?: object }} range
 * @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").ChartData>}
 */
export function data(id, metrics, { from, to, points, labels }, signal) {
  const query = new URLSearchParams(metrics.map((metric) => ["metric", metric]));
  if (labels) query.set("labels", JSON.stringify(labels));
  if (from !== null && from !== undefined) query.set("from", String(Math.floor(from)));
  if (to !== null && to !== undefined) query.set("to", String(Math.ceil(to)));
  if (points) query.set("points", String(Math.round(points)));
  return charts(`/runs/${encodeURIComponent(id)}/data?${query}`, signal);
}

/** @param {string} id @param {AbortSignal} [signal] @returns {Promise<IncidentView[]>} */
export const incidentsOf = async (id, signal) =>
  (await request(`/runs/${encodeURIComponent(id)}/incidents`, { signal })).incidents;

/**
 * One page of incidents, with the number of all.
 * @param {Record<string, string | number | null>} filter parameters of the list
 * @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").IncidentPage>}
 */
export const incidentPage = (filter, signal) => request(`/incidents${search(filter)}`, { signal });

/** The event of an incident, changes of the run before it, similar incidents. @param {string | number} id
 * @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").IncidentContext>} */
export const incidentContext = (id, signal) =>
  request(`/incidents/${encodeURIComponent(id)}/context`, { signal });

/** The events of a run, and what was changed in it. @param {string} id @param {AbortSignal} [signal]
 * @returns {Promise<import("./api_types.js").RunEvents>} */
export const eventsOf = (id, signal) => request(`/runs/${encodeURIComponent(id)}/events`, { signal });

/** Acknowledge several incidents. @param {number[]} ids @param {{ by?: string }} author @returns {Promise<IncidentView[]>} */
export const acknowledgeAll = async (ids, author) =>
  (await request("/incidents/acknowledge", { method: "POST", body: { ids, ...author } })).incidents;

/** Ask a person to work on an incident. @param {number} id @param {string | null} assignee null: nobody in particular
 * @param {{ by?: string }} author @returns {Promise<IncidentView>} */
export const assign = (id, assignee, author) =>
  request(`/incidents/${id}/assign`, { method: "POST", body: { assignee, ...author } });

/**
 * Mute an incident. @param {number} id @param {number | null} seconds null: until it recovers
 * @param {{ by?: string }} author @returns {Promise<import("./api_types.js").SilenceView>}
 */
export const mute = (id, seconds, author) =>
  request(`/incidents/${id}/mute`, { method: "POST", body: { seconds, ...author } });

/** @param {number} id */
export const unmute = (id) => request(`/incidents/${id}/mute`, { method: "DELETE" });

/** The silence of an incident alone, null without one. @param {number} id @param {AbortSignal} [signal]
 * @returns {Promise<import("./api_types.js").SilenceView | null>} */
export const muteOf = async (id, signal) =>
  (await silences(signal)).find(({ matchers }) => matchers.length === 1 && matchers[0] === `incident="${id}"`) ?? null;

/** Channels with the state of their delivery. @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").ReceiverList>} */
export const receivers = (signal) => request("/receivers", { signal });

/** @param {string} name @returns {Promise<import("./api_types.js").ChannelTestResult>} */
export const testChannel = (name) => request(`/channels/${encodeURIComponent(name)}/test`, { method: "POST" });

/** The tree of routes and its rules. @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").RoutingView>} */
export const routing = (signal) => request("/routing", { signal });

/** Where an incident would go now; sends nothing. @param {object} question @returns {Promise<import("./api_types.js").RoutingDecision>} */
export const testRouting = (question) => request("/routing/test", { method: "POST", body: question });

/** Settings of routing on trial; changes nothing. @param {string} toml @returns {Promise<import("./api_types.js").RoutingTrialResult>} */
export const tryRouting = (toml) => request("/routing/trial", { method: "POST", body: { toml } });

/** The silences in force. @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").SilenceView[]>} */
export const silences = async (signal) => (await request("/silences", { signal })).silences;

/** @param {object} silence matchers, comment, seconds @returns {Promise<import("./api_types.js").SilenceView>} */
export const addSilence = (silence) => request("/silences", { method: "POST", body: silence });

/** @param {number} id */
export const endSilence = (id) => request(`/silences/${id}`, { method: "DELETE" });

/** Messages that were sent, wait or were given up. @param {Record<string, string | number | null>} filter
 * @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").NotificationPage>} */
export const notifications = (filter, signal) => request(`/notifications${search(filter)}`, { signal });

/** @param {number} id */
export const retryNotification = (id) => request(`/notifications/${id}/retry`, { method: "POST" });

export const retryNotifications = () => request("/notifications/retry", { method: "POST" });

/** The planned events of all projects and runs. @param {AbortSignal} [signal]
 * @returns {Promise<import("./api_types.js").PlannedEventEntry[]>} */
export const allPlannedEvents = async (signal) => (await request("/expected", { signal })).expected;

/** @param {string} project @param {object} event @returns {Promise<import("./api_types.js").PlannedEventView>} */
export const addProjectEvent = (project, event) =>
  request(`/projects/${encodeURIComponent(project)}/expected`, { method: "POST", body: event });

/** The settings of the server. @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").ServerSettings>} */
export const serverSettings = (signal) => request("/settings", { signal });

/** Mark a run as finished. @param {string} id @returns {Promise<RunDetail>} */
export const finishRun = (id) => request(`/runs/${encodeURIComponent(id)}/finish`, { method: "POST" });

/** @param {string | number} id @param {AbortSignal} [signal] @returns {Promise<IncidentView>} */
export const incident = (id, signal) => request(`/incidents/${encodeURIComponent(id)}`, { signal });

/**
 * @param {number} id @param {"acknowledge" | "unacknowledge" | "close" | "planned" | "reopen" | "comment"} verb
 * @param {{ text?: string, by?: string }} [body] @returns {Promise<IncidentView>}
 */
export const act = (id, verb, body = {}) => request(`/incidents/${id}/${verb}`, { method: "POST", body });

/** @param {string} id @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").PlannedEventView[]>} */
export const plannedEventsOf = async (id, signal) =>
  (await request(`/runs/${encodeURIComponent(id)}/expected`, { signal })).expected;

/** @param {string} id @param {object} event @returns {Promise<import("./api_types.js").PlannedEventView>} */
export const addPlannedEvent = (id, event) =>
  request(`/runs/${encodeURIComponent(id)}/expected`, { method: "POST", body: event });

/** The address of a run's report. @param {string} id */
export const reportOf = (id) => `${BASE}/runs/${encodeURIComponent(id)}/report`;

/** The address of a project's page of this week. @param {string} project */
export const weekReportOf = (project) => `${BASE}/projects/${encodeURIComponent(project)}/report`;

/** The address of a run's export. @param {string} id @param {string} form */
export const exportOf = (id, form) =>
  `${BASE}/runs/${encodeURIComponent(id)}/export${search({ format: form })}`;

/** Ask a run's client to stop. @param {string} id @param {string} reason @returns {Promise<RunDetail>} */
export const stopRun = (id, reason) =>
  request(`/runs/${encodeURIComponent(id)}/stop`, { method: "POST", body: { reason: reason || null } });

/** @param {string} id @returns {Promise<RunDetail>} */
export const withdrawStop = (id) => request(`/runs/${encodeURIComponent(id)}/stop`, { method: "DELETE" });

/** Ask a run's training loop to save a checkpoint. @param {string} id @param {string} reason @returns {Promise<RunDetail>} */
export const requestSave = (id, reason) =>
  request(`/runs/${encodeURIComponent(id)}/save`, { method: "POST", body: { reason: reason || null } });

/** @param {string} id @returns {Promise<RunDetail>} */
export const withdrawSave = (id) => request(`/runs/${encodeURIComponent(id)}/save`, { method: "DELETE" });

/** @param {string} id */
export const deleteRun = (id) => request(`/runs/${encodeURIComponent(id)}`, { method: "DELETE" });

/** Delete a planned event. @param {string} id @param {string} project @param {import("./api_types.js").PlannedEventView} event */
export function removePlannedEvent(id, project, { id: number, scope }) {
  const base =
    scope === "project" ? `/projects/${encodeURIComponent(project)}` : `/runs/${encodeURIComponent(id)}`;
  return request(`${base}/expected/${number}`, { method: "DELETE" });
}

/** @returns {Promise<import("./api_types.js").SessionState>} */
export const session = () => request("/session");

/** @param {string} password */
export const logIn = (password) => request("/session", { method: "POST", body: { password } });

export const logOut = () => request("/session", { method: "DELETE" });

/**
 * Open the live stream and keep it open. The browser reconnects by itself after a lost connection; after a
 * refusal (a restart behind a proxy, an expired login) this function does, with increasing delays.
 * @param {(type: "points" | "incident" | "run", payload: any) => void} onEvent
 * @param {(connected: boolean) => void} onState
 * @returns {() => void} closes it
 */
export function stream(onEvent, onState) {
  /** @type {EventSource | null} */
  let source = null;
  let failures = 0;
  let timer = 0;

  function open() {
    source = new EventSource(`${BASE}/stream`);
    source.onopen = () => {
      failures = 0;
      onState(true);
    };
    source.onerror = () => {
      onState(false);
      if (source?.readyState !== EventSource.CLOSED) return;
      const wait = RETRY_SECONDS[Math.min(failures++, RETRY_SECONDS.length - 1)];
      timer = window.setTimeout(open, 1000 * wait);
    };
    for (const type of /** @type {const} */ (["points", "incident", "run"])) {
      source.addEventListener(type, (event) => onEvent(type, JSON.parse(event.data)));
    }
  }

  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}
