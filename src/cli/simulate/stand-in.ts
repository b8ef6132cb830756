import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { PlatformSimulator, SimulatedApiAnswer } from '../../channel/index.ts';
import { unavailable } from '../cli-error.ts';
import { readBounded } from '../running-daemon.ts';
import type { Scenario } from './scenario.ts';
import type { Simulation } from './simulation.ts';

/** How long to wait for the port of another `agentd simulate` that may be about to end, ms. */
const PORT_WAIT_MS = 3000;
const PORT_AGAIN_MS = 100;
/** Longest request, bytes. */
const BODY_MAX = 16_777_216;

/** How the platform behaves. */
export interface Behavior {
  /** How long each answer takes, ms. */
  slow_ms: number;
  /** How many replies of this simulation are refused with `failStatus` before the others are accepted. */
  fail: number;
  failStatus: number;
  retry_after_seconds: number | null;
}

/**
 * Listens at the loopback address that the channel's settings name for the platform's API.
 * @returns null if another server stays there
 */
export async function listenAsPlatform(url: URL, setting: string): Promise<Server | null> {
  const server = createServer();
  const host = url.hostname.replace(/^\[|\]$/g, '');
  for (const gives_up_at = Date.now() + PORT_WAIT_MS; ; await delay(PORT_AGAIN_MS)) {
    try {
      server.listen(Number(url.port || 80), host);
      await once(server, 'listening');
      return server;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE')
        throw unavailable(`cannot serve the platform's API at ${url.origin} (${setting}): ${message}`);
      if (Date.now() >= gives_up_at) return null;
    }
  }
}

/** Answers the calls of the channel as the platform's API does. */
export function answerAsPlatform(
  server: Server,
  url: URL,
  { simulator, settings }: Scenario,
  behavior: Behavior,
  simulation: Simulation,
): void {
  const api = simulator.startApi(settings);
  let failures = behavior.fail;
  const basePath = url.pathname.replace(/\/$/, '');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    receive(request, response).catch((error: Error) => response.destroy(error));
  });

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBounded(request, BODY_MAX);
    const path = request.url ?? '/';
    const answer = api.answer({
      method: request.method ?? 'GET',
      path: path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path,
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, value?.toString()]),
      ),
      body,
    });
    const isFailing = failures > 0 && answer.shown.some((shown) => simulation.isReply(shown));
    if (isFailing) failures--;
    if (behavior.slow_ms > 0) await delay(behavior.slow_ms);
    // The daemon has given up, so it does not get this answer, and nothing is shown.
    if (response.destroyed) return;
    const sent = isFailing ? buildRefusal(simulator, behavior) : answer;
    response.writeHead(sent.status, {
      'Content-Type': 'application/json',
      // This server ends soon: the daemon must not keep the connection.
      Connection: 'close',
      ...sent.headers,
    });
    response.end(JSON.stringify(sent.body));
    // The platform may report a refusal in its body only, so the requested status is shown.
    if (isFailing) simulation.refuse(behavior.failStatus, true);
    else if (sent.status >= 400) simulation.refuse(sent.status, false);
    for (const shown of sent.shown) simulation.show(shown);
  }
}

function buildRefusal(
  simulator: PlatformSimulator,
  { failStatus: status, retry_after_seconds }: Behavior,
): SimulatedApiAnswer {
  const headers = retry_after_seconds === null ? {} : { 'Retry-After': String(retry_after_seconds) };
  const refused = simulator.refusal?.({ status, retry_after_seconds }) ?? { status, headers, body: {} };
  return { ...refused, shown: [] };
}
