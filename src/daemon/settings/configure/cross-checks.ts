import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ChannelPlugin } from '../../../channel/index.ts';
import { isSealingOff } from '../../identity/key-file.ts';
import { isLoopback, parseListenAddress, parseRedisUrl } from '../addresses.ts';
import { sessionBackend, sharesStore } from '../backends.ts';
import type { Validation } from '../check.ts';
import { checkExposure } from './exposure-checks.ts';
import { checkTelemetrySettings } from './telemetry-checks.ts';
import { checkTokenSettings } from './token-settings.ts';

/**
 * Checks whether the settings of a daemon fit together.
 * @param active the channels of the daemon
 */
export async function checkTogether(validation: Validation, active: readonly ChannelPlugin[]): Promise<void> {
  validation.demand('JWT_ALGORITHM', 'is not set');
  await checkTokenSettings(validation);
  checkApiSettings(validation);
  checkAgentSettings(validation);
  checkStoreSettings(validation);
  checkRecordings(validation);
  checkMemorySettings(validation);
  checkAdminListener(validation);
  checkGracePeriod(validation);
  checkTelemetrySettings(validation);
  checkOrigins(validation, active);
  checkDevelopmentSettings(validation);
  checkExposure(validation);
}

/** Checks that the settings of the downstream API fit together (agentd-api(7), "Requests to the API"). */
function checkApiSettings(validation: Validation): void {
  if (validation.isGiven('API_EMAIL')) validation.demand('API_PASSWORD', 'is not set, but API_EMAIL is');
  if (validation.isGiven('API_PASSWORD')) validation.demand('API_EMAIL', 'is not set, but API_PASSWORD is');
  const idle = (['API_EMAIL', 'API_PASSWORD', 'API_PUBLIC_USER_FIELDS'] as const).find((name) =>
    validation.isGiven(name),
  );
  if (idle !== undefined && !validation.isGiven('API_BASE_URL')) {
    validation.warn(`${idle} has no effect while API_BASE_URL is not set: no business API is called`);
  } else if (validation.value('GET_USER') === false && validation.isGiven('API_PUBLIC_USER_FIELDS')) {
    validation.warn('API_PUBLIC_USER_FIELDS has no effect while GET_USER is off: no user is looked up');
  }
}

/** Checks that the settings of the agent fit together (agentd-settings(5), "The daemon"). */
export function checkAgentSettings(validation: Validation): void {
  const runtime = validation.value('AGENT_RUNTIME');
  const model = validation.value('AGENT_MODEL');
  if (runtime === 'llm') validation.demand('AGENT_MODEL', 'is not set, but AGENT_RUNTIME is llm');
  if (runtime !== undefined && runtime !== 'llm' && runtime !== 'builtin') {
    if (!existsSync(resolve(validation.cwd, runtime))) {
      validation.refuse(
        'AGENT_RUNTIME',
        'is neither a known runtime nor the path of a file',
        'builtin, llm, or the path of a module',
      );
    }
    return;
  }
  if (model === undefined && runtime !== 'llm' && validation.isGiven('AGENT_BASE_URL'))
    validation.warn('AGENT_BASE_URL has no effect: AGENT_MODEL is not set, so the builtin agent answers');
  if (runtime === 'builtin' || model === undefined) {
    if (runtime !== 'llm' && validation.isGiven('AGENT_FALLBACK_MODEL'))
      validation.warn('AGENT_FALLBACK_MODEL has no effect: the builtin agent answers, which needs no model');
    return;
  }
  if (!validation.isGiven('AGENT_BASE_URL')) expectProvider(validation, 'AGENT_MODEL', 'AGENT_BASE_URL');
  checkFallbackModel(validation);
  checkDailyTokens(validation);
}

function checkFallbackModel(validation: Validation): void {
  const fallback = validation.value('AGENT_FALLBACK_MODEL');
  if (fallback === undefined) {
    for (const name of ['AGENT_FALLBACK_BASE_URL', 'AGENT_FALLBACK_API_KEY'] as const)
      if (validation.isGiven(name)) validation.warn(`${name} has no effect: AGENT_FALLBACK_MODEL is not set`);
    return;
  }
  const hasServer = validation.isGiven('AGENT_FALLBACK_BASE_URL') || validation.isGiven('AGENT_BASE_URL');
  if (fallback !== 'builtin' && !hasServer)
    expectProvider(validation, 'AGENT_FALLBACK_MODEL', 'AGENT_FALLBACK_BASE_URL');
}

function checkDailyTokens(validation: Validation): void {
  const daily = validation.value('AGENT_DAILY_TOKENS') ?? 0;
  const answer = validation.value('AGENT_MAX_OUTPUT_TOKENS');
  if (daily === 0 || answer === undefined || answer < daily) return;
  validation.refuse(
    'AGENT_DAILY_TOKENS',
    `is not more than AGENT_MAX_OUTPUT_TOKENS (${answer}), which each model call reserves: no call could be made`,
    'room for several prompts with their answers, or 0',
  );
}

