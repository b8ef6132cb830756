import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { PlatformSimulator, SimulatedApiAnswer } from '../../channel/index.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import type { Conversation } from './conversation.ts';
import type { Scene } from './scene.ts';

/** Another call of the same command may be about to end: so long its port is waited for, ms. */
const PORT_WAIT_MS = 5000;
const PORT_AGAIN_MS = 100;
/** Longest request that is read, bytes. */
const BODY_MAX = 16_777_216;

/** How the platform is to behave. */
export interface Behaviour {
  /** Each answer takes so long, ms. */
  slow_ms: number;
  /** So many replies of this conversation are answered with `failStatus` first. */
  fail: number;
  failStatus: number;
  retryAfterSeconds: number | null;
}

/**
 * A platform's API on the loopback address that the channel's settings name, until it is closed.
 * Throws CliError (69) where the port is taken, and stays so.
 */
export async function openStandIn(
  url: URL,
  { simulator, settings }: Scene,
  behaviour: Behaviour,
  conversation: Conversation,
): Promise<{ close(): void }> {
  const api = simulator.startApi(settings);
  let failures = behaviour.fail;
  const basePath = url.pathname.replace(/\/$/, '');
  const server = createServer((request, response) => {
    receive(request, response).catch((error: Error) => response.destroy(error));
  });
  await listen(server, url, simulator.apiUrlSetting);
  return {
    close() {
      server.close();
      server.closeAllConnections();
    },
  };

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bytesOf(request);
    const path = request.url ?? '/';
    const answer = api.answer({
      method: request.method ?? 'GET',
      path: path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path,
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, value?.toString()]),
      ),
      body,
    });
    const failing = failures > 0 && answer.shown.some((shown) => conversation.isReply(shown));
    if (failing) failures--;
    if (behaviour.slow_ms > 0) await delay(behaviour.slow_ms);
    // The daemon may have given up meanwhile: what it is not told has not happened.
    if (response.destroyed) return;
    const told = failing ? refusalOf(simulator, behaviour) : answer;
    response.writeHead(told.status, {
      'Content-Type': 'application/json',
      // Nobody listens here for long: no connection of the daemon's shall outlive it.
      Connection: 'close',
      ...told.headers,
    });
    response.end(JSON.stringify(told.body));
    // The platform may say it in its body alone: what was asked for is told.
    if (failing) conversation.refuse(behaviour.failStatus, true);
    else if (told.status >= 400) conversation.refuse(told.status, false);
    for (const shown of told.shown) conversation.show(shown);
  }
}

function refusalOf(
  simulator: PlatformSimulator,
  { failStatus: status, retryAfterSeconds }: Behaviour,
): SimulatedApiAnswer {
  const wait = retryAfterSeconds === null ? {} : { 'Retry-After': String(retryAfterSeconds) };
  const refused = simulator.refusal?.({ status, retryAfterSeconds }) ?? { status, headers: wait, body: {} };
  return { ...refused, shown: [] };
}

async function listen(server: Server, url: URL, setting: string): Promise<void> {
  const gives_up_at = Date.now() + PORT_WAIT_MS;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  for (;;) {
    try {
      server.listen(Number(url.port || 80), host);
      await once(server, 'listening');
      return;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE' || Date.now() >= gives_up_at) {
        throw new CliError(
          EXIT.unavailable,
          `the platform's API cannot be stood in for at ${url.origin} (${setting}): ${code === 'EADDRINUSE' ? 'the address is in use' : message}`,
          'Does another `agentd simulate` run? Wait for its end, or end it.',
          { cause: error },
        );
      }
    }
    await delay(PORT_AGAIN_MS);
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_MAX) throw new Error('the request is too long');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
