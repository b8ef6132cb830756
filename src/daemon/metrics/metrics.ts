import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { AgentdError, StoreUnavailable } from '../errors.ts';
import type { InboxState } from '../store/inbox/inbox.ts';
import type { DeliveryOutcome, EndedRequest, Observer } from '../trace/observer.ts';
import { MESSAGE_OUTCOMES, messageOutcome, type TraceLine, type TraceRecord } from '../trace/trace-record.ts';

import { METRICS, type MetricName, type MetricRecord } from './metric-list.ts';

type Labels = Readonly<Record<string, string>>;

/** Values that are counted only when the metrics are read. */
export interface Gauges {
  runs(): Readonly<Record<'running' | 'waiting', number>>;
  streams(): Readonly<Record<'running' | 'read', number>>;
  inbox(): Promise<readonly InboxGauge[]>;
  /** The name of each agent, and the digest of its instructions, tools and model. */
  agents(): readonly { name: string; digest: string }[];
  /** Null if nothing is remembered. */
  memoryIsAvailable(): boolean | null;
  /** ms since the epoch, 0 if there was no backup; null if the store cannot be backed up. */
  lastBackupAt(): number | null;
}

interface InboxGauge {
  platform: string;
  state: string;
  messages: number;
  /** Age of the oldest message, seconds; null for messages that have failed, because these do not wait. */
  oldest_seconds: number | null;
}

/** HTTP methods that have their own label value. A client may send any word as method. */
const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Lines of a trace that are not steps of the message path, but events within a step. */
const WITHIN_A_STEP = ['tool', 'credentials', 'downstream', 'model', 'claim', 'trace'];

/**
 * Gauges of prom-client whose names end in `_total`. Only counters may have these names, so `promtool check metrics`
 * refuses these gauges. They are sums of gauges such as `nodejs_active_handles`, which are kept.
 */
const SUMS = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

const DELIVERY_OUTCOMES: readonly DeliveryOutcome[] = ['sent', 'retried', 'failed'];
const INBOX_STATES: readonly Exclude<InboxState, 'done'>[] = ['waiting', 'running', 'replied', 'failed'];

/** The metrics of one daemon (agentd-metrics(7)), computed from the events that it observes. */
export class Metrics implements Observer {
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #withInbox: string[] = [];
  #read: Gauges | null = null;

  /** @param build the version of the program and, if it is known, its commit */
  constructor({ version, commit }: { version: string; commit: string | null }) {
    for (const metric of METRICS) this.#register(metric);
    collectDefaultMetrics({ register: this.#registry });
    for (const name of SUMS) this.#registry.removeSingleMetric(name);
    this.#gauge('agentd_build_info').set(
      { version, commit: commit ?? 'unknown', node: process.versions.node },
      1,
    );
    this.#count('agentd_store_errors_total', {}, 0);
    this.#count('agentd_unbacked_claims_total', {}, 0);
  }

  /**
   * Begins the series of a channel with 0. Prometheus does not see the first increment of a series that begins with 1,
   * so an alert for a first failure would not fire.
   * @param hasInbox whether the channel sends its replies later
   */
  addChannel(channel: string, hasInbox: boolean): void {
    for (const outcome of MESSAGE_OUTCOMES) this.#count('agentd_messages_total', { channel, outcome }, 0);
    this.#gauge('agentd_messages_running').set({ channel }, 0);
    for (const rating of ['1', '-1']) this.#count('agentd_feedback_total', { channel, rating }, 0);
    if (!hasInbox) return;
    for (const outcome of DELIVERY_OUTCOMES) this.#count('agentd_deliveries_total', { channel, outcome }, 0);
    this.#withInbox.push(channel);
  }

  /** Sets the source of the gauges. Before this call, while the daemon starts, gauges are absent. */
  readFrom(gauges: Gauges): void {
    this.#read = gauges;
  }

  /** The media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in the text format of Prometheus. A gauge whose source cannot be read is left out. */
  async text(): Promise<string> {
    await this.#readGauges();
    return this.#registry.metrics();
  }

  /** Metrics do not use parent spans. */
  readParent(): null {
    return null;
  }

  /** A message is counted when it ends. */
  messageBegan(): null {
    return null;
  }

  turnTraced(trace: TraceRecord, runs_again: boolean): void {
    const channel = trace.platform;
    for (const line of trace.lines) this.#countLine(channel, line);
    if (runs_again) return;
    const outcome = messageOutcome(trace);
    const messages = 1 + (trace.collected ?? []).length;
    for (let message = 0; message < messages; message++)
      this.#count('agentd_messages_total', { channel, outcome });
    if (outcome === 'answered' || outcome === 'failed' || outcome === 'stopped')
      this.#observe(
        'agentd_turn_duration_seconds',
        { channel },
        (trace.finished_at - trace.started_at) / 1000,
      );
  }

