/** One metric of `/metrics`. agentd-metrics(7) is generated from these records. */
export interface MetricRecord {
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly sentence: string;
  /** Upper bounds, in seconds; histograms only. */
  readonly buckets?: readonly number[];
}

/** A request of the daemon itself, or of the store. */
const SHORT = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5] as const;
/** What may wait for a model. */
const LONG = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120] as const;

/**
 * The metrics of the daemon (agentd-metrics(7)). Names and labels are stable. No label names a person, a session or a
 * message; the values of each are bounded by the code or by the configuration.
 */
export const METRICS = [
  {
    name: 'agentd_http_requests_total',
    kind: 'counter',
    labels: ['route', 'method', 'status'],
    sentence: 'Requests that were answered. `route` is the path with the names of its parameters, or `none`.',
  },
  {
    name: 'agentd_http_request_duration_seconds',
    kind: 'histogram',
    labels: ['route', 'method'],
    buckets: LONG,
    sentence: 'Time from the first byte of a request to the last byte of its answer.',
  },
  {
    name: 'agentd_messages_total',
    kind: 'counter',
    labels: ['channel', 'outcome'],
    sentence:
      'Messages, each counted once, when it ends: `answered`, `failed`, `blocked` by the loop guard, `refused`, `replayed` (answered before), `stopped` by the person.',
  },
  {
    name: 'agentd_turn_duration_seconds',
    kind: 'histogram',
    labels: ['channel'],
    buckets: LONG,
    sentence: 'Time from the arrival of a message at its first step to the end of its turn.',
  },
  {
    name: 'agentd_step_duration_seconds',
    kind: 'histogram',
    labels: ['step'],
    buckets: LONG,
    sentence: 'Time that a step of the message path took. `explain` names the same steps.',
  },
  {
    name: 'agentd_token_checks_total',
    kind: 'counter',
    labels: ['outcome'],
    sentence: 'User tokens that were validated: `valid`, or the reason why one is not.',
  },
  {
    name: 'agentd_credentials_total',
    kind: 'counter',
    labels: ['used', 'reason'],
    sentence:
      'Choices of credentials for a tool call: `user`, `exchange`, `default` or `none`, and why: `valid_token`, `policy` if the tool asks for these, or the reason for default credentials or for no call.',
  },
  {
    name: 'agentd_downstream_requests_total',
    kind: 'counter',
    labels: ['source', 'status'],
    sentence:
      'Requests to the business API and other sources of tools, log-ins and exchanges of tokens included. `status` is `timeout` or `unreachable` if there was no answer.',
  },
  {
    name: 'agentd_downstream_duration_seconds',
    kind: 'histogram',
    labels: ['source'],
    buckets: LONG,
    sentence: 'Time that such a request took.',
  },
  {
    name: 'agentd_tool_calls_total',
    kind: 'counter',
    labels: ['tool', 'outcome'],
    sentence:
      'Tool calls: `ok`, or the reason of the trace (`tool_failed`, `invalid_arguments`, `tool_timeout`, …).',
  },
  {
    name: 'agentd_model_requests_total',
    kind: 'counter',
    labels: ['model', 'outcome'],
    sentence: 'Calls of a language model: `ok`, or the reason of the trace.',
  },
  {
    name: 'agentd_model_tokens_total',
    kind: 'counter',
    labels: ['model', 'direction'],
    sentence: 'Tokens that models have used, `input` and `output`, as they report it.',
  },
  {
    name: 'agentd_guard_blocks_total',
    kind: 'counter',
    labels: ['channel', 'reason'],
    sentence: 'Messages that the loop guard blocked: `rate_limit`, `repetition`, `turn_limit`.',
  },
  {
    name: 'agentd_rate_limited_total',
    kind: 'counter',
    labels: ['route'],
    sentence: 'Requests that the rate limit refused.',
  },
  {
    name: 'agentd_inbox_messages',
    kind: 'gauge',
    labels: ['channel', 'state'],
    sentence:
      'Messages in the inbox that are not done: `waiting`, `running`, `replied` (to be sent), `failed`.',
  },
  {
    name: 'agentd_inbox_oldest_seconds',
    kind: 'gauge',
    labels: ['channel'],
    sentence: 'Age of the oldest message that waits, runs or is to be sent; 0 or absent if there is none.',
  },
  {
    name: 'agentd_deliveries_total',
    kind: 'counter',
    labels: ['channel', 'outcome'],
    sentence:
      'Attempts to send a text to a platform: `sent`, `retried` (it will be sent again), `failed` for good.',
  },
  {
    name: 'agentd_streams',
    kind: 'gauge',
    labels: ['state'],
    sentence:
      'Event streams of this process: `running` (its message is being answered), `read` (somebody reads it).',
  },
  {
    name: 'agentd_runs',
    kind: 'gauge',
    labels: ['state'],
    sentence:
      'Runs of the agent in this process: `running`, `waiting` for one of AGENT_CONCURRENCY to be free.',
  },
  {
    name: 'agentd_store_duration_seconds',
    kind: 'histogram',
    labels: ['operation'],
    buckets: SHORT,
    sentence: 'Time that an operation of the store took.',
  },
  {
    name: 'agentd_store_errors_total',
    kind: 'counter',
    labels: [],
    sentence: 'Operations of the store that failed because it could not be read or written.',
  },
  {
    name: 'agentd_build_info',
    kind: 'gauge',
    labels: ['version', 'node'],
    sentence: 'Always 1; the labels name the version of agentd and of Node.js.',
  },
] as const satisfies readonly MetricRecord[];

export type MetricName = (typeof METRICS)[number]['name'];
