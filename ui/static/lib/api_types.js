// @ts-check
// Generated from server/schemas by `make types-js`: do not edit.
/** Types of the REST interface's JSON. Times are Unix seconds. */

/**
 * Where the x of a run's points comes from.
 * @typedef {"logged" | "derived" | "missing"} AxisSource
 */

/**
 * How a run's loss compares with that of its references at equal progress.
 * @typedef {"on_course" | "better" | "worse" | "unknown"} Course
 */

/**
 * What one line of an incident's history reports. Those that people are notified of are also reasons.
 * @typedef {"opened" | "reopened" | "escalated" | "eased" | "reclassified" | "moved" | "recovered" | "withdrawn" | "closed" | "acknowledged" | "unacknowledged" | "muted" | "unmuted" | "assigned" | "comment" | "notified" | "undelivered" | "not_acknowledged" | "reminder"} EventType
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
 * What a setting is about.
 * @typedef {"configuration" | "launch" | "environment" | "hardware" | "identity"} SettingCategory
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
 * What the points of runs are aligned by.
 * @typedef {"step" | "tokens" | "samples" | "wall" | "relative"} XAxis
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
 * @typedef {"restart" | "setting" | "learning_rate" | "batch_size" | "mixture" | "hardware" | "planned" | "other"} ChangeCategory
 */

/**
 * @typedef {"running" | "stalled" | "finished"} RunState
 */

/**
 * @typedef {"ok" | Severity} RunHealth
 */

/**
 * @typedef {"attention" | "running" | "unresolved" | "finished"} RunSection
 */

/**
 * @typedef {number | NonfiniteText | string | boolean | null} ColumnValue
 */

/**
 * @typedef {string | number | boolean} ConfigValue
 */

/**
 * @typedef {"lower" | "higher" | "none" | "unknown"} Classification
 */

/**
 * @typedef {"pending" | "active" | "expired"} SilenceState
 */

/**
 * @typedef {"unused" | "working" | "failing"} ChannelState
 */

/**
 * @typedef {"waiting" | "muted" | "delivered" | "given_up" | "folded" | "suppressed"} NotificationState
 */

/**
 * @typedef {"notified" | "not_notified" | "muted"} DecisionOutcome
 */

/**
 * @typedef {"well" | "behind" | "troubled" | "silent" | "ended"} AgentState
 */

/**
 * @typedef {"flag" | "environment" | "file" | "default"} SettingSource
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
 * The chart of one metric: its section, and the first of its `series_count` series.
 * `axis`: the metric only grows, as far as its statistics tell, so that it can be an x axis.
 * @typedef {{
 *   metric: string,
 *   role: string,
 *   section: string,
 *   series: SeriesName[],
 *   series_count: number,
 *   axis: boolean,
 * }} MetricChart
 */

/**
 * A chart for every metric of a run, in the order of sections.
 * @typedef {{
 *   charts: MetricChart[],
 * }} MetricCharts
 */

/**
 * The series of one metric over a range of steps, in `columns` intervals of equal length.
 * `labels` has the labels of each row. `mean`, `minimum` and `maximum` have the finite values of row 0,
 * then of row 1 ...; NaN (JSON: null) without any. Superseded branches are left out. `rows_total` counts
 * all series; rows are the first ones where there are more.
 * @typedef {{
 *   run_id: string,
 *   metric: string,
 *   first_step: number | null,
 *   last_step: number | null,
 *   columns: number,
 *   rows_total: number,
 *   labels: (Record<string, string>)[],
 *   mean: (number | null)[],
 *   minimum: (number | null)[],
 *   maximum: (number | null)[],
 * }} SeriesGrid
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
 * An open incident of the run.
 * @typedef {{
 *   id: number,
 *   kind: string,
 *   title: string,
 *   severity: Severity,
 *   metric: string,
 *   step: number,
 * }} StatusIncident
 */

/**
 * What somebody asks the training loop to do, in Unix seconds.
 * @typedef {{
 *   requested_at: number,
 *   by: string | null,
 *   reason: string | null,
 * }} PendingRequest
 */