/** Without a server address, the model must name its provider. */
function expectProvider(
  validation: Validation,
  name: 'AGENT_MODEL' | 'AGENT_FALLBACK_MODEL',
  address: 'AGENT_BASE_URL' | 'AGENT_FALLBACK_BASE_URL',
): void {
  if (/^(?:[a-z][a-z0-9-]*|@[a-z0-9._-]+\/[a-z0-9._-]+):./.test(validation.value(name) ?? '')) return;
  validation.refuse(
    name,
    'does not say where the model runs',
    `${address} set too, the address of an OpenAI-compatible server; or provider:model`,
  );
}

/** Checks that the settings of long-term memory fit together (agentd-store(7), "Memory"). */
export function checkMemorySettings(validation: Validation): void {
  const asked = validation.value('MEMORY_BACKEND');
  const backend = sessionBackend(storeSettings(validation));
  const isEmbedded = backend === 'sqlite';
  if (asked === 'sqlite' && !isEmbedded) {
    validation.refuse(
      'MEMORY_BACKEND',
      'would keep memory in a separate file for each daemon, while all other state is shared',
      'postgres with DATABASE_URL, or none',
    );
  }
  const text = validation.value('DATABASE_URL')?.reveal();
  if (text === undefined) {
    if (asked === 'postgres' || asked === 'cloudsql')
      validation.demand('DATABASE_URL', `is not set, but MEMORY_BACKEND is ${asked}`);
    return;
  }
  const url = databaseUrl(text);
  if (url === null) {
    validation.refuse(
      'DATABASE_URL',
      'is not the address of a Postgres database',
      'postgres://user:password@host/name, with the name of the database',
    );
  } else if (
    backend !== 'postgres' &&
    (asked === 'sqlite' || asked === 'none' || (asked === undefined && isEmbedded))
  ) {
    validation.warn(
      `DATABASE_URL has no effect: MEMORY_BACKEND is ${asked ?? 'not set, so memory is kept in the embedded database'}`,
    );
  } else if (validation.guarded && isUnencrypted(url)) {
    validation.warn(
      `DATABASE_URL has no sslmode: ${backend === 'postgres' ? 'conversations' : 'memories'} are sent to ${url.hostname} unencrypted`,
    );
  }
}

/** The address of a Postgres database; null for any other text. */
function databaseUrl(text: string): URL | null {
  // The address has no host if the database is reached through a socket, but `URL.parse` needs one.
  const url = URL.parse(text.trim().replace(/@(?=\/)/, '@localhost'));
  return url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.pathname.length > 1 ? url : null;
}

function isUnencrypted(url: URL): boolean {
  const { searchParams } = url;
  const isEncrypted = ['ssl', 'sslmode', 'sslrootcert'].some((name) => searchParams.has(name));
  return !isEncrypted && !isLoopback(url) && searchParams.get('host')?.startsWith('/') !== true;
}

/**
 * Checks that the origins have the form that browsers send. `*` is not allowed if cookies are sent (agentd-service(7),
 * "Cross-origin requests").
 */
export function checkOrigins(validation: Validation, active: readonly ChannelPlugin[]): void {
  const origins = validation.value('WEBCHAT_ALLOWED_ORIGINS') ?? [];
  for (const origin of origins) {
    if (origin === '*') continue;
    const exact = parseOrigin(origin);
    if (exact === origin) continue;
    validation.refuse(
      'WEBCHAT_ALLOWED_ORIGINS',
      `contains \`${origin}\`, which no browser sends as an origin`,
      exact === null ? 'origins such as https://www.example.com, or *' : exact,
    );
  }
  // Browsers open an event stream with cookies, and do not accept a wildcard for requests with cookies.
  const stream = active.find(({ delivery }) => delivery === 'stream');
  if (stream !== undefined && origins.includes('*')) {
    validation.refuse(
      'WEBCHAT_ALLOWED_ORIGINS',
      `contains * although the channel ${stream.name} is active, which browsers call with credentials`,
      'each origin by its name, such as https://www.example.com',
    );
  }
}

/** Checks that ADMIN_LISTEN is an address with its own port. */
function checkAdminListener(validation: Validation): void {
  const text = validation.value('ADMIN_LISTEN');
  if (text === undefined) {
    if (validation.isGiven('SHUTDOWN_DELAY_SECONDS') && !validation.isGiven('ADMIN_LISTEN'))
      validation.warn('SHUTDOWN_DELAY_SECONDS has no effect without ADMIN_LISTEN: no probe asks for /ready');
    return;
  }
  const right = '127.0.0.1:9464, or :9464 for every address of the machine';
  const address = parseListenAddress(text);
  if (address === null) validation.refuse('ADMIN_LISTEN', 'is not an address with a port', right);
  else if (address.port !== 0 && address.port === validation.value('PORT'))
    validation.refuse('ADMIN_LISTEN', 'has the same port as the public listener (PORT)', right);
}

