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
        detail ?? '',
      ]);
      const table =
        rows.length > 0 ? out.table(['CHANNEL', 'STATE', 'DETAIL'], rows) : 'No channel is active.\n';
      return `agentd at ${url.origin} is ${health.status}\n\n${table}`;
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

/** Throws what `fetch` throws when there is no daemon; a CliError (69) for an answer that is not a daemon's. */
async function ask(url: URL): Promise<Health> {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(TIMEOUT_MS),
    redirect: 'manual',
    headers: { accept: 'application/json' },
  });
  const body = await response.json().catch(() => null);
  if (response.ok && isHealth(body)) return body;
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

function isHealth(body: unknown): body is Health {
  if (body === null || typeof body !== 'object') return false;
  const { status, platforms, adapters } = body as Partial<Health>;
  return (
    typeof status === 'string' &&
    Array.isArray(platforms) &&
    typeof adapters === 'object' &&
    adapters !== null
  );
}
