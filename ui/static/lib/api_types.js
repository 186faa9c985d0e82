// @ts-check
// Generated from server/schemas by `make types-js`: do not edit.
/** Types of the REST interface's JSON. Times are Unix seconds. */

/**
 * What one line of an incident's history reports. Those that people are notified of are also reasons.
 * @typedef {"opened" | "reopened" | "escalated" | "eased" | "reclassified" | "moved" | "recovered" | "withdrawn" | "closed" | "acknowledged" | "unacknowledged" | "comment" | "notified" | "undelivered"} EventType
 */

/**
 * How a value of a finding's evidence is shown.
 * @typedef {"number" | "step" | "count" | "multiple" | "share" | "level" | "time" | "growth" | "noise" | "seconds" | "milliseconds" | "clock" | "flag" | "text" | "list" | "change" | "shares" | "counts" | "references" | "related_changes" | "hidden"} EvidenceFormat
 */

/**
 * Whether an incident lasts. Acknowledgement is independent of it.
 * @typedef {"open" | "recovered" | "closed"} IncidentState
 */

/**
 * How much a finding matters, in ascending order.
 * @typedef {"info" | "warning" | "critical"} Severity
 */

/**
 * One of Holter's own figures per device: a share of the peak, TFLOPS, or tokens per second.
 * @typedef {"mfu" | "hfu" | "tflops" | "tokens"} ThroughputQuantity
 */

/**
 * @typedef {"NaN" | "Infinity" | "-Infinity"} NonfiniteText
 */

/**
 * @typedef {number | NonfiniteText} JsonNumber
 */

/**
 * @typedef {"run" | "project" | "settings"} PlannedEventScope
 */

/**
 * @typedef {"running" | "stalled" | "finished"} RunState
 */

/**
 * @typedef {"ok" | Severity} RunHealth
 */

/**
 * @typedef {string | number | boolean} ConfigValue
 */

/**
 * @typedef {"well" | "behind" | "troubled" | "silent" | "ended"} AgentState
 */

/**
 * The name of a series: its metric and its labels.
 * @typedef {{
 *   metric: string,
 *   labels: Record<string, string>,
 * }} SeriesName
 */

/**
 * Statistics of one series. `minimum` and `maximum` are those of its finite values.
 * `logged` counts all points ever stored, `points` those that retention has left.
 * @typedef {SeriesName & {
 *   role: string,
 *   points: number,
 *   logged: number,
 *   first_step: number,
 *   last_step: number,
 *   last_time: number | null,
 *   last_value: JsonNumber | null,
 *   minimum: number | null,
 *   maximum: number | null,
 *   nonfinite: number,
 * }} SeriesInfo
 */

/**
 * The series of a run, ordered by name.
 * @typedef {{
 *   series: SeriesInfo[],
 * }} SeriesList
 */

/**
 * Minimum, maximum and mean of each bucket of points in a reduced segment, by its first step.
 * @typedef {{
 *   step: number[],
 *   minimum: number[],
 *   maximum: number[],
 *   mean: number[],
 * }} ChartBand
 */

/**
 * Logged points of one attempt, which a line may join; `ghost`: superseded by newer attempts.
 * @typedef {{
 *   attempt: number,
 *   ghost: boolean,
 *   step: number[],
 *   time: (number | null)[],
 *   value: number[],
 *   band: ChartBand | null,
 * }} ChartSegment
 */

/**
 * A point whose value is NaN or infinite.
 * @typedef {{
 *   attempt: number,
 *   step: number,
 *   value: NonfiniteText,
 * }} NonfinitePoint
 */

/**
 * One series over a range of steps, of which `count` points are stored; `reduced`: fewer are returned.
 * `thinned` counts the points that retention has removed from the segments that overlap the range.
 * @typedef {SeriesName & {
 *   count: number,
 *   reduced: boolean,
 *   segments: ChartSegment[],
 *   nonfinite: NonfinitePoint[],
 *   nonfinite_count: number,
 *   thinned: number,
 * }} ChartCurve
 */