  turnBegan(channel: string): void {
    this.#gauge('agentd_messages_running').inc({ channel });
  }

  turnEnded(channel: string): void {
    this.#gauge('agentd_messages_running').dec({ channel });
  }

  messageBlocked(channel: string, reason: string): void {
    this.#count('agentd_guard_blocks_total', { channel, reason });
    this.#count('agentd_messages_total', { channel, outcome: 'blocked' });
  }

  messageEnded(channel: string, outcome: 'failed' | 'replayed' | 'stopped'): void {
    this.#count('agentd_messages_total', { channel, outcome });
  }

  deliveryEnded(channel: string, outcome: DeliveryOutcome): void {
    this.#count('agentd_deliveries_total', { channel, outcome });
  }

  answerRated(channel: string, rating: 1 | -1): void {
    this.#count('agentd_feedback_total', { channel, rating: String(rating) });
  }

  requestEnded({ route, method, status, code, seconds }: EndedRequest): void {
    const labels = { route: route ?? 'none', method: HTTP_METHODS.includes(method) ? method : 'other' };
    this.#count('agentd_http_requests_total', { ...labels, status: String(status) });
    this.#observe('agentd_http_request_duration_seconds', labels, seconds);
    if (code === 'rate_limited') this.#count('agentd_rate_limited_total', { route: labels.route });
  }

  tokenChecked(outcome: string, key?: number): void {
    this.#count('agentd_token_checks_total', { outcome });
    if (key !== undefined) this.#count('agentd_token_keys_total', { key: String(key) });
  }

  tokenRenewed(outcome: string): void {
    this.#count('agentd_token_renewals_total', { outcome });
  }

  downstreamEnded(source: string, status: number | string, seconds: number): void {
    this.#count('agentd_downstream_requests_total', { source, status: String(status) });
    this.#observe('agentd_downstream_duration_seconds', { source }, seconds);
  }

  /** @param error why the operation failed, if it did */
  storeOperationEnded(operation: string, seconds: number, error?: unknown): void {
    this.#observe('agentd_store_duration_seconds', { operation }, seconds);
    if (error instanceof StoreUnavailable) this.#count('agentd_store_errors_total', {});
  }

