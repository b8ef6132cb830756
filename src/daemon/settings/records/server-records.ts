import { choice, flag, integer, list, text } from './record.ts';

/** Where the daemon listens, its files and its log, and its channels. */
export const SERVER_RECORDS = {
  // Where it listens
  HOST: text({ default: '127.0.0.1', needed_for: ['address'] }, 'Address to listen on.'),
  PORT: integer(
    { min: 0, max: 65535, default: 8080, needed_for: ['address'] },
    'Port to listen on; 0 chooses a free port.',
  ),
  TRUST_PROXY: integer(
    { min: 0, max: 16, default: 0 },
    'Number of proxies in front; this many entries of X-Forwarded-For are trusted, counted from the right.',
  ),
  BODY_LIMIT_BYTES: integer(
    { reload: true, min: 1, max: 16_777_216, default: 262_144, unit: 'bytes' },
    'Maximum size of a request body. The webhooks of the bundled platforms take up to 4 MiB, whatever this setting is.',
  ),
  KEEP_ALIVE_SECONDS: integer(
    { min: 1, max: 3600, default: 65, unit: 'seconds' },
    'How long an idle connection stays open. Set it longer than the proxy in front keeps idle connections, so that the proxy closes them first.',
  ),
  SHUTDOWN_GRACE_SECONDS: integer(
    { min: 0, max: 3600, default: 25, unit: 'seconds' },
    'How long a stopping daemon lets running requests finish. A run that takes longer is cut, although AGENT_TIMEOUT_SECONDS may allow it.',
  ),
  ADMIN_LISTEN: text(
    { example: '127.0.0.1:9464', needed_for: ['address'] },
    'Address, with its own port, of a second listener for the probes `/live` and `/ready` and for `/metrics`. If unset, there is no second listener. Keep the address private.',
  ),
  ADMIN_TOKEN: text(
    { secret: true },
    'Bearer token that `/metrics` requires. If unset, it requires none. The probes never require one.',
  ),
  SHUTDOWN_DELAY_SECONDS: integer(
    { min: 0, max: 3600, default: 5, unit: 'seconds' },
    'How long a stopping daemon still accepts requests while `/ready` answers 503. This time is part of SHUTDOWN_GRACE_SECONDS. Only with ADMIN_LISTEN.',
  ),

  // The daemon's name, its files and its log
  APP_NAME: text(
    { reload: true, default: 'agentd' },
    'Name of the service that the agent speaks for. If it is the default, the agent mentions no name.',
  ),
  DEFAULT_LOCALE: text(
    // The part of BCP 47 that is needed: a language, and subtags that narrow it.
    { reload: true, default: 'en', pattern: /^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*$/ },
    'Language of the texts that people see, if there are no texts in the language of their token or their platform.',
  ),
  STATE_DIR: text(
    { default: '~/.local/state/agentd', needed_for: ['store'], made: true },
    'Directory of the embedded database; created with mode 0700.',
  ),
  LOG_FILE: text(
    { needed_for: ['log'], made: true },
    'File that the log is also written to, one JSON object per line. `agentd logs` reads it. A new file has mode 0600; a file that exists keeps its mode, so that another group can be given access.',
  ),
  LOG_LEVEL: choice(
    {
      reload: true,
      choices: ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'],
      default: 'INFO',
      synonyms: { WARNING: 'WARN', CRITICAL: 'FATAL' },
    },
    'Lowest level that is logged, in upper or lower case. WARNING and CRITICAL are accepted, too.',
  ),
  LOG_FORMAT: choice(
    { choices: ['AUTO', 'JSON', 'TEXT'], default: 'AUTO' },
    'Form of the log on standard error: one JSON object per line, or text for people. AUTO writes text on a terminal, and JSON otherwise. LOG_FILE is always JSON.',
  ),
  ENABLE_DEBUGPY: flag(
    { default: false },
    'Opens the Node inspector on 127.0.0.1:5678, with a warning; for development.',
  ),

  // Channels
  MESSAGING_PLATFORMS: list(
    'Active channels, comma-separated. If unset, channels are detected from their settings.',
  ),
  WEBCHAT_ALLOWED_ORIGINS: list(
    { default: [], example: 'https://www.example.com' },
    'Browser origins that may call the web channels, comma-separated, compared exactly.',
  ),
};