/**
 * The range of steps of one attempt.
 * @typedef {{
 *   number: number,
 *   first_step: number,
 *   last_step: number,
 * }} AttemptRange
 */

/**
 * Series over a range of steps, and the run's attempts.
 * `points` is the approximate number of points that each series may have: as requested, or fewer where the
 * series together would have too many for one answer.
 * @typedef {{
 *   run_id: string,
 *   attempts: AttemptRange[],
 *   points: number,
 *   series: ChartCurve[],
 * }} ChartData
 */

/**
 * The newest points of all series of a run, as columns of equal length. `time`: null without a clock.
 * @typedef {{
 *   run_id: string,
 *   metric: string[],
 *   labels: (Record<string, string>)[],
 *   attempt: number[],
 *   step: number[],
 *   time: (number | null)[],
 *   value: JsonNumber[],
 * }} LatestPoints
 */

/**
 * Series that exceed a limit and were not stored. `metric` may be a prefix that several of them share.
 * @typedef {{
 *   metric: string,
 *   series: number,
 *   reason: string,
 * }} RefusedSeries
 */

/**
 * Confirms that a batch is durable. `duplicate`: its `batch_id` had been stored before.
 * `accepted` counts the points of the batch that are stored; points of equal series, step, time and value
 * are one.
 * @typedef {{
 *   accepted: number,
 *   run_id: string,
 *   attempt: number,
 *   batch_id: string,
 *   duplicate: boolean,
 *   refused?: RefusedSeries[],
 * }} BatchReceipt
 */

/**
 * The receipts of a body with several batches, in their order.
 * @typedef {{
 *   batches: BatchReceipt[],
 * }} BatchReceipts
 */

/**
 * One entry of an incident's history. `by` is the person who caused it, null where Holter did.
 * @typedef {{
 *   at: number,
 *   type: EventType,
 *   by: string | null,
 *   text: string,
 *   detail: Record<string, any>,
 * }} IncidentHistoryEntry
 */

/**
 * A probable cause: `sentence` states the change, `score` (0 to 1) is its probability.
 * `clear`: summary, advice and title name it first. `metric` and `labels` are the series or the setting
 * that changed from `before` to `after` at `step` of `attempt`; `metric` is empty where there is none.
 * @typedef {{
 *   code: string,
 *   title: string,
 *   sentence: string,
 *   advice: string,
 *   score: number,
 *   clear: boolean,
 *   attempt: number,
 *   step: number,
 *   metric: string,
 *   labels: Record<string, string | number>,
 *   before: ConfigValue | null,
 *   after: ConfigValue | null,
 *   evidence_for: string[],
 *   evidence_against: string[],
 * }} CauseView
 */

/**
 * An incident: the newest version of its finding (docs/findings.md), its state and its history.
 * @typedef {{
 *   kind: string,
 *   metric: string,
 *   labels: Record<string, string | number>,
 *   attempt: number,
 *   start_step: number,
 *   peak_step: number | null,
 *   end_step: number | null,
 *   detected_step: number,
 *   classified_step: number | null,
 *   severity: Severity,
 *   confidence: number,
 *   summary: string,
 *   advice: string,
 *   evidence: Record<string, any>,
 *   causes: CauseView[],
 *   id: number,
 *   run_id: string | null,
 *   run: string | null,
 *   project: string | null,
 *   state: IncidentState,
 *   start_time: number | null,
 *   opened_at: number,
 *   updated_at: number,
 *   recovered_at: number | null,
 *   closed_at: number | null,
 *   acknowledged_at: number | null,
 *   acknowledged_by: string | null,
 *   events: IncidentHistoryEntry[],
 * }} IncidentView
 */

/**
 * A list of incidents.
 * @typedef {{
 *   incidents: IncidentView[],
 * }} IncidentList
 */

