import { once } from 'node:events';
import type { request as httpRequest, IncomingMessage } from 'node:http';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';

/** What `GET /` answers (service.md). */
export interface Health {
  status: string;
  platforms: string[];
  adapters: Record<string, { status: string; detail?: string }>;
}

/** The daemon is near, and its answer cheap: what takes longer is no answer. */
const TIMEOUT_MS = 5000;
/** Longest answer that is read, bytes. */
const ANSWER_MAX = 1_048_576;

/** Throws a CliError (69) where there is no daemon, and for an answer that is not a daemon's. */
export async function askHealth(url: URL): Promise<Health> {
  const response = await get(url).catch((cause: NodeJS.ErrnoException) => {
    throw new CliError(
      EXIT.unavailable,
      `the daemon is out of reach (${url.host}): ${cause.message || cause.code}`,
      'Is it running? Start it with `agentd serve` (to try it, `agentd serve --dev`), or name its address with --url.',
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