/**
 * The status of a run for its client: the most severe 20 of `incident_count` open incidents first.
 * `run_id` is null while nothing of the run has arrived. `stop` and `save` are null unless somebody asked
 * since the client opened the run.
 * @typedef {{
 *   run_id: string | null,
 *   incidents: StatusIncident[],
 *   incident_count: number,
 *   worst: Severity | null,
 *   stop: PendingRequest | null,
 *   save: PendingRequest | null,
 * }} ClientStatus
 */

/**
 * A request to save a checkpoint, in Unix seconds; `saved_at` is null until the client reports it.
 * @typedef {{
 *   requested_at: number,
 *   by: string | null,
 *   reason: string | null,
 *   saved_at: number | null,
 *   saved_step: number | null,
 *   saved_seconds: number | null,
 * }} SaveRequest
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
 * `began_at` is the time of its first step; of a log without a clock, when it was opened.
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
 *   assignee: string | null,
 *   began_at: number,
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
 * How many incidents match the filters in each state, whatever state was asked for.
 * @typedef {{
 *   unacknowledged: number,
 *   open: number,
 *   recovered: number,
 *   closed: number,
 *   all: number,
 * }} IncidentCounts
 */

/**
 * One page of incidents. `total`: those that match all filters; `counts`: by state.
 * @typedef {{
 *   incidents: IncidentView[],
 *   total: number,
 *   counts: IncidentCounts,
 * }} IncidentPage
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
 * A planned event with its project, and its run unless it is one of all runs of the project.
 * @typedef {PlannedEventView & {
 *   project: string,
 *   run_id: string | null,
 *   run: string | null,
 * }} PlannedEventEntry
 */

/**
 * The planned events of all projects and runs, the newest first. Those of `holter.toml` come last.
 * @typedef {{
 *   expected: PlannedEventEntry[],
 * }} PlannedEventOverview
 */

/**
 * One incident of an event.
 * @typedef {{
 *   id: number,
 *   kind: string,
 *   metric: string,
 *   severity: Severity,
 *   state: IncidentState,
 *   summary: string,
 *   attempt: number,
 *   start_step: number,
 *   end_step: number | null,
 *   classified_step: number | null,
 *   start_time: number | null,
 *   opened_at: number,
 * }} LinkedIncident
 */

/**
 * Incidents of one event, the cause first.
 * `rollback_step`: the newest step whose checkpoint is safe for all of them, null where no rollback is
 * needed. `advice`: what to do about all of them.
 * @typedef {{
 *   severity: Severity,
 *   is_open: boolean,
 *   rollback_step: number | null,
 *   advice: string,
 *   incidents: LinkedIncident[],
 * }} IncidentEvent
 */

/**
 * Something that was changed in a run. `cause`: it is a probable cause of an incident (0 to 1).
 * @typedef {{
 *   category: ChangeCategory,
 *   attempt: number,
 *   step: number,
 *   time: number | null,
 *   text: string,
 *   cause: number,
 * }} RunChange
 */

/**
 * An earlier incident of the same kind, and what was done about it (`actions`).
 * @typedef {{
 *   id: number,
 *   run_id: string,
 *   run: string,
 *   project: string,
 *   summary: string,
 *   severity: Severity,
 *   state: IncidentState,
 *   start_step: number,
 *   end_step: number | null,
 *   began_at: number,
 *   actions: string[],
 * }} SimilarIncident
 */

/**
 * The event that an incident belongs to, changes of its run before it, and similar incidents.
 * @typedef {{
 *   event: IncidentEvent,
 *   changes: RunChange[],
 *   similar: SimilarIncident[],
 * }} IncidentContext
 */

/**
 * The events of a run, those with open incidents first, then the newest; and what was changed in it.
 * @typedef {{
 *   events: IncidentEvent[],
 *   changes: RunChange[],
 * }} RunEvents
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
 *   reward: LatestValue | null,
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
 *   metric: string,
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
 *   metric: string,
 *   severity: Severity,
 *   summary: string,
 *   start_step: number,
 *   opened_at: number,
 * }} WorstIncident
 */