/**
 * A planned event. `scope` says where it is declared; one of holter.toml has no `id`.
 * @typedef {{
 *   id: number | null,
 *   scope: PlannedEventScope,
 *   kinds: string[],
 *   what: string | null,
 *   metric: string,
 *   from_step: number,
 *   to_step: number | null,
 *   every: number | null,
 *   lasting: number | null,
 *   note: string,
 *   added_at: number | null,
 *   added_by: string | null,
 * }} PlannedEventView
 */

/**
 * All planned events of a run or a project.
 * @typedef {{
 *   expected: PlannedEventView[],
 * }} PlannedEventList
 */

/**
 * The newest value of the series that represents a role.
 * @typedef {{
 *   metric: string,
 *   value: JsonNumber,
 *   step: number,
 * }} LatestValue
 */

/**
 * The newest value of each role, null where the run does not log it.
 * @typedef {{
 *   loss: LatestValue | null,
 *   throughput: LatestValue | null,
 *   step_time: LatestValue | null,
 *   mfu: LatestValue | null,
 *   grad_norm: LatestValue | null,
 *   learning_rate: LatestValue | null,
 * }} LatestByRole
 */

/**
 * One attempt on the health strip. Newer attempts superseded its steps from `lost_from_step` on.
 * @typedef {{
 *   number: number,
 *   first_step: number,
 *   last_step: number,
 *   first_time: number | null,
 *   last_time: number | null,
 *   lost_from_step: number | null,
 * }} StripAttempt
 */

/**
 * One incident on the health strip.
 * @typedef {{
 *   id: number,
 *   kind: string,
 *   severity: Severity,
 *   state: IncidentState,
 *   attempt: number,
 *   start_step: number,
 *   end_step: number | null,
 * }} StripIncident
 */

/**
 * Throughput in bins over all steps, as shares of the run's 95th percentile; `step` is a bin's first.
 * @typedef {{
 *   step: number[],
 *   relative: number[],
 * }} StripThroughput
 */

/**
 * The health strip: all attempts, incidents and the throughput of a run on one line.
 * @typedef {{
 *   first_step: number | null,
 *   last_step: number | null,
 *   attempts: StripAttempt[],
 *   throughput: StripThroughput,
 *   incidents: StripIncident[],
 * }} HealthStrip
 */

/**
 * The most severe open incident of a run.
 * @typedef {{
 *   id: number,
 *   kind: string,
 *   severity: Severity,
 *   summary: string,
 *   start_step: number,
 *   opened_at: number,
 * }} WorstIncident
 */

/**
 * One run in the overview. Times are Unix seconds.
 * @typedef {{
 *   id: string,
 *   project: string,
 *   name: string,
 *   state: RunState,
 *   created_at: number,
 *   updated_at: number,
 *   first_time: number | null,
 *   last_time: number | null,
 *   last_step: number | null,
 *   points: number,
 *   damaged: string | null,
 *   series: number,
 *   attempts: number,
 *   health: RunHealth,
 *   analyzed: boolean,
 *   open_incidents: number,
 *   worst: WorstIncident | null,
 *   latest: LatestByRole,
 *   strip: HealthStrip,
 * }} RunInfo
 */

/**
 * Runs, the one with the newest points first.
 * @typedef {{
 *   runs: RunInfo[],
 * }} RunList
 */

/**
 * A chart that the run page shows at first. `series` names at most 50 of its `series_count` series.
 * @typedef {{
 *   title: string,
 *   role: string,
 *   series: SeriesName[],
 *   series_count: number,
 * }} DefaultChart
 */

/**
 * A location in a log that could not be read. `seen_at` is in Unix seconds.
 * @typedef {{
 *   source: string,
 *   place: string,
 *   reason: string,
 *   seen_at: number,
 * }} UnreadableLocation
 */

