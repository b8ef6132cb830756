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

type Body = Omit<MetricRecord, 'name'>;
type Labels = readonly string[];

const counter = (labels: Labels, sentence: string): Body => ({ kind: 'counter', labels, sentence });
const gauge = (labels: Labels, sentence: string): Body => ({ kind: 'gauge', labels, sentence });
const histogram = (labels: Labels, buckets: readonly number[], sentence: string): Body => {
  return { kind: 'histogram', labels, buckets, sentence };
};

/**
 * The metrics of the daemon (agentd-metrics(7)). Names and labels are stable. No label names a person, a session or a
 * message; the number of values of each label is limited by the code or by the configuration.
 */
const RECORDS = {
  agentd_http_requests_total: counter(
    ['route', 'method', 'status'],
    'Requests that have ended. `route` is the path with the names of its parameters, or `none`; `status` is `499` if the connection closed before there was an answer.',
  ),
  agentd_http_request_duration_seconds: histogram(
    ['route', 'method'],
    LONG,
    'Time from the first byte of a request to the last byte of its answer.',
  ),
  agentd_messages_total: counter(
    ['channel', 'outcome'],
    'Messages, each counted once when it ends: `answered`, `failed`, `blocked` by the loop guard, `refused`, `replayed` (answered before), `stopped` by the person.',
  ),
  agentd_messages_running: gauge(
    ['channel'],
    'Messages that this process is answering now, also those that wait for their session or for a run.',
  ),
  agentd_turn_duration_seconds: histogram(
    ['channel'],
    LONG,
    'Time from the beginning of the first step of a message to the end of its turn.',
  ),
  agentd_step_duration_seconds: histogram(
    ['step'],
    LONG,
    'Duration of a step of the message path. `agentd explain` names the same steps.',
  ),
  agentd_token_checks_total: counter(
    ['outcome'],
    'User tokens that were validated: `valid`, or the reason why a token is not valid.',
  ),
  agentd_token_renewals_total: counter(
    ['outcome'],
    'Requests to TOKEN_RENEWAL_URL for a new token of a link: `issued`, `ended` (the person is no longer signed in), `stopped` (the token cannot be renewed), `refused` (this service is not accepted as a client), or `failed`.',
  ),
  agentd_token_keys_total: counter(
    ['key'],
    'Valid user tokens, by the position of the key in JWT_SECRET_KEY or JWT_PUBLIC_KEY that they are signed with. Only while there are several keys. Remove a key that was not counted for as long as tokens last.',
  ),
  agentd_credentials_total: counter(
    ['used', 'reason'],
    'Choices of credentials for a tool call. `used` is `user`, `exchange`, `default` or `none`. `reason` is `valid_token`; `policy`, if the policy of the tool requires these credentials; or the reason why the default credentials were used or the call was not made.',
  ),
  agentd_downstream_requests_total: counter(
    ['source', 'status'],
    'Requests to the business API and other sources of tools, including logins and token exchanges. `source` is the name of the source, or `api` for logins, modules and built-in tools. `status` is `timeout` or `unreachable` if there was no answer.',
  ),
  agentd_downstream_duration_seconds: histogram(
    ['source'],
    LONG,
    'Duration of requests to the business API and other sources of tools.',
  ),
  agentd_tool_calls_total: counter(
    ['tool', 'outcome'],
    'Tool calls: `ok`, or the reason in the trace (`tool_failed`, `invalid_arguments`, `tool_timeout`, …). If the person must sign in first: `sign_in_needed`, or why the person is not signed in (`no_jwt_context`, `no_token`, `no_link`, `invalid_token`, `signed_out`, `signed_out_at_site`, `stored_token_expired`, `client_chosen_session`, `other_sender`, `link_of_other_sender`).',
  ),
  agentd_model_requests_total: counter(
    ['model', 'outcome'],
    'Calls of a language model: `ok`, or the reason in the trace. `budget_exhausted`: the model was not called, because the request did not fit into what is left of AGENT_DAILY_TOKENS for this person.',
  ),
  agentd_model_tokens_total: counter(
    ['model', 'direction'],
    'Tokens that models have used, `input` and `output`: as the models report them, otherwise estimated.',
  ),
  agentd_guard_blocks_total: counter(
    ['channel', 'reason'],
    'Messages that the loop guard blocked: `rate_limit`, `repetition`, `turn_limit`.',
  ),
  agentd_rate_limited_total: counter(['route'], 'Requests that the rate limit refused.'),
  agentd_inbox_messages: gauge(
    ['channel', 'state'],
    'Messages in the inbox that are not done: `waiting`, `running`, `replied` (the reply is not sent yet), `failed`. Absent while the store cannot be read.',
  ),
  agentd_inbox_oldest_seconds: gauge(
    ['channel'],
    'Age of the oldest message that waits, runs or has a reply that is not sent yet. 0 if there is none; absent while the store cannot be read.',
  ),
  agentd_deliveries_total: counter(
    ['channel', 'outcome'],
    'Attempts to send a text to a platform: `sent`, `retried` (it will be sent again), `failed` for good.',
  ),
  agentd_feedback_total: counter(
    ['channel', 'rating'],
    'Ratings of answers, `1` or `-1`. A rating that replaces another one counts, too, if it differs.',
  ),
  agentd_unbacked_claims_total: counter(
    [],
    'Replies that say that something was changed, although no tool has changed anything. The daemon adds that nothing was changed.',
  ),
  agentd_streams: gauge(
    ['state'],
    'Event streams of this process: `running` (its message is being answered), `read` (somebody reads it).',
  ),
  agentd_runs: gauge(
    ['state'],
    'Runs of the agent in this process: `running`, or `waiting` because AGENT_CONCURRENCY runs are in progress.',
  ),
  agentd_store_duration_seconds: histogram(['operation'], SHORT, 'Duration of an operation of the store.'),
  agentd_store_errors_total: counter(
    [],
    'Operations of the store that failed because the store could not be read or written.',
  ),
  agentd_memory_available: gauge(
    [],
    '1 while long-term memory can be reached; 0 while messages are answered without it. Absent if MEMORY_BACKEND is `none`.',
  ),
  agentd_last_backup_timestamp_seconds: gauge(
    [],
    'Time of the last `agentd backup` of the embedded store, seconds since 1970; 0 if there was none. Absent with other stores.',
  ),
  agentd_agent_info: gauge(
    ['agent', 'digest'],
    'Always 1; the labels are the name of an agent, and the digest of its instructions, tools and model. Replicas with different digests of an agent answer differently.',
  ),
  agentd_build_info: gauge(
    ['version', 'commit', 'node'],
    'Always 1; the labels name the version of agentd and of Node.js.',
  ),
};

export type MetricName = keyof typeof RECORDS;

/** The records as a list, in the order of the manual page. */
export const METRICS: readonly MetricRecord[] = Object.entries(RECORDS).map(([name, record]) => ({
  name,
  ...record,
}));
