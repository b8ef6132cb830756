import { once } from 'node:events';
import type { request as httpRequest, IncomingMessage } from 'node:http';
import type { SimulatedRequest } from '../../channel/index.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';

/** Platforms wait for some seconds only, and come again. */
const TIMEOUT_MS = 10_000;
/** Longest answer that is read, bytes. */
const ANSWER_MAX = 1_048_576;

/** What the daemon answers to the platform. */
export interface DaemonAnswer {
  status: number;
  body: string;
  /** The daemon's own id of the request; null where what answers is no agentd. */
  request_id: string | null;
  took_ms: number;
}

/** Sends one delivery of the platform. Throws CliError (69) where nobody answers. Follows no redirect. */
export async function deliver(daemon: URL, delivery: SimulatedRequest): Promise<DaemonAnswer> {
  const began = performance.now();
  try {
    const url = new URL(delivery.path, daemon);
    const { request } = await import(url.protocol === 'https:' ? 'node:https' : 'node:http');
    const sent = (request as typeof httpRequest)(url, {
      method: delivery.method,
      headers: { ...delivery.headers, 'Content-Length': Buffer.byteLength(delivery.body) },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    sent.end(delivery.body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const body = await textOf(response);
    const id = response.headers['x-request-id'];
    return {
      status: response.statusCode ?? 0,
      body,
      request_id: typeof id === 'string' ? id : null,
      took_ms: Math.round(performance.now() - began),
    };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    throw new CliError(
      EXIT.unavailable,
      `the daemon is out of reach (${daemon.host}): ${message || code}`,
      'Is it running? Start it with `agentd serve --dev`, or name its address with --url.',
      { cause: error },
    );
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > ANSWER_MAX) throw new Error('the answer is too long');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}