/**
 * Seconds, and their share of the run's total time.
 * @typedef {{
 *   seconds: number,
 *   share: number,
 * }} TimeUseShare
 */

/**
 * The time between a run's first and newest point, split without remainder by its use.
 * @typedef {{
 *   forward: TimeUseShare,
 *   slow: TimeUseShare,
 *   superseded: TimeUseShare,
 *   restarts: TimeUseShare,
 *   stalled: TimeUseShare,
 * }} TimeSplit
 */

/**
 * A request to stop a run. Times are Unix seconds; `stopped_at` is null until its client has ended.
 * @typedef {{
 *   requested_at: number,
 *   by: string | null,
 *   reason: string | null,
 *   stopped_at: number | null,
 * }} StopRequest
 */

/**
 * What the program and its tracker's client report about a run beside its points.
 * @typedef {{
 *   display_name: string | null,
 *   notes: string | null,
 *   tags: string[],
 *   group: string | null,
 *   job_type: string | null,
 *   parent_run: string | null,
 *   reported_state: string | null,
 *   exit_code: number | null,
 * }} RunDescription
 */

/**
 * A run with its configuration, its first charts, the cost of rollbacks, and what could not be read.
 * `config` has the newest value of each setting of the whole job. `spent` is null without a clock.
 * `unreadable` has the newest 20 of `unreadable_count` locations.
 * @typedef {RunInfo & {
 *   config: Record<string, any>,
 *   description: RunDescription,
 *   stop: StopRequest | null,
 *   lost_steps: number,
 *   lost_seconds: number | null,
 *   goodput: number | null,
 *   spent: TimeSplit | null,
 *   charts: DefaultChart[],
 *   unreadable: UnreadableLocation[],
 *   unreadable_count: number,
 * }} RunDetail
 */

/**
 * How many processes have a value, 0 where it is one of the whole job; the labels of the first few.
 * @typedef {{
 *   processes: number,
 *   labels: (Record<string, string>)[],
 * }} SettingHolders
 */

/**
 * A value of a setting, and the attempts that have it.
 * @typedef {SettingHolders & {
 *   attempts: number[],
 *   value: ConfigValue,
 * }} SettingValue
 */

/**
 * A setting with all values that it has had.
 * @typedef {{
 *   name: string,
 *   values: SettingValue[],
 * }} LaunchSetting
 */

/**
 * A setting with a new value; `before` is null where no earlier launch states one.
 * @typedef {SettingHolders & {
 *   name: string,
 *   before: ConfigValue | null,
 *   after: ConfigValue,
 * }} ChangedSetting
 */

/**
 * The settings of an attempt that differ from the earlier attempts: the first of `settings_count`.
 * @typedef {{
 *   attempt: number,
 *   settings: ChangedSetting[],
 *   settings_count: number,
 * }} LaunchChanges
 */

/**
 * The configuration of a run's launches, as the logs of `attempts` state it.
 * @typedef {{
 *   attempts: number[],
 *   settings: LaunchSetting[],
 *   settings_count: number,
 *   changes: LaunchChanges[],
 * }} RunConfig
 */

/**
 * A problem with the configuration of a launch, or with the figures that it reports.
 * @typedef {{
 *   code: string,
 *   attempt: number,
 *   labels: Record<string, string>,
 *   severity: Severity,
 *   summary: string,
 *   advice: string,
 *   evidence: Record<string, any>,
 * }} DiagnosticView
 */

/**
 * The diagnostics of a run, the most severe first.
 * @typedef {{
 *   remarks: DiagnosticView[],
 * }} DiagnosticList
 */

/**
 * Statistics of a curve without superseded points.
 * Medians over its newest 50 points (`newest`) and over all (`usual`), and the best value.
 * @typedef {{
 *   newest: number | null,
 *   usual: number | null,
 *   best: number | null,
 * }} ThroughputLevel
 */