/**
 * How a run compares with its reference runs (docs/compare.md), at the newest comparison, at `at_step`.
 * `references` are ids of runs, `names` their names. `relative` is the difference of the loss from the
 * nearest reference as a share, with its interval; `since_step`: from where on it is better or worse.
 * @typedef {{
 *   course: Course,
 *   references: string[],
 *   names: string[],
 *   aligned_by: string,
 *   at_step: number | null,
 *   since_step: number | null,
 *   relative: number | null,
 *   relative_low: number | null,
 *   relative_high: number | null,
 *   sentence: string,
 *   checked_at: number,
 * }} ReferenceStatus
 */

/**
 * One run in the overview. Times are Unix seconds.
 * `note` is the beginning of the run's notes, `trend` its loss in up to 48 means over equal numbers of
 * steps. `values` has what was asked for as `columns`: settings, and statistics of metrics. `unjudged`: why
 * nothing is known about the run's health, for people; null where its points are judged.
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
 *   unjudged: string | null,
 *   analyzed: boolean,
 *   open_incidents: number,
 *   worst: WorstIncident | null,
 *   latest: LatestByRole,
 *   strip: HealthStrip,
 *   is_reference: boolean,
 *   reference: ReferenceStatus | null,
 *   section: RunSection,
 *   display_name: string | null,
 *   group: string | null,
 *   note: string,
 *   tags: string[],
 *   starred: boolean,
 *   trend: number[],
 *   values: Record<string, ColumnValue>,
 * }} RunInfo
 */

/**
 * How many runs there are in all, how many a filter finds, and of these how many by state and section.
 * @typedef {{
 *   all: number,
 *   found: number,
 *   running: number,
 *   stalled: number,
 *   sections: Record<string, number>,
 * }} RunCounts
 */

/**
 * Runs that a filter finds, in the order asked for; without one, the newest points first.
 * `next` is the cursor of the next page, null at the end. `version` names this state of all runs: asked
 * again with `since`, the answer has in `order` the ids of the page, and in `runs` those of its runs that
 * have changed. `notices` are remarks on the filter for its author.
 * @typedef {{
 *   runs: RunInfo[],
 *   order: string[] | null,
 *   counts: RunCounts,
 *   next: string | null,
 *   version: string,
 *   notices: string[],
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
 * The time since a run's first point, split without remainder by its use.
 * It ends at the newest point; of a stalled run, now. `nonfinite`: steps at the end with a NaN or infinite
 * loss.
 * @typedef {{
 *   forward: TimeUseShare,
 *   slow: TimeUseShare,
 *   superseded: TimeUseShare,
 *   restarts: TimeUseShare,
 *   stalled: TimeUseShare,
 *   nonfinite: TimeUseShare,
 * }} TimeSplit
 */

/**
 * The trend of the loss or of the reward over the newest tenth of its steps, whatever a chart shows.
 * `slope`: change per 1,000 steps; 0 within the noise; null with too few points, or if the newest value is
 * not finite. `nonfinite_since`: the first step of the NaN or infinite values at the end, null without.
 * @typedef {{
 *   metric: string,
 *   slope: number | null,
 *   from_step: number,
 *   to_step: number,
 *   last_finite: JsonNumber | null,
 *   last_finite_step: number | null,
 *   last_finite_time: number | null,
 *   nonfinite_since: number | null,
 * }} LossTrend
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
 *   save: SaveRequest | null,
 *   lost_steps: number,
 *   lost_seconds: number | null,
 *   goodput: number | null,
 *   spent: TimeSplit | null,
 *   loss_trend: LossTrend | null,
 *   reward_trend: LossTrend | null,
 *   charts: DefaultChart[],
 *   unreadable: UnreadableLocation[],
 *   unreadable_count: number,
 * }} RunDetail
 */

/**
 * One way to go on with a filter: the text to insert, and what it means.
 * @typedef {{
 *   text: string,
 *   detail: string,
 * }} Completion
 */

/**
 * What can stand in a filter between the characters `start` and `end`.
 * @typedef {{
 *   start: number,
 *   end: number,
 *   completions: Completion[],
 * }} CompletionList
 */

/**
 * What can be a column of the overview: settings and metrics, at most 2,000 of each.
 * @typedef {{
 *   settings: string[],
 *   metrics: string[],
 * }} ColumnList
 */

