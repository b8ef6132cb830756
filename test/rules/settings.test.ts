import { describe, expect, it } from 'vitest';
import type { ChannelPlugin, SettingRecord } from '../../src/channel/index.ts';
import { fileSettings } from '../../src/daemon/settings/secret-files.ts';
import { SETTINGS } from '../../src/daemon/settings/settings.ts';
import { filesBelow, read, sourcesBelow } from './source-files.ts';

/**
 * Settings that exist only in the environment, and words in capitals that are not settings (labels of the log,
 * constants).
 */
const NOT_SETTINGS = new Set([
  'NODE_ENV',
  'NO_COLOR',
  'NODE_EXTRA_CA_CERTS',
  'NAME_FILE',
  'LISTEN_FDS',
  'LISTEN_PID',
  'NOTIFY_SOCKET',
  'ANTHROPIC_API_KEY',
  'AZURE_RESOURCE_NAME',
  'AWS_REGION',
  'STATE_DIRECTORY',
  'CIRCUIT_OPEN',
  'TURN_LIMIT',
  'TEXT_MAX',
]);

/** Operators rely on these values, so a change of one is more than a new page of the manual. */
const SPECIFIED = {
  HOST: '127.0.0.1',
  PORT: 8080,
  TRUST_PROXY: 0,
  APP_NAME: 'agentd',
  BODY_LIMIT_BYTES: 262_144,
  KEEP_ALIVE_SECONDS: 65,
  SHUTDOWN_GRACE_SECONDS: 25,
  SHUTDOWN_DELAY_SECONDS: 5,
  DEFAULT_LOCALE: 'en',
  SESSION_TTL_SECONDS: 86_400,
  TRACE_RETENTION_DAYS: 7,
  ACTIONS_RETENTION_DAYS: 90,
  RECORD_RUNS: 'off',
  RECORDINGS_MAX_BYTES: 1_073_741_824,
  ANONYMOUS_STORE_BYTES: 1_073_741_824,
  REDIS_DURABILITY: 'everysec',
  JWT_VERIFY_SIGNATURE: true,
  JWT_VERIFY_EXP: true,
  JWT_CLOCK_SKEW_SECONDS: 0,
  LINK_CODE_SECONDS: 600,
  SIGN_IN_WAIT_SECONDS: 2400,
  TOKEN_RENEWAL_IDLE_DAYS: 7,
  API_TIMEOUT_SECONDS: 10,
  API_PUBLIC_USER_FIELDS: [],
  INBOX_MAX_ATTEMPTS: 5,
  INBOX_RUN_SECONDS: 900,
  INBOX_SEND_SECONDS: 86_400,
  COLLECT_MS: 0,
  COLLECT_MAX_MS: 4000,
  RATE_LIMIT_TOKEN_MAX: 100,
  RATE_LIMIT_ANONYMOUS_MAX: 20,
  RATE_LIMIT_WINDOW_SECONDS: 60,
  LOOP_GUARD_ENABLED: true,
  LOOP_GUARD_MAX_MESSAGES: 5,
  LOOP_GUARD_WINDOW_SECONDS: 10,
  LOOP_GUARD_COOLDOWN_SECONDS: 30,
  LOOP_GUARD_MAX_TURNS_PER_SESSION: 200,
  LOOP_GUARD_REPEAT_THRESHOLD: 3,
  LOOP_GUARD_REPEAT_WINDOW_SECONDS: 60,
  AGENT_MAX_STEPS: 8,
  AGENT_TIMEOUT_SECONDS: 60,
  AGENT_CONCURRENCY: 64,
  AGENT_QUEUE_MAX: 1000,
  AGENT_QUEUE_WAIT_SECONDS: 30,
  AGENT_HISTORY_TOKENS: 8000,
  AGENT_DAILY_TOKENS: 0,
  RECEIPTS: true,
  SSE_REQUIRE_TOKEN: false,
  SSE_STREAM_TTL_SECONDS: 300,
  SSE_MAX_READERS_PER_CLIENT: 256,
  WEBCHAT_WEBHOOK_PATH: '/webchat/message',
  TEAMCHAT_API_URL: 'https://slack.com/api',
  PHONECHAT_API_URL: 'https://graph.facebook.com',
  MSGBOT_API_URL: 'https://api.telegram.org',
};

/** Telex is the example channel of the documentation; the shop has its own secrets. */
const OF_AN_EXAMPLE = /^(TELEX|WIRE|SHOP)_/;

const plugins = await Promise.all(
  sourcesBelow('plugins')
    .filter((file) => /^plugins\/[^/]+\/index\.ts$/.test(file) && !file.startsWith('plugins/template/'))
    .map(async (file) => ((await import(`../../${file}`)) as { default: ChannelPlugin }).default),
);
const records: readonly SettingRecord[] = [...SETTINGS, ...plugins.flatMap(({ settings }) => settings)];
const fileNames = fileSettings(records);
const names = [...records.map(({ name }) => name), ...fileNames];

describe('settings', () => {
  it('have unique names', () => {
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('have the specified defaults', () => {
    const defaults = Object.fromEntries(records.map((record) => [record.name, record.default]));
    expect(defaults).toMatchObject(SPECIFIED);
  });

  it('are each described in a sentence', () => {
    for (const { name, sentence } of records) expect(sentence, name).toMatch(/\.$/);
  });

  it.each(['man/agentd-settings.5.md', 'config/agentd.example.yaml'])('are in %s', (file) => {
    const text = read(file);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });

  it('include every setting that the manual pages name', () => {
    const manuals = filesBelow('man').filter((file) => file.endsWith('.md'));
    expect(manuals.flatMap((file) => strangersIn(file, read(file)))).toEqual([]);
  });

  it('include every setting that the advice of `agentd explain`, of errors and of commands names', () => {
    const advising = [
      ...sourcesBelow('src/cli/advice'),
      'src/cli/report-error.ts',
      'src/daemon/errors.ts',
      ...sourcesBelow('src/cli/commands'),
    ];
    expect(advising.flatMap((file) => strangersIn(file, textsOf(read(file))))).toEqual([]);
  });
});

/** Words that look like names of settings but are not, without the shell variables of examples. */
function strangersIn(file: string, text: string): string[] {
  const words = [...text.matchAll(/(?<![\w$])[A-Z]+(?:_[A-Z]+)+\b/g)].map(([word]) => word);
  const strangers = words.filter(
    (word) => !names.includes(word) && !NOT_SETTINGS.has(word) && !OF_AN_EXAMPLE.test(word),
  );
  return [...new Set(strangers)].map((word) => `${file}: ${word}`);
}

/** The string literals of a source, without inserted values. */
function textsOf(source: string): string {
  const literals = source.match(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? [];
  return literals.map((literal) => literal.replace(/\$\{[^}]*\}/g, '')).join('\n');
}