/**
 * A figure as the run reports it: MFU as a share, TFLOPS per device. `formula` describes its formula.
 * @typedef {ThroughputLevel & {
 *   metric: string,
 *   labels: Record<string, string>,
 *   quantity: string,
 *   framework: string | null,
 *   formula: string,
 * }} ReportedSeries
 */

/**
 * Holter's own figures per device, computed from the series `measured_from`.
 * `missing` lists what the logs do not state. `precision_assumed`: the launch does not state its precision,
 * bf16 is assumed.
 * @typedef {{
 *   formula: string,
 *   tokens_per_second_per_device: ThroughputLevel,
 *   tflops: ThroughputLevel,
 *   mfu: ThroughputLevel,
 *   hfu: ThroughputLevel,
 *   recomputed: string | null,
 *   flops_per_token: number | null,
 *   parameters: number | null,
 *   active_weights: number | null,
 *   devices: number | null,
 *   device: string | null,
 *   peak_tflops: number | null,
 *   peak_source: string | null,
 *   precision: string,
 *   precision_assumed: boolean,
 *   measured_from: string | null,
 *   missing: string[],
 * }} ComputedThroughput
 */

/**
 * The throughput that a run reports, and Holter's own computation, which are never mixed.
 * @typedef {{
 *   reported: ReportedSeries[],
 *   own: ComputedThroughput,
 * }} ThroughputReport
 */

/**
 * Points of one attempt, which a line may join; `ghost`: superseded by newer attempts.
 * @typedef {{
 *   attempt: number,
 *   ghost: boolean,
 *   step: number[],
 *   value: number[],
 * }} ThroughputSegment
 */

/**
 * One of Holter's own figures over all steps; `stretches` is empty where the logs state too little.
 * @typedef {{
 *   quantity: ThroughputQuantity,
 *   stretches: ThroughputSegment[],
 * }} ThroughputCurve
 */

/**
 * The speed of similar collective calls, from a `benchmark`, a `trace`, or individually timed `calls`.
 * `bytes` is the size of one call; `seconds` the time of all calls on a rank, with waiting; `busbw_gbs` the
 * bus bandwidth in GB/s of the rank that waited least. `link` is the fastest link that the calls use,
 * `link_gbs` its bandwidth in one direction, `link_source` where that figure is published, and `share` the
 * part of it that is reached. These are null where the logs do not state the hardware; `share` also for
 * calls below 1 MiB, whose time is latency.
 * @typedef {{
 *   source: string,
 *   collective: string,
 *   communicator: string,
 *   size: string,
 *   bytes: number,
 *   ranks: number,
 *   calls: number,
 *   seconds: number,
 *   busbw_gbs: number,
 *   link: string | null,
 *   link_gbs: number | null,
 *   link_source: string | null,
 *   share: number | null,
 * }} CollectiveSpeed
 */

/**
 * Seconds of a rank's trace: in collectives, in other kernels, and in collectives alone (`exposed`).
 * @typedef {{
 *   rank: string,
 *   communication: number,
 *   compute: number,
 *   exposed: number,
 *   exposed_share: number,
 *   hidden_share: number,
 * }} CommunicationOverlap
 */

/**
 * A rank that came last in `last` of `calls`; the others waited `mean_wait` seconds for it each time.
 * @typedef {{
 *   communicator: string,
 *   rank: string,
 *   host: string | null,
 *   last: number,
 *   calls: number,
 *   share: number,
 *   mean_wait: number,
 *   waited: number,
 * }} RankWait
 */

/**
 * A rank whose log of a communicator ends at call `last`, while those of the others end at `others`.
 * @typedef {{
 *   communicator: string,
 *   rank: string,
 *   host: string | null,
 *   last: number,
 *   others: number,
 *   ranks: number,
 * }} LaggingRank
 */

