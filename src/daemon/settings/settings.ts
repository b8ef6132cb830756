import type { SettingRecord } from '../../channel/index.ts';
import type { Secret } from '../secret.ts';

/**
 * The daemon's own settings, one record each (agentd-settings(5)). Those of a channel are in its plugin.
 */
export const SETTINGS = [
  // Where it listens
  { name: 'HOST', kind: 'string', default: '127.0.0.1', sentence: 'Address to listen on.' },
  {
    name: 'PORT',
    kind: 'integer',
    min: 0,
    max: 65535,
    default: 8080,
    sentence: 'Port to listen on; 0 takes a free one.',
  },
  {
    name: 'TRUST_PROXY',
    kind: 'integer',
    min: 0,
    max: 16,
    default: 0,
    sentence: 'Number of proxies in front; so many entries of X-Forwarded-For are read from the right.',
  },
  {
    name: 'BODY_LIMIT_BYTES',
    kind: 'integer',
    min: 1,
    max: 16_777_216,
    default: 262_144,
    unit: 'bytes',
    sentence: 'Largest request body. A signed webhook may have 4 MiB whatever this setting says.',
  },
  {
    name: 'KEEP_ALIVE_SECONDS',
    kind: 'integer',
    min: 1,
    max: 3600,
    default: 65,
    unit: 'seconds',
    sentence:
      'How long an idle connection stays open; longer than the proxy in front keeps it, so that the proxy closes first.',
  },
  {
    name: 'SHUTDOWN_GRACE_SECONDS',
    kind: 'integer',
    min: 0,
    max: 3600,
    default: 25,
    unit: 'seconds',
    sentence: 'How long a stopping daemon lets running requests finish.',
  },
  {
    name: 'ADMIN_LISTEN',
    kind: 'string',
    sentence:
      'Address of a second listener for the probes `/live` and `/ready` and for `/metrics`, on a port of its own; unset, there is none. Keep it private.',
    example: '127.0.0.1:9464',
  },
  {
    name: 'ADMIN_TOKEN',
    kind: 'string',
    secret: true,
    sentence: 'Bearer token that `/metrics` asks for; unset, it asks for none. The probes never do.',
  },
  {
    name: 'SHUTDOWN_DELAY_SECONDS',
    kind: 'integer',
    min: 0,
    max: 3600,
    default: 5,
    unit: 'seconds',
    sentence:
      'How long a stopping daemon still takes requests while `/ready` answers 503, as part of SHUTDOWN_GRACE_SECONDS; only with ADMIN_LISTEN.',
  },

  // Its name, its files, its log
  {
    name: 'APP_NAME',
    kind: 'string',
    default: 'agentd',
    sentence: 'Name of your service, which the agent speaks for; with the default it speaks of none.',
  },
  {
    name: 'DEFAULT_LOCALE',
    kind: 'string',
    default: 'en',
    pattern: /^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*$/,
    sentence:
      'Language of the texts that people see, if neither their token nor their platform says one that there are texts for.',
  },
  {
    name: 'STATE_DIR',
    kind: 'string',
    default: '~/.local/state/agentd',
    sentence: 'Directory of the embedded database; created with mode 0700.',
  },
  {
    name: 'LOG_FILE',
    kind: 'string',
    sentence: 'File that the log is also written to, one JSON object a line; read by `agentd logs`.',
  },
  {
    name: 'LOG_LEVEL',
    kind: 'choice',
    choices: ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'],
    default: 'INFO',
    sentence: 'Least severe level that is logged; upper or lower case, WARNING and CRITICAL are understood.',
  },
  {
    name: 'ENABLE_DEBUGPY',
    kind: 'boolean',
    default: false,
    sentence: 'Opens the Node inspector on 127.0.0.1:5678, with a warning; for development.',
  },

  // Channels
  {
    name: 'MESSAGING_PLATFORMS',
    kind: 'list',
    sentence: 'Active channels, comma-separated; unset, channels are detected from their settings.',
  },
  {
    name: 'WEBCHAT_ALLOWED_ORIGINS',
    kind: 'list',
    default: [],
    sentence: 'Browser origins that may call the web channels, comma-separated, compared exactly.',
    example: 'https://www.example.com',
  },

  // Tokens
  {
    name: 'JWT_SECRET_KEY',
    kind: 'string',
    secret: true,
    sentence:
      'Signing secret of user tokens (HS256; 256 bits recommended, 128 required in production and staging), or the PEM public key for RS256.',
  },
  {
    name: 'JWT_ALGORITHM',
    kind: 'choice',
    choices: ['HS256', 'RS256'],
    required: true,
    sentence: 'The only algorithm that a token may be signed with.',
    example: 'HS256',
  },
  {
    name: 'JWT_PUBLIC_KEY',
    kind: 'string',
    sentence: 'Public key for RS256: PEM, or the path of a PEM file.',
  },
  {
    name: 'JWT_JWKS_URL',
    kind: 'url',
    sentence:
      'Address of the key set for RS256, https unless it is a loopback address; needs JWT_ISSUER and JWT_AUDIENCE. Fetched when needed, cached, and fetched again for a key that it lacks, 5 times a minute at most.',
  },
  {
    name: 'JWT_VERIFY_SIGNATURE',
    kind: 'boolean',
    default: true,
    sentence:
      'Check signatures; false is accepted only under NODE_ENV=development or test, or with `serve --dev`.',
  },
  {
    name: 'JWT_VERIFY_EXP',
    kind: 'boolean',
    default: true,
    sentence:
      'Check expiry; false is accepted only under NODE_ENV=development or test, or with `serve --dev`.',
  },
  {
    name: 'JWT_ISSUER',
    kind: 'string',
    sentence:
      'Expected `iss`; unset, or `*`, any issuer passes. JWT_JWKS_URL needs it, unless that is a loopback address.',
  },
  {
    name: 'JWT_AUDIENCE',
    kind: 'string',
    sentence:
      'Expected `aud`; unset, or `*`, any audience passes. JWT_JWKS_URL needs it, unless that is a loopback address.',
  },
  {
    name: 'JWT_CLOCK_SKEW_SECONDS',
    kind: 'integer',
    min: 0,
    max: 300,
    default: 0,
    unit: 'seconds',
    sentence: 'Clock difference granted for `exp`, `nbf` and `iat`.',
  },
  {
    name: 'JWT_DEBUG',
    kind: 'boolean',
    default: false,
    sentence: 'Logs the claims of each token and the decision; of the token only 8 characters and a hash.',
  },
  {
    name: 'TOKEN_ENCRYPTION_KEY',
    kind: 'string',
    secret: true,
    sentence:
      'Seals stored tokens: 32 bytes in base64; several, comma-separated, to change keys: the first seals, all open (`agentd keys`). Unset, the first start makes a key in STATE_DIR/encryption-key; `off` stores tokens unsealed, with a warning. A start with a key seals the tokens that are stored unsealed.',
  },

  // The company's API
  { name: 'API_BASE_URL', kind: 'url', sentence: 'Address of the downstream business API.' },
  { name: 'API_EMAIL', kind: 'string', sentence: 'E-mail of the default credentials.' },
  { name: 'API_PASSWORD', kind: 'string', secret: true, sentence: 'Password of the default credentials.' },
  {
    name: 'API_TIMEOUT_SECONDS',
    kind: 'integer',
    min: 1,
    max: 120,
    default: 10,
    unit: 'seconds',
    sentence: 'Time-out of one downstream call.',
  },
  {
    name: 'API_PUBLIC_USER_FIELDS',
    kind: 'list',
    default: [],
    sentence: 'Fields of a user that the agent may see under default credentials, comma-separated.',
    example: 'name',
  },

  // State
  {
    name: 'SESSION_BACKEND',
    kind: 'choice',
    choices: ['sqlite', 'redis'],
    sentence:
      'Store of all shared state: sessions, links, guard, limits, streams, inbox. Unset: redis if REDIS_URL is set, else sqlite.',
    example: 'redis',
  },
  {
    name: 'REDIS_URL',
    kind: 'string',
    secret: true,
    sentence:
      'Address of Redis (7.0 or newer) or Valkey: redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// or unix: (a socket); see agentd-store(7), "Redis".',
    example: 'redis://user:password@redis.internal:6379/0',
  },
  {
    name: 'REDIS_DURABILITY',
    kind: 'choice',
    choices: ['default', 'always'],
    default: 'default',
    sentence:
      'always: what the daemon acknowledges was taken by a replica of Redis, or is on its disk; default: as the server persists by itself, so a crash may lose the last second.',
  },
  {
    name: 'SESSION_TTL_SECONDS',
    kind: 'integer',
    min: 1,
    max: 31_536_000,
    default: 86_400,
    unit: 'seconds',
    sentence: 'Life of a session after its last message.',
  },
  {
    name: 'TRACE_RETENTION_DAYS',
    kind: 'integer',
    min: 1,
    max: 365,
    default: 7,
    unit: 'days',
    sentence: 'How long the traces of turns are kept for `agentd explain`.',
  },
  {
    name: 'ACTIONS_RETENTION_DAYS',
    kind: 'integer',
    min: 1,
    max: 3650,
    default: 90,
    unit: 'days',
    sentence: 'How long the journal of actions is kept for `agentd actions list` and `my_actions`.',
  },
  {
    name: 'ANONYMOUS_STORE_BYTES',
    kind: 'integer',
    min: 1_048_576,
    max: 1_099_511_627_776,
    default: 1_073_741_824,
    unit: 'bytes',
    sentence:
      'Space for the sessions of anonymous web clients; past it, the longest idle sessions of the address that holds most are deleted first.',
  },
  {
    name: 'MEMORY_BACKEND',
    kind: 'choice',
    choices: ['sqlite', 'postgres', 'cloudsql', 'none'],
    sentence:
      'Store of long-term memory: `sqlite`, in the embedded database; `postgres` (`cloudsql` is another name), in the database of DATABASE_URL; `none`. Unset, `sqlite`; if state is in Redis, `postgres` with DATABASE_URL, else `none`.',
  },
  {
    name: 'DATABASE_URL',
    kind: 'string',
    secret: true,
    sentence:
      'Postgres database of long-term memory: `postgres://user:password@host/name`, with `sslmode=verify-full` for TLS.',
  },
  {
    name: 'INBOX_MAX_ATTEMPTS',
    kind: 'integer',
    min: 1,
    max: 100,
    default: 5,
    sentence:
      "Runs of a platform's message that may fail for a reason that does not pass, or during which the daemon dies. After the last one the message fails.",
  },
  {
    name: 'INBOX_RUN_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 900,
    unit: 'seconds',
    sentence:
      "How long after its first run began a platform's message is run again while the model or the store is out of reach or overloaded.",
  },
  {
    name: 'INBOX_SEND_SECONDS',
    kind: 'integer',
    min: 1,
    max: 604_800,
    default: 86_400,
    unit: 'seconds',
    sentence: 'How long after it was stored a reply is sent again that the platform has not taken.',
  },

  // Limits
  {
    name: 'RATE_LIMIT_TOKEN_MAX',
    kind: 'integer',
    min: 1,
    max: 1_000_000_000,
    default: 100,
    sentence: 'Requests within the window for a person with a valid token.',
  },
  {
    name: 'RATE_LIMIT_ANONYMOUS_MAX',
    kind: 'integer',
    min: 1,
    max: 1_000_000_000,
    default: 20,
    sentence: 'Requests within the window for a client address without a valid token.',
  },
  {
    name: 'RATE_LIMIT_WINDOW_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 60,
    unit: 'seconds',
    sentence: 'Length of the sliding window of the rate limits.',
  },

  // The loop guard
  {
    name: 'LOOP_GUARD_ENABLED',
    kind: 'boolean',
    default: true,
    sentence: 'Blocks bursts, repetition and sessions without end; false lets every message through.',
  },
  {
    name: 'LOOP_GUARD_MAX_MESSAGES',
    kind: 'integer',
    min: 1,
    max: 1_000_000_000,
    default: 5,
    sentence: 'Messages of one user that are let through within the burst window; one more is blocked.',
  },
  {
    name: 'LOOP_GUARD_WINDOW_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 10,
    unit: 'seconds',
    sentence: 'Length of the sliding burst window.',
  },
  {
    name: 'LOOP_GUARD_COOLDOWN_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 30,
    unit: 'seconds',
    sentence: 'How long nothing of a user is let through after a burst or repetition.',
  },
  {
    name: 'LOOP_GUARD_MAX_TURNS_PER_SESSION',
    kind: 'integer',
    min: 1,
    max: 1_000_000_000,
    default: 200,
    sentence: 'Turns of one session; the next one is blocked until the session ends or is reset.',
  },
  {
    name: 'LOOP_GUARD_REPEAT_THRESHOLD',
    kind: 'integer',
    min: 2,
    max: 1_000_000_000,
    default: 3,
    sentence:
      'So many equal texts of one user within the repetition window are too many: the last is blocked.',
  },
  {
    name: 'LOOP_GUARD_REPEAT_WINDOW_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 60,
    unit: 'seconds',
    sentence: 'Length of the sliding repetition window.',
  },

  // The agent
  {
    name: 'AGENT_RUNTIME',
    kind: 'string',
    sentence:
      '`builtin`, `llm`, or the path of a module; unset, `llm` where AGENT_MODEL is set, else `builtin`.',
  },
  {
    name: 'AGENT_MODEL',
    kind: 'string',
    sentence: 'Model on the server at AGENT_BASE_URL, or `provider:model`.',
  },
  {
    name: 'AGENT_BASE_URL',
    kind: 'url',
    sentence: 'Address of an OpenAI-compatible server; ends in /v1 or the like.',
  },
  { name: 'AGENT_API_KEY', kind: 'string', secret: true, sentence: 'Key for the model server.' },
  {
    name: 'AGENT_TEMPERATURE',
    kind: 'number',
    min: 0,
    max: 2,
    sentence: 'Temperature of the model; unset, the model server decides.',
    example: '0.2',
  },
  {
    name: 'AGENT_MAX_OUTPUT_TOKENS',
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    unit: 'tokens',
    sentence: 'Longest answer of one model call; unset, the model server decides.',
    example: '1024',
  },
  {
    name: 'AGENT_HISTORY_TOKENS',
    kind: 'integer',
    min: 0,
    max: 1_000_000,
    default: 8000,
    unit: 'tokens',
    sentence:
      'What the model is given of the conversation so far. Older parts of a conversation with one person are summed up between messages.',
  },
  {
    name: 'AGENT_FALLBACK_MODEL',
    kind: 'string',
    sentence:
      '`builtin`, or a model, named as in AGENT_MODEL, that answers while the first one is out of reach, overloaded or failing.',
  },
  {
    name: 'AGENT_FALLBACK_BASE_URL',
    kind: 'url',
    sentence: 'Address of the server of the fallback model; unset, that of AGENT_BASE_URL.',
  },
  {
    name: 'AGENT_FALLBACK_API_KEY',
    kind: 'string',
    secret: true,
    sentence: 'Key for the server of the fallback model; unset, AGENT_API_KEY.',
  },
  {
    name: 'AGENT_DAILY_TOKENS',
    kind: 'integer',
    min: 0,
    max: 1_000_000_000,
    default: 0,
    unit: 'tokens',
    sentence:
      'Tokens of the model that one person, or one address of anonymous clients, may use within 24 hours, on all channels together; 0 means no limit.',
  },
  {
    name: 'AGENT_INSTRUCTIONS',
    kind: 'string',
    sentence: 'Instructions for the agent: text, or the path of a text file.',
  },
  {
    name: 'AGENT_MAX_STEPS',
    kind: 'integer',
    min: 1,
    max: 50,
    default: 8,
    sentence: 'Model calls within one run, at most.',
  },
  {
    name: 'AGENT_TIMEOUT_SECONDS',
    kind: 'integer',
    min: 1,
    max: 600,
    default: 60,
    unit: 'seconds',
    sentence: 'Time for one run of the agent; after it the request is answered 504.',
  },
  {
    name: 'AGENT_CONCURRENCY',
    kind: 'integer',
    min: 1,
    max: 10_000,
    default: 64,
    sentence: 'Runs of the agent at once.',
  },
  {
    name: 'AGENT_QUEUE_MAX',
    kind: 'integer',
    min: 0,
    max: 100_000,
    default: 1000,
    sentence: 'Messages that may wait for a run; beyond it the answer is 503.',
  },
  {
    name: 'AGENT_QUEUE_WAIT_SECONDS',
    kind: 'integer',
    min: 1,
    max: 600,
    default: 30,
    unit: 'seconds',
    sentence: 'How long a message waits for a run; after it the answer is 503.',
  },

  // OpenTelemetry
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    kind: 'url',
    sentence:
      'Address of an OpenTelemetry collector: traces are exported to `/v1/traces` below it. Unset, as is OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: there are no traces. See agentd-telemetry(7).',
    example: 'http://localhost:4318',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    kind: 'url',
    sentence: 'Whole address that traces are exported to; takes precedence over OTEL_EXPORTER_OTLP_ENDPOINT.',
    example: 'http://localhost:4318/v1/traces',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    kind: 'string',
    default: 'http/protobuf',
    sentence: 'How exports are encoded: `http/protobuf` or `http/json`.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    kind: 'string',
    sentence: 'How exported traces are encoded; unset, as OTEL_EXPORTER_OTLP_PROTOCOL.',
    example: 'http/json',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    kind: 'string',
    secret: true,
    sentence:
      'Headers of exports: `name=value`, comma-separated, values percent-encoded. They often hold a key.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    kind: 'string',
    secret: true,
    sentence:
      'Headers of exported traces, in the same form; each replaces one of OTEL_EXPORTER_OTLP_HEADERS with the same name.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    kind: 'integer',
    min: 1,
    max: 600_000,
    default: 10_000,
    unit: 'milliseconds',
    sentence: 'Time for one export, repeats included.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    kind: 'string',
    default: 'none',
    sentence: 'How exports are compressed: `gzip` or `none`.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    kind: 'string',
    sentence: 'File with the certificates, as PEM, that the certificate of the collector is checked against.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    kind: 'string',
    sentence: 'File with the certificate, as PEM, that the daemon shows to the collector.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    kind: 'string',
    sentence: 'File with the key of that certificate, as PEM.',
  },
  {
    name: 'OTEL_SERVICE_NAME',
    kind: 'string',
    sentence:
      'Name of the service in traces; unset, `service.name` of OTEL_RESOURCE_ATTRIBUTES, else `agentd`.',
    example: 'shop-agent',
  },
  {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    kind: 'string',
    sentence: 'Attributes of all traces: `name=value`, comma-separated, values percent-encoded.',
    example: 'deployment.environment.name=production',
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    kind: 'string',
    default: 'parentbased_always_on',
    sentence:
      'Which messages are traced: `always_on`, `always_off`, `traceidratio`, or `parentbased_` before one of these, which follows the parent of the message if its sender is authenticated.',
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    kind: 'number',
    min: 0,
    max: 1,
    default: 1,
    sentence: 'Share of the messages that `traceidratio` samples.',
  },
  {
    name: 'OTEL_TRACES_EXPORTER',
    kind: 'string',
    default: 'otlp',
    sentence: '`none` turns traces off, whatever the other settings say.',
  },
  {
    name: 'OTEL_SDK_DISABLED',
    kind: 'boolean',
    default: false,
    sentence: 'true turns traces off, whatever the other settings say.',
  },
  {
    name: 'OTEL_PROPAGATORS',
    kind: 'list',
    default: ['tracecontext'],
    sentence:
      'With `tracecontext` in the list, `traceparent` of requests is taken up and passed on to the systems that tools call. Other values have no effect.',
  },
  {
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    default: 2048,
    sentence: 'Spans that wait for an export; more are dropped.',
  },
  {
    name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    default: 512,
    sentence: 'Spans in one export, at most.',
  },
  {
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    kind: 'integer',
    min: 1,
    max: 600_000,
    default: 5000,
    unit: 'milliseconds',
    sentence: 'How long a span waits for others before they are exported.',
  },
  {
    name: 'OTEL_BSP_EXPORT_TIMEOUT',
    kind: 'integer',
    min: 1,
    max: 600_000,
    default: 30_000,
    unit: 'milliseconds',
    sentence: 'After this time an export counts as failed.',
  },
  {
    name: 'OTEL_GENAI_CAPTURE_CONTENT',
    kind: 'boolean',
    default: false,
    sentence:
      'Exports with each model call what the model was sent and what it answered: everything that people wrote, and all results of tools.',
  },
] as const satisfies readonly SettingRecord[];

type ValueOf<R> = R extends { secret: true }
  ? Secret
  : R extends { kind: 'integer' | 'number' }
    ? number
    : R extends { kind: 'boolean' }
      ? boolean
      : R extends { kind: 'list' }
        ? readonly string[]
        : R extends { kind: 'choice'; choices: readonly (infer C)[] }
          ? C
          : string;

type Always<R> = R extends { default: unknown } | { required: true } ? true : false;

/** The daemon's settings after validation; what has no default may be undefined. */
export type Settings = {
  readonly [R in (typeof SETTINGS)[number] as R['name']]: Always<R> extends true
    ? ValueOf<R>
    : ValueOf<R> | undefined;
};