/**
 * A named filter of the overview with its order and columns. `project` is empty for all projects.
 * @typedef {{
 *   id: number,
 *   name: string,
 *   project: string,
 *   filter: string,
 *   sort: string,
 *   columns: string[],
 *   is_default: boolean,
 *   created_at: number,
 *   created_by: string | null,
 * }} SavedView
 */

/**
 * All saved views by name.
 * @typedef {{
 *   views: SavedView[],
 * }} SavedViewList
 */

/**
 * A link that shows one page read-only. Times are Unix seconds. `path` is the page within the server.
 * @typedef {{
 *   id: number,
 *   path: string,
 *   created_at: number,
 *   created_by: string | null,
 *   expires_at: number,
 *   revoked_at: number | null,
 *   last_used_at: number | null,
 * }} ShareLink
 */

/**
 * A share link with its address, which cannot be read again later.
 * @typedef {ShareLink & {
 *   address: string,
 * }} NewShareLink
 */

/**
 * All share links, the newest first.
 * @typedef {{
 *   links: ShareLink[],
 * }} ShareLinkList
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
 * A kind of finding. `metric_titles` are more exact titles: pairs of a pattern, to be searched in the
 * lower-case name of the metric, and a title; the first match counts. `provisional_title` is its title
 * while it may still change, empty if it cannot.
 * `severities`: the least severe first, by `severity_rule`. `evidence`: keys of the catalogue's fields.
 * `unit_role`: the role whose unit its levels have, may be empty. `relative_noise`: its noise is a share of
 * its level.
 * @typedef {{
 *   title: string,
 *   metric_titles: string[][],
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
 * How the x of a run's points is obtained.
 * `metric` is the logged series that it is taken from, `formula` how it is derived, `reason` why it is
 * missing.
 * @typedef {{
 *   name: XAxis,
 *   unit: string,
 *   source: AxisSource,
 *   metric: string | null,
 *   formula: string | null,
 *   reason: string | null,
 * }} RunAxis
 */

/**
 * The range of steps of one attempt, and the same on the axis; null where it is not known.
 * @typedef {{
 *   number: number,
 *   first_step: number,
 *   last_step: number,
 *   first_x: number | null,
 *   last_x: number | null,
 * }} ComparedAttempt
 */

/**
 * A run of a comparison. `group`: the value of the setting by which runs are grouped, as text.
 * @typedef {{
 *   id: string,
 *   project: string,
 *   name: string,
 *   group: string | null,
 *   axis: RunAxis,
 *   attempts: ComparedAttempt[],
 * }} ComparedRun
 */

/**
 * Minimum, maximum and mean of each bucket of points in a reduced segment, by its first x.
 * @typedef {{
 *   x: number[],
 *   minimum: number[],
 *   maximum: number[],
 *   mean: number[],
 * }} ComparedBand
 */

/**
 * Logged points of one attempt, which a line may join; `ghost`: superseded by newer attempts.
 * @typedef {{
 *   attempt: number,
 *   ghost: boolean,
 *   step: number[],
 *   x: number[],
 *   value: number[],
 *   band: ComparedBand | null,
 * }} ComparedSegment
 */

/**
 * A point whose value is NaN or infinite. `x`: null where it is not known.
 * @typedef {{
 *   attempt: number,
 *   step: number,
 *   x: number | null,
 *   value: NonfiniteText,
 * }} ComparedNonfinite
 */

/**
 * One series of one run, of which `count` points are stored; `reduced`: fewer are returned.
 * @typedef {SeriesName & {
 *   run: string,
 *   count: number,
 *   reduced: boolean,
 *   segments: ComparedSegment[],
 *   nonfinite: ComparedNonfinite[],
 *   nonfinite_count: number,
 * }} ComparedCurve
 */

/**
 * A run's curve minus the baseline's, and divided by it, from means over common intervals of x.
 * Intervals in which one of them has no points are left out. `ratio` is null where the baseline is 0.
 * @typedef {{
 *   run: string,
 *   x: number[],
 *   difference: number[],
 *   ratio: (number | null)[],
 * }} DifferenceCurve
 */

