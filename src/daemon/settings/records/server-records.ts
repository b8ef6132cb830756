import type { SettingRecord } from '../../../channel/index.ts';

/** Where the daemon listens, its files and its log, and its channels. */
export const SERVER_RECORDS = [
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
] as const satisfies readonly SettingRecord[];
