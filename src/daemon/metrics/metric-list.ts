/** One metric of `/metrics`. agentd-metrics(7) is generated from these records. */
export interface MetricRecord {
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly sentence: string;
  /** Upper bounds, in seconds; histograms only. */
  readonly buckets?: readonly number[];
}

/** Buckets for the store. A command of Redis is given up after 5 seconds. */
const SHORT = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;
/**
 * Buckets for operations that may wait for a model. Other operations of the same metric take less than a millisecond.
 */
const LONG = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120] as const;

/**
 * The metrics of the daemon (agentd-metrics(7)). Names and labels are stable. No label names a person, a session or a
 * message; the number of values of each label is limited by the code or by the configuration.
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
      'Messages, each counted once when it ends: `answered`, `failed`, `blocked` by the loop guard, `refused`, `replayed` (answered before), `stopped` by the person.',
  },
  {
    name: 'agentd_turn_duration_seconds',
    kind: 'histogram',
    labels: ['channel'],
    buckets: LONG,
    sentence: 'Time from the beginning of the first step of a message to the end of its turn.',
  },
  {
    name: 'agentd_step_duration_seconds',
    kind: 'histogram',
    labels: ['step'],
    buckets: LONG,
    sentence: 'Duration of a step of the message path. `agentd explain` names the same steps.',
  },
  {
    name: 'agentd_token_checks_total',
    kind: 'counter',
    labels: ['outcome'],
    sentence: 'User tokens that were validated: `valid`, or the reason why a token is not valid.',
  },
  {
    name: 'agentd_token_keys_total',
    kind: 'counter',
    labels: ['key'],
    sentence:
      'Valid user tokens, by the position of the key in JWT_SECRET_KEY or JWT_PUBLIC_KEY that they are signed with. Only while there are several keys. Remove a key that was not counted for as long as tokens last.',
  },
  {
    name: 'agentd_credentials_total',
    kind: 'counter',
    labels: ['used', 'reason'],
    sentence:
      'Choices of credentials for a tool call. `used` is `user`, `exchange`, `default` or `none`. `reason` is `valid_token`; `policy`, if the policy of the tool requires these credentials; or the reason why the default credentials were used or the call was not made.',
  },
  {
    name: 'agentd_downstream_requests_total',
    kind: 'counter',
    labels: ['source', 'status'],
    sentence:
      'Requests to the business API and other sources of tools, including logins and token exchanges. `status` is `timeout` or `unreachable` if there was no answer.',
  },
  {
    name: 'agentd_downstream_duration_seconds',
    kind: 'histogram',
    labels: ['source'],
    buckets: LONG,
    sentence: 'Duration of requests to the business API and other sources of tools.',
  },
  {
    name: 'agentd_tool_calls_total',
    kind: 'counter',
    labels: ['tool', 'outcome'],
    sentence:
      'Tool calls: `ok`, or the reason in the trace (`tool_failed`, `invalid_arguments`, `tool_timeout`, …). If the person must sign in first: `sign_in_needed`, or why the person is not signed in (`no_jwt_context`, `no_token`, `no_link`, `invalid_token`, `signed_out`, `stored_token_expired`, `client_chosen_session`, `other_sender`, `link_of_other_sender`).',
  },
  {
    name: 'agentd_model_requests_total',
    kind: 'counter',
    labels: ['model', 'outcome'],
    sentence:
      'Calls of a language model: `ok`, or the reason in the trace. `budget_exhausted`: the model was not called, because the request did not fit into what is left of AGENT_DAILY_TOKENS for this person.',
  },
  {
    name: 'agentd_model_tokens_total',
    kind: 'counter',
    labels: ['model', 'direction'],
    sentence:
      'Tokens that models have used, `input` and `output`: as the models report them, otherwise estimated.',
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
      'Messages in the inbox that are not done: `waiting`, `running`, `replied` (the reply is not sent yet), `failed`. Absent while the store cannot be read.',
  },
  {
    name: 'agentd_inbox_oldest_seconds',
    kind: 'gauge',
    labels: ['channel'],
    sentence:
      'Age of the oldest message that waits, runs or has a reply that is not sent yet. 0 if there is none; absent while the store cannot be read.',
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
      'Runs of the agent in this process: `running`, or `waiting` because AGENT_CONCURRENCY runs are in progress.',
  },
  {
    name: 'agentd_store_duration_seconds',
    kind: 'histogram',
    labels: ['operation'],
    buckets: SHORT,
    sentence: 'Duration of an operation of the store.',
  },
  {
    name: 'agentd_store_errors_total',
    kind: 'counter',
    labels: [],
    sentence: 'Operations of the store that failed because the store could not be read or written.',
  },
  {
    name: 'agentd_memory_available',
    kind: 'gauge',
    labels: [],
    sentence:
      '1 while long-term memory can be reached; 0 while messages are answered without it. Absent if MEMORY_BACKEND is `none`.',
  },
  {
    name: 'agentd_last_backup_timestamp_seconds',
    kind: 'gauge',
    labels: [],
    sentence:
      'Time of the last `agentd backup` of the embedded store, seconds since 1970; 0 if there was none. Absent with other stores.',
  },
  {
    name: 'agentd_build_info',
    kind: 'gauge',
    labels: ['version', 'commit', 'node'],
    sentence: 'Always 1; the labels name the version of agentd and of Node.js.',
  },
] as const satisfies readonly MetricRecord[];

export type MetricName = (typeof METRICS)[number]['name'];