  #countLine(channel: string, { step, verdict, reason, detail, took_ms }: TraceLine): void {
    const outcome = verdict === 'ok' ? 'ok' : (reason ?? verdict);
    switch (step) {
      case 'tool':
        this.#count('agentd_tool_calls_total', { tool: String(detail?.tool), outcome });
        return;
      case 'credentials':
        this.#countCredentials(String(detail?.credentials ?? 'none'), reason);
        return;
      case 'model':
        this.#countModelCall(outcome, detail ?? {});
        return;
      case 'claim':
        this.#count('agentd_unbacked_claims_total', {});
        return;
      case 'guard':
        if (verdict === 'refused' && reason !== undefined)
          this.#count('agentd_guard_blocks_total', { channel, reason });
    }
    if (took_ms !== undefined && !WITHIN_A_STEP.includes(step))
      this.#observe('agentd_step_duration_seconds', { step }, took_ms / 1000);
  }

  /**
   * Counts a choice of credentials. If it has no reason, the person's own token was used, or the policy of the tool
   * requires these credentials.
   */
  #countCredentials(used: string, reason: string | undefined): void {
    const isPersons = used === 'user' || used === 'exchange';
    const because = reason ?? (isPersons ? 'valid_token' : 'policy');
    this.#count('agentd_credentials_total', { used, reason: because });
  }

  #countModelCall(outcome: string, detail: NonNullable<TraceLine['detail']>): void {
    const { model } = detail;
    // A line without a model says that another model takes over. It is not a call.
    if (typeof model !== 'string') return;
    this.#count('agentd_model_requests_total', { model, outcome });
    for (const direction of ['input', 'output'] as const) {
      const tokens = detail[`${direction}_tokens`];
      if (typeof tokens === 'number') this.#count('agentd_model_tokens_total', { model, direction }, tokens);
    }
  }

  async #readGauges(): Promise<void> {
    if (this.#read === null) return;
    for (const [name, values] of [
      ['agentd_runs', this.#read.runs()],
      ['agentd_streams', this.#read.streams()],
    ] as const)
      for (const [state, value] of Object.entries(values)) this.#gauge(name).set({ state }, value);
    const agent = this.#gauge('agentd_agent_info');
    agent.reset();
    for (const { name, digest } of this.#read.agents()) agent.set({ agent: name, digest }, 1);
    const isAvailable = this.#read.memoryIsAvailable();
    if (isAvailable !== null) this.#gauge('agentd_memory_available').set(isAvailable ? 1 : 0);
    const backed_up_at = this.#read.lastBackupAt();
    if (backed_up_at !== null) this.#gauge('agentd_last_backup_timestamp_seconds').set(backed_up_at / 1000);
    // A store that cannot be reached must not hide the other metrics; the wrapper of the store counts the error.
    const inbox = await this.#read.inbox().catch((error: unknown) => {
      if (error instanceof AgentdError) return null;
      throw error;
    });
    const messages = this.#gauge('agentd_inbox_messages');
    const oldest = this.#gauge('agentd_inbox_oldest_seconds');
    messages.reset();
    oldest.reset();
    if (inbox === null) return;
    for (const channel of this.#withInbox) {
      for (const state of INBOX_STATES) messages.set({ channel, state }, 0);
      oldest.set({ channel }, 0);
    }
    for (const { platform: channel, state, messages: count } of inbox)
      messages.set({ channel, state }, count);
    for (const [channel, seconds] of findOldest(inbox)) oldest.set({ channel }, seconds);
  }

  #count(name: MetricName, labels: Labels, by = 1): void {
    (this.#counters.get(name) as Counter).inc(labels, by);
  }

  #observe(name: MetricName, labels: Labels, seconds: number): void {
    (this.#histograms.get(name) as Histogram).observe(labels, seconds);
  }

  #gauge(name: MetricName): Gauge {
    return this.#gauges.get(name) as Gauge;
  }

  #register({ name, kind, labels, sentence, buckets = [] }: MetricRecord): void {
    const metric = { name, help: sentence, labelNames: [...labels], registers: [this.#registry] };
    if (kind === 'counter') this.#counters.set(name, new Counter(metric));
    else if (kind === 'histogram')
      this.#histograms.set(name, new Histogram({ ...metric, buckets: [...buckets] }));
    else {
      const gauge = new Gauge(metric);
      // Without labels it would begin with 0 before anything was measured.
      if (labels.length === 0) gauge.remove();
      this.#gauges.set(name, gauge);
    }
  }
}

function findOldest(inbox: readonly InboxGauge[]): Map<string, number> {
  const oldest = new Map<string, number>();
  for (const { platform, oldest_seconds } of inbox)
    oldest.set(platform, Math.max(oldest.get(platform) ?? 0, oldest_seconds ?? 0));
  return oldest;
}