/**
 * Mean and range over the runs of a group, from means over common intervals of x.
 * `count` is the number of runs that have points in an interval; `deviation` the standard deviation between
 * them, null for one.
 * @typedef {{
 *   group: string,
 *   runs: string[],
 *   x: number[],
 *   mean: number[],
 *   minimum: number[],
 *   maximum: number[],
 *   deviation: (number | null)[],
 *   count: number[],
 * }} GroupCurve
 */

/**
 * The curves of one metric, or of the metrics of one role where runs name them differently.
 * @typedef {{
 *   title: string,
 *   metric: string,
 *   role: string,
 *   unit: string,
 *   curves: ComparedCurve[],
 *   differences: DifferenceCurve[],
 *   groups: GroupCurve[],
 * }} ComparisonChart
 */

/**
 * Curves of several runs on a common x axis.
 * `metrics` are all metrics that two or more of the runs have, those with charts first.
 * @typedef {{
 *   baseline: string,
 *   x: XAxis,
 *   group_by: string | null,
 *   runs: ComparedRun[],
 *   charts: ComparisonChart[],
 *   metrics: string[],
 * }} CompareCurves
 */

/**
 * A setting that differs, with its newest value in each run (null: not stated) and its name there.
 * `folded`: not stated by all runs, and empty, off or 0 where it is stated, as a default would be.
 * @typedef {{
 *   name: string,
 *   category: SettingCategory,
 *   names: (string | null)[],
 *   values: (ConfigValue | null)[],
 *   folded: boolean,
 * }} ComparedSetting
 */

/**
 * A figure of each run, null where it is not known. `better`: which values are better.
 * @typedef {{
 *   name: string,
 *   title: string,
 *   unit: string,
 *   better: "lower" | "higher" | null,
 *   values: (number | null)[],
 * }} ComparedFigure
 */

/**
 * The number of incidents of a kind in each run, and the highest severity of any of them.
 * @typedef {{
 *   kind: string,
 *   title: string,
 *   severity: Severity,
 *   counts: number[],
 * }} ComparedIncidents
 */

/**
 * What differs between a run and the baseline, in one sentence each.
 * @typedef {{
 *   run: string,
 *   configuration: string,
 *   environment: string,
 *   speed: string,
 *   loss: string,
 *   incidents: string,
 * }} ComparisonSummary
 */

/**
 * What differs between runs. Lists of values have one entry per run, in the order of `runs`.
 * `equal_settings` counts the settings that all runs state with the same value. `common_x`: tokens or
 * samples where a step has different numbers of them in the runs, else steps.
 * @typedef {{
 *   baseline: string,
 *   common_x: XAxis,
 *   runs: ComparedRun[],
 *   settings: ComparedSetting[],
 *   equal_settings: number,
 *   figures: ComparedFigure[],
 *   incidents: ComparedIncidents[],
 *   summaries: ComparisonSummary[],
 *   text: string,
 * }} CompareDifferences
 */

/**
 * The difference of two curves over intervals of x, with its 95 % interval in each.
 * @typedef {{
 *   x: number[],
 *   difference: number[],
 *   low: number[],
 *   high: number[],
 * }} DifferenceBand
 */

/**
 * The difference of a run's curve from the baseline's at equal x, with its 95 % interval.
 * `difference`, `low` and `high` are means over `from_x` to `to_x`, `relative...` the same as shares of the
 * baseline's `level` there; `effect_size` is the difference in standard deviations of single points.
 * `since_x`: from where on the runs differ this way. `paired`: both saw the same batches, `correlation` of
 * their noise. `detectable`: the smallest relative difference that these logs show with a probability of 80
 * %. `needed_x`: how far both would have to run to show a difference of 1 %; null where this far suffices
 * or it cannot be said. `block_points`: points per block that are treated as dependent.
 * @typedef {{
 *   run: string,
 *   metric: string,
 *   baseline_metric: string,
 *   verdict: Classification,
 *   paired: boolean,
 *   correlation: number | null,
 *   points: number,
 *   from_x: number | null,
 *   to_x: number | null,
 *   level: number | null,
 *   difference: number | null,
 *   low: number | null,
 *   high: number | null,
 *   relative: number | null,
 *   relative_low: number | null,
 *   relative_high: number | null,
 *   effect_size: number | null,
 *   since_x: number | null,
 *   detectable: number | null,
 *   needed_x: number | null,
 *   block_points: number | null,
 *   sentence: string,
 *   band: DifferenceBand,
 * }} CurveComparison
 */

