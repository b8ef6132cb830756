import type { SimulatedRequest } from '../../channel/index.ts';
import { unavailable } from '../cli-error.ts';
import { readBounded } from '../read-bounded.ts';
import { failureOf, sendRequest } from '../send-request.ts';

/** Platforms wait for a few seconds only, and then repeat the delivery. */
const ANSWER_WITHIN_MS = 10_000;
/** Longest answer, bytes. */
const ANSWER_MAX = 1_048_576;

/** The daemon's answer to a delivery. */
export interface DaemonAnswer {
  status: number;
  body: string;
  /** The daemon's id of the request; null if the server is not agentd. */
  request_id: string | null;
  took_ms: number;
}

/** Sends a delivery of the platform. Throws CliError (69) if no server answers. */
export async function deliver(daemon: URL, delivery: SimulatedRequest): Promise<DaemonAnswer> {
  const { path, method, body } = delivery;
  const headers = { ...delivery.headers, 'Content-Length': Buffer.byteLength(body) };
  const began = performance.now();
  try {
    const response = await sendRequest(new URL(path, daemon), {
      method,
      headers,
      body,
      silence_ms: ANSWER_WITHIN_MS,
    });
    const text = (await readBounded(response, ANSWER_MAX)).toString('utf8');
    const id = response.headers['x-request-id'];
    return {
      status: response.statusCode ?? 0,
      body: text,
      request_id: typeof id === 'string' ? id : null,
      took_ms: Math.round(performance.now() - began),
    };
  } catch (cause) {
    throw unavailable(
      `cannot reach the daemon at ${daemon.host}: ${failureOf(cause)}`,
      'Start the daemon with `agentd serve --dev`, or pass its address with --url.',
      { cause },
    );
  }
}
