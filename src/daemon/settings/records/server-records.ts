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
    sentence: 'Port to listen on; 0 chooses a free port.',
  },
  {
    name: 'TRUST_PROXY',
    kind: 'integer',
    min: 0,
    max: 16,
    default: 0,
    sentence:
      'Number of proxies in front; this many entries of X-Forwarded-For are trusted, counted from the right.',
  },
  {
    name: 'BODY_LIMIT_BYTES',
    kind: 'integer',
    min: 1,
    max: 16_777_216,
    default: 262_144,
    unit: 'bytes',
    sentence:
      'Maximum size of a request body. A signed webhook may have up to 4 MiB, whatever this setting is.',
  },
  {
    name: 'KEEP_ALIVE_SECONDS',
    kind: 'integer',
    min: 1,
    max: 3600,
    default: 65,
    unit: 'seconds',
    sentence:
      'How long an idle connection stays open. Set it longer than the proxy in front keeps idle connections, so that the proxy closes them first.',
  },
  {
    name: 'SHUTDOWN_GRACE_SECONDS',
    kind: 'integer',
    min: 0,
    max: 3600,
    default: 25,
    unit: 'seconds',
    sentence:
      'How long a stopping daemon lets running requests finish. A run that takes longer is cut, although AGENT_TIMEOUT_SECONDS may allow it.',
  },
  {
    name: 'ADMIN_LISTEN',
    kind: 'string',
    sentence:
      'Address, with its own port, of a second listener for the probes `/live` and `/ready` and for `/metrics`. If unset, there is no second listener. Keep the address private.',
    example: '127.0.0.1:9464',
  },
  {
    name: 'ADMIN_TOKEN',
    kind: 'string',
    secret: true,
    sentence:
      'Bearer token that `/metrics` requires. If unset, it requires none. The probes never require one.',
  },
  {
    name: 'SHUTDOWN_DELAY_SECONDS',
    kind: 'integer',
    min: 0,
    max: 3600,
    default: 5,
    unit: 'seconds',
    sentence:
      'How long a stopping daemon still accepts requests while `/ready` answers 503. This time is part of SHUTDOWN_GRACE_SECONDS. Only with ADMIN_LISTEN.',
  },

  // The daemon's name, its files and its log
  {
    name: 'APP_NAME',
    kind: 'string',
    default: 'agentd',
    sentence:
      'Name of the service that the agent speaks for. If it is the default, the agent mentions no name.',
  },
  {
    name: 'DEFAULT_LOCALE',
    kind: 'string',
    default: 'en',
    pattern: /^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*$/,
    sentence:
      'Language of the texts that people see, if there are no texts in the language of their token or their platform.',
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
    sentence:
      'File that the log is also written to, one JSON object per line. `agentd logs` reads it. A new file has mode 0600; a file that exists keeps its mode, so that another group can be given access.',
  },
  {
    name: 'LOG_LEVEL',
    kind: 'choice',
    choices: ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'],
    default: 'INFO',
    sentence: 'Lowest level that is logged, in upper or lower case. WARNING and CRITICAL are accepted, too.',
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
    sentence: 'Active channels, comma-separated. If unset, channels are detected from their settings.',
  },
  {
    name: 'WEBCHAT_ALLOWED_ORIGINS',
    kind: 'list',
    default: [],
    sentence: 'Browser origins that may call the web channels, comma-separated, compared exactly.',
    example: 'https://www.example.com',
  },
] as const satisfies readonly SettingRecord[];
