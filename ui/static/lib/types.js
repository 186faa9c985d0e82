// @ts-check
/**
 * The shapes that the REST API speaks, as types only. Times are Unix seconds; a number that is not
 * finite travels as the string "NaN", "Infinity" or "-Infinity".
 *
 * @typedef {number | "NaN" | "Infinity" | "-Infinity"} Value
 * @typedef {"info" | "warning" | "critical"} Severity
 * @typedef {"running" | "stalled" | "finished"} RunState
 * @typedef {Record<string, string | number>} Labels
 *
 * @typedef {{ number: number, first_step: number, last_step: number, first_time: number | null,
 *   last_time: number | null, lost_from_step: number | null }} AttemptSpan
 * @typedef {{ id: number, kind: string, severity: Severity, state: string, start_step: number,
 *   end_step: number | null, attempt?: number }} StripIncident
 * @typedef {{ first_step: number | null, last_step: number | null, attempts: AttemptSpan[],
 *   incidents: StripIncident[], throughput: { step: number[], relative: (number | null)[] } | null }} Strip
 *
 * @typedef {{ metric: string, value: Value, step: number }} Latest
 * @typedef {{ id: number, kind: string, severity: Severity, summary: string, start_step: number,
 *   opened_at: number }} Worst
 * @typedef {{ id: string, project: string, name: string, state: RunState, created_at: number,
 *   updated_at: number, first_time: number | null, last_time: number | null, last_step: number | null,
 *   points: number, damaged: string | null, series: number, attempts: number, health: "ok" | Severity,
 *   open_incidents: number, worst: Worst | null, latest: Record<string, Latest | null>, strip: Strip }} Run
 * @typedef {{ metric: string, labels: Labels }} SeriesName
 * @typedef {{ title: string, role: string, series: SeriesName[], series_count?: number }} ChartPlan
 * @typedef {Run & { config: Record<string, unknown>, lost_steps: number, lost_seconds: number | null,
 *   goodput: number | null, spent: Spent | null, charts: ChartPlan[], unreadable: UnreadablePlace[],
 *   unreadable_count: number }} RunDetail
 * @typedef {{ seconds: number, share: number }} Part
 * @typedef {{ forward: Part, slow: Part, superseded: Part, restarts: Part, stalled: Part }} Spent
 * @typedef {{ newest: number | null, usual: number | null, best: number | null }} Level
 * @typedef {{ reported: (Level & { metric: string, labels: Labels, quantity: string, framework: string | null,
 *   formula: string })[], own: { formula: string, tflops: Level, mfu: Level, hfu: Level, recomputed: string | null,
 *   device: string | null, peak_tflops: number | null, precision: string, precision_assumed: boolean,
 *   measured_from: string | null, missing: string[] } }} Throughput
 * @typedef {{ agent: string, host: string, kind: "files" | "pipe", paths: string[], files: number, state: string,
 *   trouble: string, ended: boolean, seen_at: number }} Agent
 * @typedef {{ source: string, place: string, reason: string, seen_at: number }} UnreadablePlace
 * @typedef {string | number | boolean} ConfigValue
 * @typedef {{ processes: number, labels: Record<string, string>[] }} Holders
 * @typedef {{ name: string, values: (Holders & { attempts: number[], value: ConfigValue })[] }} Setting
 * @typedef {Holders & { name: string, before: ConfigValue | null, after: ConfigValue }} ChangedSetting
 * @typedef {{ attempt: number, settings: ChangedSetting[], settings_count: number }} ChangedLaunch
 * @typedef {{ attempts: number[], settings: Setting[], settings_count: number, changes: ChangedLaunch[] }} RunConfig
 * @typedef {{ code: string, attempt: number, labels: Record<string, string>, severity: Severity, summary: string,
 *   advice: string, evidence: Record<string, any> }} Remark
 * @typedef {{ source: string, collective: string, communicator: string, size: string, bytes: number,
 *   ranks: number, calls: number, seconds: number, busbw_gbs: number, link: string | null,
 *   link_gbs: number | null, link_source: string | null, share: number | null }} Collective
 * @typedef {{ rank: string, communication: number, compute: number, exposed: number, exposed_share: number,
 *   hidden_share: number }} CommunicationOverlap
 * @typedef {{ communicator: string, rank: string, host: string | null, last: number, calls: number,
 *   share: number, mean_wait: number, waited: number }} WaitedFor
 * @typedef {{ communicator: string, rank: string, host: string | null, last: number, others: number,
 *   ranks: number }} EndsBefore
 * @typedef {{ collectives: Collective[], collectives_count: number, overlap: CommunicationOverlap[],
 *   waited_for: WaitedFor[], behind: EndsBefore[], series_left_out: number }} RunCollectives
 *
 * @typedef {SeriesName & { role: string, points: number, logged: number, first_step: number, last_step: number,
 *   last_time: number | null, last_value: Value, minimum: Value | null, maximum: Value | null,
 *   nonfinite: number }} SeriesSummary
 *
 * @typedef {{ step: number[], minimum: number[], maximum: number[], mean: number[] }} Band
 * @typedef {{ attempt: number, ghost: boolean, step: number[], time: (number | null)[], value: number[],
 *   band: Band | null }} Segment
 * @typedef {{ attempt: number, step: number, value: Value }} NonFinite
 * @typedef {SeriesName & { count: number, reduced: boolean, segments: Segment[], nonfinite: NonFinite[],
 *   nonfinite_count: number, thinned: number }} ChartSeries
 * @typedef {{ run_id: string, attempts: { number: number, first_step: number, last_step: number }[],
 *   series: ChartSeries[] }} ChartData
 *
 * @typedef {{ at: number, type: string, by: string | null, text: string | null,
 *   detail: Record<string, any> | null }} IncidentEvent
 * @typedef {{ id: number, run_id: string, run: string, project: string,
 *   state: "open" | "recovered" | "closed", kind: string, metric: string, labels: Labels, attempt: number,
 *   start_step: number, peak_step: number | null, end_step: number | null, detected_step: number,
 *   classified_step: number | null, severity: Severity, confidence: number, summary: string, advice: string,
 *   evidence: Record<string, any>, start_time: number | null, opened_at: number, updated_at: number,
 *   recovered_at: number | null, closed_at: number | null, acknowledged_at: number | null,
 *   acknowledged_by: string | null, events: IncidentEvent[] }} Incident
 *
 * @typedef {{ id: number | null, scope: "run" | "project" | "settings", kinds: string[], what: string | null,
 *   metric: string, from_step: number, to_step: number | null, every: number | null, lasting: number | null,
 *   note: string, added_at: number | null, added_by: string | null }} ExpectedEvent
 */

export {};