/**
 * The differences of a metric of several runs from the baseline, and whether they are more than noise.
 * @typedef {{
 *   baseline: string,
 *   x: XAxis,
 *   role: string,
 *   runs: ComparedRun[],
 *   comparisons: CurveComparison[],
 * }} CompareStatistics
 */

/**
 * A run that is a reference of its project. `pinned_at` is in Unix seconds.
 * @typedef {{
 *   run: string,
 *   name: string,
 *   pinned_at: number,
 *   pinned_by: string | null,
 * }} PinnedReference
 */

/**
 * The reference runs of a project, the newest pin first.
 * @typedef {{
 *   project: string,
 *   references: PinnedReference[],
 * }} ReferenceList
 */

/**
 * A silence: incidents that all `matchers` match are muted until `ends_at`; `muted`: those open now.
 * @typedef {{
 *   id: number,
 *   matchers: string[],
 *   comment: string,
 *   created_by: string,
 *   created_at: number,
 *   starts_at: number,
 *   ends_at: number,
 *   state: SilenceState,
 *   muted: number,
 * }} SilenceView
 */

/**
 * Silences, the newest first.
 * @typedef {{
 *   silences: SilenceView[],
 * }} SilenceList
 */

/**
 * A channel and how its delivery is. `destination` contains no secret.
 * `failing_since` and `error` are of the oldest message that it does not take. `paused_until`: no attempt
 * before, because the last ones failed. `minimum` null: the tree of routes alone decides.
 * @typedef {{
 *   name: string,
 *   type: string,
 *   destination: string,
 *   minimum: Severity | null,
 *   state: ChannelState,
 *   waiting: number,
 *   muted: number,
 *   given_up: number,
 *   last_delivered_at: number | null,
 *   failing_since: number | null,
 *   paused_until: number | null,
 *   error: string | null,
 * }} ChannelView
 */

/**
 * A receiver of routes and its channels.
 * @typedef {{
 *   name: string,
 *   channels: string[],
 * }} ReceiverView
 */

/**
 * All channels, and the receivers that are made of them. A channel is a receiver by its own name, too.
 * @typedef {{
 *   channels: ChannelView[],
 *   receivers: ReceiverView[],
 * }} ReceiverList
 */

/**
 * Whether a test message arrived, and in a sentence why not.
 * @typedef {{
 *   delivered: boolean,
 *   text: string,
 * }} ChannelTestResult
 */

/**
 * One message to one channel. `incident_id` is null for a digest or a report about a channel.
 * `muted` states what mutes it; `within` is the notification in which a folded one was sent.
 * @typedef {{
 *   id: number,
 *   incident_id: number | null,
 *   channel: string,
 *   receiver: string,
 *   reason: string,
 *   route: string,
 *   state: NotificationState,
 *   attempts: number,
 *   created_at: number,
 *   next_try_at: number | null,
 *   delivered_at: number | null,
 *   error: string | null,
 *   muted: string | null,
 *   within: number | null,
 *   title: string,
 * }} NotificationView
 */

/**
 * Notifications, the newest first. `next`: `before` of the next page, null on the last one.
 * @typedef {{
 *   notifications: NotificationView[],
 *   next: number | null,
 * }} NotificationPage
 */

/**
 * Why a channel was, or was not, notified of an incident's change. `channel` is empty for all of them.
 * @typedef {{
 *   at: number,
 *   channel: string,
 *   receiver: string,
 *   outcome: DecisionOutcome,
 *   reason: string,
 *   text: string,
 *   route: string,
 * }} DecisionView
 */

/**
 * The decisions about one incident, the oldest first.
 * @typedef {{
 *   decisions: DecisionView[],
 * }} DecisionList
 */