/**
 * The first of `collectives_count` kinds of calls; `series_left_out` were too many to be compared.
 * @typedef {{
 *   collectives: CollectiveSpeed[],
 *   collectives_count: number,
 *   overlap: CommunicationOverlap[],
 *   waited_for: RankWait[],
 *   behind: LaggingRank[],
 *   series_left_out: number,
 * }} RunCollectives
 */

/**
 * A kind of finding. `provisional_title` is its title while it may still change, empty if it cannot.
 * `severities`: the least severe first, by `severity_rule`. `evidence`: keys of the catalogue's fields.
 * `unit_role`: the role whose unit its levels have, may be empty. `relative_noise`: its noise is a share of
 * its level.
 * @typedef {{
 *   title: string,
 *   provisional_title: string,
 *   meaning: string,
 *   advice: string,
 *   severities: Severity[],
 *   severity_rule: string,
 *   evidence: string[],
 *   unit_role: string,
 *   relative_noise: boolean,
 * }} CatalogueKind
 */

/**
 * How a value of a finding's evidence is shown: see EvidenceField in detectors/findings.
 * @typedef {{
 *   label: string,
 *   format: EvidenceFormat,
 *   noun: string,
 *   suffix: string,
 *   minimum: number,
 *   unless: string,
 * }} CatalogueField
 */

/**
 * A severity with its title; a higher `rank` is more severe.
 * @typedef {{
 *   name: Severity,
 *   title: string,
 *   rank: number,
 * }} CatalogueSeverity
 */

/**
 * All kinds of findings by name, fields of evidence by key, severities (most severe first), and units.
 * `metric_units` by role: pairs of a pattern, to be searched in the lower-case name of a metric, and a
 * unit. The first match counts; those under "" are for all other roles.
 * @typedef {{
 *   kinds: Record<string, CatalogueKind>,
 *   fields: Record<string, CatalogueField>,
 *   severities: CatalogueSeverity[],
 *   metric_units: Record<string, string[][]>,
 * }} FindingsCatalogue
 */

/**
 * Whether the server requires a login, who is logged in, and the catalogue that findings are shown by.
 * @typedef {{
 *   login_required: boolean,
 *   logged_in: boolean,
 *   user: string | null,
 *   findings: FindingsCatalogue,
 * }} SessionState
 */

/**
 * `alive` or `ready`.
 * @typedef {{
 *   status: string,
 * }} HealthStatus
 */

/**
 * The latest report of an agent. `trouble` describes what is wrong in a sentence, empty if nothing is.
 * @typedef {{
 *   agent: string,
 *   host: string,
 *   version: string,
 *   kind: "files" | "pipe",
 *   project: string,
 *   paths: string[],
 *   began: number,
 *   every: number,
 *   files: number,
 *   files_behind: number,
 *   bytes_behind: number,
 *   seconds_behind: number,
 *   points: number,
 *   dropped: number,
 *   unreadable: number,
 *   spool_bytes: number,
 *   last_error: string,
 *   ended: boolean,
 *   seen_at: number,
 *   state: AgentState,
 *   trouble: string,
 * }} AgentStatus
 */

/**
 * All agents.
 * @typedef {{
 *   agents: AgentStatus[],
 * }} AgentList
 */

/**
 * Event `points` of the live stream: a run has new points.
 * @typedef {{
 *   run_id: string,
 *   last_step: number | null,
 *   attempt: number,
 * }} PointsEvent
 */

/**
 * Event `run` of the live stream: a run is new, or has changed otherwise than by points.
 * @typedef {{
 *   run_id: string,
 * }} RunEvent
 */

/**
 * Why a request failed, as a sentence.
 * @typedef {{
 *   detail: string,
 * }} Problem
 */

/**
 * What was expected at one location of a request.
 * @typedef {{
 *   loc: (string | number)[],
 *   msg: string,
 * }} FieldProblem
 */

/**
 * Everything that is wrong with a request, field by field.
 * @typedef {{
 *   detail: FieldProblem[],
 * }} FieldProblems
 */

export {};
