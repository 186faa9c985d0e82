// @ts-check
/** The rows of the overview: fetched in chunks as they come into view, and updated with what has changed. */

import { listRuns } from "../lib/runs_api.js";

/** @typedef {import("../lib/api_types.js").RunInfo} RunInfo */
/** @typedef {import("../lib/api_types.js").RunCounts} RunCounts */
/** @typedef {{ filter: string, sort: string, columns: string[] }} RunQuery */
/** @typedef {{ order: string[], version: string }} Chunk */

const CHUNK = 100;
const CACHED_CHUNKS = 30;

/**
 * @param {AbortSignal} signal @param {() => void} onChange called after rows or counts have changed
 * @param {(error: Error) => void} onError
 */
export function runSource(signal, onChange, onError) {
  /** @type {RunQuery} */
  let query = { filter: "", sort: "attention", columns: [] };
  /** @type {Map<number, Chunk>} */
  const chunks = new Map();
  /** @type {Map<string, RunInfo>} */
  const runs = new Map();
  /** @type {RunCounts | null} */
  let counts = null;
  /** @type {string[]} */
  let notices = [];
  /** @type {Set<number>} */
  const busy = new Set();
  let generation = 0;
  /** @type {Promise<unknown>} the newest search */
  let searching = Promise.resolve();

  /** Fetch a chunk, or what has changed in it. @param {number} number */
  async function fetchChunk(number) {
    if (busy.has(number)) return;
    busy.add(number);
    const mine = generation;
    const page = { offset: number * CHUNK, limit: CHUNK };
    const known = chunks.get(number);
    try {
      let answer = await listRuns(query, { ...page, since: known?.version ?? "0" }, signal);
      if (mine !== generation) return;
      for (const run of answer.runs) runs.set(run.id, run);
      if ((answer.order ?? []).some((id) => !runs.has(id))) {
        answer = await listRuns(query, { ...page, since: "0" }, signal);
        if (mine !== generation) return;
        for (const run of answer.runs) runs.set(run.id, run);
      }
      chunks.delete(number);
      chunks.set(number, { order: answer.order ?? [], version: answer.version });
      counts = answer.counts;
      notices = answer.notices;
      forget();
    } finally {
      if (mine === generation) busy.delete(number);
    }
  }

  /** Forget the chunks that were fetched first, and runs that are in no chunk. */
  function forget() {
    for (const number of chunks.keys()) {
      if (chunks.size <= CACHED_CHUNKS) break;
      chunks.delete(number);
    }
    if (runs.size < 2 * CACHED_CHUNKS * CHUNK) return;
    const used = new Set([...chunks.values()].flatMap(({ order }) => order));
    for (const id of runs.keys()) if (!used.has(id)) runs.delete(id);
  }

  /** @param {number} index */
  function rowAt(index) {
    const id = chunks.get(Math.floor(index / CHUNK))?.order[index % CHUNK];
    return id === undefined ? undefined : runs.get(id);
  }

  /** @param {number[]} numbers */
  async function load(numbers) {
    try {
      await Promise.all(numbers.map(fetchChunk));
      if (!signal.aborted) onChange();
    } catch (error) {
      if (!signal.aborted) onError(/** @type {Error} */ (error));
    }
  }

  return {
    get counts() {
      return counts;
    },
    get notices() {
      return notices;
    },
    rowAt,
    /** Whether the health of any run that was fetched is known. */
    isAnyJudged: () => [...runs.values()].some((run) => run.unjudged === null),
    /** The run of an id if it was fetched. @param {string} id */
    run: (id) => runs.get(id),
    /** Ask for other runs; resolves when the first of them are there. @param {RunQuery} wanted */
    async search(wanted) {
      const mine = ++generation;
      query = wanted;
      busy.clear();
      const answer = listRuns(query, { offset: 0, limit: CHUNK, since: "0" }, signal);
      searching = answer.catch(() => null);
      const first = await answer;
      if (mine !== generation) return;
      chunks.clear();
      runs.clear();
      for (const run of first.runs) runs.set(run.id, run);
      chunks.set(0, { order: first.order ?? [], version: first.version });
      counts = first.counts;
      notices = first.notices;
      onChange();
    },
    /** Fetch the rows between two indices where they are missing. @param {number} from @param {number} to */
    need(from, to) {
      const missing = [];
      for (let number = Math.floor(from / CHUNK); number <= Math.floor(to / CHUNK); number++)
        if (!chunks.has(number) && !busy.has(number)) missing.push(number);
      if (missing.length > 0) void load(missing);
    },
    /** The ids of the rows between two indices, both included; fetches them. @param {number} from @param {number} to */
    async ids(from, to) {
      const numbers = [];
      for (let number = Math.floor(from / CHUNK); number <= Math.floor(to / CHUNK); number++)
        if (!chunks.has(number)) numbers.push(number);
      await load(numbers);
      const rows = Array.from({ length: to - from + 1 }, (_, i) => rowAt(from + i));
      return rows.flatMap((run) => (run ? [run.id] : []));
    },
    /** Fetch what has changed in the rows between two indices; others are fetched when they come into view. @param {number} from @param {number} to */
    async refresh(from, to) {
      await searching; // the rows that it brings need not be fetched twice
      const shown = new Set();
      for (let number = Math.floor(from / CHUNK); number <= Math.floor(to / CHUNK); number++) shown.add(number);
      for (const number of [...chunks.keys()]) if (!shown.has(number)) chunks.delete(number);
      await load([...shown]);
    },
  };
}