/**
 * A node of the tree of routes, in the order of the tree; `depth` 0 is the first. Times in seconds.
 * `channels` are those of its receiver. `group_wait` null: the channel's `settle`. `repeat_interval` and
 * `escalate_after` 0: none.
 * @typedef {{
 *   path: string,
 *   depth: number,
 *   receiver: string,
 *   channels: string[],
 *   matchers: string[],
 *   group_by: string[],
 *   group_wait: number | null,
 *   group_interval: number,
 *   repeat_interval: number,
 *   continues: boolean,
 *   mute_time_intervals: string[],
 *   active_time_intervals: string[],
 *   critical_passes: boolean,
 *   escalate_after: number,
 *   escalate_to: string,
 * }} RouteView
 */

/**
 * A rule of inhibition: an open incident of `source_matchers` mutes those of `target_matchers`.
 * @typedef {{
 *   name: string,
 *   source_matchers: string[],
 *   target_matchers: string[],
 *   equal: string[],
 * }} InhibitRuleView
 */

/**
 * A named time interval, its `parts` in words, and whether one of them contains the present.
 * @typedef {{
 *   name: string,
 *   active: boolean,
 *   parts: string[],
 * }} TimeIntervalView
 */

/**
 * A regular message. `weekday` null: every day. `at` is the time of the day in `location`.
 * @typedef {{
 *   name: string,
 *   receiver: string,
 *   at: string,
 *   weekday: string | null,
 *   location: string,
 *   matchers: string[],
 * }} DigestView
 */

/**
 * A notification policy. `default`: it is made from the channels' settings alone.
 * `toml`: the lines of `holter.toml` that make it. `file`: the settings file that was read, null if none.
 * @typedef {{
 *   default: boolean,
 *   toml: string,
 *   file: string | null,
 *   routes: RouteView[],
 *   inhibit_rules: InhibitRuleView[],
 *   time_intervals: TimeIntervalView[],
 *   digests: DigestView[],
 * }} RoutingView
 */

/**
 * A route that was tried. `failed`: the first matcher that does not hold, null where all do.
 * @typedef {{
 *   path: string,
 *   receiver: string,
 *   failed: string | null,
 * }} RouteStepView
 */

/**
 * What a channel would get, and why. `group`: incidents with the same text are sent together.
 * @typedef {{
 *   channel: string,
 *   receiver: string,
 *   route: string,
 *   outcome: DecisionOutcome,
 *   text: string,
 *   group: string,
 *   group_wait: number,
 * }} ChannelDecision
 */

/**
 * Where an incident with these labels would go now. `text` says it in a sentence.
 * @typedef {{
 *   labels: Record<string, string[]>,
 *   channels: ChannelDecision[],
 *   steps: RouteStepView[],
 *   text: string,
 * }} RoutingDecision
 */

/**
 * An incident that other settings send elsewhere: its channels now (`current`) and then (`trial`).
 * @typedef {{
 *   incident_id: number,
 *   title: string,
 *   opened_at: number,
 *   severity: Severity,
 *   current: string[],
 *   trial: string[],
 * }} ChangedRoutingView
 */

/**
 * Valid settings of routing, and which of the newest incidents (`compared`) they send elsewhere.
 * @typedef {{
 *   routing: RoutingView,
 *   compared: number,
 *   changed: ChangedRoutingView[],
 * }} RoutingTrialResult
 */

/**
 * One setting. `value` and `default` are texts, empty for an unset one; a secret's value is not shown.
 * @typedef {{
 *   name: string,
 *   value: string,
 *   default: string,
 *   source: SettingSource,
 *   secret: boolean,
 * }} SettingView
 */

/**
 * All settings of the server, and the file that some of them are from.
 * @typedef {{
 *   version: string,
 *   file: string | null,
 *   database: string,
 *   settings: SettingView[],
 * }} ServerSettings
 */

/**
 * Whether the server requires a login, who is logged in, and the catalogue that findings are shown by.
 * `shared_path`: the page that a share link shows to somebody who is not logged in.
 * @typedef {{
 *   login_required: boolean,
 *   logged_in: boolean,
 *   user: string | null,
 *   shared_path: string | null,
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