/**
 * Checks that running requests have time to finish when the daemon stops. The defaults are a compromise: only a value
 * that was given causes a warning about cut runs.
 */
function checkGracePeriod(validation: Validation): void {
  const delay = validation.isGiven('ADMIN_LISTEN') ? (validation.value('SHUTDOWN_DELAY_SECONDS') ?? 0) : 0;
  const grace = validation.value('SHUTDOWN_GRACE_SECONDS') ?? 0;
  if (delay > 0 && delay >= grace) {
    validation.warn(
      `SHUTDOWN_DELAY_SECONDS (${delay}) is not less than SHUTDOWN_GRACE_SECONDS (${grace}): a stop leaves no time for running requests`,
    );
    return;
  }
  const limit = validation.value('AGENT_TIMEOUT_SECONDS') ?? 0;
  const isGiven = validation.isGiven('SHUTDOWN_GRACE_SECONDS') || validation.isGiven('AGENT_TIMEOUT_SECONDS');
  if (!isGiven || grace - delay >= limit) return;
  const left = `SHUTDOWN_GRACE_SECONDS (${grace})${delay > 0 ? ` without SHUTDOWN_DELAY_SECONDS (${delay})` : ''}`;
  validation.warn(
    `${left} is less than AGENT_TIMEOUT_SECONDS (${limit}): a stop cuts runs that take more than ${grace - delay} s. Their requests get 503, and messages of platforms are run again after the next start`,
  );
}

/** Warns about settings that are allowed in production but rarely intended. */
function checkDevelopmentSettings(validation: Validation): void {
  if (!validation.guarded) return;
  if (validation.value('ENABLE_DEBUGPY')) {
    validation.warn(
      `ENABLE_DEBUGPY=true under NODE_ENV=${validation.environment}: anybody who can reach 127.0.0.1:5678 can run any code in the daemon`,
    );
  }
  if (validation.value('JWT_DEBUG'))
    validation.warn(
      `JWT_DEBUG=true under NODE_ENV=${validation.environment}: the claims of all users are logged`,
    );
}

/**
 * The origin of an http or https address; null for any other text. Null for a pattern, too, because origins are
 * compared exactly.
 */
function parseOrigin(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || url.hostname.includes('*')) return null;
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.origin : null;
}

/** Checks that the settings of the store fit together (agentd-store(7), "Redis"). */
export function checkStoreSettings(validation: Validation): void {
  const url = validation.value('REDIS_URL');
  const backend = sessionBackend(storeSettings(validation));
  if (backend !== 'redis') {
    for (const name of ['REDIS_URL', 'REDIS_DURABILITY'] as const)
      if (validation.isGiven(name)) validation.warn(`${name} has no effect: SESSION_BACKEND is ${backend}`);
    if (backend === 'postgres') {
      validation.demand('DATABASE_URL', 'is not set, but SESSION_BACKEND is postgres');
      warnUnsealed(validation);
    }
    return;
  }
  validation.demand('REDIS_URL', 'is not set, but SESSION_BACKEND is redis');
  if (url === undefined) return;
  try {
    parseRedisUrl(url.reveal());
  } catch (error) {
    validation.refuse(
      'REDIS_URL',
      `cannot be read: ${(error as Error).message}`,
      'redis://host:6379/0, rediss://user:password@host:6379, redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379, or unix:/path/of/a/socket',
    );
  }
  warnUnsealed(validation);
}

function storeSettings(validation: Validation) {
  return { SESSION_BACKEND: validation.value('SESSION_BACKEND'), REDIS_URL: validation.value('REDIS_URL') };
}

function warnUnsealed(validation: Validation): void {
  if (!validation.isGiven('TOKEN_ENCRYPTION_KEY')) validation.warn(UNSEALED);
}

/** A recording has whole conversations, so it is never stored unsealed. */
function checkRecordings(validation: Validation): void {
  const recorded = validation.value('RECORD_RUNS');
  if (recorded === undefined || recorded === 'off') return;
  const key = validation.value('TOKEN_ENCRYPTION_KEY');
  const shared = sharesStore(storeSettings(validation));
  const problem = isSealingOff(key)
    ? 'TOKEN_ENCRYPTION_KEY is off'
    : key === undefined && shared
      ? 'TOKEN_ENCRYPTION_KEY is not set, and daemons share the store'
      : null;
  if (problem !== null)
    validation.refuse(
      'RECORD_RUNS',
      `is ${recorded}, but recordings are always sealed, and ${problem}`,
      'off, or a key in TOKEN_ENCRYPTION_KEY',
    );
}

/** The warning about a shared store without a shared key. */
export const UNSEALED =
  'TOKEN_ENCRYPTION_KEY is not set: tokens are stored unsealed in the store that daemons share, and anybody who can read it can act as their owners. Set the same key on every replica';
