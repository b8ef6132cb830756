import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { read } from '../support/event-stream.ts';
import { startRedis } from '../support/redis-server.ts';
import { Fleet } from './fleet.ts';
import { startProxy } from './proxy.ts';

export interface RollingRestart {
  requests: number;
  restarts: number;
  /** How many times each status with its detail, or each error code, occurred. */
  failed: Record<string, number>;
  /** Streams that were read to their end, even if the reader had to reconnect. */
  streams: number;
  /** Streams whose connection was cut, and that continued at another replica. */
  resumed: number;
  /** Streams whose events were not 1, 2, 3, … up to `stream_complete`. */
  broken: number;
  /** The errors that the proxy logged. */
  errors: string[];
}

/** If no stream is cut, all replicas are restarted at most this many times. */
const MAX_ROUNDS_FOR_A_CUT = 5;

/**
 * Restarts the replicas behind nginx under load, one after the other, until this many requests were made and a stream
 * was cut and continued. Whether a stream is cut depends on chance: nginx must have sent its reader to the replica that
 * is being restarted.
 * @param requests the minimum number of requests
 */
export async function rollingRestart({
  requests,
  clients,
  streams,
  replicas = 3,
  pause_ms = 0,
}: {
  requests: number;
  clients: number;
  streams: number;
  replicas?: number;
  /** How long a client waits between two requests. */
  pause_ms?: number;
}): Promise<RollingRestart> {
  const redis = await startRedis(['--appendonly', 'yes']);
  const fleet = await Fleet.start({ url: redis.url, replicas });
  const proxy = await startProxy(fleet.urls);
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const result: RollingRestart = {
    requests: 0,
    restarts: 0,
    failed: {},
    streams: 0,
    resumed: 0,
    broken: 0,
    errors: [],
  };
  try {
    let isOver = false;
    const client = async (n: number) => {
      for (let turn = 0; !isOver; turn++) {
        if (pause_ms > 0) await delay(pause_ms);
        const body = JSON.stringify({ user_id: `u${n}`, session_id: `s${n}`, message: `m${turn}` });
        const status = await ask(agent, `${proxy.url}/webchat/message`, body);
        result.requests++;
        if (status !== '200') result.failed[status] = (result.failed[status] ?? 0) + 1;
      }
    };
    const reader = async (n: number) => {
      while (!isOver) {
        const { isWhole, connections } = await followStream(proxy.url, `r${n}`);
        result.streams++;
        if (!isWhole) result.broken++;
        if (connections > 1) result.resumed++;
      }
    };
    const work = Promise.all([
      ...Array.from({ length: clients }, (_, n) => client(n)),
      ...Array.from({ length: streams }, (_, n) => reader(n)),
    ]);
    let rounds = 0;
    do {
      rounds++;
      for (let place = 0; place < replicas; place++) {
        await fleet.replicas[place]?.stop();
        await fleet.startReplica(place);
        result.restarts++;
      }
    } while (result.requests < requests || (result.resumed === 0 && rounds < MAX_ROUNDS_FOR_A_CUT));
    isOver = true;
    await work;
    return { ...result, errors: proxy.errors().slice(0, 10) };
  } finally {
    agent.destroy();
    await proxy.stop();
    await fleet.stop();
    await redis.stop();
  }
}

/**
 * Posts over a persistent connection, as a proxy's clients do. @returns the status with the detail, or the error code
 */
function ask(agent: Agent, url: string, body: string): Promise<string> {
  return new Promise((resolve) => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const asked = request(url, { agent, method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      // The detail in an answer of the daemon. An error page of nginx has none: it is HTML.
      const detail = () => /"detail":"([^"]*)"/.exec(text)?.[1] ?? '';
      response.on('end', () => resolve(`${response.statusCode} ${detail()}`.trim()));
      response.on('error', ({ message }) => resolve(message));
    });
    asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    asked.end(body);
  });
}

/**
 * Starts a stream that takes six seconds, which is longer than a stopping daemon keeps its readers, and reads it to its
 * end, as EventSource does.
 */
async function followStream(
  url: string,
  user_id: string,
): Promise<{ isWhole: boolean; connections: number }> {
  const answer = await fetch(`${url}/sse/chat`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ user_id, message: 'say 100 60' }),
  }).catch(() => null);
  if (answer?.status !== 200) return { isWhole: false, connections: 0 };
  const { stream_id } = (await answer.json()) as { stream_id: string };
  const ids: number[] = [];
  for (let connections = 1; connections <= 20; connections++) {
    const last = ids.at(-1);
    const headers: Record<string, string> = last === undefined ? {} : { 'Last-Event-ID': String(last) };
    const { text } = await read(url, stream_id, { headers }).ended;
    for (const [, id] of text.matchAll(/^id: (\d+)$/gm)) ids.push(Number(id));
    if (text.includes('event: stream_complete'))
      return { isWhole: ids.every((id, place) => id === place + 1), connections };
    if (text.includes('event: error')) return { isWhole: false, connections };
  }
  return { isWhole: false, connections: 20 };
}
