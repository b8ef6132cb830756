import { once } from 'node:events';
import type { request as httpRequest, IncomingMessage } from 'node:http';
import { printable } from '../../daemon/printable.ts';
import type { Command } from '../command.ts';
import { coreSettings } from '../core-settings.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';

/** What `GET /` answers (service.md). */
interface Health {
  status: string;
  platforms: string[];
  adapters: Record<string, { status: string; detail?: string }>;
}

/** The daemon is near, and its answer cheap: what takes longer is no answer. */
const TIMEOUT_MS = 5000;
/** Longest answer that is read, bytes. */
const ANSWER_MAX = 1_048_576;

export const command: Command = {
  name: 'status',
  summary: 'Show the channels of the running daemon and their state.',
  description:
    'Asks the daemon at HOST and PORT of the settings, or at --url. Exit code 69 when it is out of reach or stopping.',
  options: [{ flags: '--url <url>', sentence: 'address of the daemon, instead of HOST and PORT' }],
  examples: [
    { line: 'agentd status', does: 'Shows the daemon that these settings describe.' },
    {
      line: 'agentd status --json --url https://chat.example.com/',
      does: 'Asks a daemon elsewhere, for a script.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const url = typeof options.url === 'string' ? parseUrl(options.url) : await configuredUrl(options);
    const health = await ask(url);
    out.data(health, () => {
      const rows = Object.entries(health.adapters).map(([name, { status, detail }]) => [
        name,
        status,
        String(detail ?? ''),
      ]);
      const table =
        rows.length > 0 ? out.table(['CHANNEL', 'STATE', 'DETAIL'], rows) : 'No channel is active.\n';
      return `agentd at ${url.origin} is ${printable(health.status)}\n\n${table}`;
    });
    return EXIT.ok;
  },
};

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new CliError(EXIT.usage, `--url takes an address such as http://127.0.0.1:8080, not '${text}'`);
}

async function configuredUrl(options: Readonly<Record<string, unknown>>): Promise<URL> {
  const { HOST, PORT } = await coreSettings(options, 'address');
  if (PORT === 0) {
    throw new CliError(
      EXIT.usage,
      'PORT=0 lets the daemon take any port',
      'Name the address that it printed with --url.',
    );
  }
  return new URL(`http://${reachable(HOST)}:${PORT}/`);
}

/** A daemon that listens on every address is asked at the loopback one; IPv6 addresses go in brackets. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Throws a CliError (69) where there is no daemon, and for an answer that is not a daemon's. */
async function ask(url: URL): Promise<Health> {
  const response = await get(url).catch((cause: NodeJS.ErrnoException) => {
    throw new CliError(
      EXIT.unavailable,
      `the daemon is out of reach (${url.host}): ${cause.message || cause.code}`,
      'Is it running? Start it with `agentd serve`, or name its address with --url.',
      { cause },
    );
  });
  const body = parsed(response.text);
  if (response.status === 200 && isHealth(body)) return body;
  if (response.status === 503) {
    throw new CliError(
      EXIT.unavailable,
      `the daemon at ${url.origin} does not serve now (503)`,
      'It is stopping; see its log.',
    );
  }
  throw new CliError(
    EXIT.unavailable,
    `what answers at ${url.origin} is no agentd (status ${response.status})`,
    'Compare HOST and PORT with the address that the daemon printed, or name it with --url.',
  );
}

/** Not by `fetch`, which refuses ports that a daemon may well have (6000, 10080). Follows no redirect. */
async function get(url: URL): Promise<{ status: number; text: string }> {
  const { request } = await import(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const asked = (request as typeof httpRequest)(url, {
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > ANSWER_MAX) throw new Error('the answer is too long');
    chunks.push(chunk as Buffer);
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whatever else answers there.
    return null;
  }
}

function isHealth(body: unknown): body is Health {
  if (body === null || typeof body !== 'object') return false;
  const { status, platforms, adapters } = body as Partial<Health>;
  return (
    typeof status === 'string' &&
    Array.isArray(platforms) &&
    typeof adapters === 'object' &&
    adapters !== null &&
    Object.values(adapters).every((adapter) => typeof adapter?.status === 'string')
  );
}
