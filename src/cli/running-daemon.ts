import { once } from 'node:events';
import type { request as httpRequest, IncomingMessage } from 'node:http';
import { jsonObject } from '../channel/json-object.ts';
import { type ConfigLocation, parseListenAddress } from '../daemon/admin/settings.ts';
import type { Secret } from '../daemon/admin/texts.ts';
import { type CliError, unavailable, usageError } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { configLocation, coreSettings } from './config-location.ts';

export interface SendOptions {
  method?: string;
  headers?: Readonly<Record<string, string | number>>;
  body?: string;
  /** The request fails if nothing arrives for this long, ms. */
  silence_ms: number;
  signal?: AbortSignal;
}

/**
 * Sends an HTTP request on its own connection; resolves when the head of the response has arrived. Follows no redirect.
 * Does not use `fetch`, which refuses ports that a daemon may use (6000, 10080).
 */
export async function sendRequest(
  url: URL,
  { silence_ms, body, ...options }: SendOptions,
): Promise<IncomingMessage> {
  const { request } = await import(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const sent = (request as typeof httpRequest)(url, { ...options, agent: false, timeout: silence_ms });
  sent.on('timeout', () => sent.destroy(new Error(`no answer within ${silence_ms / 1000} seconds`)));
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // A later failure is reported to the reader of the body.
  sent.on('error', () => undefined);
  return response;
}

/** Why a request failed, in words. */
export function describeFailure(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'no answer';
}

/**
 * All bytes of a stream.
 * @throws RangeError if there are more than `max_bytes`
 */
export async function readBounded(
  stream: AsyncIterable<Uint8Array | string>,
  max_bytes: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const piece = Buffer.from(chunk as Uint8Array);
    bytes += piece.length;
    if (bytes > max_bytes) throw new RangeError(`more than ${max_bytes} bytes arrived`);
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

/** Longest answer of a daemon or another server, bytes. */
const ANSWER_MAX = 1_048_576;

/** The text of an answer. @throws RangeError if it is too long */
export async function readAnswerText(answer: AsyncIterable<Uint8Array | string>): Promise<string> {
  return (await readBounded(answer, ANSWER_MAX)).toString('utf8');
}

export const URL_OPTION = { '--url <url>': 'address of the daemon, instead of HOST and PORT' } as const;

export type UrlOption = OptionValues<typeof URL_OPTION>;

/**
 * The address of the running daemon: `--url`, or HOST and PORT of the settings if there is no `--url`.
 * @throws CliError (2) if `--url` is not an address, or if the settings give no address
 */
export async function daemonAddress(options: UrlOption, location = configLocation(options)): Promise<URL> {
  return options.url === undefined ? configuredUrl(options, location) : parseUrl(options.url);
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw usageError(`--url takes an address such as http://127.0.0.1:8080, not '${text}'`);
}

async function configuredUrl(options: OptionValues, location: ConfigLocation): Promise<URL> {
  const { HOST, PORT } = await coreSettings(options, 'address', location);
  if (PORT === 0) {
    throw usageError(
      'PORT=0 lets the daemon use any free port',
      'Use --url with the address that the daemon printed.',
    );
  }
  return new URL(`http://${reachable(HOST)}:${PORT}/`);
}

/** The address of the daemon's admin listener. Null if there is none, or if `--url` names another daemon. */
export async function adminAddress(options: UrlOption): Promise<URL | null> {
  if (options.url !== undefined) return null;
  const { ADMIN_LISTEN } = await coreSettings(options, 'address');
  const address = ADMIN_LISTEN === undefined ? null : parseListenAddress(ADMIN_LISTEN);
  if (address === null || address.port === 0) return null;
  return new URL(`http://${reachable(address.host ?? '0.0.0.0')}:${address.port}/`);
}

/** Uses the loopback address of a daemon that listens on all addresses. IPv6 addresses need brackets. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** The answer to `GET /` with its header `X-Agent-Digest` (agentd-service(7)). */
export interface Health {
  status: string;
  platforms: string[];
  adapters: Record<string, { status: string; detail?: string }>;
  /** The digest of instructions, tools and model. Absent if the daemon is older. */
  agent_digest?: string;
  /** The digest of each agent by its name, if there are several. */
  agents?: Record<string, string>;
}

/** How long to wait for the answer, ms: a daemon answers this request quickly. */
const ANSWER_WITHIN_MS = 5000;

/** Throws CliError (69) if nothing answers, or if the server is not agentd. */
export async function fetchHealth(url: URL): Promise<Health> {
  const { status, headers, body } = await get(url).catch((cause: unknown) => {
    throw unreachable(url, cause);
  });
  if (status === 200 && isHealth(body)) return { ...body, ...agentDigests(headers['x-agent-digest']) };
  if (status === 503) {
    throw unavailable(
      `the daemon at ${url.origin} is not accepting requests (503)`,
      'It is stopping. See its log: `agentd logs`.',
    );
  }
  throw stranger(url, status);
}

/**
 * Asks whether the process of the daemon answers.
 * @param admin the address of its admin listener
 * @throws CliError (69) if it does not
 */
export async function expectLive(admin: URL): Promise<void> {
  const { status, body } = await get(new URL('live', admin)).catch((cause: unknown) => {
    throw unreachable(admin, cause);
  });
  if (status !== 200 || (body as { status?: unknown }).status !== 'ok') throw stranger(admin, status);
}

function unreachable(url: URL, cause: unknown): CliError {
  return unavailable(
    `cannot reach the daemon at ${url.host}: ${describeFailure(cause)}`,
    'Start the daemon with `agentd serve` (to try it out: `agentd serve --dev`), or pass its address with --url.',
    { cause },
  );
}

function stranger(url: URL, status: number | undefined): CliError {
  return unavailable(
    `the server at ${url.origin} is not agentd (status ${status})`,
    'Compare HOST and PORT with the address that the daemon printed, or pass that address with --url.',
  );
}

/** What the admin listener says of the daemon. */
interface Readiness {
  status: 'ok' | 'degraded' | 'not ready';
  /** The reason, as sentences; null if the status is `ok`. */
  reason: string | null;
}

/**
 * Whether the daemon should get requests now, and whether it works without one of its parts, according to its admin
 * listener. `ok` if the listener does not answer.
 * @param admin null if there is no such listener
 */
export async function fetchReadiness(admin: URL | null): Promise<Readiness> {
  const { status, body } =
    admin === null
      ? { status: 0, body: {} }
      : await get(new URL('ready', admin)).catch(() => ({ status: 0, body: {} }));
  const { detail, checks } = body as { detail?: unknown; checks?: unknown };
  if (status === 503 && typeof detail === 'string') return { status: 'not ready', reason: detail };
  const weak = Object.values((checks ?? {}) as Record<string, { status?: unknown; detail?: unknown }>)
    .filter((check) => check?.status === 'degraded')
    .map((check) => String(check.detail));
  return weak.length > 0 ? { status: 'degraded', reason: weak.join(' ') } : { status: 'ok', reason: null };
}

/** What a daemon is doing now, according to the metrics of its admin listener. */
export interface DaemonLoad {
  /** Messages that are being answered, by channel. */
  running: ReadonlyMap<string, number>;
  /** Runs of the agent, and messages that wait for one. */
  runs: number;
  waiting: number;
}

/** One sample of the text format of Prometheus with one label. */
const SAMPLE = /^(agentd_messages_running|agentd_runs)\{\w+="([^"\\]*)"\} (\d+)$/gm;

/**
 * @param admin the address of the admin listener
 * @param token ADMIN_TOKEN
 * @returns null if the listener does not answer with metrics
 */
export async function fetchLoad(admin: URL, token: Secret | undefined): Promise<DaemonLoad | null> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` };
  const answer = await request(new URL('metrics', admin), headers).catch(() => null);
  if (answer?.status !== 200) return null;
  const samples = [...answer.text.matchAll(SAMPLE)].map(([, name, label = '', value]) => ({
    name,
    label,
    value,
  }));
  const of = (wanted: string) =>
    new Map(samples.filter(({ name }) => name === wanted).map(({ label, value }) => [label, Number(value)]));
  const runs = of('agentd_runs');
  return {
    running: of('agentd_messages_running'),
    runs: runs.get('running') ?? 0,
    waiting: runs.get('waiting') ?? 0,
  };
}

async function request(url: URL, sent: Readonly<Record<string, string>>) {
  const signal = AbortSignal.timeout(2 * ANSWER_WITHIN_MS);
  const response = await sendRequest(url, { headers: sent, silence_ms: ANSWER_WITHIN_MS, signal });
  const { statusCode: status, headers } = response;
  return { status, headers, text: await readAnswerText(response) };
}

async function get(url: URL) {
  const { text, ...answer } = await request(url, { accept: 'application/json' });
  return { ...answer, body: jsonObject(text) };
}

/** Reads the header `X-Agent-Digest`: `digest`, or `digest, name=digest, …`. */
function agentDigests(header: string | string[] | undefined): Pick<Health, 'agent_digest' | 'agents'> {
  if (typeof header !== 'string') return {};
  const [agent_digest = '', ...each] = header.split(', ');
  if (each.length === 0) return { agent_digest };
  return { agent_digest, agents: Object.fromEntries(each.map((one) => one.split('='))) };
}

function isHealth(body: object): body is Health {
  const { status, platforms, adapters } = body as Partial<Health>;
  return (
    typeof status === 'string' &&
    Array.isArray(platforms) &&
    typeof adapters === 'object' &&
    adapters !== null &&
    Object.values(adapters).every((adapter) => typeof adapter?.status === 'string')
  );
}
